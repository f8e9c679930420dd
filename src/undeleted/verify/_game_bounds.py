"""The three games of the definition, each as bounds on the least δ.

non-adaptive   one channel for every sequence of deleted values: exact
static         for fixed controlled points: the best online simulator from above, attackers from below
dynamic        among all points: the best online simulator from above; from below the static game, and
               attackers whose simulator must corrupt before it learns
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, permutations
from math import factorial, prod
from time import monotonic
from typing import Any

from undeleted.errors import TooLarge
from undeleted.verify import _corrupting_simulator
from undeleted.verify._online_simulator import (
    Online,
    Preferred,
    alike_firsts,
    attackers,
    chooser,
    count_attackers,
)
from undeleted.verify.best_simulator import Bounds, Channel, Kernel
from undeleted.verify.history_tree import (
    Label,
    Mass,
    Node,
    Path,
    Tree,
    leaves,
    restricted,
    sequences,
    spread,
)
from undeleted.verify.linear_program import ONE, ZERO
from undeleted.verify.step_laws import Data

MOST_ATTACKERS = 64  # of a kind, tried one by one where the bounds do not meet before
MOST_VARIABLES = 2_000_000  # beyond this HiGHS needs more memory than a small machine has


@dataclass(frozen=True)
class GameSetting:
    """What all games need: the tree, its data sets, and the factor e^ε between two rationals."""

    tree: Tree
    roots: Mapping[int, Node]  # the tree without what leaked
    data_sets: Mapping[int, Data]
    n: int
    k: int
    symmetric: bool  # points count by value: a data set stands for all its orders
    low: Fraction
    high: Fraction
    deadline: float
    shortcuts: bool
    deterministic: bool

    @property
    def seconds(self) -> float:
        return self.deadline - monotonic()

    def inputs(self, data: Iterable[int]) -> dict[tuple[int, int], Mass]:
        """What a simulator can be handed by these data sets."""
        kept = set(data)
        found = {w: {d: m for d, m in mass.items() if d in kept} for w, mass in self.tree.inputs().items()}
        return {w: mass for w, mass in found.items() if mass}


@dataclass(frozen=True)
class GameBounds:
    """The bounds of one program or of many, and where the worst one was."""

    lower: Fraction = ZERO
    upper: Fraction = ZERO
    variables: int = 0
    plain: int = 0
    programs: int = 0
    where: "Where | None" = None
    kernels: tuple[tuple[tuple[Label, ...] | None, Kernel], ...] = ()

    def worse(self, other: "GameBounds") -> "GameBounds":
        """Both together: a simulator must cope with either."""
        worst = self if self.lower >= other.lower and self.where else other
        return GameBounds(
            max(self.lower, other.lower),
            max(self.upper, other.upper),
            self.variables + other.variables,
            self.plain + other.plain,
            self.programs + other.programs,
            worst.where,
            self.kernels + other.kernels,
        )


@dataclass(frozen=True)
class Where:
    """An attacker's strategy and what it sees, for the witness."""

    views: Mapping[Path, Mass]
    data_sets: Mapping[int, Data]
    requests: tuple[Label, ...] | None  # in this order whatever it sees; None if it adapts
    by_index: bool = False


def non_adaptive(setting: GameSetting, keep: bool) -> GameBounds:
    """Every sequence of k' ≤ k deleted values."""
    found = GameBounds()
    for length in range(1, setting.k + 1):
        for sequence, data in sequences(setting.data_sets, length).items():
            requests = tuple(sequence)
            roots = {
                z: restricted(node, data, lambda made, r=requests: r[len(made) : len(made) + 1])  # type: ignore[misc]
                for z, node in setting.roots.items()
            }
            found = found.worse(_against(setting, roots, data, spread(requests), keep, requests))
    return found


def static(setting: GameSetting, keep: bool) -> GameBounds:
    """Every set of k' ≤ k controlled points, and every order that depends on what was seen."""
    found = GameBounds()
    for length in range(1, setting.k + 1):
        for points, data in _controlled(setting, length).items():
            found = found.worse(_static_among(setting, points, data, keep))
    return found


