"""What the estimators answer: as scikit-learn's where noise is small, honest about it where it is not."""

import warnings

import numpy as np
import pytest

from support.estimators import GROWN, NAMES, make, rows, taken
from support.fits import ALARM, fit, with_scale
from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.targets import TargetSpec
from undeleted.curate.statistics import SecondMoments
from undeleted.errors import PrivacyLeakWarning, UndeclaredValue, UndeletedError
from undeleted.foundations.coins import NoNoise

pytest.importorskip("sklearn")
from sklearn import decomposition, discriminant_analysis, linear_model, naive_bayes, preprocessing

from undeleted import models

pytestmark = [
    pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::undeleted.errors.PrivacyLeakWarning"),
]
EXACT = {"budget": NoNoise()}


def test_without_noise_they_are_scikit_learns():
    """Up to the grid: 4,096 steps between 0 and 10."""
    X, y = rows("gaussian-nb", 3000)
    X = np.clip(X, 0, 10)
    ours, theirs = make("gaussian-nb", **EXACT).fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    assert ours.theta_[:2] == pytest.approx(theirs.theta_, abs=2e-3)
    assert ours.var_[:2] == pytest.approx(theirs.var_, abs=5e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.999
    lda = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)
    ours = make("logistic-regression", classes=["a", "b"], **EXACT).fit(X, y)
    assert ours.coef_ == pytest.approx(lda.coef_, rel=1e-2, abs=1e-2)
    assert ours.predict_proba(X[:50]) == pytest.approx(lda.predict_proba(X[:50]), abs=1e-2)
    assert ours.decision_function(X[:3]).shape == (3,)
    ours, theirs = make("standard-scaler", **EXACT).fit(X), preprocessing.StandardScaler().fit(X)
    assert ours.transform(X) == pytest.approx(theirs.transform(X), abs=2e-3)
    assert ours.inverse_transform(ours.transform(X)) == pytest.approx(X)
    ours, theirs = make("pca", **EXACT).fit(X), decomposition.PCA(2).fit(X)
    assert np.abs(np.diag(ours.components_ @ theirs.components_.T)) == pytest.approx([1, 1], abs=1e-4)
    assert ours.explained_variance_ratio_ == pytest.approx(theirs.explained_variance_ratio_, abs=1e-3)
    whole = make("pca", n_components=3, whiten=True, **EXACT).fit(X)
    assert whole.inverse_transform(whole.transform(X)) == pytest.approx(X)
    assert whole.transform(X).std(axis=0) == pytest.approx(np.ones(3), abs=1e-2)
    theirs = preprocessing.QuantileTransformer(n_quantiles=101, subsample=None).fit(X)
    for output in ("uniform", "normal"):
        ours = make("quantile-transformer", n_quantiles=101, output_distribution=output, **EXACT).fit(X)
        theirs.set_params(output_distribution=output)
        inner = (X > 1) & (X < 9)
        assert ours.transform(X)[inner] == pytest.approx(theirs.transform(X)[inner], abs=0.05)
        assert ours.inverse_transform(ours.transform(X[:50])) == pytest.approx(X[:50], abs=0.3)


def test_without_noise_linear_models_are_scikit_learns():
    X, y = rows("linear-regression", 3000)
    X, y = np.clip(X, 0, 10), np.clip(y, -5, 5)
    for name, theirs in (
        ("linear-regression", linear_model.LinearRegression()),
        ("ridge", linear_model.Ridge(2.0)),
    ):
        for intercept in (True, False):
            ours = make(name, fit_intercept=intercept, **EXACT).fit(X, y)
            theirs.set_params(fit_intercept=intercept).fit(X, y)
            assert ours.coef_ == pytest.approx(theirs.coef_, abs=2e-3)
            assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-2)
            assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-3)


def test_without_noise_categories_are_scikit_learns():
    X, y = rows("categorical-nb", 2000)
    ours = make("categorical-nb", classes=["a", "b"], **EXACT).fit(X, y)
    codes = np.column_stack([np.searchsorted(["blue", "green", "red"], list(X[:, 0])), X[:, 1].astype(int)])
    theirs = naive_bayes.CategoricalNB(min_categories=[3, 4]).fit(codes, y)
    for found, expected in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        assert found == pytest.approx(expected)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(codes), abs=1e-3)
    with pytest.raises(UndeclaredValue, match="category"):
        ours.predict([["pink", 0]])


