"""What all estimators share: they publish once, keep nothing else, and answer from what was published.

fit       rows → codes on a public grid → mechanism.release: the only touch
forget    rows → codes → the mechanism's forget, from the release and these rows alone
answer    every fitted attribute, computed when somebody asks and kept until the next deletion
"""

import functools
import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_random_state, validate_data

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.bootstrap import redrawn
from undeleted.curate.releases.subtracting import Owned
from undeleted.curate.releases.units import spread_of
from undeleted.errors import (
    BadBudget,
    ForgottenTooMany,
    PrivacyLeakWarning,
    RefitWarning,
    SeededNoiseWarning,
    TuningWarning,
)
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import Coins, Law, secure, seeded
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Schema, Table
from undeleted.models._warnings import warn

STEPS = 4096  # of the grid on which a number lies between its bounds
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


def whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that fails leaves the model as it was, with what it has published."""

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return fitted


def checked(model: Any, *args: Any, **kwargs: Any) -> Any:
    """scikit-learn's validation, without a record's value in the message."""
    try:
        return validate_data(model, *args, **kwargs)
    except ValueError as error:
        if "could not convert" in str(error):
            raise ValueError("could not convert some of the values to numbers") from None
        if "Expected 2D array" in str(error):
            shape = "Expected 2D array, a row a record. Reshape your data: one record is X.reshape(1, -1)."
            raise ValueError(shape) from None
        if "Complex data" in str(error):
            raise ValueError("Complex data not supported") from None
        raise


def transformed(X: Any, width: int) -> FloatArray:
    """What a transform gave, to be turned back: a copy of the right width."""
    X = check_array(X, dtype=np.float64, copy=True)
    if X.shape[1] != width:
        raise ValueError(f"X has {X.shape[1]} columns, but {width} were transformed.")
    return np.asarray(X)


def rows_in(X: Any) -> int:
    """How many rows there are, of whatever has rows."""
    try:
        return int(X.shape[0]) if getattr(X, "shape", ()) else len(X)
    except TypeError:
        raise ValueError("X must be rows: an array, a frame or a list of rows.") from None


def as_count(value: Any) -> Any:
    """A whole number of numpy's as one of Python's; anything else as it is, for others to judge."""
    return int(value) if isinstance(value, np.integer) else value


def as_number(value: Any, name: str, least: float = 0.0) -> float:
    """A parameter that must be a number of at least so much; said before anything is published."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= least:
        raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
    return float(value)


def told(name: str, doc: str) -> Any:
    """A fitted attribute: a function of the release."""
    return property(lambda self: self._told()[name], doc=doc)


class ForgettingEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that publishes once and forgets row by row."""

    _mechanism: Any

    @abstractmethod
    def _answers(self, values: Any) -> dict[str, Any]:
        """Every fitted attribute, from what was published: mostly the noisy cells."""

    @abstractmethod
    def _codes(self, X: Any, y: Any) -> IntArray:
        """Rows that leave, checked, as codes in the order of the statistic's columns."""

    def _publish(self, mechanism: Any, codes: IntArray) -> None:
        """The only touch of the data."""
        self._cap()
        schema = Schema(list(mechanism.columns))
        by_name = dict(zip(schema.names, codes.T, strict=True))
        table = Table(
            schema, len(codes), by_name, dict.fromkeys(by_name, np.ones(len(codes), dtype=bool)), {}
        )
        self._release(mechanism, Arrays(table))

    def _release(self, mechanism: Any, totals: Any) -> None:
        """Publish from whatever adds up, once what is asked of it is known to be in order."""
        _warn_of_tuning(type(self).__name__, self.budget)
        if "_state" in self.__dict__:
            warn(
                f"{type(self).__name__}: this instance was fitted before. Fitting it again draws new noise "
                f"and spends its budget ({self.budget!r}) once more: the average of many fits tells what "
                "each of them hides.",
                RefitWarning,
            )
        if mechanism.events is None:
            told = f"{type(self).__name__}: this budget makes no promise of differential privacy."
            warn(f"{told} Give an ε.", PrivacyLeakWarning)
        self._mechanism = mechanism
        self._state = self._kept_of(mechanism.release(totals, self._coins()))
        self.budget_ = mechanism.noise
        self._kept: dict[str, Any] = {}
        self._least = -_BEYOND * self._noise_of_rough_count()

    def _cap(self) -> int:
        """The most rows of one person, checked."""
        as_number(self.rows_per_person, "rows_per_person", 1)
        if int(self.rows_per_person) != self.rows_per_person:
            raise ValueError(f"rows_per_person must be a whole number, got {self.rows_per_person!r}.")
        return int(self.rows_per_person)

    def forget(self, X: Any, y: Any = None) -> "ForgettingEstimator":
        """Take rows out, from what was published and these rows alone; it spends no ε.

        Nothing tells whether the rows were ever fitted: forgetting others takes them out all the same.
        """
        self._require_fitted()
        if not rows_in(X):
            return self  # nobody leaves today
        self._state = self._mechanism.forget(self._state, self._contribution(self._codes(X, y)))
        self._kept = {}
        self._warn_of_too_many()
        return self

    def _warn_of_too_many(self) -> None:
        if self._rough_count() < self._least:
            warn(
                f"{type(self).__name__}: more rows were forgotten than were ever fitted, or some twice; "
                "noise alone does not explain so low a count.",
                ForgottenTooMany,
            )

    @property
    def release_(self) -> Any:
        """What was published, as it stands: a copy, which later deletions leave alone."""
        self._require_fitted()
        return self._state.copy()

    def _kept_of(self, release: Any) -> Any:
        """The release as it is kept: its cells fall in place."""
        return Owned(release, self._mechanism.shaped)

    def _contribution(self, codes: IntArray) -> Any:
        """What rows that leave have added."""
        return self._mechanism.statistic.of_matrix(codes)

    def _published(self) -> Any:
        """What answers are computed from."""
        return self._state.value.astype(float)

    def _require_fitted(self) -> None:
        if "_state" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")

    def _count(self) -> float:
        """About how many rows are left: the noisy count, as it is."""
        return float(self._state.value[0])

    def _noise_of_count(self) -> float:
        return spread_of(self._mechanism.laws[0])

    def _rough_count(self) -> float:
        """The same at the price of a deletion, for the warning after each."""
        return self._count()

    def _noise_of_rough_count(self) -> float:
        return self._noise_of_count()

    @property
    def count_(self) -> float:
        """About how many rows are left; it may be off by the noise, and below 0."""
        self._told()
        return self._count()

    def intervals(self, confidence: float = 0.95) -> dict[str, Any]:
        """For every fitted number two arrays, low and high, between which it may lie for want of noise.

        The noise is drawn again around what was published; rows that were never fitted are not spoken of.
        """
        answer = {name: np.asarray(self._told()[name]) for name in self._numbers}

        def flat(values: FloatArray) -> FloatArray:
            found = self._untamed(values)
            return np.concatenate([np.ravel(found[name]) for name in self._numbers])

        values = self._published()
        _, low, high, _ = redrawn(self._mechanism, values, flat, confidence, _DRAWS)
        shown = np.concatenate([np.ravel(part) for part in answer.values()])
        low, high = np.minimum(low, shown), np.maximum(high, shown)
        cuts = np.cumsum([part.size for part in answer.values()])[:-1]
        ends = zip(answer.items(), np.split(low, cuts), np.split(high, cuts), strict=True)
        return {name: (a.reshape(part.shape), b.reshape(part.shape)) for (name, part), a, b in ends}

    def _untamed(self, values: FloatArray) -> dict[str, Any]:
        """The answers as intervals need them: without a bias that would not show in how they move."""
        return self._answers(values)

    _numbers: tuple[str, ...] = ()  # the fitted attributes that intervals speak of
    _solved_with: tuple[str, ...] = ()  # parameters that may change after fitting: they spend nothing

    def _told(self) -> dict[str, Any]:
        self._require_fitted()
        now = repr([getattr(self, name) for name in self._solved_with])
        if self._kept.get("for") != now:
            self._kept.update(self._answers(self._published()))
            self._kept["for"] = now
        return self._kept

    def _matrix(self, X: Any) -> FloatArray:
        """Rows to forget; a plain array of floats takes the short way."""
        plain = type(X) is np.ndarray and X.dtype == np.float64 and "feature_names_in_" not in self.__dict__
        if plain and X.ndim == 2 and X.shape[1] == self.n_features_in_ and X.shape[0]:
            return X  # type: ignore[no-any-return]
        return np.asarray(checked(self, X, reset=False, dtype=np.float64, ensure_all_finite=False))

    def _budget(self) -> Any:
        """The budget as a value: a number is a pure ε."""
        several = isinstance(self.budget, tuple) and all(isinstance(law, Law) for law in self.budget)
        if isinstance(self.budget, Budget | Zcdp | Law) or several:
            return self.budget
        if isinstance(self.budget, bool) or not isinstance(self.budget, int | float | np.number):
            raise BadBudget(
                "budget", self.budget, "a number (ε), a Budget such as Budget(1.0, 1e-6), or a Zcdp"
            )
        return Budget(float(self.budget))

    def _coins(self) -> Coins:
        if self.random_state is None:
            return secure()
        warn(
            f"{type(self).__name__}: with a random_state whoever learns it can take the noise off again. "
            "Leave it out where people are protected by it.",
            SeededNoiseWarning,
        )
        if hasattr(self.random_state, "noisy"):  # coins of ours, for exact worlds
            return self.random_state  # type: ignore[no-any-return]
        return seeded(int(check_random_state(self.random_state).randint(2**31 - 1)))


def _warn_of_tuning(name: str, budget: Any) -> None:
    """Inside a search or a cross-validation every fit is a release of its own."""
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
