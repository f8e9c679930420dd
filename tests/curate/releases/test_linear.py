"""Release-then-forget equals releasing what remains with the same coins, exactly."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import (
    ExactSum,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
    NoisySum,
    NoisyVariance,
)
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema

X = Number("x", min=-3, max=4, out_of_range="clamp", missing="drop")
SICK, GRADE = Boolean("s"), Category("g", values=("a", "b", "c"), unknown="drop")
PEOPLE = Schema([X, SICK, GRADE])
PURE, RHO = Budget(0.7), Zcdp(0.2)
MECHANISMS = [
    ExactSum(X),
    NoisySum(X, PURE),
    NoisySum(X, RHO),
    NoisyCount(PURE),
    NoisyMean(X, PURE),
    NoisyVariance(X, RHO),
    NoisyHistogram((X,), PURE),
    NoisyHistogram((SICK, GRADE), RHO),
    NoisyHistogram((GRADE,), DiscreteLaplace(2.5)),
]
rows = st.tuples(
    st.sampled_from([None, -9, -3, 0, 1, 4, 99]), st.booleans(), st.sampled_from(["a", "b", "c", "?"])
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@given(data=st.data())
def test_forgetting_equals_releasing_the_rest_with_the_same_coins(mechanism, data):
    people = data.draw(st.lists(rows, min_size=1, max_size=12))
    batches = data.draw(st.lists(st.integers(0, 3), min_size=len(people), max_size=len(people)))
    seed = data.draw(st.integers(0, 2**31))
    release = mechanism.release(Arrays(PEOPLE.table(people)), seeded(seed))
    for batch in (1, 2, 3):  # batch 0 stays
        gone = [row for row, b in zip(people, batches, strict=True) if b == batch]
        release = mechanism.forget(release, mechanism.contribution(PEOPLE.table(gone)))
    rest = [row for row, b in zip(people, batches, strict=True) if b == 0]

    assert release == mechanism.release(Arrays(PEOPLE.table(rest)), seeded(seed))


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m.events], ids=str)
def test_a_release_costs_what_its_noise_says(mechanism):
    if isinstance(mechanism.budget, Budget):
        assert account(mechanism.events, 0.0).epsilon == pytest.approx(mechanism.budget.epsilon)
    elif isinstance(mechanism.budget, Zcdp):
        assert sum(e.rho for e in mechanism.events) == pytest.approx(mechanism.budget.rho)
    else:
        assert account(mechanism.events, 0.0).epsilon == pytest.approx(1 / 2.5)


def test_laws_without_a_promise_claim_none():
    assert NoisyCount(ClampedGeometric(Fraction(1, 2), 0, 3)).events is None
    assert ExactSum(X).events is None
    assert NoisyCount(DiscreteGaussian(3.0)).events is not None


@pytest.mark.parametrize("rows_per_person", [1, 2, 3])
def test_one_person_with_all_their_rows_moves_no_total_further_than_the_noise_was_made_for(rows_per_person):
    """Brute force over people: the ε of a pure release, from the totals that they really move."""
    people = Schema([X], id="id", rows_per_person=rows_per_person)
    mechanism = NoisyMean(X, Budget(1.0), rows_per_person=rows_per_person)
    scales = np.array([law.scale for law in mechanism.laws])
    nobody = Arrays(people.table({"id": [], "x": []})).total(mechanism.statistic)
    worst = 0.0
    for value in range(-3, 5):
        person = {"id": ["p"] * rows_per_person, "x": [value] * rows_per_person}
        moved = Arrays(people.table(person)).total(mechanism.statistic) - nobody
        worst = max(worst, float((np.abs(moved) / scales).sum()))

    assert worst == pytest.approx(1.0)