@pytest.mark.parametrize("name", [n for n in NAMES if n not in GROWN])
def test_the_noise_of_every_block_is_as_wide_as_its_law_says(name):
    """Sixty seeded fits of one row, block by block: too little and too much noise are both seen.

    Noise of one law in all blocks of a kind, divided by its scale: chi-square at 1e-9.
    """
    data = taken(rows(name, 1), slice(None))
    exact = make(name, **EXACT).fit(*data)
    drawn, law = [], None
    for seed in range(60):
        model = make(name, budget=2.0, random_state=seed).fit(*data)
        law = model._mechanism.laws[-1]
        chosen = [i for i, other in enumerate(model._mechanism.laws) if other == law]
        difference = model.release_.value - exact.release_.value
        starts, blocks = model._mechanism.statistic.starts, model._mechanism.statistic.blocks
        drawn += [difference[starts[i] : starts[i] + blocks[i].width] for i in chosen]
    noise = np.concatenate(drawn)
    while noise.size < 4000:  # few cells: more seeds
        seed += 1
        model = make(name, budget=2.0, random_state=seed).fit(*data)
        difference = model.release_.value - exact.release_.value
        noise = np.concatenate(
            [noise, *(difference[starts[i] : starts[i] + blocks[i].width] for i in chosen)]
        )
    coarse = max(1, round(law.scale / 20))
    noise, law = np.round(noise / coarse).astype(int), with_scale(law, 1 / coarse)
    assert fit(noise, law) > ALARM
    assert fit(noise, with_scale(law, 0.8)) < ALARM, "this test cannot see too little noise"
    assert fit(noise, with_scale(law, 1.25)) < ALARM, "this test cannot see too much noise"


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.3, 1.0])
@pytest.mark.parametrize(
    "name", ["linear-regression", "standard-scaler", "gaussian-nb", "logistic-regression"]
)
def test_intervals_hold_as_often_as_they_say_after_deletions(name, budget):
    """60 releases at 90%, with some noise and with much; five standard errors: false alarms below 1e-6."""
    data = rows(name, 4000)
    attribute = {"standard-scaler": "mean_", "gaussian-nb": "theta_"}.get(name, "coef_")
    settings = {"classes": ["a", "b"]} if name in ("gaussian-nb", "logistic-regression") else {}
    exact = make(name, **settings, **EXACT).fit(*taken(data, slice(500, None)))
    held = []
    for seed in range(60):
        model = make(name, budget=budget, random_state=seed, **settings).fit(*taken(data, slice(None)))
        low, high = model.forget(*taken(data, slice(0, 500))).intervals(0.9)[attribute]
        held.append((low <= getattr(exact, attribute)) & (getattr(exact, attribute) <= high))
    share = np.mean(held, axis=0)
    assert (share > 0.9 - 5 * np.sqrt(0.09 / 60)).all()


def test_parameters_of_the_solution_may_change_and_spend_nothing():
    X, y = rows("ridge", 500)
    model = make("ridge", budget=20.0, random_state=1).fit(X, y)
    before, release = model.coef_, model.release_
    assert np.abs(model.set_params(alpha=1e6).coef_).max() < 0.1 * np.abs(before).max()
    assert model.release_ == release
    bayes = make("gaussian-nb", classes=["a", "b"], random_state=1).fit(*rows("gaussian-nb", 200))
    assert bayes.set_params(priors=[1.0, 0.0]).predict(X[:20]).tolist() == ["a"] * 20
    with pytest.raises(ValueError, match="priors"):
        make("gaussian-nb", priors=[1.0]).fit(*rows("gaussian-nb", 20))
    with pytest.raises(ValueError, match="priors"):
        bayes.set_params(priors=[9, 9, 9]).predict(X[:2])
    with pytest.raises(ValueError, match="alpha must be a number of at least 0"):
        _ = model.set_params(alpha=-1.0).coef_
    scaler = make("standard-scaler", budget=20.0, random_state=1).fit(X)
    scale = scaler.scale_
    assert scaler.set_params(steps=1).forget(X[:1]).scale_ == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("logistic-regression", {"penalty": "l2"}),
        ("logistic-regression", {"penalty": None}),
        ("logistic-regression", {"expected_rows": -3}),
        ("ridge", {"alpha": -1.0}),
        ("categorical-nb", {"alpha": "x"}),
        ("gaussian-nb", {"rows_per_person": 1.5}),
        ("gaussian-nb", {"rows_per_person": None}),
        ("gaussian-nb", {"budget": (1.0, 1e-6)}),
        ("gaussian-nb", {"classes": 2}),
        ("categorical-nb", {"categories": {"c": ["red"], "d": [1]}}),
        ("categorical-nb", {"categories": ["data", [0, 1, 2, 3]]}),
        ("linear-regression", {"bounds": [(0, 10), (0, 10), (0, 10)]}),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_published(name, settings):
    model = make(name, **settings)
    with pytest.raises(Exception, match=r"must|make|they") as refused:
        model.fit(*rows(name, 40))
    assert isinstance(refused.value, ValueError | UndeletedError)
    assert not hasattr(model, "release_")


