"""Is an algorithm undeleted-safe?  In a small finite world the answer is computed, with a proof.

The best simulator is a linear program.  The algorithm is run on every outcome of its coins for every data
set of n points of a finite domain; the laws of its transcripts are exact fractions; HiGHS proposes a
simulator and a bound, and both are then proven in rationals.

    δ* = 0   a simulator makes the ideal world equal to the real one: the deletions tell nothing
    δ* > 0   no simulator comes closer; the witness shows two data sets that a deletion tells apart

Two optima: as the definition is written a simulator may say another z0 than it was given; `keep_z0` may not.
"""

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import isfinite
from time import monotonic
from typing import Any, Literal, TypeAlias

from undeleted.audit import _games
from undeleted.audit._games import Found, Setting, Where
from undeleted.audit._steps import Data, Steps
from undeleted.audit._tree import (
    Label,
    Moves,
    Node,
    Tree,
    by_index,
    by_value,
    first_difference,
    grow,
    in_batches,
    next_outputs,
)
from undeleted.errors import BadBudget, BadWorld, NoRecords, RejectedValue, TooLarge
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Leakage
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.with_leakage import WithLeakage
from undeleted.schema import Schema

Game: TypeAlias = Literal["non-adaptive", "static", "dynamic"]
GAMES: tuple[Game, ...] = ("non-adaptive", "static", "dynamic")
Make: TypeAlias = Callable[[], Algorithm]
CLOSE = Fraction(1, 10**9)  # a proven interval no wider than this is an answer where e^ε is irrational
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Optimum:
    """The least δ that any simulator reaches lies between these, and that is proven in rationals."""

    lower: Fraction
    upper: Fraction

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def certified(self) -> bool:
        return self.upper - self.lower <= CLOSE


@dataclass(frozen=True)
class Verdict:
    """What was found out about an algorithm in one world and one game."""

    game: Game
    epsilon: float
    literal: Optimum  # as the definition is written
    keep_z0: Optimum  # with a simulator that keeps the z0 it was given
    witness: dict[str, Any] | None  # two data sets that a deletion tells apart, where lower > 0
    simulator: list[dict[str, Any]] | None  # what it says next, where δ = 0
    how: str  # the argument: conditional independence, 1 − 1/m, or linear programs
    programs: int
    variables: int  # of all programs together
    plain_variables: int  # of the same programs as the definition writes them, nothing merged
    data_sets: int
    histories: int
    seconds: float

    @property
    def certified(self) -> bool:
        """ε = 0: the optimum is known as a fraction.  ε > 0: it is known to nine digits, proven."""
        both = (self.literal, self.keep_z0)
        return all(o.exact for o in both) if self.epsilon == 0 else all(o.certified for o in both)

    @property
    def safe(self) -> bool | None:
        """Whether δ* = 0; None if the bounds leave it open."""
        return True if self.literal.upper == 0 else False if self.literal.lower > 0 else None

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "epsilon": self.epsilon,
            "delta": float(self.literal.lower),
            "delta_keep_z0": float(self.keep_z0.lower),
            "lower": float(self.literal.lower),
            "upper": float(self.literal.upper),
            "lower_keep_z0": float(self.keep_z0.lower),
            "upper_keep_z0": float(self.keep_z0.upper),
            "delta_exact": str(self.literal.lower) if self.literal.exact else None,
            "delta_keep_z0_exact": str(self.keep_z0.lower) if self.keep_z0.exact else None,
            "certified": self.certified,
            "safe": self.safe,
            "how": self.how,
            "programs": self.programs,
            "variables": self.variables,
            "plain_variables": self.plain_variables,
            "data_sets": self.data_sets,
            "histories": self.histories,
            "seconds": self.seconds,
            "witness": self.witness,
            "simulator": self.simulator,
        }


