"""The report of a reproduction: written as it goes, taken up again, refused where it is another's.

Covers: interfaces/cli/reproduce.py, interfaces/report/_page.py
"""

import json
import re

import pytest

from undeleted.interfaces.cli import run
from undeleted.interfaces.report.reproduction import Reproduction, chosen, claims
from undeleted.interfaces.report.reproduction_page import page
from undeleted.paper.claim import Setting

FAST = ["P3", "D4", "M4"]


def reproduce(folder, *more, only=FAST):
    named = [word for name in only for word in ("--only", name)]
    return run(["reproduce", "--quick", "--out", str(folder), *named, *more])


def kept(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_a_report_is_a_page_and_its_figures(tmp_path, capsys):
    assert reproduce(tmp_path / "new" / "report") == 0
    printed = capsys.readouterr().out
    report = kept(tmp_path / "new" / "report")
    assert list(report["claims"]) == FAST
    assert report["summary"] == {"holds": 3, "holds with a correction": 0, "does not hold": 0}
    text = (tmp_path / "new" / "report" / "index.html").read_text(encoding="utf-8")
    for name, claim in report["claims"].items():
        assert re.search(rf"{name} +holds", printed)
        assert f'<section id="{name}">' in text
        assert claim["command"] == f"undeleted reproduce --only {name} --quick --seed 7"
        assert all(figure["holds"] for figure in claim["figures"])
    assert text.count("<svg ") == 3
    assert "://" not in text, "nothing is loaded from anywhere"
    assert "default-src 'none'" in text


def test_the_same_seed_gives_the_same_report(tmp_path):
    """Apart from the seconds and the machine; another seed gives another."""
    texts, figures = [], []
    for name, seed in (("one", "7"), ("again", "7"), ("other", "8")):
        assert reproduce(tmp_path / name, "--seed", seed, only=["P3", "P8", "M6", "M5"]) == 0
        report = kept(tmp_path / name)
        del report["seconds"], report["machine"]
        figures.append(report)
        text = (tmp_path / name / "index.html").read_text(encoding="utf-8")
        text = re.sub(r"<small class=seconds>[^<]*</small>", "", text)
        texts.append(re.sub(r"<span class=machine>[^<]*</span>", "", text))
    assert figures[0] == figures[1] != figures[2]
    assert texts[0] == texts[1] != texts[2]


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("undeleted.interfaces.report.reproduction.claims", lambda: ["P3", "D4", "M4"])
    from undeleted.interfaces.report import reproduction

    ran, real = [], reproduction.run

    def stopped(name, setting):
        ran.append(name)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return real(name, setting)

    monkeypatch.setattr(reproduction, "run", stopped)
    assert run(["reproduce", "--quick", "--out", str(tmp_path)]) == 130
    assert list(kept(tmp_path)["claims"]) == ["P3"]
    assert run(["reproduce", "--quick", "--out", str(tmp_path)]) == 0
    assert ran == ["P3", "D4", "D4", "M4"], "what was done is not done again"
    said = capsys.readouterr()
    assert "stopped; run the same command again to continue" in said.err
    assert "1 of 3 claims were already done" in said.err
    assert said.out.count("P3  ") == 2, "what is there is shown again"
    assert list(kept(tmp_path)["claims"]) == ["P3", "D4", "M4"]


def test_naming_a_claim_runs_it_anew_and_keeps_the_others(tmp_path):
    assert reproduce(tmp_path) == 0
    report = Reproduction.open(tmp_path, Setting(quick=True))
    report.results["P3"]["verdict"] = report.results["D4"]["verdict"] = "does not hold"
    report.save()
    assert reproduce(tmp_path, only=["p3"]) == 1, "the other is still as it was"
    assert kept(tmp_path)["claims"]["P3"]["verdict"] == "holds"
    assert reproduce(tmp_path, only=["p3, d4"]) == 0


@pytest.mark.parametrize("other", [["--seed", "8"], []])
def test_another_report_is_not_overwritten_by_accident(tmp_path, other, capsys):
    assert reproduce(tmp_path, *other) == 0
    before = (tmp_path / "report.json").read_bytes()
    arguments = ["reproduce", "--only", "P3", "--out", str(tmp_path)]  # a full one
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert "holds another report (quick" in said
    assert "--overwrite" in said
    assert (tmp_path / "report.json").read_bytes() == before
    assert run([*arguments, "--overwrite"]) == 0
    assert list(kept(tmp_path)["claims"]) == ["P3"]


def test_bad_input_is_two_lines_and_nothing_is_touched(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    assert run(["reproduce", "--quick", "--out", str(file)]) == 2
    (tmp_path / "index.html").write_text("mine too")
    assert reproduce(tmp_path) == 2
    assert (tmp_path / "index.html").read_text() == "mine too"
    assert reproduce(file / "under") == 2
    (tmp_path / "report.json").write_text("{}")
    assert reproduce(tmp_path) == 2
    (tmp_path / "report.json").write_text("no json")
    assert reproduce(tmp_path) == 2
    assert (tmp_path / "report.json").read_text() == "no json"
    assert reproduce(tmp_path / "x", only=["P10"]) == 2
    said = capsys.readouterr().err
    assert "P10" in said
    assert "Traceback" not in said
    assert not (tmp_path / "x").exists()
    assert file.read_text() == "mine"


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == "altair" else find(n, *a))
    assert reproduce(tmp_path / "x") == 2
    assert "undeleted[plots]" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_claim_that_does_not_hold_is_exit_1_and_on_the_page(tmp_path, monkeypatch, capsys):
    from undeleted.curate.mechanisms import frozen_median

    monkeypatch.setattr(
        frozen_median.FrozenMedian, "release", lambda self, totals, coins: frozen_median.Frozen(0)
    )
    assert reproduce(tmp_path, only=["M4"]) == 1
    assert "does not hold" in capsys.readouterr().out
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "1 does not hold" in text
    assert 'aria-label="not as predicted"' in text


def test_json_is_the_figures_without_the_pictures(tmp_path, capsys):
    assert reproduce(tmp_path, "--json", only=["P3"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["claims"]["P3"]["verdict"] == "holds"
    assert "pictures" not in said["claims"]["P3"]
    assert said["page"].endswith("index.html")


def test_claims_come_in_the_order_of_the_paper():
    assert claims()[:10] == ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "D1"]
    assert claims()[-3:] == ["M11", "G4", "survey"]
    assert chosen(["m3", "P6,survey"]) == ["P6", "M3", "survey"]
    assert chosen([]) == claims()


def test_the_page_of_an_unfinished_report_shows_what_there_is(tmp_path):
    report = Reproduction.open(tmp_path, Setting(quick=True))
    assert "0 of 27 claims" in page(report)
    report.add("P3")
    text = page(report)
    assert "1 of 27 claims" in text
    assert "undeleted reproduce --only P3 --quick --seed 7" in text


def test_what_broke_off_is_tried_again(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise MemoryError

    monkeypatch.setattr("undeleted.interfaces.report.reproduction.claims", lambda: ["P3", "M4"])
    with monkeypatch.context() as patch:
        patch.setattr("undeleted.games.attacks.threshold.run", stop)
        assert run(["reproduce", "--quick", "--out", str(tmp_path)]) == 1
    assert run(["reproduce", "--quick", "--out", str(tmp_path)]) == 0


def test_claims_are_listed(capsys):
    assert run(["list", "claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == claims()
    assert all(entry["says"] and entry["where"] for entry in listed)
    assert run(["list", "claims"]) == 0
    assert "Appendix A" in capsys.readouterr().out
