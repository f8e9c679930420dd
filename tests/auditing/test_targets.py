"""What can be audited, what is seen of it, and how a target that fails ends an audit.

Covers: auditing/targets/*.py, auditing/targets/adapters/*.py
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.columns import TargetColumn
from undeleted.auditing.lab import Lab, apart, far
from undeleted.auditing.state import AuditState
from undeleted.auditing.targets import Target, TargetSpec
from undeleted.auditing.targets._load import load
from undeleted.auditing.targets._serve import serve
from undeleted.auditing.targets.process import Clock
from undeleted.errors import AuditTimeUp, BadColumns, Misuse, TargetFailed

TINY = Path(__file__).parent / "curators" / "tiny.py"
PEOPLE = [{"id": f"p{i}", "x": x} for i, x in enumerate([5, 1, 9, 7, 3])]
LABELLED = [
    {"id": f"p{i}", "x": x, "y": y} for i, (x, y) in enumerate([(5, 1), (1, 0), (9, 1), (7, 0), (3, 0)])
]


def play(named, records, batches, seed=7, digits=None):
    with Target(named, Clock(60)) as target:
        return Lab(target, digits).play(records, batches, seed)


def play_here(named, records, digits=None):
    """The first output, without a process of its own: importing scikit-learn takes longer than all else."""
    message = {"op": "play", "records": records, "batches": [], "seeds": [7]}
    outputs = json.loads(json.dumps(serve(load(named.as_json()), message)))
    target = SimpleNamespace(has_density=False, named=named, play=lambda *_: outputs)
    return Lab(target, digits).play(records, [], 7)[0]


def tiny(name, **kwargs):
    return TargetSpec(f"{TINY}:{name}", **kwargs)


def test_ours_by_name():
    assert play(TargetSpec("retrain:median"), PEOPLE, [["p2"], ["p3"]]) == (5, 3, 3)
    assert play(TargetSpec("mechanism:exact-sum"), PEOPLE, [["p2"]]) == (((25,),), ((16,),))
    with pytest.raises(Misuse, match="retrain"):
        play(TargetSpec("retrain:mode"), PEOPLE, [])
    with pytest.raises(Misuse, match="noisy-sum"):
        play(TargetSpec("mechanism:noisy-sums"), PEOPLE, [])
    with pytest.raises(Misuse, match="no setting"):
        play(TargetSpec("mechanism:noisy-sum", {"epsilons": 1}), PEOPLE, [])


def test_any_function_is_computed_again():
    assert play(TargetSpec("retrain:statistics:median_low"), PEOPLE, [["p2"], ["p3"]]) == (5, 3, 3)
    assert play(TargetSpec("retrain:numpy:quantile", {"q": 1.0}), PEOPLE, [["p2"]]) == (9.0, 7.0)
    with pytest.raises(Misuse, match="not a function"):
        Target(TargetSpec("retrain:math:pi"), Clock(60))


def test_a_seed_fixes_the_coins_of_ours():
    noisy = TargetSpec("mechanism:noisy-sum", {"epsilon": 0.1, "high": 9})
    first, again, other = (play(noisy, PEOPLE, [["p1"]], seed) for seed in (1, 1, 2))
    assert first == again != other


def test_an_estimator_is_retrained():
    named = TargetSpec(
        "sklearn.linear_model:LinearRegression",
        columns=(TargetColumn("x", 0, 9), TargetColumn("y", 0, 1)),
        label="y",
    )
    first, then = play(named, LABELLED, [["p2"]], digits=9)
    import numpy as np

    for said, rows in ((first, LABELLED), (then, [r for r in LABELLED if r["id"] != "p2"])):
        slope, intercept = np.polyfit([r["x"] for r in rows], [r["y"] for r in rows], 1)
        assert said == ((round(slope, 9),), round(intercept, 9))


def test_what_is_seen_can_be_chosen():
    columns = (TargetColumn("x", 0, 9), TargetColumn("y", values=(0, 1)))

    def seen(*see, at=(), digits=None):
        named = TargetSpec("sklearn.naive_bayes:GaussianNB", see=see, at=at, columns=columns, label="y")
        return play_here(named, LABELLED, digits)

    assert set(seen("labels", at=((0.0,), (9.0,)))) == {0, 1}
    assert len(seen("predictions", at=((0.0,), (9.0,)))) == 2
    assert sum(seen("predictions", at=((4.0,),))[0]) == pytest.approx(1)
    assert seen("class_count_") == (3.0, 2.0)
    assert dict(seen("fitted"))["class_count_"] == (3.0, 2.0)
    theta = seen("theta_", digits=1)
    assert theta == ((3.7,), (7.0,))
    with pytest.raises(Misuse, match="no coef_"):
        seen("coef_")
    with pytest.raises(Misuse, match="no key 'mean'"):
        play(tiny("Keyed", see=("mean",)), PEOPLE, [])
    assert play(tiny("Keyed", see=("sum",)), PEOPLE, [["p0"]]) == ((("sum", 25),), (("sum", 20),))


def test_an_online_statistic_is_reverted():
    pytest.importorskip("river")
    assert play(TargetSpec("river.stats:Mean"), PEOPLE, [["p2"]]) == (5.0, 4.0)
    pairs = [{"id": "a", "x": 1, "y": 2}, {"id": "b", "x": 2, "y": 4}, {"id": "c", "x": 5, "y": 1}]
    assert len(play(TargetSpec("river.stats:Cov"), pairs, [["c"]])) == 2


def test_a_model_that_deletes_rows_is_told_their_place_at_the_start():
    columns = (TargetColumn("x", 0, 9), TargetColumn("y", values=(0, 1)))
    named = tiny("ForestLike", see=("labels",), at=((9.0,),), columns=columns, label="y")
    assert play(named, LABELLED, [["p2"], ["p3"], ["p0"]]) == ((1,), (0,), (1,), (0,))


def test_a_program_in_another_language_plays():
    shell = Path(__file__).parents[2] / "examples" / "median.sh"
    assert play(TargetSpec(f"exec:sh {shell}"), PEOPLE, [["p2"], ["p3", "p4"]]) == (5, 3, 1)


def test_a_program_that_serves_one_start_is_launched_again():
    named = TargetSpec(f"exec:{sys.executable} {TINY} once")
    with Target(named, Clock(60)) as target:
        assert target.play(PEOPLE, [["p2"]], [1, 2, 3]) == [[5, 3]] * 3
        assert target._one_start
    with pytest.raises(TargetFailed, match="exit code 1: out of order"):
        audit(f"exec:{sys.executable} {TINY} quits", Options(calls=2_000))


def test_what_a_target_prints_does_not_reach_the_protocol():
    assert play(tiny("Prints"), PEOPLE, [["p2"]]) == (5, 3)


@pytest.mark.parametrize(
    ("name", "call", "reason"),
    [
        ("Crash", "delete", "exit code 9"),
        ("Segfault", "start", "SIGSEGV"),
        ("Hang", "delete", "no answer within"),
        ("NotANumber", "delete", "NaN"),
        ("FittedNotANumber", "start", "NaN"),
        ("Fails", "delete", "RuntimeError: the deletion failed"),
        ("Drifts", "start", "changes without a deletion"),
        ("DriftsOnLooking", "looking", "changed without a deletion"),
        ("DriftsOnNothing", "delete nobody", "changed without a deletion"),
        ("Unwritable", "start", "cannot be serialised"),
    ],
)
def test_a_target_that_fails_gives_no_verdict(name, call, reason):
    with pytest.raises(TargetFailed, match=reason) as failed:
        audit(tiny(name), Options(calls=2_000, timeout=2 if name == "Hang" else None))
    assert call in failed.value.call


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("garbage", "not JSON"),
        ("list", "not an object"),
        ("empty", "neither an output"),
        ("silent", "no answer within"),
        ("nan", "NaN"),
        ("quits", "exit code 1: out of order"),
    ],
)
def test_a_program_that_fails_gives_no_verdict(mode, reason):
    with pytest.raises(TargetFailed, match=reason):
        audit(
            f"exec:{sys.executable} {TINY} {mode}",
            Options(calls=2_000, timeout=2 if mode == "silent" else None),
        )


def test_a_program_may_not_speak_for_us():
    """`misuse` is a word between us and our own adapters."""
    with pytest.raises(TargetFailed, match="neither an output"):
        audit(f"exec:{sys.executable} {TINY} misuse", Options(calls=2_000))


def test_a_program_that_says_too_much_is_told_so():
    with pytest.raises(TargetFailed, match="more than the one line"):
        audit(f"exec:{sys.executable} {TINY} twice", Options(calls=2_000))
    with pytest.raises(TargetFailed, match="left a line unfinished"):
        audit(f"exec:{sys.executable} {TINY} unended", Options(calls=2_000, timeout=3))


def test_what_a_target_says_cannot_steer_a_terminal():
    with pytest.raises(TargetFailed) as failed:
        audit(f"exec:{sys.executable} {TINY} escapes", Options(calls=2_000))
    assert "\x1b" not in str(failed.value)


def test_a_label_that_is_no_column_is_refused():
    with pytest.raises(BadColumns, match="label is not a column"):
        Target(tiny("Median", label="y"), Clock(60))


def test_a_slow_target_is_audited_with_what_calls_there_are():
    """A few hundred in all, as of a target that takes a tenth of a second for one."""
    found = audit(tiny("Median"), Options(calls=375))
    assert found.undeleted == "broken"
    assert found.delta >= 0.5
    assert found.calls < 375 + 100, "what was begun is finished"


def test_seconds_are_a_budget_too():
    """The pace of a call is measured: a target that takes forty milliseconds is slow for ten seconds."""
    with Target(tiny("Slow"), Clock(60)) as target:
        case = AuditState(TargetSpec("slow"), target, Options(budget=10), Clock(10), lambda share, text: None)
        case.paces = [0.04]
        assert case.is_slow
        case.paces = [0.001]
        assert not case.is_slow
        clock = Clock(0.001)
        while clock.spent < clock.budget:
            pass
        with pytest.raises(AuditTimeUp):
            clock.check()


def test_a_budget_that_is_over_at_once_is_no_bug():
    with pytest.raises(TargetFailed, match="loading the target"):
        audit("retrain:median", Options(budget=0.01))


def test_an_error_in_some_worlds_is_no_failure():
    assert audit(tiny("Refuses"), Options(calls=20_000)).undeleted == "broken"
    assert audit(tiny("NeedsMany"), Options(calls=20_000)).undeleted == "broken"


def test_what_real_rows_are_made_of_is_not_repeated():
    with Target(tiny("Fails"), Clock(60), hide=True) as target:
        target.start(PEOPLE, 1)
        with pytest.raises(TargetFailed) as failed:
            target.delete(["p0"])
    assert "the deletion failed" not in str(failed.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nonsense", "does not name a target"),
        ("no.such.module:Thing", "no module no"),
        ("undeleted:Nothing", "has no 'Nothing'"),
        ("nowhere.py:Thing", "no file"),
        (f"{TINY}:Nothing", "can neither delete"),
        ("exec:", "lacks a program"),
        ("exec:./no/such/program", "cannot be run"),
        ("exec:sh -c 'unclosed", "cannot be parsed"),
        ("sklearn.cluster:KMeans", "takes no setting"),
        ("sklearn.model_selection:GridSearchCV", "needs a setting 'estimator'"),
    ],
)
def test_a_name_that_leads_nowhere_is_misuse(name, problem):
    settings = {"clusters": 2} if "KMeans" in name else {}
    with pytest.raises(Misuse, match=problem):
        Target(TargetSpec(name, settings), Clock(60))


def test_the_budget_ends_a_call_and_nothing_survives():
    clock = Clock(60, timeout=60)
    with Target(tiny("Hang"), clock) as target:
        clock.budget = clock.spent + 1
        with pytest.raises(AuditTimeUp):
            target.play(PEOPLE, [["p0"]], [1])
    assert target._program._child.poll() is not None


def test_how_far_outputs_are_apart():
    assert apart((1.0, "a"), (1.0, "a")) == 0
    assert apart((1.0, "a"), (1.0, "b")) == apart((1,), (1, 2)) == float("inf")
    assert apart((1000.0,), (1001.0,)) == pytest.approx(1 / 1001)
    assert apart(0.0, 1e-12) == pytest.approx(1e-12)
    assert far([1, 2, 3], [1, 2, 4]) == 2
    assert far([1.0], [1.0 + 1e-15]) is None
