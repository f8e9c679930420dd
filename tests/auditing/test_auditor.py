"""Verdicts on what is known to leak and on what is known to be safe.

Budgets are calls of the target, so that an audit does the same on every machine, however busy.  ALARM: a
verdict on a safe randomised target is a false alarm with probability 1e-3, by the promise of an audit that
is asked for that confidence; it was decided with the seed, and is decided anew when an audit draws other
numbers.  The leaky twins are caught at the same budget.  `benchmarks/false_alarms.py` counts at 95%.

Covers: auditing/state.py, auditing/collisions.py, auditing/forgetting.py, auditing/judging.py,
        auditing/probing.py, auditing/proving.py, auditing/verdict.py
"""

from dataclasses import replace
from pathlib import Path

import pytest

from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.columns import TargetColumn
from undeleted.auditing.replaying import replay
from undeleted.auditing.sequential_tests import FirstOutput
from undeleted.auditing.targets import TargetSpec
from undeleted.auditing.witness import save
from undeleted.errors import Misuse, TargetFailed

TINY = Path(__file__).parent / "curators" / "tiny.py"
LOOSE = Options(calls=40_000)
SURE = Options(calls=40_000, confidence=0.999)
SOME = Options(calls=4_000)  # of a target that takes milliseconds for each


def tiny(name, **kwargs):
    return TargetSpec(f"{TINY}:{name}", **kwargs)


BROKEN = {
    "exact median": (TargetSpec("retrain:median"), 0.9, "rank-walk"),
    "2-means": (TargetSpec("sklearn.cluster:KMeans", {"n_clusters": 2}), 0.02, "prefix-sums"),
    "2-means of one seed": (
        TargetSpec("sklearn.cluster:KMeans", {"n_clusters": 2, "random_state": 0}),
        0.5,
        "prefix-sums",
    ),
    "least squares": (TargetSpec("sklearn.linear_model:LinearRegression"), 0.9, "gram-differencing"),
    "ridge": (TargetSpec("sklearn.linear_model:Ridge"), 0.9, "gram-differencing"),
    "tree": (TargetSpec("sklearn.tree:DecisionTreeClassifier", see=("labels",)), 0.5, None),
    "logistic": (TargetSpec("sklearn.linear_model:LogisticRegression"), 0.5, None),
    "pad": (TargetSpec("baseline:xor-undeleted"), 0.1, None),
    "certified removal": (TargetSpec("baseline:certified-removal"), 0.2, None),
    "certified removal, ridge": (TargetSpec("baseline:certified-removal", {"loss": "ridge"}), 0.2, None),
    "threshold": (TargetSpec("baseline:threshold"), 0.5, "rank-walk"),
    "a model that deletes rows": (tiny("ForestLike", see=("labels",)), 0.5, None),
}


TRIES = 4  # replays draw new stages; one of 2-means exposes nobody now and then, and four rarely in a row
LONG = (
    "2-means",
    "certified removal",
    "certified removal, ridge",
    "least squares",
    "logistic",
)  # or like another


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in BROKEN]
)
def test_what_leaks_is_broken_and_its_witness_replays(name, tmp_path):
    target, least, exposing = BROKEN[name]
    found = audit(target, LOOSE)
    assert found.undeleted == "broken"
    assert found.delta >= least
    assert found.delta < 1
    assert [e.attack for e in found.exposures] == ([exposing] if exposing else [])
    assert all(e.exposed > 0 and e.false_claims == 0 for e in found.exposures)
    save(found, tmp_path / "witness.json")
    for _ in range(TRIES):
        again = replay(tmp_path / "witness.json", target)
        assert again
        if all(r.holds for r in again):
            return
    raise AssertionError([r.says for r in again])


def test_river_forgets_a_mean_and_not_a_variance():
    """1e9 taken back from 1e9, 1, 2, 4 leaves a mean of 7/3; the variance is gone."""
    pytest.importorskip("river")
    mean, variance = audit("river.stats:Mean", LOOSE), audit("river.stats:Var", LOOSE)
    assert mean.exit_code == 0
    assert mean.undeleted.startswith("not broken")
    assert mean.forgets.verdict == "yes"
    assert variance.undeleted == "broken"
    assert variance.forgets.verdict == "no"
    assert variance.forgets.evidence["after_deletion"] != variance.forgets.evidence["from_scratch"]


