"""A table that grows, in a store of any kind; with laws without noise, so that rows can be computed apart."""

from dataclasses import dataclass, field

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram, NoisySum
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.stores import Publishing, create_store
from undeleted.foundations.coins import NoNoise, seeded
from undeleted.foundations.schema import Category, Number, Schema

X, CITY = Number("x", min=0, max=9), Category("city", values=("a", "b"))
PEOPLE = Schema([X, CITY], id="id")
HORIZON = 130


def table(people):
    """Rows by person: {"p1": 3, …}."""
    values = list(people.values())
    return PEOPLE.table({"id": list(people), "x": values, "city": ["ab"[v % 2] for v in values]})


def mechanisms(law=None, **settings):
    """Publications of 1, 10 and 1 cells, side by side in the tiles."""
    law = law or NoNoise()
    settings = {"horizon": HORIZON, "max_corrections": 2} | settings
    kinds = {"people": NoisyCount(law), "table": NoisyHistogram((X,), law), "sum": NoisySum(X, law)}
    hidden = {"leavers": law} if settings.pop("hidden", False) else {}
    return {name: Arrivals(kind, **settings, **hidden) for name, kind in kinds.items()}


def opened(place, people, published, coins=None):
    """A store after its tick 0; its noise, if it has any, is that of the coins."""
    coins = coins or seeded(0)
    batch = Arrays(table(people))
    exact = {name: batch.total(m.statistic) for name, m in published.items()}
    releases = {name: m.release(batch, coins) for name, m in published.items()}
    facts = {"epsilon": 1.0, "delta": 1e-6, "spent": 1.0, "left": 0.0}
    facts["clock"] = {"every": "manual", "start": "2026-01-01T00:00:00+00:00"}
    return create_store(place, Publishing(PEOPLE, published, releases, batch, facts, (), exact, at=0.0))


def cells(value):
    """What somebody adds to the publications."""
    row = np.zeros(12, dtype=np.int64)
    row[0], row[1 + value], row[11] = 1, 1, value
    return row


@dataclass
class Stay:
    """A person's versions, each with the ticks between which it counts, and when they left."""

    versions: list[list[int | None]]
    left: int | None = None


@dataclass
class Model:
    """The rows that a store must have, computed the long way."""

    hidden: bool
    ticks: int = 1
    there: dict[str, Stay] = field(default_factory=dict)
    hidden_leavers: list[Stay] = field(default_factory=list)

    def add(self, people):
        self.there |= {person: Stay([[self.ticks, None, value]]) for person, value in people.items()}

    def correct(self, person, value):
        versions = self.there[person].versions
        if versions[-1][0] == self.ticks:
            versions[-1][2] = value
        else:
            versions[-1][1] = self.ticks
            versions.append([self.ticks, None, value])

    def leave(self, person):
        stay = self.there.pop(person)
        if self.hidden and stay.versions[0][0] < self.ticks:
            stay.left = self.ticks
            self.hidden_leavers.append(stay)

    def rows(self, factors):
        """The rows of arrivals, and of departures, at every tick."""
        arrived, left = (np.zeros((self.ticks, 12), dtype=np.int64) for _ in range(2))
        for tick in range(self.ticks):
            row = [*factors.row(tick), *[0] * HORIZON]
            for stay in [*self.there.values(), *self.hidden_leavers]:
                for joined, until, value in stay.versions:
                    times = row[joined] - (row[until] if until is not None else 0)
                    arrived[tick] += times * cells(value)
                if stay.left is not None:
                    left[tick] += row[stay.left] * cells(stay.versions[-1][2])
        return arrived, left
