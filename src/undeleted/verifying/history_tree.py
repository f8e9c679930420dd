"""The tree of everything that can happen: requests and outputs, with the mass that every data set gives them.

    node.mass[d]        the probability of this history when the data set is number d
    node.moves[label]   the nodes that a request can lead to, by the next output

The label of a request is what a simulator learns about it: the deleted values, or indices and values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from undeleted.foundations.types import Given, Output
from undeleted.verifying.step_laws import Batch, Data, Steps

Label: TypeAlias = tuple[Output, ...]
Mass: TypeAlias = dict[int, Fraction]
# A move: its label, its points, and what is done after it (mostly: which indices are gone).
Move: TypeAlias = tuple[Label, Batch, frozenset[Given]]
Moves: TypeAlias = Callable[[Data, frozenset[Given]], Iterator[Move]]
Path: TypeAlias = tuple[Output, ...]  # z0, label, z1, label, z2, …
ZERO = Fraction(0)


@dataclass
class Node:
    """A history: its probability under each data set, and what can follow it."""

    mass: Mass = field(default_factory=dict)
    moves: dict[Label, dict[int, "Node"]] = field(default_factory=dict)


@dataclass
class Tree:
    """All histories; the first output comes with what leaked, if anything does."""

    roots: dict[tuple[int, int], Node]  # by (z0, leaked)

    def without_leaks(self) -> dict[int, Node]:
        """The histories as an attacker sees them: by z0 alone."""
        result: dict[int, Node] = {}
        for (first, _), node in self.roots.items():
            result[first] = _added(result[first], node) if first in result else node
        return result

    def inputs(self) -> dict[tuple[int, int], Mass]:
        """The inputs of a simulator, with the probability that each data set gives them."""
        return {seen: node.mass for seen, node in self.roots.items()}


def grow(steps: Steps, data_sets: Mapping[int, Data], k: int, moves: Moves) -> Tree:
    """Play every request against every data set."""
    tree = Tree({})

    def extend(d: int, node: Node, states: dict[int, Fraction], gone: frozenset[int]) -> None:
        node.mass[d] = sum(states.values(), ZERO)
        for label, batch, after in moves(data_sets[d], gone) if len(gone) < k else ():
            children = node.moves.setdefault(label, {})
            reached: dict[int, dict[int, Fraction]] = {}
            for state, probability in states.items():
                for step in steps.delete(state, batch, last=len(after) == k):
                    into = reached.setdefault(step.output, {})
                    into[step.state] = into.get(step.state, ZERO) + probability * step.probability
            for output, states_after in reached.items():
                extend(d, children.setdefault(output, Node()), states_after, after)

    for d, data in data_sets.items():
        firsts: dict[tuple[int, int], dict[int, Fraction]] = {}
        for step in steps.start(data):
            into = firsts.setdefault((step.output, step.leaked), {})
            into[step.state] = into.get(step.state, ZERO) + step.probability
        for seen, states in firsts.items():
            extend(d, tree.roots.setdefault(seen, Node()), states, frozenset())
    return tree


def restricted(
    node: Node, data: Iterable[int], allowed: Callable[[tuple[Label, ...]], Iterable[Label]]
) -> Node:
    """The part of a tree that these data sets can reach by allowed requests."""
    kept = set(data)

    def cut(node: Node, so_far: tuple[Label, ...]) -> Node:
        mass = {d: m for d, m in node.mass.items() if d in kept}
        moves = {}
        for label in allowed(so_far):
            children = {z: cut(child, (*so_far, label)) for z, child in node.moves.get(label, {}).items()}
            children = {z: child for z, child in children.items() if child.mass}
            if children:
                moves[label] = children
        return Node(mass, moves)

    return cut(node, ())


def leaves(roots: Mapping[int, Node], choose: Callable[[Path, Node], Label | None]) -> dict[Path, Mass]:
    """Where a deterministic attacker can end: `choose` gives its next request, or None when it stops."""
    result: dict[Path, Mass] = {}

    def walk(path: Path, node: Node) -> None:
        label = choose(path, node)
        if label is None:
            result[path] = node.mass
            return
        for output, child in node.moves[label].items():
            walk((*path, label, output), child)

    for first, node in roots.items():
        if node.mass:
            walk((first,), node)
    return result


def first_difference(
    roots: Mapping[Output, Node],
) -> tuple[Output, tuple[Output, ...], Label, int, int] | None:
    """A place where the next output depends on more than what was seen; None if there is no such place.

    It returns the first output, the path after it, the request, and two data sets that answer differently.
    None means perfect safety: what a simulator has seen determines the law of what comes next.
    """

    def look(
        first: Output, path: tuple[Output, ...], node: Node
    ) -> tuple[Output, tuple[Output, ...], Label, int, int] | None:
        for label, children in node.moves.items():
            laws: dict[int, list[tuple[int, Fraction]]] = {}
            for output, child in children.items():
                for d, mass in child.mass.items():
                    laws.setdefault(d, []).append((output, mass / node.mass[d]))
            ordered = {d: sorted(law) for d, law in laws.items()}
            some = next(iter(ordered), None)
            for d, law in ordered.items():
                if some is not None and law != ordered[some]:
                    return first, path, label, some, d
            for output, child in children.items():
                result = look(first, (*path, label, output), child)
                if result:
                    return result
        return None

    for first, node in roots.items():
        result = look(first, (), node)
        if result:
            return result
    return None


def next_outputs(node: Node, label: Label, d: int) -> dict[int, Fraction]:
    """The law of the next output for one data set, at one place."""
    return {z: child.mass[d] / node.mass[d] for z, child in node.moves[label].items() if d in child.mass}


def shape_of(mass: Mass) -> frozenset[tuple[int, Fraction]]:
    """Likelihoods up to a common factor; equal for two observations that carry the same information."""
    total = sum(mass.values(), ZERO)
    return frozenset((d, m / total) for d, m in mass.items())


def by_value(data: Data, gone: frozenset[int]) -> Iterator[Move]:
    """One deletion, identified by its value."""
    seen: set[Output] = set()
    for i, point in enumerate(data):
        if i not in gone and point not in seen:
            seen.add(point)
            yield (point,), (point,), gone | {i}


def by_index(data: Data, gone: frozenset[int]) -> Iterator[Move]:
    """One deletion, identified by its index and value."""
    for i, point in enumerate(data):
        if i not in gone:
            yield ((i, point),), (point,), gone | {i}


def in_batches(one: Moves, k: int) -> Moves:
    """Requests of one or more points, at most k points in all."""

    def moves(data: Data, gone: frozenset[int]) -> Iterator[Move]:
        result: dict[Label, Move] = {}

        def add(label: Label, batch: Batch, after: frozenset[int]) -> None:
            for more, points, later in one(data, after):
                name = tuple(sorted((*label, *more), key=repr))
                if name not in result:
                    result[name] = name, tuple(sorted((*batch, *points), key=repr)), later
                    if len(later) < k:
                        add(name, (*batch, *points), later)

        add((), (), gone)
        yield from result.values()

    return moves


def sequences(data_sets: Mapping[int, Data], length: int) -> dict[tuple[Label, ...], list[int]]:
    """Every sequence of `length` deleted values, and the data sets that contain them."""
    result: dict[tuple[Label, ...], list[int]] = {}
    for d, data in data_sets.items():
        stack: list[tuple[tuple[Label, ...], frozenset[int]]] = [((), frozenset())]
        for _ in range(length):
            stack = [((*s, label), after) for s, gone in stack for label, _, after in by_value(data, gone)]
        for sequence, _ in stack:
            result.setdefault(sequence, []).append(d)
    return result


def _added(one: Node, other: Node) -> Node:
    """The sum of two nodes: masses and moves are added."""
    mass = dict(one.mass)
    for d, m in other.mass.items():
        mass[d] = mass.get(d, ZERO) + m
    moves = {label: dict(children) for label, children in one.moves.items()}
    for label, children in other.moves.items():
        into = moves.setdefault(label, {})
        for output, child in children.items():
            into[output] = _added(into[output], child) if output in into else child
    return Node(mass, moves)


def spread(sequence: Sequence[Label]) -> Callable[[Path, Node], Label | None]:
    """The attacker that makes these requests, whatever it sees."""

    def choose(path: Path, _: Node) -> Label | None:
        made = len(path) // 2
        return sequence[made] if made < len(sequence) else None

    return choose
