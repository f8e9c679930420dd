"""What all estimators share: they publish once, keep nothing else, and answer from what was published.

fit       rows → codes on a public grid → mechanism.release: the only use of the data
partial_fit   further people, as a batch with a release of its own: the releases add up
forget    rows → codes → the mechanism's forget, from the release and these rows alone; after `fit_salted`
          only rows that were fitted
answer    every fitted attribute, computed on first use and cached until the next deletion
"""

import functools
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_random_state, validate_data

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.arrivals import summed
from undeleted.curate.releases.bootstrap import redrawn
from undeleted.curate.releases.subtracting import Owned, Release, Subtracting
from undeleted.curate.releases.units import spread_of
from undeleted.errors import (
    BadSetting,
    ForgottenTooMany,
    PrivacyLeakWarning,
    RefitWarning,
    SeededNoiseWarning,
    TuningWarning,
)
from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.coins import Coins, secure, seeded
from undeleted.foundations.privacy import Noise, as_noise
from undeleted.foundations.schema import Schema, Table
from undeleted.foundations.types import Given
from undeleted.models._salted_rows import SaltedRows
from undeleted.models._types import Answers, Intervals, Labelled, Matrix, RowLabels
from undeleted.models._warnings import warn

Model = TypeVar("Model")
Arguments = ParamSpec("Arguments")
STEPS = 4096  # of the grid between the bounds of a number
_MANY_FITS = tuple(
    f"sklearn.{part}"
    for part in (
        "model_selection",
        "calibration",
        "ensemble",
        "multiclass",
        "multioutput",
        "feature_selection",
    )
)
_DRAWS = 400  # for intervals: the noise is drawn again around the release
_BEYOND = 7.0  # standard deviations of the count's noise: exceeded once in 40,000 releases by Laplace noise


