"""Inputs that are wrong in one way each: what is changed in a folder that is right, and what is run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SPEC = """[data]
source = "people.csv"
id = "pid"

[budget]
epsilon = 1.0

[columns.age]
type = "number"
min = 0
max = 120

[columns.city]
type = "category"
values = ["Rome", "Oslo"]

[columns.sick]
type = "boolean"

[publish.ages]
kind = "mean"
column = "age"
by = ["city"]

[publish.table]
kind = "histogram"
columns = ["city", "sick"]
"""
SECRET = "Zanzibar"  # a value of somebody's record: it stands in no message
PUBLISH = ("publish", "spec.toml")


def rows(n: int = 30) -> list[str]:
    return [
        f"p{i:02},{20 + i},{'Rome' if i % 2 else 'Oslo'},{'true' if i % 3 else 'false'}" for i in range(n)
    ]


def right(folder: Path) -> None:
    """A folder in which everything is right."""
    (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
    (folder / "people.csv").write_text("\n".join(["pid,age,city,sick", *rows()]) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Bad:
    """One thing that is wrong: how the folder is changed, the command, and the exact message."""

    change: Callable[[Path], object]
    command: tuple[str, ...]
    says: str
    published: bool = False  # the folder was published before


def spec(old: str, new: str) -> Callable[[Path], object]:
    assert old in SPEC
    return lambda folder: (folder / "spec.toml").write_text(SPEC.replace(old, new), encoding="utf-8")


def table(*lines: str, head: str = "pid,age,city,sick") -> Callable[[Path], object]:
    text = "\n".join([head, *lines]) + "\n"
    return lambda folder: (folder / "people.csv").write_text(text, encoding="utf-8")


def data(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def nothing(folder: Path) -> None:
    """The folder is right; the command is not."""


CASES = {
    "a file that is missing": Bad(
        lambda folder: (folder / "people.csv").unlink(),
        PUBLISH,
        "people.csv: cannot be read (no such file).\nCheck its path.",
    ),
    "an empty file": Bad(
        data("people.csv", b""),
        PUBLISH,
        "people.csv: is empty.\nGive a file whose first line names the columns.",
    ),
    "a column that is missing": Bad(
        table("p1,20,Rome", head="pid,age,city"),
        PUBLISH,
        "column 'sick': not in people.csv.\nIt has pid, age, city.",
    ),
    "an id column that is missing": Bad(
        table("20,Rome,true", head="age,city,sick"),
        PUBLISH,
        "column 'pid': not in people.csv.\nIt has age, city, sick.",
    ),
    "a number out of bounds": Bad(
        table("p1,20,Rome,true", "p2,999,Oslo,true"),
        PUBLISH,
        "column 'age': values must lie in [0, 120] (line 3)."
        "\n"
        "Correct the rows, or choose another `out_of_range` rule for the column.",
    ),
    "text for a number": Bad(
        table(f"p1,{SECRET},Rome,true"),
        PUBLISH,
        "column 'age': values must be numbers (line 2)."
        "\n"
        "Correct the rows, or choose another `not_a_number` rule for the column.",
    ),
    "a fraction off the grid": Bad(
        table("p1,20.5,Rome,true"),
        PUBLISH,
        "column 'age': values must be min plus a multiple of step = 1 (line 2)."
        "\n"
        "Correct the rows, or choose another `off_grid` rule for the column.",
    ),
    "an undeclared category": Bad(
        table(f"p1,20,{SECRET},true"),
        PUBLISH,
        "column 'city': values must be among the declared categories (line 2)."
        "\n"
        "Correct the rows, or choose another `unknown` rule for the column.",
    ),
    "a missing value": Bad(
        table("p1,,Rome,true"),
        PUBLISH,
        "column 'age': values must be present (line 2)."
        "\n"
        "Correct the rows, or choose another `missing` rule for the column.",
    ),
    "a missing id": Bad(
        table(",20,Rome,true"),
        PUBLISH,
        "column 'pid': every row must have an id (line 2).\nGive the rows their ids.",
    ),
    "a boolean that is neither": Bad(
        table(f"p1,20,Rome,{SECRET}"),
        PUBLISH,
        "column 'sick': values must be true or false (line 2)."
        "\n"
        "Correct the rows, or choose another `unknown` rule for the column.",
    ),
    "a person twice": Bad(
        table("p1,20,Rome,true", "p1,21,Rome,true"),
        PUBLISH,
        "column 'pid': a person may have 1 row (line 3)."
        "\n"
        "Raise `rows_per_person` (`max_rows_per_person` in a spec; noise grows with it) or set `excess` to drop.",
    ),
    "Latin-1 instead of UTF-8": Bad(
        data("people.csv", "pid,age,city,sick\np1,20,Zürich,true\n".encode("latin-1")),
        PUBLISH,
        "people.csv: is not UTF-8 text (line 2).\nSave the file as UTF-8.",
    ),
    "UTF-16": Bad(
        data("people.csv", "pid,age,city,sick\np1,20,Rome,true\n".encode("utf-16")),
        PUBLISH,
        "people.csv: is not UTF-8 text (line 1).\nSave the file as UTF-8.",
    ),
    "a quote that never ends": Bad(
        data("people.csv", b'pid,age,city,sick\np1,20,"Rome,true\np2,21,Oslo,true\n'),
        PUBLISH,
        "people.csv: line 2 opens a quote that is never closed."
        "\n"
        'Close it, or write "" for a quote inside a value.',
    ),
    "a row with too many fields": Bad(
        table("p1,20,Rome,true,extra"),
        PUBLISH,
        "people.csv: line 2 has 5 values, and the first line 4."
        "\n"
        "Every row must have the same columns; a value with a separator needs quotes.",
    ),
    "a row with too few fields": Bad(
        table("p1,20"),
        PUBLISH,
        "people.csv: line 2 has 2 values, and the first line 4."
        "\n"
        "Every row must have the same columns; a value with a separator needs quotes.",
    ),
    "semicolons": Bad(
        table("p1;20;Rome;true", head="pid;age;city;sick"),
        PUBLISH,
        "columns 'age', 'city', 'sick', 'pid': not in people.csv."
        "\n"
        "Its first line must name its columns. Its separator seems to be ';': save it with commas.",
    ),
    "a column named twice": Bad(
        table("p1,20,21,Rome,true", head="pid,age,age,city,sick"),
        PUBLISH,
        "column 'age': named several times in people.csv.\nRename all but one of them.",
    ),
    "not a Parquet file": Bad(
        lambda folder: (
            data("people.parquet", b"PAR0")(folder),
            spec("people.csv", "people.parquet")(folder),
        ),
        PUBLISH,
        "people.parquet: is not a Parquet file, or it is damaged.\nWrite the file again.",
    ),
    "a kind of file that is unknown": Bad(
        lambda folder: (data("people.xyz", b"x")(folder), spec("people.csv", "people.xyz")(folder)),
        PUBLISH,
        "people.xyz: is not of a kind that can be read (.xyz)."
        "\n"
        "Kinds: .csv, .tsv, .parquet, .json, .jsonl, .ndjson, .db, .sqlite, .sqlite3.",
    ),
    "not TOML": Bad(
        spec("epsilon = 1.0", "epsilon = "),
        PUBLISH,
        "spec.toml, line 6: is not TOML: Invalid value (at line 6, column 11).\nCorrect that line.",
    ),
    "a typo in a key": Bad(
        spec("epsilon", "epsilom"),
        PUBLISH,
        "spec.toml, line 6: [budget] needs `epsilon`, a number."
        "\n"
        "`epsilom` may be meant for it. Add a line `epsilon = …`.",
    ),
    "a typo in a table": Bad(
        spec("[publish.table]", "[publsh.table]"),
        PUBLISH,
        "spec.toml, line 1: the spec has no key `publsh`."
        "\n"
        "Did you mean `publish`? Known keys: data, budget, columns, publish, arrivals.",
    ),
    "a typo in a kind": Bad(
        spec('kind = "mean"', 'kind = "maen"'),
        PUBLISH,
        "spec.toml, line 21: there is no kind of publication 'maen'."
        "\n"
        "Did you mean 'mean'? Kinds: board, count, forest, histogram, k-means, linear-regression, logistic-regression, mean, naive-bayes, pca, people, products, quantiles, recommender, share, sum, synthetic, variance.",
    ),
    "a negative budget": Bad(
        spec("epsilon = 1.0", "epsilon = -1.0"),
        PUBLISH,
        "spec.toml, line 6: epsilon must be positive and finite, got epsilon = -1.0."
        "\n"
        "Choose it before you look at the data.",
    ),
    "a bound that is inverted": Bad(
        spec("max = 120", "max = -5"),
        PUBLISH,
        "spec.toml, line 8: column 'age': min = 0 is not below max = -5.\nGive bounds with min < max.",
    ),
    "a type that is unknown": Bad(
        spec('type = "boolean"', 'type = "bolean"'),
        PUBLISH,
        "spec.toml, line 18: there is no column type 'bolean'."
        "\n"
        "Did you mean 'boolean'? Types: number, date, category, boolean, text.",
    ),
    "a column that is not declared": Bad(
        spec('column = "age"', 'column = "wage"'),
        PUBLISH,
        "spec.toml, line 22: there is no column 'wage'."
        "\n"
        "Did you mean 'age'? Declared columns: age, city, sick.",
    ),
    "a group that is not declared": Bad(
        spec('by = ["city"]', 'by = ["town"]'),
        PUBLISH,
        "spec.toml, line 23: there is no column 'town'.\nDeclared columns: age, city, sick.",
    ),
    "a condition that cannot be read": Bad(
        spec('by = ["city"]', 'where = "age >"'),
        PUBLISH,
        "spec.toml, line 23: the condition 'age >' cannot be read: it ends too early."
        "\n"
        'Write such as: age >= 18 and (married or city in ["Rome", "Oslo"]).',
    ),
    "a category declared twice": Bad(
        spec('["Rome", "Oslo"]', '["Rome", "Rome"]'),
        PUBLISH,
        "spec.toml, line 13: column 'city': categories must be declared, each once."
        "\n"
        "List the categories by hand.",
    ),
    "no publication": Bad(
        lambda folder: (folder / "spec.toml").write_text(SPEC.partition("[publish.ages]")[0]),
        PUBLISH,
        'spec.toml, line 1: nothing is published.\nAdd a table such as [publish.people] with kind = "count".',
    ),
    "another spec": Bad(
        spec("epsilon = 1.0", "epsilon = 0.5"),
        PUBLISH,
        "a publication of another spec, in {folder}/undeleted.db, already exists."
        "\n"
        "Restore the spec, or publish into a new store, which spends its own budget.",
        published=True,
    ),
    "a publication that is not there": Bad(
        nothing,
        ("show", "agse"),
        "there is no 'agse' among the publications.\nDid you mean 'ages'? The publications: ages, table.",
        published=True,
    ),
    "a question it cannot answer": Bad(
        nothing,
        ("show", "ages", "--quantile", "0.5"),
        "only publications of kind quantiles answer quantile.\nName such a publication.",
        published=True,
    ),
    "a column it does not have": Bad(
        nothing,
        ("show", "table", "--by", "town"),
        "the histogram has no town.\nIts columns: city, sick.",
        published=True,
    ),
    "a store that is not there": Bad(
        nothing,
        ("show", "--store", "nowhere.db"),
        "there is no store at nowhere.db.\nPublish first, or name another store.",
    ),
    "a file that is not a store": Bad(
        nothing,
        ("status", "--store", "people.csv"),
        "people.csv is not a store.\nName another file.",
    ),
    "a store without its key": Bad(
        lambda folder: (folder / "undeleted.db.key").unlink(),
        ("delete", "p01"),
        "{folder}/undeleted.db.key is missing: without it nobody's record in {folder}/undeleted.db can be found."
        "\n"
        "Restore the key file that was made with the store.",
        published=True,
    ),
    "ids from two places": Bad(
        nothing,
        ("delete", "p01", "--stdin"),
        "the people to delete must come from exactly one place.\n"
        "Give ids, or --from FILE, or --stdin, or --receipts FILE, or --rows FILE.",
        published=True,
    ),
    "a list that is missing": Bad(
        nothing,
        ("delete", "--from", "nobody.txt"),
        "nobody.txt: cannot be read (no such file or directory).\nGive UTF-8 text, one entry per line.",
        published=True,
    ),
    "a number of rows that is none": Bad(
        nothing,
        ("plan", "spec.toml", "--rows", "0"),
        "--rows 0 is not a number of rows.\nGive about how many rows there are.",
    ),
    "an option that is unknown": Bad(
        nothing,
        ("show", "--quantil", "0.5"),
        "no such option: --quantil (Possible options: --quantile)."
        "\n"
        "`undeleted show --help` shows an example.",
        published=True,
    ),
    "a list of ids with a quote that is never closed": Bad(
        data("leavers.csv", b'pid,why\np01,"moved\np02,tired\n'),
        ("delete", "--from", "leavers.csv", "--column", "pid"),
        "leavers.csv: line 2 opens a quote that is never closed."
        "\n"
        'Close it, or write "" for a quote inside a value.',
        published=True,
    ),
    "a list of ids that is not UTF-8": Bad(
        data("leavers.csv", b"pid,why\np01,a\np02,caf\xe9\n"),
        ("delete", "--from", "leavers.csv", "--column", "pid"),
        "leavers.csv: is not UTF-8 text (line 3).\nSave the file as UTF-8.",
        published=True,
    ),
    "a list of ids with semicolons": Bad(
        data("leavers.csv", b"pid;why\np01;a\n"),
        ("delete", "--from", "leavers.csv", "--column", "pid"),
        "column 'pid': not in leavers.csv."
        "\n"
        "Its first line must name its columns. Its separator seems to be ';': save it with commas.",
        published=True,
    ),
    "a list of ids with a field too many": Bad(
        data("leavers.csv", f"n,pid\nx,p01\nx,p02,{SECRET}\nx,p03\n".encode()),
        ("delete", "--from", "leavers.csv", "--column", "pid"),
        "leavers.csv: line 3 has 3 values, and the first line 2."
        "\n"
        "Every row must have the same columns; a value with a separator needs quotes.",
        published=True,
    ),
    "a list of ids in which one is missing": Bad(
        data("leavers.csv", f"pid,why\np01,a\n,{SECRET}\n".encode()),
        ("delete", "--from", "leavers.csv", "--column", "pid"),
        "leavers.csv: 1 row has no pid.\nGive them their ids, or remove them.",
        published=True,
    ),
    "a table to peek into with a field too many": Bad(
        data("odd.csv", f"n,pid\nx,p01\nx,p02,{SECRET}\nx,p03\n".encode()),
        ("init", "odd.csv", "--peek", "--out", "draft.toml"),
        "odd.csv: line 3 has 3 values, and the first line 2."
        "\n"
        "Every row must have the same columns; a value with a separator needs quotes.",
    ),
    "further publications without the option for them": Bad(
        data("more.toml", b'[publish.n]\nkind = "count"\n'),
        ("publish", "more.toml"),
        "more.toml, line 1: the spec needs `data`, a table."
        "\n"
        "Add [data]; or, for further publications of a store, use `publish --more`.",
    ),
    "a table for a list of ids": Bad(
        nothing,
        ("delete", "--from", "people.csv"),
        "people.csv is a table, and ids are in one of its columns.\nName the column: --column person.",
        published=True,
    ),
    "a table with one column for a list of ids": Bad(
        data("leavers.csv", b"pid\np01\n"),
        ("delete", "--from", "leavers.csv"),
        "leavers.csv is a table, and ids are in one of its columns.\nName the column: --column person.",
        published=True,
    ),
    "no first line with names": Bad(
        table("p1,20,Rome,true", head=f"{SECRET},20,Rome,true"),
        PUBLISH,
        "columns 'age', 'city', 'sick', 'pid': not in people.csv.\nIts first line must name its columns.",
    ),
    "a column in capitals": Bad(
        table("p1,20,Rome,true", head="PID,age,city,sick"),
        PUBLISH,
        "column 'pid': not in people.csv.\nDid you mean 'PID' for 'pid'? It has PID, age, city, sick.",
    ),
    "two kinds of line endings": Bad(
        data("people.csv", b"pid,age,city,sick\np1,20,Rome,true\r\np2,30,Oslo,true\n"),
        PUBLISH,
        "people.csv: line 2 ends with \\r\\n, and the lines before it with \\n."
        "\n"
        "Save the file with one kind of line endings.",
    ),
    "empty lines before a bad value": Bad(
        table("p1,20,Rome,true", "", "", f"p2,{SECRET},Rome,true"),
        PUBLISH,
        "column 'age': values must be numbers (line 5)."
        "\n"
        "Correct the rows, or choose another `not_a_number` rule for the column.",
    ),
    "text behind a quote": Bad(
        table(f'p1,20,"Rome"{SECRET},true'),
        PUBLISH,
        'people.csv: line 2 has text behind a closing quote.\nWrite "" for a quote inside a value.',
    ),
    "UTF-16 without a mark": Bad(
        data("people.csv", "pid,age,city,sick\np1,20,Rome,true\n".encode("utf-16-le")),
        PUBLISH,
        "people.csv: is not UTF-8 text (it seems to be UTF-16).\nSave the file as UTF-8.",
    ),
    "a misspelt column in a condition": Bad(
        spec('by = ["city"]', 'where = "agge >= 18"'),
        PUBLISH,
        "spec.toml, line 23: the condition 'agge >= 18' names 'agge', which is not a column."
        "\n"
        "Did you mean 'age'? The columns are: age, city, sick.",
    ),
}
