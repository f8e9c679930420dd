"""A thief has every file of a store, its key, and everybody's record but one bit about one person who stays.

    z          what is published, and public
    spent      a bit for every receipt that could be issued; a leaver's receipt says which one to set
    beyond     how far apart the laws of all that is stolen are, given z and who left: 0 if it tells no more

`StolenStore` shows all of it at every step.  Its leaky twins number receipts in the order of the rows, have a
bit for everybody who came and no more, or keep a digest of the noise: the thief has the key, and tries all.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, TypeAlias

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.linear import Linear
from undeleted.errors import BadSetting, NotStarted
from undeleted.foundations.coins import Coins, exact_law
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.release_once import ReleaseOnce

Keeps: TypeAlias = Literal["receipts", "row-order", "bits-of-everybody", "digest"]
Data: TypeAlias = Sequence[Point]


class StolenStore:
    """What a thief reads of a store that keeps no records: z, spent-bits, and what a leaky twin keeps.

    >>> from undeleted.curate.mechanisms.noisy_sum import NoisySum
    >>> from undeleted.foundations.coins import NoNoise, seeded
    >>> from undeleted.foundations.schema import Number
    >>> x = Number("x", min=0, max=9)
    >>> store = StolenStore(NoisySum(x, NoNoise()), Schema([x]), capacity=4)
    >>> store.start([3, 5], seeded(1))
    ((8,), (0, 0, 0, 0), ())
    >>> z, bits, more = store.delete([3])
    >>> z, sum(bits), more
    ((5,), 1, ())
    """

    def __init__(self, mechanism: Linear, schema: Schema, capacity: int, keeps: Keeps = "receipts") -> None:
        self.mechanism, self.schema, self.capacity, self.keeps = mechanism, schema, capacity, keeps
        self._serials: dict[Point, list[int]] | None = None

    def start(self, data: Data, coins: Coins) -> Output:
        """Publish, and give everybody's receipt a serial."""
        if len(data) > self.capacity:
            problem = f"{len(data)} people came, and there is room for {self.capacity}."
            raise BadSetting(problem, "Choose a larger capacity.")
        self._published = ReleaseOnce(self.mechanism, self.schema)
        z = self._published.start(data, coins).value
        bits = len(data) if self.keeps == "bits-of-everybody" else self.capacity
        order = range(len(data)) if self.keeps == "row-order" else coins.choose(bits, len(data)).tolist()
        self._serials = {}
        for point, serial in zip(data, order, strict=True):
            self._serials.setdefault(point, []).append(serial)
        exact = Arrays(self.schema.table(list(data))).total(self.mechanism.statistic)
        self._more = tuple((z - exact).tolist()) if self.keeps == "digest" else ()
        return self._stolen(z, [0] * bits)

    def delete(self, points: Data) -> Output:
        """Every leaver's receipt says which bit to set."""
        if self._serials is None:
            raise NotStarted("StolenStore")
        for point in points:
            self._bits[self._serials[point].pop(0)] = 1
        return self._stolen(self._published.delete(points).value, self._bits)

    def _stolen(self, z: Output, bits: list[int]) -> Output:
        self._bits = bits
        return tuple(z.tolist()), tuple(bits), self._more


def told_beyond(store: StolenStore, data_sets: Sequence[Data], leavers: Data = ()) -> Fraction:
    """The largest distance between the laws of what is stolen after these people left, given z.

    The data sets differ in what the thief does not know.  Both are given z, where both could have led to it:
    what z itself tells is not counted.  What is published later must follow from z and the leavers: it is not
    given.

    >>> from undeleted.curate.mechanisms.noisy_sum import NoisySum
    >>> from undeleted.foundations.coins import ClampedGeometric
    >>> from undeleted.foundations.schema import Number
    >>> x = Number("x", min=0, max=1)
    >>> mechanism = NoisySum(x, ClampedGeometric(Fraction(1, 2), 0, 2))
    >>> worlds = [(0, 0, 1), (0, 1, 1)]
    >>> told_beyond(StolenStore(mechanism, Schema([x]), 4), worlds, leavers=[1])
    Fraction(0, 1)
    >>> told_beyond(StolenStore(mechanism, Schema([x]), 4, "digest"), worlds, leavers=[1])
    Fraction(1, 1)
    """
    laws = [_by_published(store, data, leavers) for data in data_sets]
    most = Fraction(0)
    for one, other in combinations(laws, 2):
        if not one.keys() & other.keys():
            problem = "no z can come of both data sets: z alone tells the bit, and nothing is compared."
            raise BadSetting(problem, "Give the mechanism noise that can lead from both to the same z.")
        for z in one.keys() & other.keys():
            most = max(most, _distance(one[z], other[z]))
    return most


def _distance(one: dict[Output, Fraction], other: dict[Output, Fraction]) -> Fraction:
    """The distance of two laws in total variation."""
    never = Fraction(0)
    apart = (abs(one.get(each, never) - other.get(each, never)) for each in one.keys() | other.keys())
    return sum(apart, never) / 2


def _by_published(store: Algorithm, data: Data, leavers: Data) -> dict[Output, dict[Output, Fraction]]:
    """The law of what is stolen, given z, for every z."""

    def run(coins: Coins) -> Output:
        first = store.start(data, coins)
        last = store.delete(leavers) if leavers else first
        return first[0], (first, last)

    by_z: dict[Output, dict[Output, Fraction]] = {}
    for (z, stolen), probability in exact_law(run).items():
        by_z.setdefault(z, {})[stolen] = probability
    return {
        z: {each: p / sum(law.values(), Fraction(0)) for each, p in law.items()} for z, law in by_z.items()
    }
