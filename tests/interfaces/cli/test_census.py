"""Files as a census office has them, from `init` to a labelled cross-table in six commands or six lines."""

import json
import re

import pandas as pd
import pytest

from undeleted.interfaces.cli import run

N = 900
SEXES, SCHOOLS = ("f", "m"), ("none", "school", "college")


def person(i):
    return {
        "age": i % 91,
        "sex": SEXES[i % 2],
        "educ": SCHOOLS[i % 3],
        "wage": (i * 37) % 5000,
        "pid": f"p{i:04}",
    }


def ids_last():
    return pd.DataFrame([person(i) for i in range(N)]), ""


def several_rows():
    rows = [person(i) for i in range(N)]
    return pd.DataFrame([*rows, *rows[:300]]), "max_rows_per_person = 2"


def missing_values():
    frame = pd.DataFrame([person(i) for i in range(N)])
    frame.loc[::7, "wage"] = None
    frame.loc[::11, "educ"] = None
    return frame, ""


def yes_and_no():
    frame = pd.DataFrame([person(i) for i in range(N)])
    frame["married"] = ["yes" if i % 2 else "no" for i in range(N)]
    return frame, ""


def all_of_these():
    """Ids last, several rows per person, values missing, dates, yes and no: as such files really are."""
    frame = several_rows()[0]
    frame.insert(0, "born", [f"{1930 + i % 80}-0{1 + i % 9}-15" for i in range(len(frame))])
    frame.insert(1, "married", ["yes" if i % 2 else "no" for i in range(len(frame))])
    frame.loc[::7, ["wage", "born"]] = None
    frame.loc[::11, ["educ", "married"]] = None
    return frame, "max_rows_per_person = 2"


FILES = {f.__name__: f for f in (ids_last, several_rows, missing_values, yes_and_no, all_of_these)}
DECISIONS = {
    "age": {"min": "0", "max": "120"},
    "wage": {"min": "0", "max": "10000", "step": "1"},
    "sex": {"values": '["f", "m"]'},
    "educ": {"values": '["none", "school", "college"]'},
    "born": {"min": "1900-01-01", "max": "2025-12-31"},
}


def decided(text, more):
    """The draft with every DECIDE filled in by somebody who knows the questionnaire."""
    name = ""
    lines = []
    for line in text.splitlines():
        table = re.match(r"\[columns\.(\w+)\]", line)
        name = table[1] if table else name
        key = line.partition(" =")[0]
        if "DECIDE" in line.partition("#")[0]:
            line = f"{key} = {'4.0' if key == 'epsilon' else DECISIONS[name][key]}"
        lines.append(line.replace('missing = "error"', 'missing = "drop"'))
    body = "\n".join(lines)
    body = body.replace("max_rows_per_person = 1", more) if more else body
    cross = '\n[publish.cross]\nkind = "histogram"\ncolumns = ["sex", "educ"]\n'
    wages = (
        '[publish.wages]\nkind = "mean"\ncolumn = "wage"\nby = ["educ"]\nwhere = "age >= 18"\nweight = 3\n'
    )
    return body + cross + wages


@pytest.mark.parametrize("name", FILES)
def test_six_commands_lead_to_a_labelled_cross_table(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame, more = FILES[name]()
    frame.to_csv("census.csv", index=False)
    assert run(["init", "census.csv", "--id", "pid", "--peek"]) == 0  # 1
    spec = tmp_path / "spec.toml"
    spec.write_text(decided(spec.read_text(encoding="utf-8"), more), encoding="utf-8")
    assert run(["plan", "spec.toml", "--rows", "1000"]) == 0  # 2
    assert run(["publish", "spec.toml"]) == 0  # 3
    capsys.readouterr()
    assert run(["show", "cross", "--json"]) == 0  # 4
    cells = json.loads(capsys.readouterr().out)
    exact = frame.dropna(subset=["educ"]).groupby(["sex", "educ"]).size()
    assert [tuple(cell["labels"].values()) for cell in cells] == [(s, e) for s in SEXES for e in SCHOOLS]
    for cell in cells:  # noise exceeds this once in 10¹⁰ cells
        assert abs(cell["estimate"] - exact[tuple(cell["labels"].values())]) < 4 * (
            cell["high"] - cell["low"]
        )
    assert run(["show", "cross", "--by", "educ"]) == 0  # 5
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines()] == ["cross", *SCHOOLS]
    assert "at 95%" in shown
    assert run(["show", "wages", "--json"]) == 0  # 6
    wages = json.loads(capsys.readouterr().out)
    adults = frame[frame.age >= 18].dropna(subset=["wage", "educ"]).groupby("educ").wage.mean()
    for wage in wages:
        assert abs(wage["estimate"] - adults[wage["labels"]["educ"]]) < 4 * (wage["high"] - wage["low"])


@pytest.mark.parametrize("name", FILES)
def test_six_lines_of_python_lead_there_too(name):
    frame, more = FILES[name]()
    rows = 2 if more else 1
    from undeleted import Category, histogram, publish  # 1

    sex, educ = Category("sex", values=SEXES), Category("educ", values=SCHOOLS, missing="drop")  # 2
    curator = publish(frame, id="pid", budget=4, rows_per_person=rows, cross=histogram(sex, educ))  # 3
    table = curator.show("cross").to_pandas(by=["educ"])  # 4
    assert table.educ.tolist() == list(SCHOOLS)
    exact = frame.groupby("educ").size().loc[list(SCHOOLS)]
    assert ((table.estimate - exact.to_numpy()).abs() < 4 * (table.high - table.low)).all()


def test_without_an_id_nothing_is_published(tmp_path, monkeypatch, capsys):
    """The first column is an age: it must not become the person."""
    monkeypatch.chdir(tmp_path)
    ids_last()[0].to_csv("census.csv", index=False)
    assert run(["init", "census.csv"]) == 0
    assert run(["publish", "spec.toml"]) == 2
    assert "this line still says DECIDE" in capsys.readouterr().err
    assert "id = DECIDE" in (tmp_path / "spec.toml").read_text(encoding="utf-8")