def restore_on_failure(
    fit: Callable[Concatenate[Model, Arguments], Model],
) -> Callable[Concatenate[Model, Arguments], Model]:
    """Decorate `fit`: a fit that fails leaves the model unchanged, with what it has published."""

    @functools.wraps(fit)
    def fitted(self: Model, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Model:
        with restored_on_failure(self):
            return fit(self, *args, **kwargs)

    return fitted


@contextmanager
def restored_on_failure(model: Given) -> Iterator[None]:
    """If the block fails, the model is what it was."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def if_it_grows(method: Callable[Arguments, Model]) -> Callable[Arguments, Model]:
    """Decorate `partial_fit`: estimators whose shape was chosen from the first people do not have it."""
    decorated: Callable[Arguments, Model] = available_if(lambda model: model._grows)(method)
    return decorated


def if_it_has_rows(method: Callable[Arguments, Array]) -> Callable[Arguments, Array]:
    """Decorate `fit_salted`: a recommender counts people's baskets, which have no codes row by row."""
    decorated: Callable[Arguments, Array] = available_if(lambda model: model._has_rows)(method)
    return decorated


def checked(model: BaseEstimator, *args: Given, **kwargs: Given) -> Given:
    """scikit-learn's validation, without a record's value in the message."""
    try:
        return validate_data(model, *args, **kwargs)
    except ValueError as error:
        if "could not convert" in str(error):
            raise ValueError("could not convert some of the values to numbers") from None
        if "Expected 2D array" in str(error):
            shape = "Expected 2D array, a row per record. Reshape your data: one record is X.reshape(1, -1)."
            raise ValueError(shape) from None
        if "Complex data" in str(error):
            raise ValueError("Complex data not supported") from None
        raise


def transformed(X: Given, width: int) -> FloatArray:
    """Validate the input of an inverse transform; return a copy."""
    X = check_array(X, dtype=np.float64, copy=True)
    if X.shape[1] != width:
        raise ValueError(f"X has {X.shape[1]} columns, but {width} were transformed.")
    return np.asarray(X)


def rows_in(X: Given) -> int:
    """The number of rows of an array, a frame or a list."""
    try:
        return int(X.shape[0]) if getattr(X, "shape", ()) else len(X)
    except TypeError:
        raise ValueError("X must be rows: an array, a frame or a list of rows.") from None


def as_count(value: Given) -> Given:
    """Convert a numpy integer to a Python one; return anything else unchanged, for others to validate."""
    return int(value) if isinstance(value, np.integer) else value


def as_number(value: Given, name: str, least: float = 0.0) -> float:
    """Check that a parameter is a number of at least `least`, before anything is published."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= least:
        raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
    return float(value)


def fitted_attribute(name: str, doc: str) -> Given:
    """A fitted attribute, computed from the release."""
    return property(lambda self: self._cached_answers()[name], doc=doc)


class ForgettingEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that publishes once and forgets row by row."""

    _mechanism: Given

    @abstractmethod
    def _answers(self, values: Given) -> Answers:
        """Every fitted attribute, from what was published: mostly the noisy cells."""

    @abstractmethod
    def _codes(self, X: Given, y: Given) -> IntArray:
        """Validate rows to forget; return their codes in the order of the statistic's columns."""

    def _publish(self, mechanism: Subtracting, codes: IntArray) -> None:
        """Publish from encoded rows: the only use of the data."""
        self._cap()
        self._release(mechanism, Arrays(_table(mechanism, codes)))

    def _release(self, mechanism: Given, totals: Given) -> None:
        """Publish from any source of totals, after all parameters were checked."""
        warn_of_tuning(type(self).__name__, self.budget)
        if "_state" in self.__dict__:
            warn_of_refit(type(self).__name__, self.budget)
        if mechanism.events is None:
            problem = f"{type(self).__name__}: this budget makes no promise of differential privacy."
            warn(f"{problem} Give an ε.", PrivacyLeakWarning)
        self.__dict__.pop("_salted", None)
        self._mechanism = self._of_a_batch = mechanism
        self._batches = 1
        self._state = self._kept_of(mechanism.release(totals, self._coins()))
        self.budget_ = mechanism.budget
        self._kept: Answers = {}
        self._least = -_BEYOND * self._noise_of_rough_count()

    @if_it_grows
    def partial_fit(
        self, X: Matrix, y: RowLabels | None = None, classes: Labelled = None
    ) -> "ForgettingEstimator":
        """Take in further people: a batch with the whole budget, because each person is in one batch.

        The noises of the batches add up: after t batches they are √t times as wide.  `forget` is as before.
        A person in two batches pays twice.  `classes`, if given, must be among the declared ones.
        """
        if "_state" not in self.__dict__:
            fitted: ForgettingEstimator = self.fit(X) if y is None else self.fit(X, y)
            return fitted
        if "_salted" in self.__dict__:
            raise BadSetting("this model was fitted with salts.", "Fit a model of its own on the new rows.")
        batch = self._of_a_batch.release(Arrays(_table(self._of_a_batch, self._codes(X, y))), self._coins())
        self._state.value += batch.value
        self._batches += 1
        self._mechanism = self._of_a_batch.with_laws(summed(self._of_a_batch.laws, self._batches))
        self._least = -_BEYOND * self._noise_of_rough_count()
        self._kept = {}
        return self

    def _cap(self) -> int:
        """Validate and return the most rows of one person."""
        as_number(self.rows_per_person, "rows_per_person", 1)
        if int(self.rows_per_person) != self.rows_per_person:
            raise ValueError(f"rows_per_person must be a whole number, got {self.rows_per_person!r}.")
        return int(self.rows_per_person)

    @if_it_has_rows
    def fit_salted(self, X: Matrix, y: RowLabels | None = None) -> Array:
        """Fit, and return a salt for every row: `forget` then refuses rows that were never fitted, or twice.

        Keep the salts beside the rows, and apart from the model, which keeps a keyed tag of every row and its
        salt: so it tells how many rows are left, and nothing about them.
        """
        with restored_on_failure(self):
            _ = self.fit(X) if y is None else self.fit(X, y)
            self._salted, salts = SaltedRows.issued(self._codes(X, y))
        return salts

    def forget(
        self, X: Matrix, y: RowLabels | None = None, salts: ArrayLike | None = None
    ) -> "ForgettingEstimator":
        """Subtract rows, using only what was published and these rows; it spends no ε.

        Nothing checks whether the rows were ever fitted: other rows are subtracted all the same.  After
        `fit_salted`, give the `salts` of the rows: if one of them was not fitted, or was forgotten, this is
        an error, and nothing is subtracted.
        """
        self._require_fitted()
        salted: SaltedRows | None = self.__dict__.get("_salted")
        if (salts is None) != (salted is None):
            problem = (
                "this model was fitted with salts." if salted else "this model was fitted without salts."
            )
            raise BadSetting(problem, "`forget` takes the salts that `fit_salted` returned, and no others.")
        if not rows_in(X):
            return self  # there is nothing to forget
        codes = self._codes(X, y)
        contribution = self._contribution(codes)
        if salted is not None:
            salted.take(codes, salts)
        self._state = self._mechanism.forget(self._state, contribution)
        self._kept = {}
        self._warn_of_too_many()
        return self

    def _warn_of_too_many(self) -> None:
        if self._rough_count() < self._least:
            warn(
                f"{type(self).__name__}: more rows were forgotten than were ever fitted, or some twice; "
                "noise alone does not explain such a low count.",
                ForgottenTooMany,
            )

    @property
    def release_(self) -> Release:
        """A copy of the current release; later deletions do not change the copy."""
        self._require_fitted()
        copy: Release = self._state.copy()
        return copy

    def _kept_of(self, release: Given) -> Release:
        """The release as it is kept: deletions update its cells in place."""
        return Owned(release, self._mechanism.shaped)

    def _contribution(self, codes: Given) -> Given:
        """What the rows to forget have contributed."""
        return self._mechanism.contribution(codes)

    def _published(self) -> Given:
        """The published values from which answers are computed."""
        return self._state.value.astype(float)

    def _require_fitted(self) -> None:
        if "_state" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")

    def _count(self) -> float:
        """The noisy count of the rows that are left, without any correction."""
        return float(self._state.value[0])

    def _noise_of_count(self) -> float:
        return spread_of(self._mechanism.laws[0])

    def _rough_count(self) -> float:
        """A noisy count that is as cheap as a deletion, for the warning after each one."""
        return self._count()

    def _noise_of_rough_count(self) -> float:
        return self._noise_of_count()

    @property
    def count_(self) -> float:
        """About how many rows are left; it may be off by the noise, and below 0."""
        self._cached_answers()
        return self._count()

    def intervals(self, confidence: float = 0.95) -> Intervals:
        """For every fitted number two arrays, low and high: an interval for its value without noise.

        The noise is drawn again around the release.  The intervals say nothing about rows never fitted.
        """
        answer = {name: np.asarray(self._cached_answers()[name]) for name in self._numbers}

        def flat(values: FloatArray) -> FloatArray:
            answers = self._untamed(values)
            return np.concatenate([np.ravel(answers[name]) for name in self._numbers])

        values = self._published()
        _, low, high, _ = redrawn(self._mechanism, values, flat, confidence, _DRAWS)
        shown = np.concatenate([np.ravel(part) for part in answer.values()])
        low, high = np.minimum(low, shown), np.maximum(high, shown)
        cuts = np.cumsum([part.size for part in answer.values()])[:-1]
        ends = zip(answer.items(), np.split(low, cuts), np.split(high, cuts), strict=True)
        return {name: (a.reshape(part.shape), b.reshape(part.shape)) for (name, part), a, b in ends}

    def _untamed(self, values: FloatArray) -> Answers:
        """The answers for intervals: without a bias that does not show when the noise is drawn again."""
        return self._answers(values)

    _grows = True  # whether further people can be taken in; a shape that grew was chosen from the first
    _has_rows = True  # whether every row has codes of its own
    _numbers: tuple[str, ...] = ()  # the fitted attributes that have intervals
    _solved_with: tuple[str, ...] = ()  # parameters that may change after fitting: they spend nothing

    def _cached_answers(self) -> Answers:
        self._require_fitted()
        now = repr([getattr(self, name) for name in self._solved_with])
        if self._kept.get("for") != now:
            self._kept.update(self._answers(self._published()))
            self._kept["for"] = now
        return self._kept

    def _matrix(self, X: Given) -> FloatArray:
        """Validate rows to forget; a plain array of floats takes a fast path."""
        plain = type(X) is np.ndarray and X.dtype == np.float64 and "feature_names_in_" not in self.__dict__
        if plain and X.ndim == 2 and X.shape[1] == self.n_features_in_ and X.shape[0]:
            return X  # type: ignore[no-any-return]
        return np.asarray(checked(self, X, reset=False, dtype=np.float64, ensure_all_finite=False))

    def _budget(self) -> Noise:
        """The budget as a value: a number is a pure ε."""
        return as_noise(self.budget)

    def _coins(self) -> Coins:
        return coins_of(self)


def _table(mechanism: Given, codes: IntArray) -> Table:
    """Encoded rows as a table of the mechanism's columns."""
    schema = Schema(list(mechanism.columns))
    by_name = dict(zip(schema.names, codes.T, strict=True))
    return Table(schema, len(codes), by_name, dict.fromkeys(by_name, np.ones(len(codes), dtype=bool)), {})


def coins_of(model: Given) -> Coins:
    """Secure coins; or those of the model's random_state, with a warning."""
    state = model.random_state
    if state is None:
        return secure()
    warn(
        f"{type(model).__name__}: anybody who learns the random_state can remove the noise. "
        "Leave it out where the noise protects people.",
        SeededNoiseWarning,
    )
    if hasattr(state, "noisy"):  # our own coins, for exact worlds
        return state  # type: ignore[no-any-return]
    return seeded(int(check_random_state(state).randint(2**31 - 1)))


def warn_of_refit(name: str, budget: Noise) -> None:
    """Warn that a second fit of an instance publishes again."""
    warn(
        f"{name}: this instance was fitted before. Fitting it again draws new noise "
        f"and spends its budget ({budget!r}) once more: the average of many fits reveals "
        "what each of them hides.",
        RefitWarning,
    )


def warn_of_tuning(name: str, budget: Noise) -> None:
    """Warn inside a search or a cross-validation: every fit is a separate release."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_MANY_FITS):
            warn(
                f"{name}: every fit of a search, a cross-validation or an ensemble publishes again and "
                f"spends its budget ({budget!r}) on the rows that it is given; their ε add up, rows drawn "
                "twice count twice, and scores on private rows carry no noise. Tune on public data, or count "
                "every fit.",
                TuningWarning,
            )
            return
        frame = frame.f_back  # type: ignore[assignment]
