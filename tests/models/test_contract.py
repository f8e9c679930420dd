"""What every estimator keeps.  A newcomer is found by itself, and needs its settings in cases.py.

Covers: models/*.py
"""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

from support.estimators import GROWN, NAMES, OF_NUMBERS, SETTINGS, WITHOUT_Y, make, rows, taken
from undeleted.errors import (
    BadBounds,
    BadBudget,
    BadSetting,
    ForgottenTooMany,
    MissingBounds,
    PrivacyLeakWarning,
    RecordNotFound,
    RefitWarning,
    SeededNoiseWarning,
    TuningWarning,
    UndeclaredValue,
)
from undeleted.foundations import registry
from undeleted.foundations.coins import ClampedGeometric, NoNoise
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.games.baselines._points import without
from undeleted.verifying.exact import FiniteWorld, verify

sklearn = pytest.importorskip("sklearn")
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning")
WHY = "a score on 200 or 300 rows, under ε = 1 and bounds that are ten times as wide as they need be"
FAILS = {  # checks that noise makes impossible, with the reason
    name: {"check_regressors_train" if name in OF_NUMBERS else "check_classifiers_train": WHY}
    for name in (*OF_NUMBERS, "gaussian-nb", "logistic-regression", "random-forest-classifier")
} | {"k-means": {"check_clustering": "`labels_` would keep something of every row, which a model must not"}}


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_every_estimator_has_its_settings():
    assert set(SETTINGS) == set(NAMES)


def test_scikit_learn_accepts_it(name):
    """With the default budget and noise; its data have whatever labels and categories they like."""
    wide = {"bounds": (-20.0, 20.0), "bounds_y": (-500.0, 500.0), "classes": "data", "categories": "data"}
    kind = registry.find("undeleted.models", name)
    model = kind(**{k: v for k, v in wide.items() if k in SETTINGS[name]}, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = FAILS.get(name, {})
        found = check_estimator(model, expected_failed_checks=expected, on_skip=None)
    assert len(found) > 40
    assert len([r for r in found if r["status"] == "xfail"]) <= 5
    assert {r["check_name"] for r in found if r["status"] == "skipped"} <= {"check_array_api_input"}


@pytest.mark.parametrize("budget", [1.0, Zcdp(0.1)])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in GROWN])
def test_to_forget_is_to_have_published_the_rest_with_the_same_coins(name, budget):
    """Exactly, on all that is published: one by one, in batches, in any order, as arrays or as lists."""
    data = rows(name, 60)
    many = [[3, 3, 7, 1]] if budget == 1.0 else []
    for gone in ([0], list(range(59, 20, -1)), *many):
        left = np.delete(np.arange(60), gone)
        fresh = make(name, budget=budget, random_state=5).fit(*taken(data, left))
        unique = list(dict.fromkeys(gone))
        at_once = make(name, budget=budget, random_state=5).fit(*taken(data, slice(None)))
        at_once.forget(*taken(data, unique))
        one_by_one = make(name, budget=budget, random_state=5).fit(*taken(data, slice(None)))
        for row in unique:
            one_by_one.forget(*taken(data, [row]))
        as_lists = make(name, budget=budget, random_state=5).fit(*taken(data, slice(None)))
        as_lists.forget(*(part.tolist() for part in taken(data, unique)))
        assert fresh.release_ == at_once.release_ == one_by_one.release_ == as_lists.release_


def test_all_else_is_a_function_of_what_was_published(name):
    """A model of other rows that is handed the release answers alike."""
    data, others = rows(name, 80), rows(name, 50, seed=1)
    one = make(name, random_state=1).fit(*taken(data, slice(None)))
    other = make(name, random_state=2).fit(*taken(others, slice(None)))
    before = _shown(other, data[0])
    other._state, other._kept = other._kept_of(one.release_), {}
    assert _shown(other, data[0]) == _shown(one, data[0]) != before


def test_a_model_forgets_by_the_contribution_and_the_forget_of_its_mechanism(name, monkeypatch):
    class TornError(Exception):
        """What the planted method raises."""

    def torn(self, *_):
        raise TornError

    data = rows(name, 30)
    model = make(name, random_state=1).fit(*taken(data, slice(None)))
    before = model.release_
    for method in ("contribution", "forget"):
        with monkeypatch.context() as planted:
            planted.setattr(type(model._mechanism), method, torn)
            with pytest.raises(TornError):
                model.forget(*taken(data, [0]))
        assert model.release_ == before
    assert model.forget(*taken(data, [0])).release_ != before


