"""A witness runs again from scratch, on what the caller names; altered or redacted ones are refused."""

import json
import stat
from pathlib import Path

import pytest

from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.replaying import ReplayTerms, replay
from undeleted.auditing.targets import TargetSpec
from undeleted.auditing.witness import load, save
from undeleted.errors import BadFile, Misuse

KEPT = Path(__file__).parents[1] / "fixtures" / "witness-v1.json"
ROWS = tuple({"age": 17 + 3 * i % 71, "pay": 1000 + 37 * i % 911} for i in range(80))


@pytest.fixture(scope="module")
def median():
    return audit("retrain:median", Options(budget=30))


@pytest.fixture
def written(median, tmp_path):
    path = tmp_path / "witness.json"
    save(median, path)
    return path


def altered(path, change):
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))
    return path


def test_it_holds_on_what_leaks_and_not_on_what_does_not(written):
    assert all(r.holds for r in replay(written, TargetSpec("retrain:median")))
    assert not any(r.holds for r in replay(written, TargetSpec("retrain:sum")))
    assert not any(r.holds for r in replay(written, TargetSpec("mechanism:exact-sum")))
    assert not any(r.holds for r in replay(written, TargetSpec("mechanism:frozen-median")))


def test_a_witness_of_an_older_day_still_runs():
    assert [r.holds for r in replay(KEPT, TargetSpec("retrain:median"))] == [True, True]


def test_it_names_no_program_that_is_run(written, tmp_path):
    """What the file says of its target is not used."""
    trap = tmp_path / "trap"
    altered(written, lambda body: body["target"].update(name=f"exec:touch {trap}", settings={"a": 1}))
    assert all(r.holds for r in replay(written, TargetSpec("retrain:median")))
    assert not trap.exists()


def test_another_observer_is_told_so(written):
    with pytest.raises(Misuse, match="another observer"):
        replay(written, TargetSpec("retrain:median"), ReplayTerms(digits=2))
    altered(written, lambda body: body["target"].update(see=["labels"]))
    with pytest.raises(Misuse, match="another observer") as refused:
        replay(written, TargetSpec("retrain:median"))
    assert "--see labels" in refused.value.remedy


def test_worlds_that_differ_in_what_is_deleted_show_nothing(written):
    """P1: what a leaver's own row tells is no finding."""

    def cheat(body):
        finding = next(f for f in body["findings"] if f["kind"] == "collision")
        gone = finding["batches"][0][0]
        for world in (finding["worlds"][1], finding["other"]):
            for row in world:
                if row["id"] == gone:
                    row["x"] += 1

    with pytest.raises(Misuse, match="what the attacker controls"):
        replay(altered(written, cheat), TargetSpec("retrain:median"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda body: body.update(format="other"), "not a witness"),
        (lambda body: body.update(version=99), "a format version other than"),
        (lambda body: body.update(findings=[]), "no finding"),
        (lambda body: body.update(findings=[{"kind": "miracle"}]), "lacks a part"),
        (lambda body: body["findings"][0].pop("batches"), "lacks a part"),
        (lambda body: body["findings"][0].update(seed="a"), "lacks a part"),
        (lambda body: body["findings"][0].update(tolerance=-1), "lacks a part"),
        (lambda body: body["findings"][0].update(one=[]), "lacks a part"),
        (lambda body: body["target"].update(columns=3), "lacks a part"),
        (lambda body: body.update(holds="redacted"), "redacted"),
    ],
)
def test_files_that_are_no_witness_are_refused(written, change, problem):
    with pytest.raises(BadFile, match=problem):
        replay(altered(written, change), TargetSpec("retrain:median"))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        load(tmp_path / "nowhere.json")
    (tmp_path / "garbage").write_text("{")
    with pytest.raises(BadFile, match="not JSON"):
        load(tmp_path / "garbage")


def test_real_values_are_marked_kept_private_and_left_out_on_request(tmp_path):
    from undeleted.auditing.columns import columns_of
    from undeleted.interfaces.report.audit import write_page

    target = TargetSpec("sklearn.preprocessing:MinMaxScaler", see=("data_min_",), columns=columns_of(ROWS))
    found = audit(target, Options(budget=30, rows=ROWS))
    assert found.undeleted == "broken"
    for redact in (False, True):
        witness, page = tmp_path / f"{redact}.json", tmp_path / f"{redact}.html"
        save(found, witness, redact=redact)
        write_page(found, page, replay=str(witness), redact=redact)
        for path in (witness, page):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        body = json.loads(witness.read_text())
        shown = {r["pay"] for f in body["findings"] for r in f["one"]} if not redact else set()
        if redact:
            assert body["holds"] == "redacted"
            assert "pay" not in json.dumps(body["findings"])
            assert "real values" not in page.read_text()
            with pytest.raises(BadFile, match="redacted"):
                replay(witness, target)
        else:
            assert "real values" in body["holds"]
            assert shown <= {r["pay"] for r in ROWS}
            assert "real values of people" in page.read_text()
            assert all(r.holds for r in replay(witness, target))
    assert json.loads((tmp_path / "True.json").read_text())["undeleted"] == "broken"
