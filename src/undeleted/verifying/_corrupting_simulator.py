"""The best simulator against one attacker of the dynamic game: it must corrupt a point before it learns it.

    state    the input w, and the points that were corrupted so far, in order: (i1, x1), (i2, x2), …
    moves    corrupt one more index, or output a view and stop
    choose   r(state, move) ≥ 0, summing to the inflow of the state  (the sequence form of its strategy)
    Q_D(Y, view) = Σ_w p_D(w) Σ_orders of Y  r((w, order), view)

A simulator that gets all of D|_Y at once would be too strong: the attacker chooses its second point after an
answer that the simulator must give before it knows that point.  For each attacker the optimum is a lower
bound on δ in the dynamic game.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from undeleted.foundations.types import Output
from undeleted.verifying.history_tree import Label, Mass, Node
from undeleted.verifying.linear_program import ONE, ZERO, LinearProgram
from undeleted.verifying.step_laws import Data

Corrupted: TypeAlias = tuple[tuple[int, Output], ...]
PartialView: TypeAlias = tuple[Output, ...]  # z0, ((i, x_i),), z1, ((j, x_j),), z2, …
FEW = 8  # with up to this many decision points, all decisions of an attacker are tried
Attacker: TypeAlias = Callable[[PartialView], int | None]  # the index that it corrupts and deletes next


def lower_bound(
    data_sets: Mapping[int, Data],
    inputs: Mapping[tuple[int, int], Mass],
    views: Mapping[PartialView, Mass],
    factor: Fraction,
    keep: bool,
    seconds: float,
) -> tuple[Fraction, bool, int]:
    """The least δ of a simulator for the attacker with these views, whether it is exact, and the size."""
    simulator = _Simulator(inputs, views, factor, keep)
    program, delta = simulator.program, simulator.program.variable(ONE)
    for w in inputs:
        simulator.visit(w, (), {}, -ONE)
    for reverse in (False,) if factor == 1 else (False, True):
        for d, data in data_sets.items():
            program.at_least({delta: ONE} | simulator.excess(d, data, reverse), ZERO)
    solved = program.solve(seconds)
    return max(ZERO, solved.bound), solved.exact, len(program.costs)


class _Simulator:
    """A simulator that corrupts people one by one, as the variables of a program."""

    def __init__(
        self,
        inputs: Mapping[tuple[int, int], Mass],
        views: Mapping[PartialView, Mass],
        factor: Fraction,
        keep: bool,
    ) -> None:
        self.program = LinearProgram()
        self.inputs, self.views, self.factor, self.keep = inputs, views, factor, keep
        self._said: dict[PartialView, dict[tuple[tuple[int, int], Corrupted], int]] = {v: {} for v in views}
        self._lost: list[
            tuple[tuple[int, int], Corrupted, int, int | None, set[Output]]
        ] = []  # without a view
        self._ending: dict[frozenset[tuple[int, Output]], list[PartialView]] = {}
        for view in views:
            self._ending.setdefault(frozenset(_deleted(view)), []).append(view)
        self._prefixes = {frozenset(c for c in some) for y in self._ending for some in _parts(y)}

    def visit(
        self, w: tuple[int, int], corrupted: Corrupted, incoming: dict[int, Fraction], side: Fraction
    ) -> None:
        """What the simulator does after these corruptions: give up, write a view, or corrupt one more."""
        program = self.program
        gives_up = program.variable()
        outgoing = {gives_up: -ONE}
        self._lost.append((w, corrupted, gives_up, None, set()))
        known = frozenset(corrupted)
        for view in self._ending.get(known, ()):
            if not self.keep or view[0] == w[0]:
                self._said[view][w, corrupted] = program.variable()
                outgoing[self._said[view][w, corrupted]] = -ONE
        further: dict[int, dict[Output, None]] = {}
        for more in self._prefixes:
            if known < more and len(more) == len(known) + 1:
                [(i, x)] = more - known
                further.setdefault(i, {})[x] = None
        ways = {i: program.variable() for i in further}
        outgoing |= dict.fromkeys(ways.values(), -ONE)
        program.equals(incoming | outgoing, side)
        for i, values in further.items():
            self._lost.append((w, corrupted, ways[i], i, set(values)))
            for x in values:
                self.visit(w, (*corrupted, (i, x)), {ways[i]: ONE}, ZERO)

    def excess(self, d: int, data: Data, reverse: bool) -> dict[int, Fraction]:
        """How much likelier views are for real than simulated, or the reverse, added up."""
        total = {}
        for view, mass in self.views.items():
            real = mass.get(d, ZERO)
            if any(data[i] != x for i, x in _deleted(view)) or (not real and not reverse):
                continue
            more = self.program.variable()
            total[more] = -ONE
            sign, side = (-1, -self.factor * real) if reverse else (self.factor, real)
            said = self._said[view].items()
            simulated = {j: sign * self.inputs[w][d] for (w, _), j in said if d in self.inputs[w]}
            self.program.at_least({more: ONE} | simulated, side)
        if reverse:  # simulated outputs that are no view have no real counterpart
            for w, corrupted, variable, i, values in self._lost:
                here = all(data[j] == x for j, x in corrupted)
                if d in self.inputs[w] and here and (i is None or data[i] not in values):
                    total[variable] = -self.inputs[w][d]
        return total


def views_of(
    roots: Mapping[int, Node],
    data_sets: Mapping[int, Data],
    number: Mapping[int, int],
    attacker: Attacker,
    label: Callable[[int, Output], Label],
) -> dict[PartialView, Mass]:
    """The views of an attacker, for data sets in every order; `number` is a data set's number in the tree."""
    views: dict[PartialView, Mass] = {}

    def walk(d: int, view: PartialView, node: Node) -> None:
        i = attacker(view)
        if i is None:
            views.setdefault(view, {})[d] = node.mass[number[d]]
            return
        x = data_sets[d][i]
        for z, child in node.moves[label(i, x)].items():
            if number[d] in child.mass:
                walk(d, (*view, ((i, x),), z), child)

    for d in data_sets:
        for first, node in roots.items():
            if number[d] in node.mass:
                walk(d, (first,), node)
    return views