@pytest.mark.slow
def test_everything_public_is_safe_up_to_rounding_which_is_told(tmp_path):
    """GaussianNB's next state follows from the last one and the deleted row; its floating point does not."""
    target = TargetSpec("sklearn.naive_bayes:GaussianNB", see=("fitted",))
    found = audit(target, SOME)
    assert found.undeleted.startswith("not broken by these")
    assert found.forgets.verdict == "yes"
    assert "rounding alone" in found.rounding
    assert [f["kind"] for f in found.findings] == ["rounding"]
    save(found, tmp_path / "witness.json")
    [again] = replay(tmp_path / "witness.json", target)
    assert again.holds
    strict = audit(target, replace(SOME, tolerance=0.0))
    assert strict.undeleted == "broken"
    labels = audit(TargetSpec("sklearn.naive_bayes:GaussianNB", see=("labels",)), SOME)
    assert labels.undeleted == "broken", "the same model, seen through labels"


@pytest.mark.parametrize(
    "name", ["mechanism:exact-sum", "mechanism:bulletin-board", "retrain:sum", "mechanism:frozen-median"]
)
def test_deterministic_ones_that_are_safe_are_not_broken(name):
    found = audit(name, Options(calls=8_000))
    assert found.undeleted.startswith("not broken by these")
    assert found.forgets.verdict == ("no" if "frozen" in name else "yes")
    assert "pairs of worlds" in found.smallest
    assert found.exposures == ()


@pytest.mark.parametrize(
    "name",
    [
        "mechanism:noisy-sum",
        "mechanism:noisy-histogram",
        pytest.param("baseline:tree-counter", marks=pytest.mark.slow),
    ],
)
def test_randomised_ones_that_are_safe_are_not_broken(name):
    """At the size at which fresh noise is caught."""
    found = audit(name, replace(SURE, calls=20_000))
    assert found.randomised
    assert found.undeleted.startswith("not broken by these")
    assert found.rounding is None


def test_noise_drawn_once_is_safe_and_noise_drawn_again_is_not():
    """One line of difference between the two."""
    for leaky, options in (
        (tiny("FreshNoise"), SURE),
        (TargetSpec("recompute:sum"), replace(SURE, calls=20_000)),
    ):
        assert audit(leaky, options).undeleted in ("broken", "not perfectly safe")
    safe = audit(tiny("NoiseOnce"), SURE)
    assert safe.undeleted.startswith("not broken")
    assert safe.forgets.verdict == "yes"


def test_a_target_with_coins_of_its_own_is_refused_unless_that_is_said():
    with pytest.raises(TargetFailed, match="changes without a deletion") as refused:
        audit(tiny("Unseeded"), LOOSE)
    assert "--unseeded" in refused.value.remedy
    found = audit(tiny("Unseeded"), replace(SURE, unseeded=True))
    assert found.undeleted.startswith("not broken")


def test_a_stated_privacy_of_the_first_output_is_used_and_reported():
    """A continuous first output: only the assumption bounds it, and without it there is an indication."""
    without = audit(tiny("FreshGauss"), replace(SURE, calls=20_000))
    told = audit(tiny("FreshGauss"), Options(calls=100_000, first=FirstOutput(0.0, 0.39)))
    assert without.undeleted.startswith("not broken")
    assert without.delta is None
    assert without.assumptions == ()
    assert any("--first-epsilon" in said for said in without.indications)
    assert told.undeleted == "broken"
    assert 0 < told.delta < 0.5
    assert "0.39" in told.assumptions[0]
    assert "privacy" in told.argument


def test_what_does_not_forget_is_told_with_evidence():
    found = audit(tiny("Stubborn"), LOOSE)
    assert found.undeleted.startswith("not broken")
    assert found.forgets.verdict == "no"
    assert found.exit_code == 1
    evidence = found.forgets.evidence
    gone = set(evidence["deleted"])
    assert evidence["after_deletion"] == sum(r["x"] for r in evidence["records"])
    assert evidence["from_scratch"] == sum(r["x"] for r in evidence["records"] if r["id"] not in gone)


def test_a_rare_accident_is_no_collision():
    """A seed in fifty adds something to a sum: under that seed worlds differ, and nobody is exposed by it."""
    found = audit(tiny("RarelyRandom"), SURE)
    assert found.undeleted.startswith("not broken")


@pytest.mark.parametrize("name", ["Accidents", "Coin", "Pad", "HeavyTails", "Rounded"])
def test_safe_targets_that_set_traps_are_not_accused(name):
    """Rare accidents, pads, heavy tails, rounding: none of them tells anything of those who stay."""
    found = audit(tiny(name), SURE)
    assert found.undeleted.startswith("not broken")
    if name != "Pad":  # whose first output says nothing, and later ones something
        assert found.forgets.verdict != "no"