def test_forgetting_leaves_what_was_handed_out_alone(name):
    data = rows(name, 30)
    model = make(name, random_state=1).fit(*taken(data, slice(None)))
    before, cells = model.release_, model.release_.value.tolist()
    model.forget(*taken(data, [0]))
    assert before.value.tolist() == cells
    assert model.release_ != before


def _shown(model, X):
    told = model.transform(X) if hasattr(model, "transform") else model.predict(X)
    return np.asarray(told).tolist(), {k: np.asarray(v[0]).tolist() for k, v in model.intervals().items()}


GEOMETRIC, NONE = ClampedGeometric(Fraction(1, 2), 0, 1), NoNoise()
NOISE = {  # exact counts where there are many cells: the worlds stay small enough to walk
    "gaussian-nb": (NONE, GEOMETRIC),
    "logistic-regression": (NONE, GEOMETRIC),
    "linear-regression": (NONE, GEOMETRIC, NONE, GEOMETRIC),
    "k-means": (GEOMETRIC, NONE),
}


class Curates:
    """An estimator as a curator of points (x, label): what it publishes is what is seen."""

    def __init__(self, name, again):
        self.name, self.again = name, again

    def start(self, data, coins):
        self.left, self.coins = tuple(data), coins
        self.model = self._fitted(self.left)
        return self.model.release_

    def delete(self, points):
        self.left = without(self.left, points)
        if self.again:
            return self._fitted(self.left).release_
        return self.model.forget(*self._rows(points)).release_

    def _fitted(self, points):
        law = NOISE.get(self.name, GEOMETRIC)
        tiny = {
            "bounds": (0, 1),
            "bounds_y": (0, 1),
            "classes": [0, 1],
            "categories": [[0, 1]],
            "n_components": 1,
            "max_depth": 1,
            "n_clusters": 1,
        }
        settings = {k: v for k, v in tiny.items() if k in SETTINGS[self.name]}
        if self.name != "categorical-nb":
            settings["steps"] = 1
        if "forest" in self.name:
            settings["n_estimators"] = 1
        model = registry.find("undeleted.models", self.name)(budget=law, random_state=self.coins, **settings)
        return model.fit(*self._rows(points))

    def _rows(self, points):
        X = np.array([[x] for x, _ in points], dtype=float)
        y = np.array([label for _, label in points], dtype=float if self.name in OF_NUMBERS else int)
        return (X,) if self.name in WITHOUT_Y else (X, y)


ALIKE = ("ridge", "random-forest-regressor")  # publish what another one does, by the same mechanism


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::undeleted.errors.ForgottenTooMany")
@pytest.mark.filterwarnings("ignore::undeleted.errors.PrivacyLeakWarning")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ALIKE])
def test_the_verifier_certifies_it_in_a_tiny_world_and_rejects_its_retrained_twin(name):
    """One feature, two classes, finite noise: given what was published, deletions tell nothing else."""
    points = [(0, 0), (1, 1), (1, 0)]
    safe = FiniteWorld.of(lambda: Curates(name, again=False), points, 2, 1, by_value=True)
    leaky = FiniteWorld.of(lambda: Curates(name, again=True), points, 2, 1, by_value=True)
    found = verify(safe, time_limit=3000)
    assert found.certified
    assert found.literal.upper == found.keep_z0.upper == 0
    assert verify(leaky, time_limit=3000).literal.lower > 0


def test_it_costs_what_it_was_given(name):
    data = rows(name, 40)
    for budget, delta in ((0.5, 0.0), (Budget(0.5, 1e-6), 1e-6)):
        model = make(name, budget=budget, random_state=1).fit(*taken(data, slice(None)))
        spent = account(model._mechanism.events, delta).epsilon
        assert 0.98 * 0.5 < spent <= 0.5 * (1 + 1e-9)
        assert model.budget_ == (Budget(0.5) if budget == 0.5 else budget)
    twice = make(name, budget=0.5, rows_per_person=2, random_state=1).fit(*taken(data, slice(None)))
    assert account(twice._mechanism.events, 0.0).epsilon <= 0.5 * (1 + 1e-9)
    assert make(name, budget=Zcdp(0.1)).fit(*taken(data, slice(None))).budget_ == Zcdp(0.1)


def test_a_pickle_holds_no_rows_and_forgets_alike(name):
    small, large = (make(name, random_state=1).fit(*taken(rows(name, n), slice(None))) for n in (30, 3000))
    few, more = (make(name, random_state=1).fit(*taken(rows(name, n), slice(None))) for n in (16, 17))
    gone = taken(rows(name, 30), [4])
    copy = pickle.loads(pickle.dumps(small))
    assert copy.forget(*gone).release_ == small.forget(*gone).release_
    for model in (few, more, large, small):  # but for the noisy cells, nothing tells how many rows there were
        model.forget(*gone)
        model._state = model._kept_of(copy.release_)
    assert len({pickle.dumps(model) for model in (few, more, large)}) == 1


