"""An id is the text that was written, byte for byte: in every file, in every command, in every request."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import NoisyCount
from undeleted.errors import Misuse
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.interfaces.cli import run

IDS = [
    *("6F9619FF-8B86-D011-B42D-00CF4FC964FF", "6f9619ff-8b86-d011-b42d-00cf4fc964fe", "2020-01-01T09:00:00Z"),
    *(
        "2020-01-01",
        "1.5",
        "1.50",
        "007",
        "7",
        "1e3",
        "true",
        "True",
        "null",
        "NULL",
        "nan",
        "ann",
        "ann ",
        " ann",
    ),
    *("\tann", "a,b", 'a "b"', "é", "e\u0301", "Ω", "'", "\\", "-1", "+1", "0x10", "1_000", "#", "ann\u00a0"),
]
SPEC = """
[data]
source = "{source}"
id = "id"
[budget]
epsilon = 1.0
[columns.x]
type = "number"
min = 0
max = 9
[publish.people]
kind = "count"
"""


def as_csv(path):
    lines = ['"' + i.replace('"', '""') + '",1' for i in IDS]
    path.write_text("\n".join(["id,x", *lines]) + "\n", encoding="utf-8")


def as_json(path):
    path.write_text("\n".join(json.dumps({"id": i, "x": 1}) for i in IDS), encoding="utf-8")


def as_sqlite(path):
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE people (id, x)")
        file.executemany("INSERT INTO people VALUES (?, 1)", [(i,) for i in IDS])


def as_parquet(path):
    pq.write_table(pa.table({"id": IDS, "x": [1] * len(IDS)}), path)


WRITERS = {"csv": as_csv, "jsonl": as_json, "json": as_json, "db": as_sqlite, "parquet": as_parquet}


@pytest.fixture(params=sorted(WRITERS))
def store(request, tmp_path):
    WRITERS[request.param](tmp_path / f"people.{request.param}")
    (tmp_path / "spec.toml").write_text(SPEC.format(source=f"people.{request.param}"), encoding="utf-8")
    assert run(["publish", str(tmp_path / "spec.toml"), "--store", str(tmp_path / "store.db")]) == 0
    return str(tmp_path / "store.db")


@pytest.mark.parametrize("way", ["arguments", "from", "stdin"])
def test_everybody_is_found_by_the_id_that_was_written_and_nobody_by_another(store, way, tmp_path, capfd):
    others = ["6f9619ff-8b86-d011-b42d-00cf4fc964ff", "ann  ", "1.500", "07", "TRUE", "2020-01-01 09:00:00"]
    for ids, code in ((others, 1), (IDS, 0)):
        listed = tmp_path / f"ids{code}.txt"
        listed.write_text("\ufeff" + "\r\n".join(["", *ids, ""]), encoding="utf-8", newline="")
        command = ["delete", "--store", store, "--json", "--strict"]
        if way == "stdin":
            with listed.open("rb") as file:
                done = subprocess.run(
                    [sys.executable, "-m", "undeleted", *command, "--stdin"], stdin=file, capture_output=True
                )
            found, printed = done.returncode, done.stdout
        else:
            found = run([*command, "--from", str(listed)] if way == "from" else [*command, "--", *ids])
            printed = capfd.readouterr().out.partition("{")[2].join(["{", ""])
        told = json.loads(printed)
        assert (told["deleted"], told["unknown"]) == ((0, len(others)) if code else (len(IDS), 0))
        assert found == code


def test_ids_that_are_not_there_are_written_where_a_script_finds_them(store, tmp_path, capfd):
    listed, unknown = tmp_path / "ids.txt", tmp_path / "unknown.txt"
    listed.write_text("ann \nnobody \nann \n  \n7\n", encoding="utf-8")
    capfd.readouterr()
    assert run(["delete", "--store", store, "--from", str(listed), "--unknown", str(unknown)]) == 0
    assert f"3 ids are not in the store (never there, or deleted): {unknown}" in capfd.readouterr().out
    assert unknown.read_text(encoding="utf-8") == "nobody \nann \n  \n"
    assert unknown.stat().st_mode & 0o777 == 0o600
    assert run(["delete", "--store", store, "1.5", "--unknown", str(unknown)]) == 2, "never over a file"
    assert run(["delete", "--store", store, "1.5", "--strict"]) == 0, "nobody was deleted by that"


def test_what_is_not_text_is_refused(store, tmp_path, capfd):
    listed = tmp_path / "ids.txt"
    listed.write_bytes(b"ann\n\xff\xfe\n")
    assert run(["delete", "--store", store, "--from", str(listed)]) == 2
    assert "cannot be read" in capfd.readouterr().err
    done = subprocess.run(
        [sys.executable, "-m", "undeleted", "delete", "--store", store, "--stdin"],
        input=b"\xff\xfe\n",
        capture_output=True,
    )
    assert done.returncode == 2
    assert b"standard input" in done.stderr


def test_one_numeric_id_changes_no_other(tmp_path):
    """JSON lines: one number among two thousand texts used to put quotes around all of them."""
    rows = [json.dumps({"id": f"P{i}", "x": 1}) for i in range(2000)]
    rows += ['{"id": 5, "x": 1}', '{"id": 1.50, "x": 1}']
    (tmp_path / "people.jsonl").write_text("\n".join(rows))
    (tmp_path / "spec.toml").write_text(SPEC.format(source="people.jsonl"))
    with Curator.from_spec(tmp_path / "spec.toml", tmp_path / "store.db") as curator:
        absent = []
        assert curator.delete("P0", "P1", "5", "1.50", "p2", "1.5", unknown=absent.append).deleted == 4
        assert absent == ["p2", "1.5"]


def test_ids_in_python_are_texts_or_numbers():
    with Curator(Schema([Number("x", min=0, max=9)], id="id"), Budget(1.0)) as curator:
        curator.publish({"id": ["b'a'", "7", "a"], "x": [1, 2, 3]}, {"people": NoisyCount(Budget(1.0))})
        for no_id in (b"a", None, ["a"]):
            with pytest.raises(Misuse, match=r"an id (cannot be of type|is missing)"):
                curator.delete(["7", no_id])
        absent = []
        done = curator.delete(7, "nobody", 7, unknown=absent.append)
        assert (done.deleted, done.unknown, absent) == (1, 2, ["nobody", "7"])


def test_a_column_of_a_csv_file_is_a_list_of_ids(tmp_path, monkeypatch, capsys):
    """Every id of a table leaves through the very file that it came from."""
    monkeypatch.chdir(tmp_path)
    as_csv(tmp_path / "people.csv")
    (tmp_path / "spec.toml").write_text(SPEC.format(source="people.csv"))
    assert run(["publish", "spec.toml"]) == 0
    assert run(["delete", "--from", "people.csv", "--column", "person"]) == 2
    assert "column 'person': not in people.csv" in capsys.readouterr().err
    assert run(["delete", "--from", "people.csv"]) == 2
    assert "ids are in one of its columns" in capsys.readouterr().err
    assert run(["delete", "--column", "id", "7"]) == 2
    assert run(["delete", "--from", "people.csv", "--column", "id", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["deleted"], done["unknown"]) == (len(IDS), 0)


@pytest.mark.parametrize("form", ["arrow", "ibis"])
def test_columns_of_arrow_and_of_databases_are_ids_too(form):
    import ibis
    import pyarrow as pa

    curator = Curator(Schema([Number("x", min=0, max=9)], id="id"), Budget(1.0))
    curator.publish({"id": ["a", "b", "c"], "x": [1, 2, 3]}, {"n": NoisyCount(1.0)})
    leaving = pa.array(["a", "c"]) if form == "arrow" else ibis.memtable({"id": ["a", "c"]}).id
    assert curator.delete(leaving).deleted == 2


def test_deleting_by_a_condition_is_refused_with_the_way_to_do_it(capsys):
    assert run(["delete", "--where", "age > 90"]) == 2
    said = capsys.readouterr().err
    assert "would read the data of those who stay" in said
    assert "Ask the source for the ids" in said
