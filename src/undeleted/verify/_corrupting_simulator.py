"""The best simulator against one attacker of the dynamic game: it must corrupt a point before it learns it.

    state    the input w, and the points that were corrupted so far, in order: (i1, x1), (i2, x2), …
    moves    corrupt one more index, or say a view and stop
    choose   r(state, move) ≥ 0, adding up to what came into the state  (the sequence form of its strategy)
    Q_D(Y, view) = Σ_w p_D(w) Σ_orders of Y  r((w, order), view)

A simulator that is handed all of D|_Y at once would be too strong: the attacker chose its second point
after it saw an answer that the simulator had to give before.  The optimum is a lower bound on δ in the
dynamic game, one attacker at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from undeleted.verify.history_tree import Label, Mass, Node
from undeleted.verify.linear_program import ONE, ZERO, LinearProgram
from undeleted.verify.step_laws import Data

Corrupted: TypeAlias = tuple[tuple[int, Any], ...]
View: TypeAlias = tuple[Any, ...]  # z0, ((i, x_i),), z1, ((j, x_j),), z2, …
FEW = 8  # places where an attacker decides; all ways to decide at so many are tried
Attacker: TypeAlias = Callable[[View], int | None]  # the index that it corrupts and deletes next


def lower_bound(
    data_sets: Mapping[int, Data],
    inputs: Mapping[tuple[int, int], Mass],
    views: Mapping[View, Mass],
    factor: Fraction,
    keep: bool,
    seconds: float,
) -> tuple[Fraction, bool, int]:
    """The least δ of a simulator for the attacker with these views, whether it is exact, and the size."""
    program = LinearProgram()
    delta = program.variable(ONE)
    said: dict[View, dict[tuple[tuple[int, int], Corrupted], int]] = {v: {} for v in views}
    lost: list[tuple[tuple[int, int], Corrupted, int, int | None, set[Any]]] = []  # ways that say no view
    ending: dict[frozenset[tuple[int, Any]], list[View]] = {}
    for view in views:
        ending.setdefault(frozenset(_deleted(view)), []).append(view)
    prefixes = {frozenset(c for c in some) for y in ending for some in _parts(y)}

    def visit(
        w: tuple[int, int], corrupted: Corrupted, incoming: dict[int, Fraction], side: Fraction
    ) -> None:
        gives_up = program.variable()
        outgoing = {gives_up: -ONE}
        lost.append((w, corrupted, gives_up, None, set()))
        known = frozenset(corrupted)
        for view in ending.get(known, ()):
            if not keep or view[0] == w[0]:
                said[view][w, corrupted] = program.variable()
                outgoing[said[view][w, corrupted]] = -ONE
        further: dict[int, dict[Any, None]] = {}
        for more in prefixes:
            if known < more and len(more) == len(known) + 1:
                [(i, x)] = more - known
                further.setdefault(i, {})[x] = None
        ways = {i: program.variable() for i in further}
        outgoing |= dict.fromkeys(ways.values(), -ONE)
        program.equals(incoming | outgoing, side)
        for i, values in further.items():
            lost.append((w, corrupted, ways[i], i, set(values)))
            for x in values:
                visit(w, (*corrupted, (i, x)), {ways[i]: ONE}, ZERO)

    for w in inputs:
        visit(w, (), {}, -ONE)
    for reverse in (False,) if factor == 1 else (False, True):
        for d, data in data_sets.items():
            total = {delta: ONE}
            for view, mass in views.items():
                real = mass.get(d, ZERO)
                if any(data[i] != x for i, x in _deleted(view)) or (not real and not reverse):
                    continue
                excess = program.variable()
                total[excess] = -ONE
                sign, side = (-1, -factor * real) if reverse else (factor, real)
                simulated = {j: sign * inputs[w][d] for (w, _), j in said[view].items() if d in inputs[w]}
                program.at_least({excess: ONE} | simulated, side)
            if reverse:  # whatever is said and is no view has no counterpart
                for w, corrupted, variable, i, values in lost:
                    here = all(data[j] == x for j, x in corrupted)
                    if d in inputs[w] and here and (i is None or data[i] not in values):
                        total[variable] = -inputs[w][d]
            program.at_least(total, ZERO)
    solved = program.solve(seconds)
    return max(ZERO, solved.bound), solved.exact, len(program.costs)


def views_of(
    roots: Mapping[int, Node],
    data_sets: Mapping[int, Data],
    number: Mapping[int, int],
    attacker: Attacker,
    label: Callable[[int, Any], Label],
) -> dict[View, Mass]:
    """What an attacker sees, for data sets in every order; `number` is the data set's in the tree."""
    found: dict[View, Mass] = {}

    def walk(d: int, view: View, node: Node) -> None:
        i = attacker(view)
        if i is None:
            found.setdefault(view, {})[d] = node.mass[number[d]]
            return
        x = data_sets[d][i]
        for z, child in node.moves[label(i, x)].items():
            if number[d] in child.mass:
                walk(d, (*view, ((i, x),), z), child)

    for d in data_sets:
        for first, node in roots.items():
            if number[d] in node.mass:
                walk(d, (first,), node)
    return found


def attackers(
    firsts: Sequence[Sequence[int]], outputs: Sequence[int], n: int, k: int, *, alike: bool, may_stop: bool
) -> Iterator[Attacker]:
    """Attackers that let z0 choose the first point, and the latest output each later one.

    First outputs come in groups that need not be told apart.  Where points are `alike` before anybody has
    looked at them, only the pattern of choices counts.  With k = 1 these are all attackers that matter.  One
    that stops at some z0 sees less; but a simulator that may change z0 then also has fewer places to hide
    in, so against that kind it `may_stop`.
    """
    for first in _choices(len(firsts), n, alike, may_stop):
        choice = {z: i for group, i in zip(firsts, first, strict=True) for z in group}
        if k == 1:
            yield _attacker(choice, {}, n, k)
            continue
        both = [(z, after) for z in choice for after in outputs]
        seen = both if len(both) <= FEW else [(None, after) for after in outputs]
        for later in product((0, 1), repeat=len(seen)):
            yield _attacker(choice, dict(zip(seen, later, strict=True)), n, k)


def _choices(groups: int, n: int, alike: bool, may_stop: bool) -> Iterator[tuple[int | None, ...]]:
    """Which index each group of first outputs leads to; None where the attacker stops."""
    for goes_on in product((True, False) if may_stop else (True,), repeat=groups):
        some = sum(goes_on)
        for word in _patterns(some, n) if alike else product(range(n), repeat=some):
            letters = iter(word)
            yield tuple(next(letters) if on else None for on in goes_on)


def _attacker(
    choice: Mapping[int, int | None], shift: Mapping[tuple[int | None, int], int], n: int, k: int
) -> Attacker:
    def attacker(view: View) -> int | None:
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
    """Words in which every new letter is the next one: one of each kind up to renaming."""

    def extend(word: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(word) == length:
            yield word
            return
        for letter in range(min(letters, max(word, default=-1) + 2)):
            yield from extend((*word, letter))

    return extend(())


def _deleted(view: View) -> tuple[tuple[int, Any], ...]:
    return tuple(point for label in view[1::2] for point in label)


def _parts(whole: frozenset[tuple[int, Any]]) -> Iterator[frozenset[tuple[int, Any]]]:
    items = sorted(whole, key=repr)
    for chosen in product((False, True), repeat=len(items)):
        yield frozenset(item for item, take in zip(items, chosen, strict=True) if take)