def test_with_salts_a_model_forgets_what_was_fitted_once_and_nothing_else(name):
    data = rows(name, 40)
    model = make(name, random_state=1)
    salts = model.fit_salted(*taken(data, slice(None)))
    plain = make(name, random_state=1).fit(*taken(data, slice(None)))
    assert model.release_ == plain.release_
    strangers = taken(rows(name, 40, seed=9), [0, 1])
    refused = [
        (strangers, salts[:2]),  # rows that were never fitted
        (taken(data, [0, 1]), salts[[1, 0]]),  # the salts of other rows
        (taken(data, [0, 0]), salts[[0, 0]]),  # the same row twice
    ]
    for given, their in refused:
        with pytest.raises(RecordNotFound):
            model.forget(*given, salts=their)
    with pytest.raises(BadSetting, match="fitted with salts"):
        model.forget(*taken(data, [0]))
    with pytest.raises(BadSetting, match="rows of 16 bytes"):
        model.forget(*taken(data, [0]), salts=salts)
    with pytest.raises(BadSetting, match="fitted without salts"):
        plain.forget(*taken(data, [0]), salts=salts[:1])
    assert model.release_ == plain.release_, "nothing was subtracted"
    gone = taken(data, [3, 5, 0])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        assert each.forget(*gone, salts=salts[[3, 5, 0]]).release_ == plain.forget(*gone).release_
        plain = make(name, random_state=1).fit(*taken(data, slice(None)))
        with pytest.raises(RecordNotFound):
            each.forget(*taken(data, [5]), salts=salts[[5]])
    assert pickle.dumps(model._salted) == pickle.dumps(copy._salted)
    if name not in GROWN:
        with pytest.raises(BadSetting, match="fitted with salts"):
            model.partial_fit(*taken(data, slice(None)))
    with pytest.warns(RefitWarning):
        model.fit(*taken(data, slice(None)))
    model.forget(*gone)  # without salts, as it was fitted now


@pytest.mark.parametrize("name", [n for n in NAMES if n not in GROWN])
def test_a_pickle_does_not_tell_whether_anybody_has_left(name):
    data = rows(name, 40)
    left = make(name, random_state=1).fit(*taken(data, slice(None))).forget(*taken(data, [0]))
    fresh = make(name, random_state=1).fit(*taken(data, slice(1, None)))
    assert pickle.dumps(left) == pickle.dumps(fresh)


def test_whole_numbers_of_numpy_are_whole_numbers(name):
    whole = {k: np.int64(v) for k, v in SETTINGS[name].items() if type(v) is int}
    data = taken(rows(name, 40), slice(None))
    plain = make(name, random_state=1).fit(*data)
    assert make(name, **whole, random_state=1).fit(*data).release_ == plain.release_


def test_frames_go_in_and_their_names_are_kept(name):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, *y = taken(rows(name, 50), slice(None))
    columns = ["first", "second", "third"][: X.shape[1]]
    plain = make(name, random_state=3).fit(X, *y).forget(X[:5], *(part[:5] for part in y))
    if name == "categorical-nb":
        frames = [pandas.DataFrame(X, columns=columns)]  # polars has no columns of mixed kinds
    else:
        frames = [pandas.DataFrame(X, columns=columns), polars.DataFrame(X, schema=columns)]
    for frame in frames:
        model = make(name, random_state=3).fit(frame, *y).forget(frame[:5], *(part[:5] for part in y))
        assert model.release_ == plain.release_
        assert model.feature_names_in_.tolist() == columns
        if hasattr(model, "transform"):
            assert len(model.get_feature_names_out()) == model.transform(frame).shape[1]
        with pytest.raises(ValueError, match="feature names should match"):
            model.forget(frame[columns[::-1]][:5], *(part[:5] for part in y))


