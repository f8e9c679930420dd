"""The three games of the definition, each as bounds on the least δ.

non-adaptive   one channel for every sequence of deleted values: exact
static         for fixed controlled points: upper bound by the best online simulator, lower bound by attackers
dynamic        among all points: upper bound by the best online simulator; lower bound by the static game, and
               by attackers whose simulator must corrupt a point before it learns it
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, permutations
from math import factorial, prod
from time import monotonic

from undeleted.errors import TooLarge
from undeleted.foundations.types import Output
from undeleted.verifying import _corrupting_simulator
from undeleted.verifying._online_simulator import (
    Online,
    Preferred,
    attackers,
    chooser,
    count_attackers,
    equivalent_first_outputs,
)
from undeleted.verifying.best_simulator import Bounds, Channel, Kernel
from undeleted.verifying.history_tree import (
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
from undeleted.verifying.linear_program import ONE, ZERO
from undeleted.verifying.step_laws import Data

MOST_ATTACKERS = 64  # of a kind, tried one by one until the bounds meet
MOST_VARIABLES = 2_000_000  # beyond this HiGHS needs more memory than a small machine has


@dataclass(frozen=True)
class GameSetting:
    """What all games need: the tree, its data sets, and the factor e^ε between two rationals."""

    tree: Tree
    roots: Mapping[int, Node]  # the tree without what leaked
    data_sets: Mapping[int, Data]
    n: int
    k: int
    symmetric: bool  # points count by value: a data set represents all its orders
    low: Fraction
    high: Fraction
    deadline: float
    shortcuts: bool
    deterministic: bool

    @property
    def seconds(self) -> float:
        return self.deadline - monotonic()

    def inputs(self, data: Iterable[int]) -> dict[tuple[int, int], Mass]:
        """The inputs that a simulator can get from these data sets."""
        kept = set(data)
        result = {w: {d: m for d, m in mass.items() if d in kept} for w, mass in self.tree.inputs().items()}
        return {w: mass for w, mass in result.items() if mass}


@dataclass(frozen=True)
class GameBounds:
    """The bounds of one program or of many, and the attacker with the worst one."""

    lower: Fraction = ZERO
    upper: Fraction = ZERO
    variables: int = 0
    plain: int = 0
    programs: int = 0
    where: "Where | None" = None
    kernels: tuple[tuple[tuple[Label, ...] | None, Kernel], ...] = ()

    def worse(self, other: "GameBounds") -> "GameBounds":
        """Combine two bounds: a simulator must handle both."""
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
    result = GameBounds()
    for length in range(1, setting.k + 1):
        for sequence, data in sequences(setting.data_sets, length).items():
            requests = tuple(sequence)
            roots = {
                z: restricted(node, data, lambda made, r=requests: r[len(made) : len(made) + 1])  # type: ignore[misc]
                for z, node in setting.roots.items()
            }
            result = result.worse(_against(setting, roots, data, spread(requests), keep, requests))
    return result


def static(setting: GameSetting, keep: bool) -> GameBounds:
    """Every set of k' ≤ k controlled points, and every order that depends on what was seen."""
    result = GameBounds()
    for length in range(1, setting.k + 1):
        for points, data in _controlled(setting, length).items():
            result = result.worse(_static_among(setting, points, data, keep))
    return result


def dynamic(setting: GameSetting, keep: bool) -> GameBounds:
    """Corruptions and requests of any size that depend on what was seen."""
    from_below = static(setting, keep)
    game = Online(setting.tree.inputs(), setting.roots, keep).merged()
    if game.size() > MOST_VARIABLES:
        raise TooLarge("the variables of the program", game.size(), MOST_VARIABLES, SMALLER)
    bounds, _ = game.solve(setting.low, max(0.0, setting.seconds))
    result = GameBounds(
        from_below.lower,
        bounds.upper,
        from_below.variables + bounds.variables,
        from_below.plain,
        from_below.programs + 1,
        from_below.where,
    )
    exact, until = True, monotonic() + setting.seconds / 4
    for number, attacker in enumerate(_dynamic_attackers(setting, keep)):
        if result.lower >= result.upper:
            return result
        if monotonic() > until or number == MOST_ATTACKERS * setting.k:
            exact = False
            break
        result, settled = _with_attacker(setting, result, attacker, keep)
        exact &= settled
    # with k = 1 all attackers were tried; one simulator per attacker has more freedom than one for all
    everyone = exact and setting.k == 1 and setting.low == setting.high
    return replace(result, upper=result.lower) if everyone else result


SMALLER = "Take a smaller domain, n or k, or a noise law with fewer outcomes."


