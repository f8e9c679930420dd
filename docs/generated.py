"""Generate the reference pages that follow from the code.

python docs/generated.py            write them
python docs/generated.py --check    fail if a page is out of date

All pages are committed.  `commands.md`, `names.md` and `values.md` are generated from the code alone,
`licences.md` from the environment, which must have every extra installed (`make docs` does that).
"""

import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import value_codes
from packaging.requirements import Requirement

from undeleted import errors
from undeleted.foundations import registry

HERE = Path(__file__).parent / "reference"
FOR = {
    "": "The package itself",
    "fast": "Compiled loops (`fast`)",
    "plots": "Pictures and the report (`plots`)",
    "models": "Scikit-learn models (`models`)",
    "scale": "Databases (`scale`)",
    "serve": "The service (`serve`)",
    "spark": "Spark (`spark`)",
    "audited": "Libraries that tests audit (`audited`)",
    "dev": "Tests and tools (`dev`)",
    "docs": "This documentation (`docs`)",
    "services": "Tests of services (`services`)",
}
LICENCES = {"axe-playwright-python": "MIT; axe-core within it MPL-2.0"}  # missing from the metadata


def commands() -> str:
    """Every command with its options, from the parser."""
    lines = ["# Commands", "", "Generated from the command-line parser; do not edit.", ""]
    lines += [
        "Results go to stdout, progress and errors to stderr. Exit codes: 0 fine, 1 a finding, 2 misuse or ",
        "bad input, 3 a target failed or the result is open, 70 a bug of ours. The store is `--store`, else",
        "`UNDELETED_STORE`, else `./undeleted.db`.",
        "",
    ]
    for path, command in walk():
        lines += [f"## `undeleted {' '.join(path)}`", "", plain(command.help or ""), ""]
        rows = [row for row in map(option, command.params) if row]
        if rows:
            lines += ["| option | what it is |", "|---|---|", *rows, ""]
        if command.epilog:
            examples = [line.strip() for line in plain(command.epilog).splitlines() if "undeleted " in line]
            lines += ["For example:", ""]
            for line in examples:
                words = re.sub(r"^Examples?: ", "", line)
                lines += [f"- `{example.strip()}`" for example in words.split(" · ")]
            lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def walk() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, with the words that lead to it."""
    import typer

    from undeleted.interfaces.cli.app import build

    attacks = registry.names("undeleted.games.attacks")
    root = typer.main.get_command(build(["attack"]))
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        if name == "attack":
            for attack in attacks:
                full = typer.main.get_command(build(["attack", attack]))
                yield (name, attack), full.commands[name].commands[attack]  # type: ignore[attr-defined]
        elif hasattr(command, "commands"):
            if name == "definitions":
                yield (name,), command
            for inner, leaf in command.commands.items():
                yield (name, inner), leaf
        else:
            yield (name,), command


def option(parameter: Any) -> str:
    """A row of the table of options."""
    if parameter.name == "help" or getattr(parameter, "hidden", False):
        return ""
    is_option = parameter.opts[0].startswith("-")
    names = ", ".join(f"`{o}`" for o in parameter.opts) if is_option else f"`{parameter.name.upper()}`"
    default = parameter.default
    shown = f" ({default})" if isinstance(default, int | float | str) and default not in ("", False) else ""
    text = plain(getattr(parameter, "help", "") or "").replace("|", "\\|").replace("\n", " ")
    kind = parameter.type_descriptor.annotation
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    one_of = f" One of {', '.join(f'`{c}`' for c in choices)}." if choices else ""
    return f"| {names} | {text}{one_of}{shown} |"


def plain(text: str) -> str:
    """Help text without terminal markup."""
    return re.sub(r"\[/?\w+\]", "", text).strip()


def names() -> str:
    """All registered names, and the tree of errors."""
    lines = ["# Names", "", "Generated from the folders and from `errors.py`; do not edit.", ""]
    lines += [
        "A file `noisy_sum.py` in a folder defines the name `noisy-sum`, which commands and audits use.",
        "",
    ]
    for kind, folder in registry.HOMES.items():
        lines += [f"## `{kind}`", "", "| name | what it is |", "|---|---|"]
        for name in registry.names(folder):
            what = registry.summary(folder, name).replace("|", "\\|")
            lines.append(f"| `{name}` | {what} |")
        lines.append("")
    tree = (errors.__doc__ or "").split("\n\n")
    lines += ["## Errors", "", "Each error has its numbers as attributes, and says what to do.", ""]
    lines += ["```text", *(line[4:] for part in tree[1:3] for line in part.splitlines()), "```"]
    return "\n".join(lines).rstrip() + "\n"


def licences() -> str:
    """Every distribution that any extra installs, with its licence."""
    lines = ["# Licences", "", "Generated from the metadata of the installed distributions; do not edit.", ""]
    lines += ["`undeleted` itself is under Apache-2.0. It contains no code by others. It depends on:", ""]
    seen: set[str] = set()
    for extra, title in FOR.items():
        added = sorted(closure("undeleted", extra) - seen - {"undeleted"})
        seen |= set(added)
        if added:
            lines += [f"## {title}", "", "| distribution | licence |", "|---|---|"]
            lines += [f"| {name} | {licence(name)} |" for name in added]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def closure(name: str, extra: str, seen: set[tuple[str, str]] | None = None) -> set[str]:
    """All distributions that a distribution needs, by their normalised names."""
    seen = set() if seen is None else seen
    key = re.sub(r"[-_.]+", "-", name).lower()
    if (key, extra) in seen:
        return set()
    seen.add((key, extra))
    try:
        needed = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        raise SystemExit(f"{name} is not installed; run `make docs`") from None
    distributions = {key}
    for line in needed:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": extra}):
            continue
        for inner in ("", *requirement.extras):
            distributions |= closure(requirement.name, inner, seen)
    return distributions


def licence(name: str) -> str:
    about = metadata.metadata(name)
    if name in LICENCES:
        return LICENCES[name]
    said = about.get("License-Expression") or ""
    classifiers = about.get_all("Classifier") or []
    classified = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")]
    written = (about.get("License") or "").strip().splitlines()
    short = written[0] if written and len(written[0]) < 60 else ""
    stated = said or ", ".join(c for c in classified if c != "OSI Approved") or short
    if not stated:
        raise SystemExit(f"{name} does not state its licence; look it up and add it to LICENCES")
    return stated


def http() -> str:
    """Every endpoint of the service, from its OpenAPI document; and the libraries of its page."""
    from undeleted.interfaces.http.app import document

    api = document()
    lines = [
        "# The service over HTTP",
        "",
        "Generated from the OpenAPI document, which a service provides at `/v1/openapi.json`; do not edit.",
        "",
    ]
    lines += [
        "Errors are `application/problem+json`: `type`, `title`, `status`, `detail`, `remedy`. Keys go into",
        "the header `Authorization: Bearer …`. [Run the service](../howto/serve.md) has examples.",
        "",
    ]
    for tag in ("people", "readers", "operators", "health"):
        lines += [f"## {tag.capitalize()}", ""]
        for path, methods in api["paths"].items():
            for method, about in methods.items():
                if about["tags"] == [tag]:
                    lines += [
                        f"### `{method.upper()} {path}`",
                        "",
                        f"{about['summary']}. {plain(about.get('description', ''))}".strip(),
                        "",
                    ]
                    rows = [
                        f"| `{p['name']}` | {p.get('description', '')} |" for p in about.get("parameters", ())
                    ]
                    lines += ["| parameter | what it is |", "|---|---|", *rows, ""] if rows else []
                    statuses = ", ".join(sorted(about["responses"]))
                    lines += [f"Answers: {statuses}.", ""]
    vendor = Path(errors.__file__).parent / "interfaces" / "http" / "static" / "vendor" / "README.md"
    table = vendor.read_text(encoding="utf-8").partition("| file")
    lines += [
        "## Libraries of the page",
        "",
        "They are part of the package, unchanged from their npm packages.",
        "",
    ]
    lines += (table[1] + table[2].partition("\n\n")[0]).splitlines()
    return "\n".join(lines).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "names.md": names,
    "values.md": value_codes.page,
    "licences.md": licences,
    "http.md": http,
}


def write() -> None:
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments != ["--check"]:
        write()
        return 0
    stale = [name for name, page in PAGES.items() if (HERE / name).read_text(encoding="utf-8") != page()]
    for name in stale:
        print(f"docs/reference/{name} is out of date; run `make docs`", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
