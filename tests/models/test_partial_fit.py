"""Further people are a batch of their own: the totals add up, people leave from any batch, noises add up."""

import math

import numpy as np
import pytest

from support.estimators import GROWN, NAMES, make, rows, taken
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, NoNoise
from undeleted.foundations.privacy import Budget, account

pytestmark = [
    pytest.mark.filterwarnings("ignore::undeleted.errors.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning"),
]
LINEAR = tuple(name for name in NAMES if name not in GROWN)


@pytest.mark.parametrize("name", LINEAR)
def test_two_batches_are_one_table_and_people_leave_from_either(name):
    data = rows(name, 120)
    first, second, gone = np.arange(70), np.arange(70, 120), np.array([3, 90])
    settings = {"budget": NoNoise(), "random_state": 7}
    whole = make(name, **settings).fit(*taken(data, np.arange(120)))
    model = make(name, **settings).fit(*taken(data, first))
    assert model.partial_fit(*taken(data, second)) is model
    assert np.array_equal(model.release_.value, whole.release_.value)
    model.forget(*taken(data, gone))
    stay = make(name, **settings).fit(*taken(data, np.setdiff1d(np.arange(120), gone)))
    assert np.array_equal(model.release_.value, stay.release_.value)
    begun = make(name, **settings).partial_fit(*taken(data, np.arange(120)))
    assert np.array_equal(begun.release_.value, whole.release_.value), "the first batch is a fit"


@pytest.mark.parametrize("budget", [2.0, Budget(2.0, 1e-6)])
def test_every_batch_has_the_noise_of_a_fit_and_noises_add_up(budget):
    data = rows("standard-scaler", 400)
    model = make("standard-scaler", budget=budget, random_state=1).fit(*taken(data, np.arange(100)))
    one = model._mechanism.laws
    for batch in range(1, 4):
        model.partial_fit(*taken(data, np.arange(100 * batch, 100 * batch + 100)))
    assert account(model._of_a_batch.events, 1e-6).epsilon <= 2.0 * (1 + 1e-9), "a person is in one batch"
    for law, wide in zip(one, model._mechanism.laws, strict=True):
        narrow = law.sigma if isinstance(law, DiscreteGaussian) else law.scale * math.sqrt(2)
        spread = wide.sigma if isinstance(wide, DiscreteGaussian) else wide.scale * math.sqrt(2)
        assert spread == pytest.approx(2 * narrow, rel=0.05)
        assert isinstance(wide, DiscreteGaussian | DiscreteLaplace)
    low, high = model.intervals()["mean_"]
    assert (low <= model.mean_).all()
    assert (model.mean_ <= high).all()


def test_what_is_not_the_same_table_is_refused_and_nothing_changes():
    data = rows("gaussian-nb", 60)
    model = make("gaussian-nb", budget=2.0, random_state=1).fit(*data)
    before = model.release_.value
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(data[0][:, :2], data[1])
    with pytest.raises(ValueError, match="declare"):
        model.partial_fit(data[0], np.array(["nobody declared this"] * 60))
    assert np.array_equal(model.release_.value, before)
    refitted = model.fit(*data)
    assert refitted._batches == 1


@pytest.mark.parametrize("name", GROWN)
def test_a_shape_that_grew_takes_nobody_in(name):
    assert not hasattr(make(name), "partial_fit")