@dataclass(frozen=True)
class FiniteWorld:
    """An algorithm, a finite domain, n people of whom at most k leave.

    `by_value` states that the order of the data does not matter to the algorithm; data sets then count
    once for all their orders.  It is checked on the data sets.  Leakage and side information are what the
    definitions allow.
    """

    make: Make
    domain: tuple[Point, ...]
    n: int
    k: int
    by_value: bool = False
    leakage: Leakage | None = None
    side: Callable[[Data], Hashable] | None = None

    @classmethod
    def of(
        cls,
        subject: Any,
        domain: Iterable[Point],
        n: int,
        k: int,
        *,
        schema: Schema | None = None,
        by_value: bool | None = None,
        leakage: Leakage | None = None,
        side: Callable[[Data], Hashable] | None = None,
    ) -> "FiniteWorld":
        """A world for a mechanism (with its schema), an algorithm, or a function that makes algorithms."""
        points = tuple(domain)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise BadWorld("n", n, "at least 1: a world without people has no deletions")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= n:
            raise BadWorld("k", k, f"between 1 and n = {n}: nobody is deleted twice")
        if not points or len(set(points)) != len(points):
            raise BadWorld("domain", f"{len(points)} points", "at least one point, each of them once")
        make, symmetric = _maker(subject, schema)
        return cls(make, points, n, k, symmetric if by_value is None else by_value, leakage, side)

    def data_sets(self) -> list[Data]:
        """All data sets; one order of each where order does not matter."""
        if self.by_value:
            return list(combinations_with_replacement(self.domain, self.n))
        return list(product(self.domain, repeat=self.n))

    def classes(self) -> list[dict[int, Data]]:
        """The data sets, numbered, by the side information about them."""
        found: dict[Hashable, dict[int, Data]] = {}
        for number, data in enumerate(self.data_sets()):
            known = None if self.side is None else self.side(data)
            orders = permutations(data) if self.by_value and self.side is not None else ()
            if any(self.side is not None and self.side(order) != known for order in orders):
                rule = "a function of the values only, where points count by value"
                raise BadWorld("side", "a function of the order", rule)
            found.setdefault(known, {})[number] = data
        return list(found.values())


def verify(
    world: FiniteWorld,
    game: Game = "non-adaptive",
    *,
    epsilon: float = 0.0,
    time_limit: float = 60.0,
    shortcuts: bool = True,
) -> Verdict:
    """The least δ of any simulator, in one of the three games.

    >>> from undeleted.baselines.retrain import Retrain, median
    >>> found = verify(FiniteWorld.of(lambda: Retrain(median), domain=[0, 1], n=3, k=1))
    >>> found.literal.lower, found.certified, found.witness["data"]
    (Fraction(1, 2), True, [[0, 1, 1], [1, 1, 1]])
    """
    started = monotonic()
    if game not in GAMES:
        raise BadWorld("game", game, f"one of {', '.join(GAMES)}")
    low, high = factor_of(epsilon)
    steps = Steps(world.make, world.leakage)
    parts = [
        _verify_class(world, game, steps, data, low, high, started + time_limit, shortcuts, time_limit)
        for data in world.classes()
    ]
    found = max(parts, key=lambda part: (part.literal.lower, part.literal.upper))
    return replace(
        found,
        epsilon=float(epsilon),
        literal=_worst([part.literal for part in parts]),
        keep_z0=_worst([part.keep_z0 for part in parts]),
        simulator=None
        if any(part.simulator is None for part in parts)
        else [entry for part in parts for entry in part.simulator or ()],
        programs=sum(part.programs for part in parts),
        variables=sum(part.variables for part in parts),
        plain_variables=sum(part.plain_variables for part in parts),
        data_sets=sum(part.data_sets for part in parts),
        histories=sum(part.histories for part in parts),
        seconds=monotonic() - started,
    )


def tree_of(world: FiniteWorld, steps: Steps, data: dict[int, Data], moves: Moves, limit: float) -> Tree:
    """Every history of these data sets; refused if the first of them shows that it would take too long."""
    started = monotonic()
    try:
        first = dict(list(data.items())[:1])
        grow(steps, first, world.k, moves)
        took = (monotonic() - started) * len(data)
        if took > 4 * limit:
            what = f"the seconds to walk {steps.runs * len(data):,} outcomes of this world (estimated)"
            raise TooLarge(what, int(took), int(limit), _games.SMALLER)
        return grow(steps, data, world.k, moves)
    except (RejectedValue, NoRecords) as error:
        if isinstance(error, NoRecords):
            raise
        raise BadWorld("domain", "points that its schema refuses", error.what) from None