def _against(
    setting: GameSetting,
    roots: Mapping[int, Node],
    data: Iterable[int],
    choose: Callable[[Path, Node], Label | None],
    keep: bool,
    requests: tuple[Label, ...] | None,
) -> GameBounds:
    """The bounds for one attacker, from its own program."""
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


def _static_among(
    setting: GameSetting, points: tuple[Output, ...], data: list[int], keep: bool
) -> GameBounds:
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

    result = GameBounds()
    for order in dict.fromkeys(permutations(points)):
        result = result.worse(against({}, tuple((p,) for p in order)))
    bounds, preferred = game.solve(setting.low, max(0.0, setting.seconds))
    result = result.worse(against(preferred))
    tried = islice(attackers(game.roots), MOST_ATTACKERS) if few <= 10**5 else iter(())
    for attacker in tried:
        if result.lower >= bounds.upper or setting.seconds <= 0:
            break
        result = result.worse(against(attacker))
    everyone = few <= MOST_ATTACKERS and result.lower == result.upper and setting.seconds > 0
    upper = min(bounds.upper, result.upper) if everyone else bounds.upper
    return GameBounds(
        result.lower,
        max(result.lower, upper),
        result.variables + bounds.variables,
        result.plain,
        result.programs + 1,
        result.where,
    )


def _only_order(roots: Mapping[int, Node]) -> tuple[Label, ...] | None:
    """The requests of the only attacker, if they are the same on all paths."""
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


def _controlled(setting: GameSetting, length: int) -> dict[tuple[Output, ...], list[int]]:
    """The points that an attacker may control, and the data sets that contain them."""
    if setting.symmetric:
        result = sequences(setting.data_sets, length)
        return {tuple(p for (p,) in s): d for s, d in result.items() if list(s) == sorted(s, key=repr)}
    chosen: dict[tuple[Output, ...], list[int]] = {}
    for indices in {tuple(sorted(p)) for p in permutations(range(setting.n), length)}:
        for d, data in setting.data_sets.items():
            chosen.setdefault(tuple((i, data[i]) for i in indices), []).append(d)
    return chosen


def _dynamic_attackers(setting: GameSetting, keep: bool) -> Iterator[_corrupting_simulator.Attacker]:
    firsts = equivalent_first_outputs(setting.roots)
    outputs = sorted({z for root in setting.roots.values() for cs in root.moves.values() for z in cs})
    for k in range(1, setting.k + 1):  # those who corrupt fewer come first
        tried = _corrupting_simulator.attackers(
            firsts, outputs, setting.n, k, symmetric=setting.symmetric, may_stop=k == 1 and not keep
        )
        yield from islice(tried, MOST_ATTACKERS) if setting.k > 1 else tried


def _with_attacker(
    setting: GameSetting, result: GameBounds, attacker: _corrupting_simulator.Attacker, keep: bool
) -> tuple[GameBounds, bool]:
    """What one more attacker of the dynamic game proves, and whether its own optimum is exact."""
    if setting.symmetric:
        ordered = [(o, d) for d, data in setting.data_sets.items() for o in dict.fromkeys(permutations(data))]
    else:
        ordered = [(data, d) for d, data in setting.data_sets.items()]
    data_sets = {number: data for number, (data, _) in enumerate(ordered)}
    in_tree = {number: d for number, (_, d) in enumerate(ordered)}

    def label(i: int, x: Output) -> Label:
        return (x,) if setting.symmetric else ((i, x),)

    views = _corrupting_simulator.views_of(setting.roots, data_sets, in_tree, attacker, label)
    inputs = {
        w: {number: mass[d] for number, d in in_tree.items() if d in mass}
        for w, mass in setting.tree.inputs().items()
    }
    lower, exact, size = _corrupting_simulator.lower_bound(
        data_sets, inputs, views, setting.high, keep, max(0.0, setting.seconds)
    )
    better = lower > result.lower
    where = Where(views, data_sets, None, by_index=True) if better else result.where
    more = replace(result, variables=result.variables + size, programs=result.programs + 1, where=where)
    return replace(more, lower=max(lower, result.lower)), exact


def _plain_size(setting: GameSetting, channel: Channel) -> int:
    """The number of variables of this program with ordered data sets and nothing merged."""
    data = {d for mass in channel.inputs.values() for d in mass}
    orders = sum(_orders(setting.data_sets[d]) if setting.symmetric else 1 for d in data)
    return 1 + len(channel.views) * (len(channel.inputs) + orders)


def _orders(data: Data) -> int:
    return factorial(len(data)) // prod(map(factorial, Counter(data).values()))


__all__ = ["Bounds", "GameBounds", "GameSetting", "Where", "dynamic", "non_adaptive", "static"]
