"""Errors say by their class what went wrong, and are also the built-in error that callers expect."""

import pickle
import re
import sys

import pytest

import undeleted
from undeleted import errors, models
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyHistogram, NoisyMean, RangeCounts
from undeleted.curate.stores._json_descriptions import describe
from undeleted.foundations import registry
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Number, Schema

AGE = Number("age", min=0, max=9)
PEOPLE = Schema([AGE])


def released(mechanism):
    return mechanism.release(Arrays(PEOPLE.table([1, 2, 3])), seeded(7))


@pytest.mark.parametrize(
    ("work", "error", "base"),
    [
        (lambda: NoisyMean("age", 1.0), errors.NotAColumn, TypeError),
        (lambda: RangeCounts(AGE, 1.0, branching=1), errors.BadSetting, ValueError),
        (lambda: registry.find("undeleted.curate.mechanisms", "noisy-summ"), errors.UnknownName, KeyError),
        (lambda: Number("age", min=9, max=0), errors.BadBounds, ValueError),
        (lambda: undeleted.Budget(-1), errors.BadBudget, ValueError),
        (
            lambda: RangeCounts(AGE, 1.0).quantile(released(RangeCounts(AGE, 1.0)), 2.0),
            errors.BadQuestion,
            ValueError,
        ),
        (
            lambda: NoisyHistogram(AGE, 1.0).count(released(NoisyHistogram(AGE, 1.0)), pay=1),
            errors.NotFound,
            KeyError,
        ),
        (lambda: describe(object()), errors.WrongType, TypeError),
        (lambda: undeleted.audit("nonsense"), errors.BadTarget, ValueError),
    ],
)
def test_the_class_says_what_went_wrong(work, error, base):
    with pytest.raises(base) as caught:
        work()
    assert type(caught.value) is error
    assert isinstance(caught.value, errors.UndeletedError)
    assert str(caught.value) == f"{caught.value.what}\n{caught.value.remedy}", "also where it is a KeyError"


def test_an_extra_that_is_missing_is_an_import_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for name in [n for n in sys.modules if n.startswith("undeleted.models.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'undeleted\[models\]'") as caught:
        _ = models.GaussianNB
    assert type(caught.value) is errors.MissingExtra


def test_the_tree_at_the_top_is_the_tree_below():
    drawn = re.findall(r"^    [│ ]*[├└]── (\w+)", errors.__doc__, re.M)
    defined = {name for name, thing in vars(errors).items() if isinstance(thing, type)}
    family = {name for name in defined if issubclass(getattr(errors, name), errors.UndeletedError)}
    warnings = {name for name in defined if issubclass(getattr(errors, name), errors.PrivacyLeakWarning)}
    assert sorted(drawn) == sorted((family | warnings) - {"UndeletedError", "PrivacyLeakWarning"})


def test_every_error_survives_a_pickle():
    error = errors.BudgetSpent("income", 0.5, 0.2, 1.0)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.left) == (type(error), str(error), 0.2)
