"""A contract for import-linter: a module with a leading underscore is imported inside its own folder only."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """`undeleted.curate.stores._records` may be imported by modules of `undeleted.curate.stores` alone."""

    type_name = "private_modules"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        crossing = sorted(
            f"{importer} imports {imported}"
            for imported in graph.modules
            if (home := home_of(imported)) is not None
            for importer in graph.find_modules_that_directly_import(imported)
            if importer != home and importer.rpartition(".")[0] != home
        )
        return ContractCheck(kept=not crossing, metadata={"crossing": crossing})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["crossing"]:
            output.print_error(line, bold=False)


def home_of(module: str) -> str | None:
    """The folder that a private module belongs to; None for a public one."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_") and part != "__main__"]
    return ".".join(parts[: private[0]]) if private else None
