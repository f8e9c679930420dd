"""Publications that predict: what a spec says of a model, and the mechanism that publishes it.

kind = "naive-bayes"            features: all numbers or all categories; target: a category or boolean
kind = "linear-regression"      features, target: numbers
kind = "logistic-regression"    features: numbers; target: a category or boolean; products = false leaves
                                the products of features out, which many features and few people want
kind = "pca"                    features: numbers
kind = "forest"                 features: anything but texts; target: a category or boolean, or a number;
                                trees, depth
kind = "k-means"                features: numbers; clusters, expected_rows
kind = "recommender"            features: booleans, an item each; at_most, a cap on the items of one person
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.curate.mechanisms.noisy_class_histograms import NoisyClassHistograms
from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.curate.mechanisms.noisy_forest import NoisyForest
from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs
from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.errors import BadColumns
from undeleted.foundations.schema import Boolean, Category, Column, Number, Text

OPTIONS: dict[str, dict[str, bool | int]] = {  # of every kind, with what holds where the spec is silent
    "naive-bayes": {},
    "linear-regression": {},
    "logistic-regression": {"products": True},
    "pca": {},
    "forest": {"trees": 10, "depth": 8},
    "k-means": {"clusters": 8, "expected_rows": 10_000},
    "recommender": {"at_most": 8},
}
MODELS = tuple(OPTIONS)
ALONE = ("pca", "k-means", "recommender")  # there is nothing to predict


def model(
    kind: str,
    features: Sequence[Column],
    target: Column | None,
    options: Mapping[str, Any],
    noise: Any,
    rows: int,
) -> Any:
    """The mechanism of a model, or an error that names the columns that do not fit it."""
    over: Any = tuple(features)
    if kind == "pca":
        _require(over, Number | Boolean, "numbers", kind)
        return NoisySecondMoments(over, noise, rows_per_person=rows)
    if kind == "k-means":
        _require(over, Number | Boolean, "numbers", kind)
        return GrownBoxes(over, noise, rows_per_person=rows, **options)
    if kind == "recommender":
        _require(over, Boolean, "booleans, an item each", kind)
        return NoisyPairs(over, noise, rows_per_person=rows, **options)
    if target in features:
        raise BadColumns([target.name], "both a feature and the target.", "Leave it out of the features.")  # type: ignore[union-attr]
    if kind == "linear-regression":
        _require((*over, target), Number | Boolean, "numbers", kind)
        return NoisySecondMoments(over, noise, target=target, rows_per_person=rows)  # type: ignore[arg-type]
    if kind == "forest":
        _require((*over, target), Number | Boolean | Category, "numbers, booleans or categories", kind)
        last: dict[str, Any] = {"target" if isinstance(target, Number) else "by": target}
        return NoisyForest(over, noise, rows_per_person=rows, **last, **options)
    _require((target,), Category | Boolean, "a category or boolean as its target", kind)
    if kind == "logistic-regression":
        _require(over, Number | Boolean, "numbers", kind)
        return NoisySecondMoments(over, noise, by=target, **options, rows_per_person=rows)  # type: ignore[arg-type]
    if all(isinstance(column, Number | Boolean) for column in over):
        return NoisyClassMoments(over, noise, by=target, rows_per_person=rows)  # type: ignore[arg-type]
    _require(over, Category | Boolean, "features that are all numbers or all categories", kind)
    return NoisyClassHistograms(over, target, noise, rows_per_person=rows)  # type: ignore[arg-type]


def _require(columns: Sequence[Any], types: Any, what: str, kind: str) -> None:
    wrong = [column.name for column in columns if not isinstance(column, types) or isinstance(column, Text)]
    if wrong:
        raise BadColumns(wrong, f"{kind} takes {what}.", "Choose other columns.")
