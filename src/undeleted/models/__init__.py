"""Scikit-learn models that forget without exposing anyone: fit once with noise, then forget row by row.

    model = GaussianNB(bounds=([17, 1], [90, 16]), classes=[0, 1], budget=1.0).fit(X, y)
    model.forget(X[:1], y[:1])          # microseconds; no other row is read, and no ε is spent

`release_` is all that was published and all that is kept; everything else follows from it.  Bounds,
classes and categories are public: they are given, never read off the data.  Needs the extra `models`.

One file an estimator.  Imports `errors`, `foundations` and `curate`.
"""

from typing import Any

from undeleted.foundations import registry


def __getattr__(name: str) -> Any:
    try:
        return registry.lookup(__name__, name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        told = "The estimators need scikit-learn: pip install 'undeleted[models]'."
        raise ModuleNotFoundError(told, name="sklearn") from None


def __dir__() -> list[str]:
    return registry.directory(__name__)
