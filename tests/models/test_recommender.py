"""What the recommender keeps: the contract of the estimators, for users with baskets instead of numbers."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

from undeleted.errors import (
    BadBounds,
    BadBudget,
    ForgottenTooMany,
    PrivacyLeakWarning,
    SeededNoiseWarning,
    UndeclaredValue,
)
from undeleted.foundations.privacy import Budget, Zcdp, account

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from undeleted.foundations.coins import NoNoise
from undeleted.models import ItemItemRecommender

pytestmark = pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning")
ITEMS = [f"item {c}" for c in "zyxwvutsrq"]  # in no order
RNG = np.random.default_rng(2)


def baskets(n, seed=0):
    """Two kinds of people: those of the first five items, and those of the others; four items at most."""
    rng = np.random.default_rng([seed, n])
    X = np.zeros((n, 10), dtype=bool)
    for row, first in zip(X, rng.integers(0, 2, n) * 5, strict=True):
        row[first + rng.choice(5, rng.integers(1, 4), replace=False)] = True
        row[rng.integers(0, 10)] = True
    return X


def as_lists(X):
    return [[ITEMS[i] for i in np.flatnonzero(row)] for row in X]


def make(**settings):
    return ItemItemRecommender(**{"items": ITEMS, "items_per_user": 4, "budget": 20.0} | settings)


@pytest.mark.parametrize("budget", [5.0, Budget(1.0, 1e-6), Zcdp(0.1)], ids=str)
def test_to_forget_is_to_have_published_the_rest_with_the_same_coins(budget):
    """Exactly: at once, one by one, as matrices dense and sparse, as lists in any order."""
    X = baskets(500)
    fresh = make(budget=budget, random_state=4).fit(X[300:])
    models = [make(budget=budget, random_state=4).fit(X) for _ in range(4)]
    models[0].forget(X[:300])
    for row in X[:300]:
        models[1].forget(row[None])
    models[2].forget(sparse.csr_array(X[:300].astype(float)))
    models[3].forget([basket[::-1] for basket in as_lists(X[:300])[::-1]])
    for model in models:
        assert model.release_ == fresh.release_
        assert (model.similarity_ != fresh.similarity_).nnz == 0


def test_all_else_is_a_function_of_what_was_published():
    one, other = make(random_state=1).fit(baskets(300)), make(random_state=2).fit(baskets(200, seed=1))
    asked = baskets(20, seed=3)
    before = other.score_items(asked)
    other._state, other._kept = other._kept_of(one.release_), {}
    assert np.array_equal(other.score_items(asked), one.score_items(asked))
    assert not np.array_equal(before, one.score_items(asked))
    assert other.intervals()["item_counts_"][0].tolist() == one.intervals()["item_counts_"][0].tolist()


def test_a_copy_that_was_handed_out_stays_as_it_was_and_a_pickle_holds_no_baskets():
    model = make(random_state=1).fit(baskets(300))
    before, cells = model.release_, model.release_.value.tolist()
    copy = pickle.loads(pickle.dumps(model))
    model.forget(baskets(300)[:10])
    assert before.value.tolist() == cells
    assert copy.forget(baskets(300)[:10]).release_ == model.release_ != before
    sizes = [len(pickle.dumps(make(budget=1.0, random_state=1).fit(baskets(n)))) for n in (30, 3000)]
    assert abs(sizes[0] - sizes[1]) < 1000
    assert clone(model).get_params() == model.get_params()


def test_it_costs_what_it_was_given_and_noise_is_secure_unless_somebody_asks_for_less():
    for budget, delta in ((0.5, 0.0), (Budget(0.5, 1e-6), 1e-6)):
        model = make(budget=budget, random_state=1).fit(baskets(50))
        assert 0.9 * 0.5 < account(model._mechanism.events, delta).epsilon <= 0.5 * (1 + 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = make().fit(baskets(50)), make().fit(baskets(50))
    assert one.release_ != other.release_
    with pytest.warns(SeededNoiseWarning):
        make(random_state=1).fit(baskets(50))
    with pytest.warns(PrivacyLeakWarning, match="no promise"):
        make(budget=NoNoise()).fit(baskets(50))
    for budget in (0, -1.0, "one", None, True):
        with pytest.raises(BadBudget):
            make(budget=budget).fit(baskets(50))


def test_what_goes_together_is_recommended():
    """Half of the people like the first five items: what is recommended to them is of those."""
    model = make(budget=5.0, random_state=1).fit(baskets(4000))
    for first in (0, 5):
        [found] = model.recommend([[ITEMS[first], ITEMS[first + 1]]], 3)
        assert set(found) == set(ITEMS[first + 2 : first + 5])
        assert {item for item, _ in model.similar(ITEMS[first], 4)} == set(ITEMS[first + 1 : first + 5])
    low, high = model.intervals(0.99)["item_counts_"]
    exact = baskets(4000).sum(axis=0)
    assert np.mean((low <= exact) & (exact <= high)) >= 0.8, "at 99%, nine of ten or fewer: once in 10⁴ runs"
    assert model.recommend([[]]) == [[]]
    assert model.recommend(as_lists(np.ones((1, 10), dtype=bool))) == [[]], (
        "nothing is left, whatever the cap"
    )


def test_a_user_over_the_cap_is_refused_or_cut_the_same_at_fitting_and_at_forgetting():
    X = baskets(200)
    X[7] = True
    with pytest.raises(ValueError, match=r"1 user has more than 4 items.*excess"):
        make().fit(X)
    model = make(excess="drop", random_state=1).fit(X)
    assert model.forget(X[7:8]).release_ == make(random_state=1).fit(np.delete(X, 7, axis=0)).release_
    with pytest.raises(ValueError, match="2 users have more"):
        make(random_state=1).fit(X[:5]).forget(np.ones((2, 10)))
    with pytest.raises(ValueError, match="excess must be"):
        make(excess="ignore").fit(X)


def test_bad_baskets_are_refused_and_change_nothing():
    with pytest.raises(NotFittedError):
        make().forget(baskets(3))
    model = make(random_state=1).fit(baskets(60))
    before = model.release_
    assert model.forget(baskets(60)[:0]).forget([]).release_ == before, "nobody leaves today"
    with pytest.raises(UndeclaredValue, match="2 rows have"):
        model.forget([[ITEMS[0], "spoon"], ["fork"]])
    for wrong in (
        np.ones((2, 9)),
        np.full((2, 10), np.nan),
        np.ones(10),
        [ITEMS[0]],
        7,
        np.array([["a"] * 10]),
    ):
        with pytest.raises((ValueError, TypeError)):
            model.forget(wrong)
    assert model.release_ == before
    for items in (None, "data", ["a"], ["a", "a"], {"a": 1}, {"a", "b"}, [["a"], ["b"]]):
        with pytest.raises(BadBounds):
            make(items=items).fit(baskets(60))
    for most in (1, 2.5, True, "x"):
        with pytest.raises(ValueError, match="items_per_user"):
            make(items_per_user=most).fit(baskets(60))
    with pytest.raises(ValueError, match="at least one user"):
        make().fit(np.zeros((0, 10)))
    with pytest.raises(ValueError, match="n must be"):
        model.recommend([[ITEMS[0]]], 0)


def test_forgetting_more_than_noise_explains_warns():
    """Seven standard deviations: a false alarm in one of 40,000 releases."""
    X = baskets(500)
    model = make(budget=50.0, random_state=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forget(X)
    with pytest.warns(ForgottenTooMany):
        model.forget(X)


def test_frames_go_by_their_names():
    pandas = pytest.importorskip("pandas")
    X = baskets(200)
    frame = pandas.DataFrame(X, columns=ITEMS)
    turned = frame[ITEMS[::-1]]
    plain = make(random_state=1).fit(X)
    assert make(random_state=1).fit(turned).release_ == plain.release_
    assert plain.forget(turned[:20]).release_ == make(random_state=1).fit(X[20:]).release_
    assert plain.recommend(turned[:3]) == plain.recommend(X[:3])
    with pytest.raises(UndeclaredValue, match="1 row has a name"):
        plain.forget(frame.rename(columns={ITEMS[0]: "spoon"}))
    with pytest.raises(ValueError, match="a column for each"):
        plain.forget(frame[ITEMS[1:]])


def test_rows_of_a_matrix_are_not_taken_for_baskets():
    with pytest.raises(ValueError, match="look like rows of a matrix"):
        make(items=list(range(10))).fit(baskets(30).astype(int).tolist())
    with pytest.raises(NotFittedError):
        make().recommend([[ITEMS[0]]])
    with pytest.raises(NotFittedError):
        make().similar(ITEMS[0])
    model = make(random_state=1).fit(basket for basket in as_lists(baskets(60)))
    with pytest.raises(ValueError, match="not in the catalogue"):
        model.similar("spoon")
    for wrong in (None, 7):
        with pytest.raises((ValueError, TypeError)):
            model.forget(wrong)