def dynamic(setting: GameSetting, keep: bool) -> GameBounds:
    """Corruptions and requests of any size that depend on what was seen."""
    from_below = static(setting, keep)
    game = Online(setting.tree.inputs(), setting.roots, keep).merged()
    if game.size() > MOST_VARIABLES:
        raise TooLarge("the variables of the program", game.size(), MOST_VARIABLES, SMALLER)
    bounds, _ = game.solve(setting.low, max(0.0, setting.seconds))
    found = GameBounds(
        from_below.lower,
        bounds.upper,
        from_below.variables + bounds.variables,
        from_below.plain,
        from_below.programs + 1,
        from_below.where,
    )
    exact, until = True, monotonic() + setting.seconds / 4
    for number, attacker in enumerate(_dynamic_attackers(setting, keep)):
        if found.lower >= found.upper:
            return found
        if monotonic() > until or number == MOST_ATTACKERS * setting.k:
            exact = False
            break
        found, settled = _with_attacker(setting, found, attacker, keep)
        exact &= settled
    # with k = 1 everyone has been tried; one simulator for each is allowed more than one for all
    everyone = exact and setting.k == 1 and setting.low == setting.high
    return replace(found, upper=found.lower) if everyone else found


SMALLER = "Take a smaller domain, n or k, or a noise law with fewer outcomes."


def _against(
    setting: GameSetting,
    roots: Mapping[int, Node],
    data: Iterable[int],
    choose: Callable[[Path, Node], Label | None],
    keep: bool,
    requests: tuple[Label, ...] | None,
) -> GameBounds:
    """One attacker, exactly."""
    views = leaves(roots, choose)
    inputs = setting.inputs(data)
    where = Where(views, setting.data_sets, requests)
    channel = Channel(inputs, views, lambda name: name[0], keep)
    plain = _plain_size(setting, channel)
    if setting.shortcuts and setting.deterministic and len(inputs) == len({w[0] for w in inputs}):
        most = max(Counter(view[0] for view in views).values())
        least = ONE - Fraction(1, most)
        return GameBounds(least, least, 0, plain, 0, where)
    bounds = channel.solve(setting.low, setting.high, max(0.0, setting.seconds))
    return GameBounds(
        bounds.lower, bounds.upper, bounds.variables, plain, 1, where, ((requests, bounds.kernel),)
    )


def _static_among(setting: GameSetting, points: tuple[Any, ...], data: list[int], keep: bool) -> GameBounds:
    """Fixed controlled points: all attackers if there are few, else bounds from both sides."""

    def left(made: tuple[Label, ...]) -> list[Label]:
        return [(p,) for p in (Counter(points) - Counter(p for (p,) in made))]

    roots = {z: restricted(node, data, left) for z, node in setting.roots.items()}
    game = Online(setting.inputs(data), {z: r for z, r in roots.items() if r.mass}, keep).merged()
    few = count_attackers(game.roots)
    if few == 1:
        return _against(setting, roots, data, chooser({}), keep, _only_order(roots))

    def against(preferred: Preferred, requests: tuple[Label, ...] | None = None) -> GameBounds:
        played = roots if requests else game.roots
        choose = spread(requests) if requests else chooser(preferred)
        return _against(setting, played, data, choose, keep, requests)

    found = GameBounds()
    for order in dict.fromkeys(permutations(points)):
        found = found.worse(against({}, tuple((p,) for p in order)))
    bounds, preferred = game.solve(setting.low, max(0.0, setting.seconds))
    found = found.worse(against(preferred))
    tried = islice(attackers(game.roots), MOST_ATTACKERS) if few <= 10**5 else iter(())
    for attacker in tried:
        if found.lower >= bounds.upper or setting.seconds <= 0:
            break
        found = found.worse(against(attacker))
    everyone = few <= MOST_ATTACKERS and found.lower == found.upper and setting.seconds > 0
    upper = min(bounds.upper, found.upper) if everyone else bounds.upper
    return GameBounds(
        found.lower,
        max(found.lower, upper),
        found.variables + bounds.variables,
        found.plain,
        found.programs + 1,
        found.where,
    )