def _verify_class(
    world: FiniteWorld,
    game: Game,
    steps: Steps,
    data: dict[int, Data],
    low: Fraction,
    high: Fraction,
    deadline: float,
    shortcuts: bool,
    limit: float,
) -> Verdict:
    one = by_value if game == "non-adaptive" or world.by_value else by_index
    tree = tree_of(world, steps, data, in_batches(one, world.k) if game == "dynamic" else one, limit)
    _check_steps(world, steps, data, one)
    sizes = {"data_sets": len(data), "histories": sum(map(_count, tree.roots.values()))}
    nothing = Optimum(ZERO, ZERO)
    if shortcuts and first_difference(tree.roots) is None:
        how = "conditional independence: given what was seen, no output depends on those who stay"
        simulator = _says_next(steps, tree)
        return Verdict(game, 0.0, nothing, nothing, None, simulator, how, 0, 0, 0, seconds=0.0, **sizes)
    deterministic = all(len(steps.start(d)) == 1 for d in data.values()) and steps.deterministic
    setting = Setting(
        tree,
        tree.without_leaks(),
        data,
        world.n,
        world.k,
        world.by_value,
        low,
        high,
        deadline,
        shortcuts,
        deterministic,
    )
    solve = {"non-adaptive": _games.non_adaptive, "static": _games.static, "dynamic": _games.dynamic}[game]
    literal, keep = solve(setting, False), solve(setting, True)
    # A simulator that keeps z0 is a simulator: what it reaches, the best of all reaches too.
    literal = replace(literal, upper=min(literal.upper, keep.upper))
    keep = replace(keep, lower=max(literal.lower, keep.lower))
    return Verdict(
        game,
        0.0,
        Optimum(literal.lower, literal.upper),
        Optimum(keep.lower, keep.upper),
        _witness(steps, literal.where or keep.where) if literal.lower > 0 else None,
        _simulator(steps, literal) if literal.upper == 0 else None,
        "1 − 1/m: the algorithm is deterministic" if not literal.programs else "linear programs",
        literal.programs + keep.programs,
        literal.variables + keep.variables,
        literal.plain + keep.plain,
        seconds=0.0,
        **sizes,
    )


def _maker(subject: Any, schema: Schema | None) -> tuple[Make, bool]:
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


def factor_of(epsilon: float) -> tuple[Fraction, Fraction]:
    """Two rationals with e^ε between them; equal at ε = 0."""
    if not (isfinite(epsilon) and epsilon >= 0):
        raise BadBudget("epsilon", epsilon, "non-negative and finite")
    if epsilon == 0:
        return ONE, ONE
    with localcontext() as context:
        context.prec = 30
        power = Decimal(epsilon).exp()  # correctly rounded
        return Fraction(power.next_minus()), Fraction(power.next_plus())


