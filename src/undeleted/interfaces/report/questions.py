"""What a publication answers: by itself, or to a question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_products import NoisyProducts
from undeleted.curate.releases.ranges import Ranges
from undeleted.errors import BadQuestion
from undeleted.foundations.schema import Number
from undeleted.interfaces.report.models import MODELS, parameters

FITS = {
    "quantile": (Ranges, "quantiles"),
    "range": (Ranges, "quantiles"),
    "where": (NoisyHistogram, "histogram"),
    "correlation": (NoisyProducts, "products"),
    "regression": (NoisyProducts, "products"),
}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {
    "NoisyCount": "count",
    "NoisySum": "sum",
    "NoisyMean": "mean",
    "NoisyVariance": "variance",
    "NoisyHistogram": "histogram",
    "RangeCounts": "quantiles",
    "GrownRangeCounts": "quantiles",
    "NoisyProducts": "products",
    "BulletinBoard": "board",
    "NoisyPairs": "recommender",
    "GrownBoxes": "k-means",
    "NoisyForest": "forest",
}
_STEADY = ("count", "sum", "histogram")  # whose intervals are the noise alone
MOST_CELLS = 1000  # of a histogram that is shown whole


def kind_of(mechanism: Any) -> str:
    """What a spec calls it."""
    name = type(mechanism).__name__
    return _KINDS.get(name, name)


def steadiness(kind: str) -> str:
    """What becomes of the intervals of a kind of publication as people leave."""
    if kind in _STEADY:
        return "deletions do not widen it"
    return "it grows as fewer people remain, who share the same noise"


def told(
    name: str, publication: Any, asked: Mapping[str, Any], confidence: float = 0.95
) -> Iterator[dict[str, Any]]:
    """The same, as they are shown and sent: an end of an interval that is open is null."""
    for label, estimate in answers(publication, asked, confidence):
        yield {
            "name": name,
            **({"of": label} if label else {}),
            "version": publication.version,
            "estimate": _finite(estimate.value) if hasattr(estimate, "value") else estimate,
            "low": _finite(getattr(estimate, "low", None)),
            "high": _finite(getattr(estimate, "high", None)),
            "confidence": confidence if hasattr(estimate, "low") else None,
        }


def _finite(number: float | None) -> float | None:
    """JSON has no infinity."""
    return number if number is not None and math.isfinite(number) else None


def answers(publication: Any, asked: Mapping[str, Any], confidence: float) -> Iterator[tuple[str, Any]]:
    """A label and an estimate for each answer."""
    mechanism, release = publication.mechanism, publication.release
    questions = {name: value for name, value in asked.items() if value not in (None, [], ())}
    for name in questions:
        kind, word = FITS[name]
        if not isinstance(mechanism, kind):
            raise BadQuestion(f"{name} is a question for a publication of kind {word}.", "Name one that is.")
    if isinstance(mechanism, Ranges):
        yield from _ranges(mechanism, release, questions, confidence)
    elif isinstance(mechanism, NoisyHistogram):
        yield from _histogram(mechanism, release, questions, confidence)
    elif isinstance(mechanism, NoisyProducts):
        yield from _products(mechanism, release, questions, confidence)
    elif isinstance(mechanism, MODELS):
        yield from parameters(mechanism, release, confidence)
    elif isinstance(mechanism, BulletinBoard):
        yield from (("", post) for post in release)
    else:
        yield "", publication.estimate(confidence)


def _ranges(
    mechanism: Any, release: Any, asked: dict[str, Any], confidence: float
) -> Iterator[tuple[str, Any]]:
    if "range" in asked:
        low, high = asked["range"]
        yield f"{low:g} to {high:g}", mechanism.count(release, low, high, confidence)
    if "quantile" in asked:
        yield f"quantile {asked['quantile']:g}", mechanism.quantile(release, asked["quantile"], confidence)
    if not asked:
        for q in (0.25, 0.5, 0.75):
            yield f"quantile {q:g}", mechanism.quantile(release, q, confidence)


def _histogram(
    mechanism: Any, release: Any, asked: dict[str, Any], confidence: float
) -> Iterator[tuple[str, Any]]:
    if "where" in asked:
        conditions = [_condition(mechanism, text) for text in asked["where"]]
        box = dict(conditions)
        if len(box) < len(conditions):
            raise BadQuestion("a column is asked about twice.", "Ask once, or with a range low..high.")
        yield ", ".join(asked["where"]), mechanism.count(release, confidence, **box)
        return
    over = mechanism.over
    names = [column.name for column in over]
    if math.prod(column.cells for column in over) <= MOST_CELLS:
        for values in product(*map(_values, over)):
            cell = dict(zip(names, values, strict=True))
            label = ", ".join(f"{name} = {value}" for name, value in cell.items())
            yield label, mechanism.count(release, confidence, **cell)
        return
    longest = max(over, key=lambda column: column.cells)
    if longest.cells > MOST_CELLS:
        raise BadQuestion(
            f"the histogram has {longest.cells:,} cells along {longest.name!r}.",
            "Ask with --where, or export it.",
        )
    for column in over:  # too many cells to be shown: each column alone
        others = "".join(f", any {name}" for name in names if name != column.name)
        for value in _values(column):
            count = mechanism.count(release, confidence, **{column.name: value})
            yield f"{column.name} = {value}{others}", count


def _values(column: Any) -> Sequence[Any]:
    """The values of a column, cell by cell."""
    return getattr(column, "values", None) or [
        column.value(c) if isinstance(column, Number) else bool(c) for c in range(column.cells)
    ]


def _condition(mechanism: Any, text: str) -> tuple[str, Any]:
    """column=value, or column=low..high for a number."""
    name, equals, value = text.partition("=")
    column = next((c for c in mechanism.over if c.name == name), None)
    if not equals or column is None:
        known = ", ".join(c.name for c in mechanism.over)
        raise BadQuestion(f"{text!r} asks for no column of the histogram.", f"Ask column=value of: {known}.")
    if not isinstance(column, Number):
        if hasattr(column, "values"):
            return name, value
        if value.lower() not in _WORDS:
            raise BadQuestion(f"{value!r} is neither true nor false.", f"Ask {name}=true or {name}=false.")
        return name, _WORDS[value.lower()]
    low, dots, high = value.partition("..")
    try:
        return name, (float(low), float(high)) if dots else float(value)
    except ValueError:
        raise BadQuestion(
            f"{value!r} is no number and no range.", "Ask column=18, or column=18..65."
        ) from None


def _products(
    mechanism: Any, release: Any, asked: dict[str, Any], confidence: float
) -> Iterator[tuple[str, Any]]:
    names = [column.name for column in mechanism.over]
    if "regression" in asked:
        features = [name for name in names if name != asked["regression"]]
        fitted = mechanism.regression(release, asked["regression"], features, confidence)
        yield from ((f"{asked['regression']} ~ {name}", slope) for name, slope in fitted.items())
    if "correlation" in asked:
        pairs = [tuple(asked["correlation"])]
    else:
        pairs = [] if asked else [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    for one, other in pairs:
        yield f"correlation of {one} and {other}", mechanism.correlation(release, one, other, confidence)