def test_warnings_point_at_the_users_line():
    with pytest.warns(PrivacyLeakWarning) as caught:
        make("gaussian-nb", bounds="data", classes="data", random_state=1).fit(*rows("gaussian-nb", 40))
    assert {warning.filename for warning in caught} == {__file__}


def test_classes_may_be_a_set():
    assert make("gaussian-nb", classes={"a", "b", "c"}).fit(*rows("gaussian-nb", 40)).classes_.tolist() == [
        *"abc"
    ]


@pytest.mark.parametrize("name", ["gaussian-nb", "linear-regression", "standard-scaler"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(name):
    data, row = rows(name, 100), taken(rows(name, 100), [3])
    model = make(name, random_state=1).fit(*taken(data, slice(None)))
    after = make(name, random_state=1).fit(*taken(data, slice(None))).forget(*row).release_
    for settings, wrong in (
        ({"bounds": (0, 2), "budget": -1.0}, taken(data, slice(None))),
        ({"bounds": (0, 2), "rows_per_person": 0}, taken(data, slice(None))),
        ({"bounds": (0, 2)}, (np.full((5, 3), np.nan), *([] if data[1] is None else [data[1][:5]]))),
    ):
        kept = model.get_params()
        with pytest.raises(Exception, match=r"."):
            model.set_params(**settings).fit(*wrong)
        model.set_params(**kept)
    assert model.forget(*row).release_ == after


def test_no_value_of_a_record_is_in_a_message():
    secret = "Alice Smith"
    for data in ([["0.5"], [secret]], [[0.5], [secret]]):
        for call in (models.StandardScaler(bounds=(0, 1)).fit, lambda X: _fitted().forget(X, [0.5, 0.5])):
            with pytest.raises(ValueError, match=r".") as refused:
                call(data)
            assert secret not in str(refused.value)
    for call in (
        lambda: _fitted().forget(np.array([[0.5]]), [secret]),
        lambda: _fitted().fit([[0.5], [0.2]], ["0.5", secret]),
        lambda: _fitted().forget(np.array([0.25]), [0.5]),
        lambda: _fitted().forget(np.array([[0.25 + 1j]]), [0.5]),
        lambda: _fitted().fit(np.array([[0.25 + 1j]]), [0.5]),
    ):
        with pytest.raises(ValueError, match=r".") as refused:
            call()
        assert secret not in str(refused.value)
        assert "0.25" not in str(refused.value)


def _fitted():
    return models.LinearRegression(bounds=(0, 1), bounds_y=(0, 1), random_state=1).fit(
        [[0.5], [0.2]], [0.5, 0.1]
    )


def test_logistic_regression_leaves_products_out_when_the_public_says_there_are_few_rows():
    X, y = rows("logistic-regression", 300)
    few = make("logistic-regression", expected_rows=40).fit(X, y)
    many = make("logistic-regression", expected_rows=100_000).fit(X, y)
    full = make("logistic-regression", covariance="full", expected_rows=40).fit(X, y)
    assert not few._mechanism.products
    assert many._mechanism.products
    assert full._mechanism.products
    assert isinstance(few._mechanism.statistic, SecondMoments)
    with pytest.raises(Exception, match="Choose auto, full or diagonal"):
        make("logistic-regression", covariance="some").fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        make("logistic-regression", classes=["a"]).fit(X, np.repeat("a", 300))


AUDITED = {
    "gaussian-nb": ("GaussianNB", {"bounds": [0, 255], "classes": [0, 1]}),
    "linear-regression": ("LinearRegression", {"bounds": [0, 255], "bounds_y": [0, 255]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_the_auditor_does_not_break_what_is_published(name):
    """At a size at which it breaks the retrained originals; a false alarm has probability 1e-3."""
    kind, settings = AUDITED[name]
    sure = Options(budget=6, confidence=0.999)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = audit(TargetSpec(f"undeleted.models:{kind}", settings, see=("release_",)), sure)
        original = {"GaussianNB": "naive_bayes", "LinearRegression": "linear_model"}[kind]
        see = ("labels",) if kind == "GaussianNB" else ()
        theirs = audit(
            TargetSpec(f"sklearn.{original}:{kind}", see=see), Options(budget=60, confidence=0.999)
        )
    assert ours.undeleted.startswith("not broken")
    assert ours.forgets.verdict == "yes"
    assert theirs.undeleted == "broken"


@pytest.mark.parametrize("name", NAMES)
def test_answers_follow_a_deletion(name):
    data = rows(name, 200)
    model = make(name, budget=20.0, random_state=1).fit(*taken(data, slice(None)))
    before = {key: np.array(getattr(model, key)) for key in model.intervals()}
    count = model.count_
    model.forget(*taken(data, slice(0, 150)))
    assert any(not np.array_equal(value, getattr(model, key)) for key, value in before.items())
    assert 100 < count - model.count_ < 200
