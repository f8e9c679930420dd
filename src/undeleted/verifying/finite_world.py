"""A small finite world: an algorithm, a domain, n people of whom at most k leave."""

import copy
import math
import random
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, permutations, product
from time import monotonic
from typing import TypeAlias

from undeleted.errors import BadWorld, OutOfTime, RejectedValue, TooLarge, WorldTooLarge
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Given
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Leakage
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.with_leakage import WithLeakage
from undeleted.verifying.history_tree import Moves, Tree, grow, sequences
from undeleted.verifying.step_laws import Data, Steps

Make: TypeAlias = Callable[[], Algorithm]
MOST_DATA_SETS = 100_000


@dataclass(frozen=True)
class FiniteWorld:
    """An algorithm, a finite domain, n people of whom at most k leave.

    `by_value` states that the order of the data does not matter to the algorithm; a data set then counts
    once for all its orders.  This is checked by running other orders, unless `order_known` says that it
    holds by construction.  Leakage and side information are what the definitions allow.
    """

    make: Make
    domain: tuple[Point, ...]
    n: int
    k: int
    by_value: bool = False
    leakage: Leakage | None = None
    side: Callable[[Data], Given] | None = None
    order_known: bool = False

    @classmethod
    def of(
        cls,
        subject: Given,
        domain: Iterable[Point],
        n: int,
        k: int,
        *,
        schema: Schema | None = None,
        by_value: bool | None = None,
        leakage: Leakage | None = None,
        side: Callable[[Data], Given] | None = None,
    ) -> "FiniteWorld":
        """A world for a mechanism (with its schema), an algorithm, or a function that makes algorithms."""
        if isinstance(domain, str) or not isinstance(domain, Iterable):
            raise BadWorld("domain", domain, "a list of points", "Give a list such as domain=[0, 1].")
        points = tuple(domain)
        if leakage is not None and not isinstance(leakage, Leakage):
            remedy = "Give undeleted.games.dynamic.Leakage(g, shares_coins=…)."
            raise BadWorld("leakage", leakage, "a Leakage: a function g and whose coins it uses", remedy)
        if side is not None and not callable(side):
            raise BadWorld("side", side, "a function of a data set", "Give a function such as side=sum.")
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise BadWorld("n", n, "at least 1: a world without people has no deletions")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= n:
            raise BadWorld("k", k, f"between 1 and n = {n}: nobody is deleted twice")
        if not points or len(set(points)) != len(points):
            raise BadWorld("domain", f"{len(points)} points", "at least one point, each of them once")
        make, symmetric = _maker(subject, schema)
        made = make()
        if not (hasattr(made, "start") and hasattr(made, "delete")):
            remedy = "Give it start(data, coins) and delete(points)."
            raise BadWorld("subject", type(made).__name__, "an algorithm", remedy)
        return cls(make, points, n, k, symmetric if by_value is None else by_value, leakage, side)

    def data_sets(self) -> list[Data]:
        """All data sets; one order of each where order does not matter.  Refused if there are too many."""
        m, n = len(self.domain), self.n
        count = math.comb(m + n - 1, n) if self.by_value else min(m ** min(n, 64), 10**20)
        if count > MOST_DATA_SETS:
            remedy = "Take a smaller domain or fewer people."
            raise TooLarge("the data sets of this world", count, MOST_DATA_SETS, remedy)
        if self.by_value:
            return list(combinations_with_replacement(self.domain, self.n))
        return list(product(self.domain, repeat=self.n))

    def classes(self) -> list[tuple[Given, dict[int, Data]]]:
        """The data sets, numbered, by the side information about them."""
        classes: dict[Given, dict[int, Data]] = {}
        for number, data in enumerate(self.data_sets()):
            known = None if self.side is None else self._known(self.side, data)
            classes.setdefault(known, {})[number] = data
        return list(classes.items())

    def _known(self, side: Callable[[Data], Given], data: Data) -> Given:
        known = side(data)
        if not isinstance(known, Hashable):
            raise BadWorld("side", type(known).__name__, "a function with hashable values", "Return a tuple.")
        for order in islice(permutations(data), 120) if self.by_value else ():
            if side(order) != known:
                rule = "a function of the values only, where points count by value"
                raise BadWorld("side", "a function of the order", rule, "Leave by_value out.")
        return known


def tree_of(world: FiniteWorld, steps: Steps, data: dict[int, Data], moves: Moves, limit: float) -> Tree:
    """Every history of these data sets; refused if it takes too long, if possible after the first."""
    started = monotonic()
    steps.until = started + limit
    grown = 0
    try:
        grow(steps, dict(list(data.items())[:1]), world.k, moves)
        grown = 1
        if (monotonic() - started) * len(data) > 4 * limit:
            raise OutOfTime
        return grow(steps, data, world.k, moves)
    except OutOfTime:
        raise WorldTooLarge(steps.runs, len(data), grown, monotonic() - started, limit) from None
    except RejectedValue as error:
        raise BadWorld("domain", error.what, "points that fit the schema", error.remedy) from None
    finally:
        steps.until = math.inf


def _maker(subject: Given, schema: Schema | None) -> tuple[Make, bool]:
    """How to make a fresh algorithm, and whether it is known to count points by value."""
    if hasattr(subject, "release") and hasattr(subject, "forget"):
        if schema is None:
            raise BadWorld("schema", None, "the schema of the mechanism's columns")
        if hasattr(subject, "answer"):
            return lambda: WithLeakage(subject, schema), True
        return lambda: ReleaseOnce(subject, schema), True
    if hasattr(subject, "start") and hasattr(subject, "delete") and not isinstance(subject, type):
        return lambda: copy.deepcopy(subject), False
    if callable(subject):
        return subject, False
    raise BadWorld(
        "subject", type(subject).__name__, "a mechanism, an algorithm, or a function that makes one"
    )


def check_runs(world: FiniteWorld, steps: Steps, data: dict[int, Data], seconds: float) -> str:
    """Check that whole runs agree with the steps, and other orders with this one; return what was checked."""
    for points in list(data.values())[:: max(1, len(data) // 24)]:
        steps.check(points, [(point,) for point in points[-world.k :]])
    if not world.by_value:
        return "every order was run"
    if world.order_known:
        return "the order of the data does not matter, by construction"
    others = [(points, order) for points in data.values() for order in set(permutations(points)) - {points}]
    random.Random(7).shuffle(others)
    until = monotonic() + seconds
    for checked, (points, order) in enumerate(others):
        if monotonic() > until:
            return f"the order of the data did not matter in the first {checked:,} of {len(others):,} orders"
        for requests in sequences({0: points}, world.k):
            if steps.law(order, requests) != steps.law(points, requests):
                raise BadWorld("by_value", True, "False: this algorithm depends on the order of its data")
    return "the order of the data does not matter, checked on every order"
