"""Break the source in named ways, one at a time; the named test must notice.

    python tests/mutants/run.py            all of them
    python tests/mutants/run.py NAME …     some
    python tests/mutants/run.py --tests-have-passed   where they were just run on this source, as in CI
    python tests/mutants/run.py --check    whether all of them still apply; a part of lint, in no time

A mutant is a table in `mutants.toml`: the file, the text to replace, what to put there, and the test that
must fail, with `services = true` where it needs PostgreSQL.  They run in two copies of the tree, one after
another in each, so that the rest stays compiled.  A mutant that no longer applies is an error: it must move
with the code.  Before the mutants, the named tests are run on the untouched source, where they must pass.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[2]
_SECONDS = count(1_000_000_000)
LIBRARIES = ["pytest", "hypothesis.strategies", "numpy", "scipy.stats", "scipy.integrate", "highspy"]
LIBRARIES += ["opendp.prelude", "typer", "rich.console"]
ALREADY_THERE = "ignore::pytest.PytestAssertRewriteWarning"  # of a library that was imported before
FAILED = 1  # pytest's code for "tests ran and some failed"; anything else is not a catch


def copy_of_the_tree(folder: str) -> Path:
    tree = Path(folder) / "tree"
    tree.mkdir()
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def environment_of(tree: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(tree / "src"), "HYPOTHESIS_STORAGE_DIRECTORY": str(tree / ".h")}


def all_at_once(tree: Path, *tests: str, services: bool = False) -> tuple[int, str]:
    """The tests on the untouched source."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    command += ["-n", "2", "--dist", "worksteal", *(["-m", "services"] if services else [])]
    environment = os.environ | environment_of(tree)
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def forks() -> Executor:
    """Two processes at a time, each for one mutant, that find the libraries imported already."""
    context = get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    return ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1)


def in_a_fork(tree: Path, test: str, services: bool) -> tuple[int, str]:
    """A test in a process of its own."""
    import pytest

    output = tree.parent / "output"
    os.chdir(tree)
    os.environ.update(environment_of(tree))
    sys.path.insert(0, str(tree / "src"))
    with output.open("wb") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", ALREADY_THERE, test]
    code = int(pytest.main([*arguments, *(["-m", "services"] if services else ["-p", "no:schemathesis"])]))
    sys.stdout.flush()
    return code, output.read_text(encoding="utf-8", errors="replace")


def what_no_longer_fits(mutants: dict[str, dict[str, str]]) -> list[str]:
    """Mutants whose text or whose test is not there any more, without running anything."""
    found = []
    for name, mutant in mutants.items():
        source = ROOT / "src" / "undeleted" / mutant["file"]
        text = source.read_text(encoding="utf-8") if source.is_file() else ""
        if text.count(mutant["find"]) != 1:
            found.append(f"{name}: its text stands {text.count(mutant['find'])} times in {mutant['file']}")
        for test in mutant["test"].split():
            path, _, function = test.partition("::")
            where = ROOT / path
            if not where.exists():
                found.append(f"{name}: there is no {path}")
            elif function:
                defined = {
                    node.name
                    for node in ast.walk(ast.parse(where.read_text(encoding="utf-8")))
                    if isinstance(node, ast.FunctionDef | ast.ClassDef)
                }
                wanted = [part.partition("[")[0] for part in function.split("::")]
                found += [f"{name}: there is no {part} in {path}" for part in wanted if part not in defined]
    return found


def problem_with(mutant: dict[str, str], trees: Queue[Path], pool: Executor) -> str | None:
    """What is wrong with a mutant, or None if its test caught it."""
    tree = trees.get()
    source = tree / "src" / "undeleted" / mutant["file"]
    text = source.read_text(encoding="utf-8")
    try:
        if text.count(mutant["find"]) != 1:
            return f"does not apply: its text stands {text.count(mutant['find'])} times in {mutant['file']}"
        _write(source, text.replace(mutant["find"], mutant["put"]))
        code, output = pool.submit(in_a_fork, tree, mutant["test"], "services" in mutant).result()
        return None if code == FAILED else f"survived {mutant['test']} (pytest said {code})\n{output[-1500:]}"
    finally:
        _write(source, text)
        trees.put(tree)


def _write(source: Path, text: str) -> None:
    """What Python has compiled of it must not be taken for it: that goes by the second, and by the size."""
    source.write_text(text, encoding="utf-8")
    second = next(_SECONDS)
    os.utime(source, (second, second))


def main(arguments: list[str]) -> int:
    passed = "--tests-have-passed"
    wanted = [name for name in arguments if name != passed]
    mutants = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text(encoding="utf-8"))
    if "--check" in arguments:
        found = what_no_longer_fits(mutants)
        print("\n".join(found) or f"all {len(mutants)} mutants apply")
        return 1 if found else 0
    unknown = [name for name in wanted if name not in mutants]
    if unknown:
        print(f"no such mutant: {', '.join(unknown)}", file=sys.stderr)
        return 2
    chosen = {name: mutants[name] for name in wanted or mutants}
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_the_tree(folder)
        for services in () if passed in arguments else (False, True):
            named = sorted({m["test"] for m in chosen.values() if ("services" in m) == services})
            code, output = all_at_once(tree, *named, services=services) if named else (0, "")
            if code != 0:
                print(f"the tests do not pass on the untouched source:\n{output[-3000:]}", file=sys.stderr)
                return 1
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for folder in (one, other):
            trees.put(copy_of_the_tree(folder))
        failures = _run_all(chosen, trees)
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures else 0


def _run_all(chosen: dict[str, dict[str, str]], trees: Queue[Path]) -> int:
    """How many were not caught."""
    failures = 0
    with forks() as pool, ThreadPoolExecutor(2) as threads:
        tree = trees.get()
        code, output = pool.submit(in_a_fork, tree, "tests/foundations/test_registry.py", False).result()
        trees.put(tree)
        assert code == 0, f"a test that passes does not pass here:\n{output[-1500:]}"
        found = threads.map(lambda name: problem_with(chosen[name], trees, pool), chosen)
        for name, problem in zip(chosen, found, strict=True):
            failures += problem is not None
            print(
                f"{'SURVIVED' if problem else 'caught  '}  {name}" + (f": {problem}" if problem else ""),
                flush=True,
            )
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
