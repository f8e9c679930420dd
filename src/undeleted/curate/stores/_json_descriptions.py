"""Schemas, budgets, laws and mechanisms as JSON, and back: by name and fields; nothing stored is ever run."""

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from undeleted.errors import BadQuestion
from undeleted.foundations import registry
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, NoNoise
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Boolean, Category, Number, Schema, Text

MECHANISMS = "undeleted.curate.mechanisms"
_PLAIN = (
    Number,
    Category,
    Boolean,
    Text,
    Schema,
    Budget,
    Zcdp,
    DiscreteLaplace,
    DiscreteGaussian,
    ClampedGeometric,
    NoNoise,
)
_KNOWN: dict[str, type] = {kind.__name__: kind for kind in _PLAIN}


def describe(thing: Any) -> Any:
    """A value of ours as JSON."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, Fraction):
        return {"fraction": str(thing)}
    if isinstance(thing, tuple | list):
        return [describe(item) for item in thing]
    name = type(thing).__name__
    if is_dataclass(thing) and (name in _KNOWN or name in registry.directory(MECHANISMS)):
        return {"type": name} | {f.name: describe(getattr(thing, f.name)) for f in fields(thing) if f.init}
    remedy = "Publish mechanisms of the package, made of declared columns and budgets."
    raise BadQuestion(f"{name} cannot be kept in a store.", remedy)


def build(described: Any) -> Any:
    """The value again."""
    if isinstance(described, list):
        return tuple(build(item) for item in described)
    if not isinstance(described, dict):
        return described
    if "fraction" in described:
        return Fraction(described["fraction"])
    name = described["type"]
    kind = _KNOWN[name] if name in _KNOWN else registry.lookup(MECHANISMS, name)
    return kind(**{key: build(value) for key, value in described.items() if key != "type"})
