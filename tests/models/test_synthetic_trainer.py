"""Any model on synthetic rows: what it keeps, forgets, refuses and, with Private-PGM, predicts."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from undeleted.errors import (
    BadQuestion,
    BadSetting,
    Misuse,
    NotStarted,
    RefitWarning,
    SeededNoiseWarning,
    WrongType,
)
from undeleted.foundations.privacy import account
from undeleted.foundations.schema import Boolean, Category, Number
from undeleted.models import SyntheticTrainer
from undeleted.models import synthetic_trainer as module

pytestmark = pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning")
AGE, CITY, RICH = Number("age", min=0, max=79), Category("city", values=("Bonn", "Lyon")), Boolean("rich")
PAY = Number("pay", min=0, max=100)


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    age, city = rng.integers(0, 80, n), rng.integers(0, 2, n)
    rich = rng.random(n) < np.where((age >= 40) == (city == 1), 0.9, 0.05)
    return {
        "age": age.tolist(),
        "city": [CITY.values[c] for c in city],
        "rich": rich.tolist(),
        "pay": np.clip(age + 10 * city, 0, 100).tolist(),
    }


def only(table, chosen):
    return {name: [v for v, c in zip(of, chosen, strict=True) if c] for name, of in table.items()}


def trainer(estimator=None, **more):
    estimator = DecisionTreeClassifier(random_state=0) if estimator is None else estimator
    settings = {"columns": [AGE, CITY], "target": RICH, "edges": {"age": [20, 40, 60]}, "budget": 20.0}
    return SyntheticTrainer(estimator, **settings | more)


def without(table, *names):
    return {name: of for name, of in table.items() if name not in names}


def test_a_release_after_forgetting_is_one_of_those_who_remain():
    table = without(people(), "pay")
    stays = [not rich for rich in table["rich"]]
    left = trainer(random_state=5).fit(table).forget(only(table, table["rich"]))
    others = trainer(random_state=5).fit(only(table, stays))
    assert np.array_equal(left.release_.value, others.release_.value)


def test_a_trained_model_is_dropped_with_the_rows_it_was_trained_on(monkeypatch):
    """Training is replaced by rows of its own: no extra is needed to see what is kept."""
    rows = np.array([[a, a % 2, a >= 40] for a in range(80)])
    monkeypatch.setattr(module, "sampled_codes", lambda *_, **__: rows)
    model = trainer().fit(without(people(), "pay"))
    assert model.estimator_ is None
    assert model.predict({"age": [10, 70], "city": ["Bonn", "Lyon"]}).tolist() == [False, True]
    assert model.estimator_ is not None
    model.forget({"age": [10], "city": ["Bonn"], "rich": [False]})
    assert model.estimator_ is None
    assert b"DecisionTreeClassifier" in pickle.dumps(model), "the one that will be cloned"
    assert model.score({"age": [10, 70], "city": ["Bonn", "Lyon"], "rich": [False, True]}) == 1.0
    assert model.predict_proba({"age": [10], "city": ["Bonn"]}).tolist() == [[1.0, 0.0]]


def test_it_is_one_release_that_costs_its_budget():
    model = trainer(budget=0.5).fit(without(people(), "pay"))
    assert account(model.mechanism_.events, 0).epsilon == pytest.approx(0.5)
    with pytest.warns(RefitWarning, match="spends its budget"):
        model.fit(without(people(), "pay"))


def test_clones_and_seeds():
    model = trainer(random_state=3)
    assert clone(model).get_params()["random_state"] == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SeededNoiseWarning):
            model.fit(without(people(50), "pay"))


def test_rows_that_lack_a_value_are_not_taken_for_the_lowest(monkeypatch):
    rows = np.array([[a, a % 2, a >= 40] for a in range(80)])
    monkeypatch.setattr(module, "sampled_codes", lambda *_, **__: rows)
    gaps = Number("age", min=0, max=79, missing="drop")
    model = trainer(columns=[gaps, CITY]).fit(without(people(), "pay"))
    test = {"age": [None, 10, 70], "city": ["Bonn", "Bonn", "Lyon"], "rich": [True, False, True]}
    assert model.score(test) == 1.0
    with pytest.raises(BadSetting, match="1 row lacks a feature"):
        model.predict({name: test[name] for name in ("age", "city")})
    with pytest.raises(BadSetting, match="there are no rows"):
        model.predict({"age": [], "city": []})


def test_rows_of_one_class_teach_nothing(monkeypatch):
    monkeypatch.setattr(module, "sampled_codes", lambda *_, **__: np.array([[1, 0, 1]] * 9))
    model = trainer(LogisticRegression()).fit(without(people(), "pay"))
    with pytest.raises(BadQuestion, match="all synthetic rows have the same 'rich'"):
        model.predict({"age": [10], "city": ["Bonn"]})


def test_categories_become_columns_or_places(monkeypatch):
    rows = np.array([[a, a % 2, a >= 40] for a in range(80)])
    monkeypatch.setattr(module, "sampled_codes", lambda *_, **__: rows)
    hot = trainer(LogisticRegression()).fit(without(people(), "pay")).train()
    assert hot.estimator_.coef_.shape == (1, 3)
    places = trainer(LogisticRegression(), encoding="ordinal").fit(without(people(), "pay")).train()
    assert places.estimator_.coef_.shape == (1, 2)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: trainer(object()), WrongType, "object is not a classifier or regressor"),
        (lambda: trainer(LinearRegression()), BadSetting, "a regressor cannot predict 'rich'"),
        (lambda: trainer(encoding="hash"), BadSetting, "encoding = 'hash'"),
        (lambda: trainer(edges={"height": [1]}), Misuse, ""),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_published(make, error, said):
    if said:
        with pytest.raises(error, match=said):
            make().fit(without(people(50), "pay"))
    with pytest.raises(NotStarted):
        trainer().forget(without(people(1), "pay"))
    with pytest.raises(NotStarted):
        trainer().predict({"age": [1], "city": ["Bonn"]})


@pytest.mark.services  # Private-PGM
def test_a_classifier_and_a_regressor_learn_and_forget():
    table, test = people(6000), people(500, seed=1)
    model = trainer(marginals=[["age", "city", "rich"]]).fit(without(table, "pay"))
    assert model.score(without(test, "pay")) > 0.85
    rich = table["rich"]
    model.forget(only(without(table, "pay"), rich))
    assert np.mean(model.predict(without(test, "pay", "rich"))) < 0.02, "everybody who was rich has left"
    pay = trainer(
        GradientBoostingRegressor(random_state=0),
        target=PAY,
        edges={"age": [20, 40, 60], "pay": [25, 50, 75]},
    )
    assert pay.fit(without(table, "rich")).score(without(test, "rich")) > 0.7