def _only_order(roots: Mapping[int, Node]) -> tuple[Label, ...] | None:
    """The requests of the one attacker there is, if they are the same on all ways."""
    orders = set()

    def walk(node: Node, made: tuple[Label, ...]) -> None:
        if not node.moves:
            orders.add(made)
        for label, children in node.moves.items():
            for child in children.values():
                walk(child, (*made, label))

    for root in roots.values():
        if root.mass:
            walk(root, ())
    return orders.pop() if len(orders) == 1 else None


def _controlled(setting: GameSetting, length: int) -> dict[tuple[Any, ...], list[int]]:
    """The points that an attacker may control, and the data sets that have them."""
    if setting.symmetric:
        found = sequences(setting.data_sets, length)
        return {tuple(p for (p,) in s): d for s, d in found.items() if list(s) == sorted(s, key=repr)}
    chosen: dict[tuple[Any, ...], list[int]] = {}
    for indices in {tuple(sorted(p)) for p in permutations(range(setting.n), length)}:
        for d, data in setting.data_sets.items():
            chosen.setdefault(tuple((i, data[i]) for i in indices), []).append(d)
    return chosen


def _dynamic_attackers(setting: GameSetting, keep: bool) -> Iterator[_corrupting_simulator.Attacker]:
    firsts = alike_firsts(setting.roots)
    outputs = sorted({z for root in setting.roots.values() for cs in root.moves.values() for z in cs})
    for k in range(1, setting.k + 1):  # those who corrupt fewer come first
        tried = _corrupting_simulator.attackers(
            firsts, outputs, setting.n, k, alike=setting.symmetric, may_stop=k == 1 and not keep
        )
        yield from islice(tried, MOST_ATTACKERS) if setting.k > 1 else tried


def _with_attacker(
    setting: GameSetting, found: GameBounds, attacker: _corrupting_simulator.Attacker, keep: bool
) -> tuple[GameBounds, bool]:
    """What one more attacker of the dynamic game proves, and whether its own optimum is exact."""
    if setting.symmetric:
        ordered = [(o, d) for d, data in setting.data_sets.items() for o in dict.fromkeys(permutations(data))]
    else:
        ordered = [(data, d) for d, data in setting.data_sets.items()]
    data_sets = {number: data for number, (data, _) in enumerate(ordered)}
    in_tree = {number: d for number, (_, d) in enumerate(ordered)}

    def label(i: int, x: Any) -> Label:
        return (x,) if setting.symmetric else ((i, x),)

    views = _corrupting_simulator.views_of(setting.roots, data_sets, in_tree, attacker, label)
    inputs = {
        w: {number: mass[d] for number, d in in_tree.items() if d in mass}
        for w, mass in setting.tree.inputs().items()
    }
    lower, exact, size = _corrupting_simulator.lower_bound(
        data_sets, inputs, views, setting.high, keep, max(0.0, setting.seconds)
    )
    better = lower > found.lower
    where = Where(views, data_sets, None, by_index=True) if better else found.where
    more = replace(found, variables=found.variables + size, programs=found.programs + 1, where=where)
    return replace(more, lower=max(lower, found.lower)), exact


def _plain_size(setting: GameSetting, channel: Channel) -> int:
    """The variables of this program as it is written: ordered data sets, nothing merged."""
    data = {d for mass in channel.inputs.values() for d in mass}
    orders = sum(_orders(setting.data_sets[d]) if setting.symmetric else 1 for d in data)
    return 1 + len(channel.views) * (len(channel.inputs) + orders)


def _orders(data: Data) -> int:
    return factorial(len(data)) // prod(map(factorial, Counter(data).values()))


__all__ = ["Bounds", "GameBounds", "GameSetting", "Where", "dynamic", "non_adaptive", "static"]