def test_a_sign_of_zero_is_seen():
    """0.0 and −0.0 are two first outputs: worlds that differ in it do not collide."""
    found = audit(tiny("Signs"), LOOSE)
    assert found.undeleted.startswith("not broken")


def test_a_vector_that_moves_after_a_deletion_does_not_forget(tmp_path):
    found = audit(tiny("Shifted"), LOOSE)
    assert found.forgets.verdict == "no"
    assert found.forgets.evidence["advantage_at_least"] > 0.5
    save(found, tmp_path / "witness.json")
    [moved] = [r for r in replay(tmp_path / "witness.json", tiny("Shifted")) if r.kind == "forgets"]
    [repaired] = [r for r in replay(tmp_path / "witness.json", tiny("Coin")) if r.kind == "forgets"]
    assert moved.holds
    assert not repaired.holds


@pytest.mark.parametrize("name", ["Refusing", "Alarm", "Trimmed"])
def test_refusals_thresholds_and_trimming_are_broken(name, tmp_path):
    """What a first output hides until somebody leaves: a refusal, a vanishing name, an end that moves in."""
    found = audit(tiny(name), LOOSE)
    assert found.undeleted == "broken"
    save(found, tmp_path / "witness.json")
    assert all(r.holds for r in replay(tmp_path / "witness.json", tiny(name)))


def test_whole_numbers_do_not_round():
    found = audit(tiny("Stamps"), LOOSE)
    assert found.forgets.verdict == "no"
    assert found.rounding is None


def test_a_first_output_that_no_two_worlds_share_is_tried_with_fewer_digits():
    found = audit(tiny("Injective"), Options(calls=6_000))
    assert found.undeleted.startswith("not broken")
    assert any("--digits 2" in said for said in found.indications)
    assert audit(tiny("Injective"), Options(calls=10_000, digits=2)).undeleted == "broken"


def test_what_is_seen_decides():
    """The largest value is somebody's; the sum is not."""
    assert audit(tiny("Keyed"), LOOSE).undeleted == "broken"
    assert audit(tiny("Keyed", see=("largest",)), LOOSE).undeleted == "broken"
    assert audit(tiny("Keyed", see=("sum",)), LOOSE).undeleted.startswith("not broken")


def test_rounded_for_the_observer_is_another_observer():
    """Means rounded to whole numbers are no function of the last one: rounding hides, and so leaks."""
    mean = TargetSpec("sklearn.dummy:DummyRegressor", see=("predictions",))
    assert audit(mean, Options(calls=6_000)).undeleted.startswith("not broken")
    assert audit(mean, Options(calls=6_000, digits=0)).undeleted == "broken"


def test_the_same_seed_gives_the_same_verdict():
    """To the last call: with a budget of calls an audit is a function of its seed, on any machine."""
    first, again = (audit("baseline:xor-undeleted", LOOSE) for _ in range(2))
    assert first.findings == again.findings
    assert first.calls == again.calls
    assert audit("baseline:xor-undeleted", replace(LOOSE, seed=8)).findings != first.findings


def test_columns_of_several_kinds():
    columns = (
        TargetColumn("age", 17, 90),
        TargetColumn("sex", values=("f", "m")),
        TargetColumn("y", values=("no", "yes")),
    )
    found = audit(
        TargetSpec("sklearn.tree:DecisionTreeClassifier", see=("labels",), columns=columns, label="y"), LOOSE
    )
    assert found.undeleted == "broken"
    assert {r["sex"] for r in found.findings[0]["one"]} <= {"f", "m"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0},
        {"calls": 0},
        {"budget": float("inf")},
        {"confidence": 1.0},
        {"people": 4},
        {"rows": ({"x": 1},) * 5},
        {"digits": -1},
        {"tolerance": -1.0},
        {"timeout": 0.0},
    ],
)
def test_options_that_cannot_be_are_refused(wrong):
    with pytest.raises(Misuse):
        Options(**wrong)


@pytest.mark.parametrize("wrong", [(-1.0, 0.0), (float("nan"), 0.0), (1.0, -0.1), (1.0, 1.0), (None, 0.1)])
def test_a_privacy_that_cannot_be_is_no_bound(wrong):
    """A negative ε would bring two first outputs nearer than they can be, and break anything."""
    with pytest.raises(Misuse):
        FirstOutput(*wrong)


def test_only_what_was_used_is_assumed():
    """Under a common seed the pads are equal: no stated privacy is needed, and none is reported."""
    found = audit("baseline:xor-undeleted", replace(LOOSE, first=FirstOutput(40.0)))
    assert found.undeleted == "broken"
    assert "coupling" in found.argument
    assert found.assumptions == ()