def test_noise_is_secure_unless_somebody_asks_for_less(name):
    data = taken(rows(name, 40), slice(None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = make(name).fit(*data), make(name).fit(*data)
    assert one.release_ != other.release_
    with pytest.warns(SeededNoiseWarning, match="remove the noise"):
        make(name, random_state=1).fit(*data)


def test_a_missing_bound_is_an_error_and_the_datas_own_a_warning(name):
    data = taken(rows(name, 40), slice(None))
    for parameter in {"bounds", "bounds_y", "classes", "categories"} & SETTINGS[name].keys():
        with pytest.raises(MissingBounds, match=f"`{parameter}`: public"):
            make(name, **{parameter: None}).fit(*data)
        with pytest.warns(PrivacyLeakWarning, match=f"`{parameter}` are read from the data"):
            make(name, **{parameter: "data"}).fit(*data)
        with pytest.raises(BadBounds):
            make(name, **{parameter: "guess"}).fit(*data)
    if "bounds" in SETTINGS[name]:
        for wrong in ((1.0, 1.0), (0.0, np.inf), ([0.0] * 9, [1.0] * 9), 7):
            with pytest.raises(BadBounds):
                make(name, bounds=wrong).fit(*data)


def test_bad_rows_are_refused_and_change_nothing(name):
    data = rows(name, 40)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        make(name).forget(*taken(data, [0]))
    model = make(name, random_state=1).fit(*taken(data, slice(None)))
    before = model.release_
    X, *y = taken(data, [0, 1])
    assert model.forget(X[:0], *(part[:0] for part in y)).release_ == before, "nobody leaves today"
    wrong = [(X[:, :1], *y), (X[0], *y)]
    if name not in WITHOUT_Y:
        wrong += [(X, y[0][:1]), (X, None), (X,)]
    if name != "categorical-nb":
        wrong += [
            (np.where([[True], [False]], np.nan, X), *y),
            (np.full_like(X, np.inf), *y),
            ([["x"] * 3] * 2, *y),
        ]
    else:
        wrong += [(np.array([["pink", 0], ["red", 0]], dtype=object), *y)]
    for arguments in wrong:
        with pytest.raises(ValueError, match=r"."):
            model.forget(*arguments)
        assert model.release_ == before
    if "classes" in SETTINGS[name]:
        with pytest.raises(UndeclaredValue, match="1 row has a label that was not declared"):
            model.forget(X, ["a", "z"])
    if name in OF_NUMBERS:
        with pytest.raises(ValueError, match="contains NaN"):
            model.forget(X, np.array([np.nan, 1.0]))
    assert model.release_ == before


def test_a_bad_budget_is_refused(name):
    data = taken(rows(name, 40), slice(None))
    for budget in (0, -1.0, "one", None, True, float("nan")):
        with pytest.raises(BadBudget):
            make(name, budget=budget).fit(*data)
    for cap in (0, -3):
        with pytest.raises(ValueError, match="rows_per_person must be"):
            make(name, rows_per_person=cap).fit(*data)


def test_forgetting_more_than_noise_explains_warns(name):
    """Seven standard deviations: a false alarm in one of 40,000 releases."""
    data = rows(name, 300)
    model = make(name, budget=50.0, random_state=1).fit(*taken(data, slice(None)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forget(*taken(data, slice(None)))
    with pytest.warns(ForgottenTooMany, match="more rows were forgotten"):
        model.forget(*taken(data, slice(None)))
    assert model.count_ < -200


def test_single_rows_and_constant_columns_are_answered(name):
    X, *y = taken(rows(name, 40), slice(0, 1))
    for copies in (1, 200):
        data = np.repeat(X, copies, axis=0), *(np.repeat(part, copies) for part in y)
        for budget in (0.5, 1e6):
            model = make(name, budget=budget, random_state=2).fit(*data)
            told = model.transform(X) if hasattr(model, "transform") else model.predict(X)
            assert len(told) == 1
            if told.dtype.kind == "f":
                assert np.isfinite(told).all()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in WITHOUT_Y])
def test_searches_are_warned_of_what_they_spend(name):
    data = taken(rows(name, 60), slice(None))
    search = GridSearchCV(make(name), {"budget": [1.0, 2.0]}, cv=2)
    with pytest.warns(TuningWarning, match="spends its budget"):
        search.fit(*data)
    with pytest.warns(TuningWarning):
        cross_val_score(make(name), *data, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TuningWarning)
        make(name).fit(*data)


def test_pipelines_hold_them():
    X, y = rows("gaussian-nb", 400)
    scaler, model = make("standard-scaler", budget=50.0), make("gaussian-nb", bounds=(-5, 5), budget=50.0)
    pipeline = make_pipeline(scaler, model).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    model.forget(pipeline[:-1].transform(X[:5]), y[:5])
    scaler.forget(X[:5])
    assert pipeline.predict(X[:3]).shape == (3,)


def test_a_second_fit_of_an_instance_warns_and_a_clone_does_not():
    """The average of many fits tells what each of them hides."""
    from sklearn.base import clone

    from undeleted.models import LinearRegression

    X = np.linspace(0, 10, 50)[:, None]
    model = LinearRegression(bounds=(0, 10), bounds_y=(0, 30), budget=1.0).fit(X, X[:, 0])
    with pytest.warns(RefitWarning, match="draws new noise"):
        model.fit(X, X[:, 0])
    clone(model).fit(X, X[:, 0])
