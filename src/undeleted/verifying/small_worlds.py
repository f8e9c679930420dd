"""Our mechanisms and baselines by name, in a small world: a column x with the values 0, …, m − 1.

A mechanism, leaky mechanism or baseline is built from the names of its constructor's parameters, so a
new one that is written like the others is included automatically.  Some names say what a baseline is made of:
`retrain-sum`, `retrain-median`, `recompute-sum`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.releases.linear import Linear
from undeleted.curate.releases.publishable import COLUMN
from undeleted.curate.statistics import ClippedSum, Count, Statistic
from undeleted.errors import BadWorld, UnknownName
from undeleted.foundations import registry
from undeleted.foundations.coins import ClampedGeometric
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema, Text
from undeleted.foundations.types import Given, Json
from undeleted.games.baselines.retrain import median, total
from undeleted.games.dynamic import Leakage
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.with_leakage import SHARED, WithLeakage
from undeleted.verifying.finite_world import FiniteWorld

FOLDERS = ("undeleted.curate.mechanisms", "undeleted.games.leaky", "undeleted.games.baselines")
VARIANTS: dict[str, tuple[str, Json]] = {
    "retrain-sum": ("retrain", {"function": total}),
    "retrain-median": ("retrain", {"function": median}),
    "recompute-sum": ("recompute", {}),
    "cumulative-xor-pad": ("xor-pad", {"cumulative": True}),
    "cumulative-xor-undeleted": ("xor-undeleted", {"cumulative": True}),
}
NOT_FINITE = {"certified-removal"}  # its outputs are real numbers, which cannot be enumerated
PADS = ("xor-pad", "xor-undeleted")


@dataclass(frozen=True)
class WorldNoise:
    """A clamped geometric law; bounds that are not given follow from the statistic."""

    ratio: Fraction = Fraction(1, 2)
    low: int | None = None
    high: int | None = None

    def law(self, statistic: Statistic, n: int) -> ClampedGeometric:
        """From 0 to the largest total for one cell; 0 or 1 for several, or the world would be too large."""
        largest = n * max(statistic.reaches) if statistic.size == 1 else 1
        return ClampedGeometric(
            self.ratio, 0 if self.low is None else self.low, largest if self.high is None else self.high
        )


@dataclass(frozen=True)
class NamedWorld:
    """A named curator in a small world, and the e^ε that its noise promises, if any."""

    name: str
    world: FiniteWorld
    promise: Fraction | None


def names() -> tuple[str, ...]:
    """The names that can be verified."""
    available = (
        {name for folder in FOLDERS for name in registry.names(folder)}
        - {"retrain", "recompute"}
        - NOT_FINITE
        - {
            name
            for name in registry.names(FOLDERS[0])
            if registry.constant(FOLDERS[0], name, "NOT_IN_SMALL_WORLDS")
        }
    )
    return tuple(sorted(available | VARIANTS.keys()))


def folder_of(base: str) -> str:
    """The package that contains a mechanism, a leaky mechanism or a baseline."""
    return next(folder for folder in FOLDERS if base in registry.names(folder))


def named_world(
    name: str,
    *,
    domain: int,
    n: int,
    k: int,
    noise: WorldNoise | None = None,
    leakage: str = "none",
    side: Callable[[tuple[Given, ...]], Given] | None = None,
) -> NamedWorld:
    """A curator by name, with n people on {0, …, domain − 1}.

    >>> named_world("retrain-median", domain=2, n=3, k=1).world.domain
    (0, 1)
    """
    built = build(name, domain=domain, n=n, k=k, noise=noise or WorldNoise())
    points: tuple[Given, ...] = tuple(range(domain))
    if built.texts:
        points = tuple(map(str, points))
    leak = _leakage(leakage, built.kind, built.make)
    world = FiniteWorld.of(built.make, points, n, k, by_value=True, leakage=leak, side=side)
    world = replace(world, order_known=True)  # our tests run every order for all of these
    return NamedWorld(name, world, built.promise)


@dataclass(frozen=True)
class Built:
    """A curator by name: how to make one, whether its points are texts, and the e^ε of its noise, if any."""

    make: Callable[[], Given]
    kind: str
    texts: bool = False
    promise: Fraction | None = None


def build(name: str, *, domain: int, n: int, k: int, noise: "WorldNoise | Budget") -> Built:
    """Build the curator with this name, on a column x = 0, …, domain − 1."""
    if name not in names():
        raise UnknownName("names", name, names())
    if isinstance(domain, bool) or not isinstance(domain, int) or domain < 1:
        raise BadWorld("domain", domain, "at least 1 point")
    base, extra = VARIANTS.get(name, (name, {}))
    folder = folder_of(base)
    parts = _Parts(domain, n, k, noise)
    cls = registry.find(folder, base)
    kind = folder.rpartition(".")[2]
    if kind == "baselines":
        if base in PADS and domain & (domain - 1):
            raise BadWorld("domain", domain, "a power of two for pads: the points are bit strings")
        arguments = parts.fill(cls, extra)
        return Built(lambda: cls(**arguments), kind)
    made = parts.build(cls)
    schema = parts.schema_of(made)
    adapter = WithLeakage if kind == "leaky" else ReleaseOnce
    texts = isinstance(schema.columns[0], Text)
    return Built(lambda: adapter(made, schema), kind, texts, _promise(made))


@dataclass(frozen=True)
class _Parts:
    """The arguments of constructors, by parameter name."""

    domain: int
    n: int
    k: int
    noise: WorldNoise | Budget

    @property
    def column(self) -> Number:
        return Number("x", min=0, max=max(1, self.domain - 1))

    def build(self, cls: Given) -> Given:
        """Build a mechanism whose noise fits its own statistic."""
        small = getattr(cls, "small", {})
        arguments = self.fill(cls, {n: self.column if v == COLUMN else v for n, v in small.items()})
        if "budget" in arguments:
            built = cls(**arguments)
            inner = getattr(built, "hidden", built)
            if isinstance(inner, Linear):
                arguments["budget"] = self._law(inner.statistic, self.n)
        return cls(**arguments)

    def _law(self, statistic: Statistic, n: int) -> Given:
        return self.noise.law(statistic, n) if isinstance(self.noise, WorldNoise) else self.noise

    def fill(self, cls: Given, extra: Json) -> Json:
        """Arguments for every parameter that needs one, or that must be small in a small world."""
        arguments = {}
        parameters = inspect.signature(cls).parameters
        for parameter in parameters.values():
            given = extra.get(parameter.name, self._part(parameter))
            if parameter.name == "budget" and "statistic" in parameters:
                given = self._law(ClippedSum(self.column), self.n)
            if given is not None:
                arguments[parameter.name] = given
            elif parameter.default is inspect.Parameter.empty:
                raise BadWorld("subject", cls.__name__, f"built from Python: it needs `{parameter.name}`")
        return arguments

    def _part(self, parameter: inspect.Parameter) -> Given:
        optional = parameter.default is not inspect.Parameter.empty
        match parameter.name:
            case "column":
                return Text("x") if "Text" in str(parameter.annotation) else self.column
            case "over":
                return None if optional else (self.column,)
            case "by":  # classes: the values themselves
                return None if optional else self.column
            case "schema":
                return Schema([self.column])
            case "statistic":
                return ClippedSum(self.column)
            case "statistics":
                return (Count(), ClippedSum(self.column))
            case "mechanism":
                return NoisySum(self.column, self._law(ClippedSum(self.column), self.n))
            case "budget":
                return None if optional else self._law(Count(), 1)
            case "branching":
                return 2
            case "threshold":
                return 0
            case "horizon":
                return self.k
            case "bits":
                return max(1, (self.domain - 1).bit_length())
        return None

    def schema_of(self, mechanism: Given) -> Schema:
        column = getattr(mechanism, "column", None)
        return Schema([column if isinstance(column, Text) else self.column])


def _promise(mechanism: Given) -> Fraction | None:
    """e^ε of a linear mechanism with geometric noise: the product of (1/r)^reach over its blocks."""
    if not isinstance(mechanism, Linear) or not all(
        isinstance(law, ClampedGeometric) for law in mechanism.laws
    ):
        return None
    pairs = zip(mechanism.laws, mechanism.statistic.reaches, strict=True)
    return prod(
        (1 / law.ratio**reach for law, reach in pairs if isinstance(law, ClampedGeometric)), start=Fraction(1)
    )


def _leakage(which: str, kind: str, make: Callable[[], Given]) -> Leakage | None:
    """What a simulator also receives: nothing, or the hidden part, with the same coins or a fresh draw."""
    if which == "none":
        return None
    if kind != "leaky":
        rule = "`none` here: shared and fresh leakage reveal the hidden part of leaky mechanisms"
        raise BadWorld("leakage", which, rule, f"Leaky ones are: {', '.join(registry.names(FOLDERS[1]))}.")
    if which == "shared":
        return SHARED
    if which != "fresh":
        raise BadWorld("leakage", which, "none, shared or fresh")

    def fresh(data: tuple[Given, ...], coins: Given) -> Given:
        again = make()
        again.start(data, coins)
        return again.leaked

    return Leakage(fresh, shares_coins=False)
