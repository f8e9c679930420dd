"""Linear models from noisy second moments."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisySecondMoments
from undeleted.curate.mechanisms.noisy_second_moments import _solve
from undeleted.errors import Misuse
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema

A, B = Boolean("a"), Boolean("b")
LAW = ClampedGeometric(Fraction(1, 2), 0, 1)
WORLD = SmallWorld(
    NoisySecondMoments((A,), LAW, target=B),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((False, False), (False, True), (True, True)),
)
COLUMNS = tuple(Number(f"x{i}", min=-8, max=8, step="0.0625") for i in range(3))
Y, KIND = Number("y", min=-32, max=32, step="0.0625"), Category("kind", values=("p", "q", "r"))


def rows(n, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    x = rng.normal(0, 1.2, (n, 3)) + kind[:, None] * [0.8, -0.4, 0.0]
    x[:, 2] += 0.7 * x[:, 0]
    y = x @ [1.5, -2.0, 0.5] + 3 + rng.normal(0, 0.5, n)
    on_grid = np.round(np.clip(np.column_stack([x, y]), -8, 8) * 16) / 16
    return {f"x{i}": on_grid[:, i] for i in range(3)} | {"y": on_grid[:, 3], "kind": np.array([*"pqr"])[kind]}


def released(mechanism, data, coins):
    schema = Schema(list(mechanism.statistic.columns))
    return mechanism.release(Arrays(schema.table(data)), coins)


def test_without_noise_it_is_least_squares_ridge_and_the_line_through_the_origin():
    data = rows(4000, 1)
    x, y = np.column_stack([data[f"x{i}"] for i in range(3)]), data["y"]
    mechanism = NoisySecondMoments(COLUMNS, NoNoise(), target=Y)
    release = released(mechanism, data, seeded(7))
    exact = np.linalg.lstsq(np.column_stack([x, np.ones(4000)]), y, rcond=None)[0]
    slopes, intercept = mechanism.least_squares(release)
    assert [*slopes, intercept] == pytest.approx(exact, rel=1e-5)
    through = mechanism.least_squares_of(release.value.astype(float), intercept=False)
    assert through[0] == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0], rel=1e-5)
    assert through[1] == 0
    centred = x - x.mean(axis=0)
    ridge = np.linalg.solve(centred.T @ centred + 500 * np.eye(3), centred.T @ (y - y.mean()))
    assert mechanism.least_squares(release, penalty=500.0)[0] == pytest.approx(ridge, rel=1e-5)
    mean, covariance = mechanism.covariance_of(release.value.astype(float))
    assert mean == pytest.approx(x.mean(axis=0))
    assert covariance == pytest.approx(np.cov(x.T, bias=True), rel=1e-5)


def test_without_noise_discriminants_are_those_of_scikit_learn():
    lda = pytest.importorskip("sklearn.discriminant_analysis").LinearDiscriminantAnalysis(solver="lsqr")
    data = rows(4000, 2)
    x = np.column_stack([data[f"x{i}"] for i in range(3)])
    mechanism = NoisySecondMoments(COLUMNS, NoNoise(), by=KIND)
    slopes, intercepts = mechanism.discriminants(released(mechanism, data, seeded(7)))
    exact = lda.fit(x, data["kind"]).decision_function(x)
    found = x @ slopes.T + intercepts
    assert found - found.mean(axis=1, keepdims=True) == pytest.approx(
        exact - exact.mean(axis=1, keepdims=True), rel=1e-4, abs=1e-4
    )


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)])
@pytest.mark.parametrize("kind", [{"target": Y}, {"by": KIND}, {"by": KIND, "products": False}])
def test_it_costs_what_it_was_given(budget, kind):
    mechanism = NoisySecondMoments(COLUMNS, budget, **kind)
    spent = account(mechanism.events, budget.delta).epsilon
    assert 0.98 * budget.epsilon < spent <= budget.epsilon * (1 + 1e-9)


def test_with_much_noise_answers_stay_finite_and_small():
    data, coins = rows(50, 3), seeded("wild")
    straight = NoisySecondMoments(COLUMNS, Budget(0.1), target=Y)
    classes = NoisySecondMoments(COLUMNS, Budget(0.1), by=KIND)
    for _ in range(200):
        slopes, intercept = straight.least_squares(released(straight, data, coins))
        assert np.isfinite([*slopes, intercept]).all()
        assert np.abs(slopes).max() < 1000
        assert np.isfinite(
            np.concatenate(classes.discriminants(released(classes, data, coins)), axis=None)
        ).all()


def test_an_indefinite_system_is_solved_by_its_positive_part():
    matrix = np.diag([1.0, -1.0])
    assert _solve(matrix, np.array([1.0, 0.0])) == pytest.approx([1, 0])
    assert np.isfinite(_solve(matrix, np.ones((2, 3)))).all()
    assert np.isfinite(_solve(np.zeros((2, 2)), np.ones(2))).all()


def test_questions_that_make_no_sense():
    plain = NoisySecondMoments(COLUMNS, Budget(1.0))
    release = released(plain, rows(50, 4), seeded(7))
    with pytest.raises(Misuse, match="needs a target"):
        plain.least_squares(release)
    with pytest.raises(Misuse, match="need classes"):
        plain.discriminants(release)
