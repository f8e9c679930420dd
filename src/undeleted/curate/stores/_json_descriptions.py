"""Serialise schemas, budgets, laws and mechanisms as JSON, by name and fields; no stored code is ever run."""

from dataclasses import fields, is_dataclass
from fractions import Fraction

from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import WrongType
from undeleted.foundations import registry
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, NoNoise
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Boolean, Category, Date, Number, Schema, Text
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.schema.first_row import FirstRow
from undeleted.foundations.types import Given

MECHANISMS = "undeleted.curate.mechanisms"
_PLAIN = (
    Arrivals,
    Number,
    Date,
    FirstRow,
    Category,
    Boolean,
    Text,
    Schema,
    Condition,
    Budget,
    Zcdp,
    DiscreteLaplace,
    DiscreteGaussian,
    ClampedGeometric,
    NoNoise,
)
_KNOWN: dict[str, type] = {kind.__name__: kind for kind in _PLAIN}


def describe(value: Given) -> Given:
    """Serialise a value of this package as JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    name = type(value).__name__
    if is_dataclass(value) and (name in _KNOWN or name in registry.directory(MECHANISMS)):
        return {"type": name} | {f.name: describe(getattr(value, f.name)) for f in fields(value) if f.init}
    remedy = "Publish mechanisms of the package, made of declared columns and budgets."
    raise WrongType(f"{name} cannot be kept in a store.", remedy)


def build(described: Given) -> Given:
    """Rebuild a value from its JSON."""
    if isinstance(described, list):
        return tuple(build(item) for item in described)
    if not isinstance(described, dict):
        return described
    if "fraction" in described:
        return Fraction(described["fraction"])
    name = described["type"]
    kind = _KNOWN[name] if name in _KNOWN else registry.lookup(MECHANISMS, name)
    arguments = {key: build(value) for key, value in described.items() if key != "type"}
    if (
        "noise" in arguments and kind is not Arrivals
    ):  # what stores of format 3 and older call the budget of a mechanism
        arguments["budget"] = arguments.pop("noise")
    return kind(**arguments)
