"""The house as CONTRIBUTING draws it: few entries, one name for one thing, a test for every module."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC, TESTS = ROOT / "src" / "undeleted", ROOT / "tests"
MODULES = sorted(path.relative_to(SRC) for path in SRC.rglob("*.py"))
FLOORS = ("foundations", "curate", "models", "games", "verifying", "auditing", "paper", "interfaces")
TREES = {path: ast.parse((SRC / path).read_text(encoding="utf-8")) for path in MODULES}


def test_the_top_level_has_nine_entries_that_say_what_they_hold_and_may_import():
    entries = {path.parts[0] for path in MODULES} - {"__init__.py", "__main__.py"}
    assert entries == {"errors.py", *FLOORS}
    for floor in FLOORS:
        said = ast.get_docstring(TREES[Path(floor, "__init__.py")])
        assert said is not None
        assert "mports" in said.split("\n\n")[-1], floor
        inside = {path.parts[1].removesuffix(".py") for path in MODULES if path.parts[0] == floor}
        inside = {name for name in inside if not name.startswith("_")}
        if floor != "models":  # a file an estimator
            assert inside <= set(re.findall(r"\w+", said)), f"{floor} does not say all that is in it"


def test_readers_find_every_entry_in_the_readme_and_in_contributing():
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", text, re.M)
        assert rows == ["errors", *FLOORS], page


def test_no_two_public_classes_have_one_name_and_no_type_is_called_like_one():
    classes: dict[str, list[str]] = {}
    aliases: dict[str, list[str]] = {}
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(str(path))
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                aliases.setdefault(ast.unparse(node.target), []).append(str(path))
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
    assert {name: [*classes[name], *aliases[name]] for name in classes.keys() & aliases.keys()} == {}


def test_every_exception_is_in_errors():
    defined = {node.name for node in TREES[Path("errors.py")].body if isinstance(node, ast.ClassDef)}
    builtin = {
        "BaseException",
        "Exception",
        "Warning",
        "UserWarning",
        "RuntimeError",
        "ValueError",
        "KeyError",
    }
    elsewhere = [
        f"{path}: {node.name}"
        for path, tree in TREES.items()
        if path != Path("errors.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {ast.unparse(base).rpartition(".")[2] for base in node.bases} & (defined | builtin)
    ]
    assert elsewhere == []


TEXTS = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
COVERED = {
    pattern: path
    for path, text in TEXTS.items()
    for said in re.findall(r"^Covers: (.*?)\n\"\"\"", text, re.M | re.S)
    for pattern in re.split(r",\s+", said.strip())
}


def test_what_a_test_says_it_covers_is_there():
    assert [pattern for pattern in COVERED if not list(SRC.glob(pattern))] == []


def test_every_module_has_its_test_or_is_named_in_one():
    covered = {path.relative_to(SRC) for pattern in COVERED for path in SRC.glob(pattern)}
    alone = [path for path in MODULES if not path.name.startswith("__") and path not in covered]
    assert [str(path) for path in alone if not _has_a_test(path)] == []


def _has_a_test(path: Path) -> bool:
    """A file of its own, or one that imports it."""
    dotted = ".".join(("undeleted", *path.with_suffix("").parts))
    folder, _, name = dotted.rpartition(".")
    imported = re.compile(rf"{re.escape(dotted)}\b|from {re.escape(folder)} import [^\n]*\b{name}\b")
    own = TESTS / path.parent / f"test_{path.stem.lstrip('_')}.py"
    return own.exists() or any(imported.search(text) for text in TEXTS.values())