def _check_steps(world: FiniteWorld, steps: Steps, data: dict[int, Data], one: Moves) -> None:
    """Whole runs must agree with the steps and, where points count by value, with other orders."""
    for points in list(data.values())[:: max(1, len(data) // 24)]:
        gone: frozenset[int] = frozenset()
        batches = []
        while len(gone) < world.k:
            _, batch, gone = list(one(points, gone))[-1]
            batches.append(batch)
        steps.check(points, batches)
        if world.by_value:
            other = points[1:] + points[:1]
            for order in (other, points[::-1]):
                if order != points and steps.law(order, batches) != steps.law(points, batches):
                    raise BadWorld("by_value", True, "False: this algorithm minds the order of its data")


def _worst(optima: Sequence[Optimum]) -> Optimum:
    return Optimum(max(o.lower for o in optima), max(o.upper for o in optima))


def _count(node: Node) -> int:
    return 1 + sum(_count(c) for children in node.moves.values() for c in children.values())


def _says_next(steps: Steps, tree: Tree) -> list[dict[str, Any]]:
    """The perfect simulator: the law of the next output, whoever stays."""
    said = []

    def walk(given: dict[str, Any], path: tuple[Any, ...], node: Node) -> None:
        for label, children in node.moves.items():
            d = next(d for c in children.values() for d in c.mass)
            law = {str(steps.outputs.shown(z)): str(p) for z, p in next_outputs(node, label, d).items()}
            said.append({**given, "then": list(path), "delete": list(label), "say": law})
            for z, child in children.items():
                walk(given, (*path, list(label), steps.outputs.shown(z)), child)

    for (first, leaked), node in tree.roots.items():
        told = {} if steps.leaks.values == [None] else {"leaked": steps.leaks.shown(leaked)}
        walk({"first": steps.outputs.shown(first)} | told, (), node)
    return said


def _simulator(steps: Steps, found: Found) -> list[dict[str, Any]] | None:
    """The simulator that the linear programs found, for every sequence of deletions."""
    said = []
    for requests, kernel in found.kernels:
        for (first, leaked), law in kernel.items():
            told = {} if steps.leaks.values == [None] else {"leaked": steps.leaks.shown(leaked)}
            views = {str([steps.outputs.shown(z) for z in view[::2]]): str(p) for view, p in law.items()}
            deleted = [point for label in requests or () for point in label]
            said.append({"first": steps.outputs.shown(first), **told, "delete": deleted, "say": views})
    return said or None


def _witness(steps: Steps, where: Where | None) -> dict[str, Any] | None:
    """Two data sets, an attacker's strategy, and how it tells them apart after the same first output."""
    if where is None:
        return None
    firsts = sorted({view[0] for view in where.views})
    best: tuple[Fraction, int, int, int] | None = None
    for first in firsts:
        laws = _given_first(where, first)
        for a, b in combinations(sorted(laws), 2):
            (p, one), (q, other) = laws[a], laws[b]
            if {view[1::2] for view in one} != {view[1::2] for view in other}:
                continue  # they differ in a deleted point, which may be learned
            apart = (
                sum((abs(one.get(v, ZERO) - other.get(v, ZERO)) for v in one.keys() | other.keys()), ZERO) / 2
            )
            weight = min(p, q) * apart
            if best is None or weight > best[0]:
                best = weight, first, a, b
    if best is None or best[0] == 0:
        return None
    _, first, a, b = best
    laws = _given_first(where, first)
    views = sorted(laws[a][1].keys() | laws[b][1].keys(), key=repr)
    return {
        "data": [list(where.data_sets[a]), list(where.data_sets[b])],
        "strategy": _strategy(steps, where),
        "first": steps.outputs.shown(first),
        "first_probabilities": [str(laws[a][0]), str(laws[b][0])],
        "then": [
            {
                "deleted": [list(label) for label in view[1::2]],
                "outputs": [steps.outputs.shown(z) for z in view[2::2]],
                "probabilities": [str(laws[a][1].get(view, ZERO)), str(laws[b][1].get(view, ZERO))],
            }
            for view in views
        ],
    }


def _given_first(where: Where, first: int) -> dict[int, tuple[Fraction, dict[Any, Fraction]]]:
    """For every data set, the probability of a first output and the law of the views that follow it."""
    masses: dict[int, dict[Any, Fraction]] = {}
    for view, mass in where.views.items():
        if view[0] == first:
            for d, m in mass.items():
                masses.setdefault(d, {})[view] = m
    totals = {d: sum(law.values(), ZERO) for d, law in masses.items()}
    return {d: (totals[d], {v: m / totals[d] for v, m in law.items()}) for d, law in masses.items()}


def _strategy(steps: Steps, where: Where) -> Any:
    """The deletions in their order, or which comes after what was seen."""
    if where.requests is not None:
        return [list(label) for label in where.requests]
    choices: dict[str, dict[str, Any]] = {}
    for view in where.views:
        for end in range(1, len(view), 2):
            seen = [steps.outputs.shown(z) if i % 2 == 0 else list(z) for i, z in enumerate(view[:end])]
            label: Label = view[end]
            if where.by_index:  # it chose an index, and learned the value after that
                choices[repr(view[:end])] = {"seen": seen, "index": label[0][0]}
            else:
                choices[repr(view[:end])] = {"seen": seen, "delete": list(label)}
    return list(choices.values())
