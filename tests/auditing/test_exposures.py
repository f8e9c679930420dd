"""Attacks that read values off win where theory says so, claim nothing false, and lose where it is safe."""

from pathlib import Path

import pytest

from undeleted.auditing.columns import TargetColumn
from undeleted.auditing.exposures import Stage
from undeleted.auditing.exposures.gram_differencing import GramDifferencing
from undeleted.auditing.exposures.prefix_sums import PrefixSums
from undeleted.auditing.exposures.rank_walk import OWN, RankWalk
from undeleted.auditing.lab import Lab
from undeleted.auditing.pairs import Space
from undeleted.auditing.targets import Target, TargetSpec
from undeleted.auditing.targets.process import Clock
from undeleted.foundations import registry
from undeleted.foundations.coins import seeded

TINY = Path(__file__).parent / "curators" / "tiny.py"
LINE = Space((TargetColumn("x", 0, 10**6),))
PLANE = Space((TargetColumn("x0", 0, 100), TargetColumn("x1", 0, 100), TargetColumn("y", -64, 64)), "y")
WINS = {
    "rank-walk": (RankWalk(), LINE, TargetSpec(f"{TINY}:Median"), TargetSpec(f"{TINY}:Line")),
    "prefix-sums": (
        PrefixSums(),
        LINE,
        TargetSpec("sklearn.cluster:KMeans", {"n_clusters": 2}),
        TargetSpec("sklearn.preprocessing:StandardScaler", see=("mean_", "var_")),
    ),
    "gram-differencing": (
        GramDifferencing(),
        PLANE,
        TargetSpec("sklearn.linear_model:Ridge", columns=PLANE.columns, label="y"),
        TargetSpec(
            "sklearn.dummy:DummyRegressor", see=("constant_", "n_outputs_"), columns=PLANE.columns, label="y"
        ),
    ),
}


def test_every_attack_has_a_world_where_it_wins():
    assert set(WINS) == set(registry.names("undeleted.auditing.exposures"))


@pytest.mark.parametrize(
    ("name", "seed"), [("rank-walk", 1), ("rank-walk", 2), *((name, 3) for name in WINS)]
)
def test_it_wins_on_what_leaks_without_a_false_claim_and_loses_on_what_does_not(name, seed):
    attack, space, leaky, safe = WINS[name]
    stage = next(attack.stages(space, seeded(seed)))
    stage = Stage.from_json(stage.as_json())
    with Target(leaky, Clock(60)) as target:
        found = attack.play(Lab(target), stage, seed)
    assert found is not None
    assert found.exposed >= 1
    assert found.false_claims == 0
    truth = {r["id"]: r for r in stage.staying}
    for person, claim in found.claims.items():
        claimed = claim if isinstance(claim, dict) else {space.columns[0].name: claim}
        for column, value in claimed.items():
            assert value == pytest.approx(truth[person][column], abs=1e-3)
    with Target(safe, Clock(60)) as target:
        assert attack.play(Lab(target), stage, seed) is None


def test_the_walk_exposes_half_of_what_it_deletes():
    """Theory: K own points above the median of an odd number expose ⌈K/2⌉."""
    with Target(TargetSpec("retrain:median"), Clock(60)) as target:
        space = Space((TargetColumn("x", 0, 1000),))
        found = RankWalk().play(Lab(target), next(RankWalk().stages(space, seeded(7))), 7)
    assert found.exposed == OWN // 2


def test_coincidences_are_not_exposures():
    """Outputs that run through small numbers hit somebody sooner or later."""
    space = Space((TargetColumn("x", 0, 600),))
    stage = next(RankWalk().stages(space, seeded(7)))

    class Counting:
        def play(self, records, batches, seed):
            return [float(i) for i in range(len(batches) + 1)]

    assert RankWalk().play(Counting(), stage, 7) is None


def test_attacks_that_do_not_apply_have_no_stage():
    for attack in (PrefixSums(), GramDifferencing()):
        assert list(attack.stages(Space((TargetColumn("sex", values=("f", "m")),)), seeded(1))) == []
    assert list(RankWalk().stages(Space((TargetColumn("x", 0, 9),)), seeded(1))) == []
