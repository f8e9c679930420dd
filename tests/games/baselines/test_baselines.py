"""What people do today, as it is; deleting what is not there changes nothing.

Covers: games/baselines/*.py
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram
from undeleted.curate.statistics import Count
from undeleted.errors import BadBudget, BudgetSpent, NoRecords, NotStarted, RecordNotFound
from undeleted.foundations import registry
from undeleted.foundations.coins import exact_law, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines import (
    CertifiedRemoval,
    Ignore,
    LazyRangeMedian,
    Recompute,
    RenoisedTree,
    Retrain,
    Threshold,
    TreeCounter,
    XorPad,
    XorUndeleted,
)
from undeleted.games.baselines.retrain import median, total
from undeleted.games.non_adaptive import non_adaptive_game

ALARM = 1e-9
X = Number("x", min=0, max=9)
PEOPLE = Schema([X])
MAKE = {
    "certified-removal": lambda: CertifiedRemoval("ridge"),
    "retrain": lambda: Retrain(median),
    "threshold": lambda: Threshold(),
    "ignore": lambda: Ignore(NoisyCount(Budget(1.0)), PEOPLE),
    "recompute": lambda: Recompute(NoisyCount(Budget(1.0)), PEOPLE),
    "tree-counter": lambda: TreeCounter(Count(), PEOPLE, Budget(1.0), horizon=4),
    "renoised-tree": lambda: RenoisedTree(Count(), PEOPLE, Budget(1.0), horizon=4),
    "lazy-range-median": lambda: LazyRangeMedian(X, Budget(1.0)),
    "xor-pad": lambda: XorPad(bits=4),
    "xor-undeleted": lambda: XorUndeleted(bits=4),
}


def test_every_baseline_is_covered():
    assert set(MAKE) == set(registry.names("undeleted.games.baselines"))


@pytest.mark.parametrize("name", MAKE)
def test_deleting_what_is_not_there_is_an_error_and_changes_nothing(name):
    curator, twin = MAKE[name](), MAKE[name]()
    for algorithm in (curator, twin):
        algorithm.start([1, 2, 2, 9], seeded(7))
        algorithm.delete([2])
    for missing in ([7], [2, 2], [1, 7]):
        with pytest.raises(RecordNotFound, match="nothing was deleted"):
            curator.delete(missing)
    assert str(curator.delete([9])) == str(twin.delete([9]))
    with pytest.raises(RecordNotFound):
        curator.delete([9])


@pytest.mark.parametrize("name", MAKE)
def test_nothing_starts_from_nobody_and_nothing_is_deleted_before_the_start(name):
    with pytest.raises(NoRecords):
        MAKE[name]().start([], seeded(7))
    with pytest.raises(NotStarted):
        MAKE[name]().delete([1])


def test_the_footnote_of_the_paper():
    """Ten 0, one w, twelve 1: the median is 1, and one deletion of a 1 shows w."""
    for w in (0.25, 0.75):
        data = [0] * 10 + [w] + [1] * 12
        assert non_adaptive_game(Retrain(median), data, [22], seeded(7)).outputs == (1, w)


def test_retraining_follows_what_is_left_to_the_last():
    curator = Retrain(median)
    assert [curator.start([5, 1, 3, 3], seeded(7)), *(curator.delete([x]) for x in (3, 5, 3, 1))] == [
        3,
        3,
        1,
        1,
        None,
    ]
    assert Retrain(total).start([5, 1, 3], seeded(7)) == 9


def test_the_threshold_opens_at_its_n():
    curator = Threshold(n=2)
    assert [curator.start([3, 1, 2], seeded(7)), curator.delete([3]), curator.delete([1])] == [
        None,
        None,
        (2,),
    ]


def test_ignoring_returns_the_first_release():
    curator = MAKE["ignore"]()
    first = curator.start([1, 2, 3], seeded(7))
    assert curator.delete([1]) == curator.delete([2, 3]) == first


def test_recomputing_draws_fresh_noise_around_what_is_left(coins):
    mechanism = NoisyHistogram((X,), Budget(1.0))
    gaps = []
    for _ in range(400):
        curator = Recompute(mechanism, PEOPLE)
        gaps.append(curator.start([1] * 50, coins).value - curator.delete([1]).value)
    gaps = np.array(gaps)

    assert stats.ttest_1samp(gaps[:, 1], 1).pvalue > ALARM
    assert gaps.std() == pytest.approx(np.sqrt(2) * 1.36, rel=0.15), "the noise of two releases, not of none"


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6), Zcdp(0.5)], ids=str)
@pytest.mark.parametrize("releases", [1, 11, 1001])
def test_a_split_budget_pays_for_all_planned_releases(budget, releases):
    curator = Recompute.split_over(releases, lambda noise: NoisyCount(noise), budget, PEOPLE)
    [event] = curator.mechanism.events
    spent = type(event)(event.law, event.shift, times=releases)
    if isinstance(budget, Zcdp):
        assert spent.rho * releases == pytest.approx(budget.rho)
    else:
        assert 0.97 * budget.epsilon <= account([spent], budget.delta).epsilon <= budget.epsilon


def test_a_split_budget_ends_with_the_plan():
    curator = Recompute.split_over(2, lambda noise: NoisyCount(noise), Budget(1.0), PEOPLE)
    curator.start([1, 2, 3], seeded(7))
    curator.delete([1])
    with pytest.raises(BudgetSpent, match="release 3"):
        curator.delete([2])
    with pytest.raises(BadBudget, match="releases must be at least 1"):
        Recompute.split_over(0, lambda noise: NoisyCount(noise), Budget(1.0), PEOPLE)


@pytest.mark.parametrize("cumulative", [False, True])
@pytest.mark.parametrize("pad", [XorPad, XorUndeleted])
def test_every_single_release_of_a_pad_is_uniform(pad, cumulative):
    def release(coins, at):
        transcript = non_adaptive_game(pad(bits=2, cumulative=cumulative), [1, 2, 3], [0, 1], coins)
        return transcript.outputs[at]

    for at in range(3):
        assert exact_law(lambda coins, at=at: release(coins, at)) == {v: Fraction(1, 4) for v in range(4)}


def test_two_releases_of_a_pad_give_a_point_away():
    pad, leak = XorPad(bits=4), XorUndeleted(bits=4)
    assert pad.start([3, 9, 12], seeded(7)) ^ pad.delete([9]) == 9
    assert leak.start([3, 9, 12], seeded(7)) ^ leak.delete([9]) in (3, 12)


def test_the_pad_is_the_first_one_unless_cumulative():
    def run(cumulative):
        curator = XorPad(bits=4, cumulative=cumulative)
        first, second, third = curator.start([3, 9, 12], seeded(7)), curator.delete([9]), curator.delete([3])
        return first ^ second, first ^ third

    assert run(cumulative=False) == (9, 3)
    assert run(cumulative=True) == (9, 9 ^ 3)