def attackers(
    firsts: Sequence[Sequence[int]],
    outputs: Sequence[int],
    n: int,
    k: int,
    *,
    symmetric: bool,
    may_stop: bool,
) -> Iterator[Attacker]:
    """Attackers that choose the first point by z0, and each later point by the latest output.

    First outputs come in groups that need not be distinguished.  Where points are `symmetric` until they are
    corrupted, only the pattern of choices counts.  With k = 1 these are all attackers that matter.  One that
    stops at some z0 sees less; but a simulator that may change z0 then also has fewer views to choose from,
    so against such a simulator the attacker `may_stop`.
    """
    for first in _choices(len(firsts), n, symmetric, may_stop):
        choice = {z: i for group, i in zip(firsts, first, strict=True) for z in group}
        if k == 1:
            yield _attacker(choice, {}, n, k)
            continue
        both = [(z, after) for z in choice for after in outputs]
        seen = both if len(both) <= FEW else [(None, after) for after in outputs]
        for later in product((0, 1), repeat=len(seen)):
            yield _attacker(choice, dict(zip(seen, later, strict=True)), n, k)


def _choices(groups: int, n: int, symmetric: bool, may_stop: bool) -> Iterator[tuple[int | None, ...]]:
    """Which index each group of first outputs leads to; None where the attacker stops."""
    for goes_on in product((True, False) if may_stop else (True,), repeat=groups):
        some = sum(goes_on)
        for word in _patterns(some, n) if symmetric else product(range(n), repeat=some):
            letters = iter(word)
            yield tuple(next(letters) if on else None for on in goes_on)


def _attacker(
    choice: Mapping[int, int | None], shift: Mapping[tuple[int | None, int], int], n: int, k: int
) -> Attacker:
    def attacker(view: PartialView) -> int | None:
        taken = {i for i, _ in _deleted(view)}
        if len(taken) == k:
            return None
        if not taken:
            return choice[view[0]]
        free = [i for i in range(n) if i not in taken]
        later = shift.get((view[0], view[-1]), shift.get((None, view[-1]), 0))
        return free[later % len(free)]

    return attacker


def _patterns(length: int, letters: int) -> Iterator[tuple[int, ...]]:
    """Words in which every new letter is the next unused one: one word of each kind up to renaming."""

    def extend(word: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(word) == length:
            yield word
            return
        for letter in range(min(letters, max(word, default=-1) + 2)):
            yield from extend((*word, letter))

    return extend(())


def _deleted(view: PartialView) -> tuple[tuple[int, Output], ...]:
    return tuple(point for label in view[1::2] for point in label)


def _parts(whole: frozenset[tuple[int, Output]]) -> Iterator[frozenset[tuple[int, Output]]]:
    items = sorted(whole, key=repr)
    for chosen in product((False, True), repeat=len(items)):
        yield frozenset(item for item, take in zip(items, chosen, strict=True) if take)
