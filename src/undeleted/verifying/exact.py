"""Is an algorithm undeleted-safe?  In a small finite world the answer is computed, with a proof.

The best simulator is a linear program.  The algorithm is run on every outcome of its coins for every data
set of n points of a finite domain; the laws of its transcripts are exact fractions; HiGHS proposes a
simulator and a bound, and both are then proven in rationals.

    δ* = 0   a simulator makes the ideal world equal to the real one: the deletions reveal nothing
    δ* > 0   no simulator comes closer; the witness shows two data sets that a deletion distinguishes

There are two optima: in the definition as written a simulator may output another z0 than it was given; with
`keep_z0` it may not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from time import monotonic
from typing import Literal, TypeAlias

from undeleted.errors import BadBudget, BadWorld
from undeleted.foundations.types import Json
from undeleted.games.transcript import plain
from undeleted.verifying import _game_bounds
from undeleted.verifying._evidence import perfect_simulator, simulator_of, witness_of
from undeleted.verifying._game_bounds import GameSetting
from undeleted.verifying.finite_world import FiniteWorld, check_runs, tree_of
from undeleted.verifying.history_tree import Node, by_index, by_value, first_difference, in_batches
from undeleted.verifying.linear_program import ONE, ZERO
from undeleted.verifying.step_laws import Data, Steps

__all__ = ["GAMES", "ExactVerdict", "FiniteWorld", "GameName", "Optimum", "factor_of", "verify"]

GameName: TypeAlias = Literal["non-adaptive", "static", "dynamic"]
GAMES: tuple[GameName, ...] = ("non-adaptive", "static", "dynamic")
MOST_EPSILON = 500  # e^ε still fits a floating-point number
CLOSE = Fraction(1, 10**9)  # a proven interval no wider than this counts as an answer where e^ε is irrational


@dataclass(frozen=True)
class Optimum:
    """Lower and upper bound on the least δ that any simulator reaches, proven in rationals."""

    lower: Fraction
    upper: Fraction

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def certified(self) -> bool:
        return self.upper - self.lower <= CLOSE


@dataclass(frozen=True)
class ExactVerdict:
    """The result for an algorithm in one world and one game."""

    game: GameName
    epsilon: float
    literal: Optimum  # as the definition is written
    keep_z0: Optimum  # with a simulator that keeps the z0 it was given
    witness: Json | None  # two data sets that a deletion distinguishes, where lower > 0
    simulator: list[Json] | None  # what it says next, where δ = 0
    how: str  # the argument: conditional independence, 1 − 1/m, or linear programs
    programs: int
    variables: int  # of all programs together
    plain_variables: int  # of the same programs with nothing merged
    data_sets: int
    histories: int
    order: str  # why the order of the data does not matter, or that this was not assumed
    seconds: float

    @property
    def certified(self) -> bool:
        """Whether the optimum is proven: as a fraction for ε = 0, to nine digits for ε > 0."""
        both = (self.literal, self.keep_z0)
        return all(o.exact for o in both) if self.epsilon == 0 else all(o.certified for o in both)

    @property
    def safe(self) -> bool | None:
        """Whether δ* = 0; None if the bounds leave it open."""
        return True if self.literal.upper == 0 else False if self.literal.lower > 0 else None

    def as_json(self) -> Json:
        return {
            "game": self.game,
            "epsilon": self.epsilon,
            "delta": _number(self.literal),
            "delta_keep_z0": _number(self.keep_z0),
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
            "order": self.order,
            "seconds": self.seconds,
            "witness": self.witness,
            "simulator": self.simulator,
        }


def verify(
    world: FiniteWorld,
    game: GameName = "non-adaptive",
    *,
    epsilon: float = 0.0,
    time_limit: float = 60.0,
    shortcuts: bool = True,
) -> ExactVerdict:
    """The least δ of any simulator, in one of the three games.

    >>> from undeleted.games.baselines.retrain import Retrain, median
    >>> found = verify(FiniteWorld.of(lambda: Retrain(median), domain=[0, 1], n=3, k=1))
    >>> found.literal.lower, found.certified, found.witness["data"]
    (Fraction(1, 2), True, [[0, 1, 1], [1, 1, 1]])
    """
    started = monotonic()
    if game not in GAMES:
        raise BadWorld("game", game, f"one of {', '.join(GAMES)}")
    low, high = factor_of(epsilon)
    if not (isinstance(time_limit, int | float) and math.isfinite(time_limit) and time_limit > 0):
        raise BadWorld("the time limit", time_limit, "a positive number of seconds", "Give 60, for example.")
    steps = Steps(world.make, world.leakage)
    classes = world.classes()
    parts = [
        _verify_class(world, game, steps, data, low, high, started + time_limit, shortcuts, time_limit)
        for _, data in classes
    ]
    worst = max(parts, key=lambda part: (part.literal.lower, part.literal.upper))
    return replace(
        worst,
        epsilon=float(epsilon),
        literal=_worst([part.literal for part in parts]),
        keep_z0=_worst([part.keep_z0 for part in parts]),
        simulator=None
        if any(part.simulator is None for part in parts)
        else [
            ({} if world.side is None else {"known": plain(known)}) | entry
            for (known, _), part in zip(classes, parts, strict=True)
            for entry in part.simulator or ()
        ],
        programs=sum(part.programs for part in parts),
        variables=sum(part.variables for part in parts),
        plain_variables=sum(part.plain_variables for part in parts),
        data_sets=sum(part.data_sets for part in parts),
        histories=sum(part.histories for part in parts),
        seconds=monotonic() - started,
    )


def _verify_class(
    world: FiniteWorld,
    game: GameName,
    steps: Steps,
    data: dict[int, Data],
    low: Fraction,
    high: Fraction,
    deadline: float,
    shortcuts: bool,
    limit: float,
) -> ExactVerdict:
    one = by_value if game == "non-adaptive" or world.by_value else by_index
    tree = tree_of(world, steps, data, in_batches(one, world.k) if game == "dynamic" else one, limit)
    order = check_runs(world, steps, data, limit / 4)
    sizes: Json = {"data_sets": len(data), "histories": sum(map(_count, tree.roots.values()))}
    sizes |= {"order": order, "seconds": 0.0}
    nothing = Optimum(ZERO, ZERO)
    if shortcuts and first_difference(tree.roots) is None:
        how = "conditional independence: given what was seen, no output depends on those who stay"
        simulator = perfect_simulator(steps, tree)
        return ExactVerdict(game, 0.0, nothing, nothing, None, simulator, how, 0, 0, 0, **sizes)
    deterministic = all(len(steps.start(d)) == 1 for d in data.values()) and steps.deterministic
    setting = GameSetting(
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
    solve = {
        "non-adaptive": _game_bounds.non_adaptive,
        "static": _game_bounds.static,
        "dynamic": _game_bounds.dynamic,
    }[game]
    literal, keep = solve(setting, False), solve(setting, True)
    # A simulator that keeps z0 is also a simulator, so the best of all is at least as good.
    literal = replace(literal, upper=min(literal.upper, keep.upper))
    keep = replace(keep, lower=max(literal.lower, keep.lower))
    return ExactVerdict(
        game,
        0.0,
        Optimum(literal.lower, literal.upper),
        Optimum(keep.lower, keep.upper),
        witness_of(steps, literal.where or keep.where) if literal.lower > 0 else None,
        simulator_of(steps, literal) if literal.upper == 0 else None,
        "1 − 1/m: the algorithm is deterministic" if not literal.programs else "linear programs",
        literal.programs + keep.programs,
        literal.variables + keep.variables,
        literal.plain + keep.plain,
        **sizes,
    )


def factor_of(epsilon: float) -> tuple[Fraction, Fraction]:
    """Two rationals with e^ε between them; equal at ε = 0."""
    if not (isinstance(epsilon, int | float) and math.isfinite(epsilon) and 0 <= epsilon <= MOST_EPSILON):
        raise BadBudget("epsilon", epsilon, f"non-negative and at most {MOST_EPSILON}")
    if epsilon == 0:
        return ONE, ONE
    with localcontext() as context:
        context.prec = 30
        power = Decimal(epsilon).exp()  # correctly rounded
        return Fraction(power.next_minus()), Fraction(power.next_plus())


def _number(optimum: Optimum) -> float | None:
    """The proven lower bound on the optimum; None if it is not even known whether the optimum is 0."""
    return None if optimum.lower == 0 < optimum.upper else float(optimum.lower)


def _worst(optima: Sequence[Optimum]) -> Optimum:
    return Optimum(max(o.lower for o in optima), max(o.upper for o in optima))


def _count(node: Node) -> int:
    return 1 + sum(_count(c) for children in node.moves.values() for c in children.values())
