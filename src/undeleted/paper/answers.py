"""What a definition says about a curator, and the distances that it uses.

A definition that requires equality holds at distance 0.  One that requires (ε, δ)-closeness is tested at the
budget for which the noise of the specimens was chosen: a person is in at most three noisy numbers, each with
ratio 2 per step and a tenth of its mass without a counterpart; so e^ε = 8 and δ = 3/10.  The budget is coarse
because the worlds are tiny; exact sums are at distance 1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from undeleted.foundations.types import Json, Output
from undeleted.paper.specimens import Data, Specimen
from undeleted.verifying.history_tree import Move, Moves, Node, grow
from undeleted.verifying.step_laws import Batch

ZERO, ONE = Fraction(0), Fraction(1)
FACTOR, DELTA = Fraction(8), Fraction(3, 10)  # e^ε and δ
Law = Mapping[Output, Fraction]


@dataclass(frozen=True)
class Answer:
    """Whether the definition holds, how far from it the curator is at worst, and where."""

    holds: bool
    distance: Fraction | None  # None: infinite
    measure: str
    witness: Json
    asked: str = "0"  # the largest distance at which the definition holds
    note: str = ""

    def as_json(self) -> Json:
        return {
            "holds": self.holds,
            "distance": None if self.distance is None else str(self.distance),
            "measure": self.measure,
            "asked": self.asked,
            "witness": self.witness,
            "note": self.note,
        }


def one_way(p: Law, q: Law, factor: Fraction = ONE) -> Fraction:
    """The least δ with P(E) ≤ factor · Q(E) + δ for every event E."""
    return sum((max(ZERO, m - factor * q.get(x, ZERO)) for x, m in p.items()), ZERO)


def hockey_stick(p: Law, q: Law, factor: Fraction = ONE) -> Fraction:
    """The δ of (ε, δ)-closeness, both ways; total variation for a factor of 1."""
    return max(one_way(p, q, factor), one_way(q, p, factor))


def largest_ratio(p: Law, q: Law) -> Fraction | None:
    """The e^ε of pure closeness, both ways; None if some outcome is possible on one side only."""
    if p.keys() != q.keys():
        return None
    return max((max(p[x] / q[x], q[x] / p[x]) for x in p), default=ONE)


def marginal(law: Law, of: Callable[[Output], Output]) -> dict[Output, Fraction]:
    """The law of a function of the outcome."""
    result: dict[Output, Fraction] = {}
    for outcome, probability in law.items():
        result[of(outcome)] = result.get(of(outcome), ZERO) + probability
    return result


def worst(cases: Iterable[tuple[Fraction | None, Json]]) -> tuple[Fraction | None, Json]:
    """The case at the largest distance; an infinite distance is the largest."""
    best: tuple[Fraction | None, Json] = (ZERO, {})
    for distance, witness in cases:
        if distance is None:
            return None, witness
        if not best[1] or (best[0] is not None and distance > best[0]):
            best = distance, witness
    return best


def equal(cases: Iterable[tuple[Fraction, Json]], measure: str = "total variation") -> Answer:
    """The verdict of a definition that requires equality."""
    distance, witness = worst(cases)
    return Answer(distance == 0, distance, measure, witness)


def close(cases: Iterable[tuple[Fraction, Json]], measure: str = "δ at e^ε = 8") -> Answer:
    """The verdict of a definition that requires (ε, δ)-closeness."""
    distance, witness = worst(cases)
    return Answer(distance is not None and distance <= DELTA, distance, measure, witness, str(DELTA))


def two_laws(one: Law, other: Law, names: tuple[str, str]) -> Json:
    """Two laws side by side, for a reader."""
    outcomes = sorted(one.keys() | other.keys(), key=repr)
    return {
        "outcomes": [
            {
                "outcome": _shown(x),
                names[0]: str(one.get(x, ZERO)),
                names[1]: str(other.get(x, ZERO)),
            }
            for x in outcomes
        ]
    }


def data_sets(specimen: Specimen, size: int | None = None) -> Iterator[Data]:
    """All data sets of a specimen's world, in every order."""
    return product(specimen.domain, repeat=specimen.n if size is None else size)


def without(data: Data, *indices: int) -> Data:
    return tuple(point for i, point in enumerate(data) if i not in indices)


def adaptively(
    specimen: Specimen, one: Data, other: Data, people: Iterable[int], first: tuple[int, int] | None = None
) -> tuple[Fraction, Json]:
    """How well an adaptive observer who deletes by index distinguishes two data sets: δ at e^ε = 8.

    It sees outputs, not values.  `first` says whom the first request names in each of the two worlds, if
    that is not the observer's choice.
    """
    indices = tuple(people)
    steps = specimen.steps
    sides = {0: one, 1: other}

    def moves_of(d: int) -> Moves:
        def moves(data: Data, gone: frozenset[int]) -> Iterator[Move]:
            if first is not None and not gone:
                batch: Batch = (data[first[d]],)
                yield ("the person",), batch, frozenset([first[d]])
                return
            taken = set(first) if first is not None else set()
            for i in indices:
                if i not in gone and i not in taken:
                    yield (i,), (data[i],), gone | {i}

        return moves

    # Both worlds are grown separately, because the first request may differ, and then merged into one tree.
    trees = [grow(steps, {d: data}, specimen.k, moves_of(d)) for d, data in sides.items()]
    roots: dict[int, Node] = {}
    for tree in trees:
        for z, node in tree.without_leaks().items():
            roots[z] = _merged(roots[z], node) if z in roots else node
    best, seen = ZERO, None
    for a, b in ((0, 1), (1, 0)):
        total = sum((_best(node, a, b) for node in roots.values()), ZERO)
        if total > best or seen is None:
            best, seen = total, _most_revealing(specimen, roots, a, b)
    return best, {"data": [list(one), list(other)], **(seen or {})}


def _merged(one: Node, other: Node) -> Node:
    moves = {label: dict(children) for label, children in one.moves.items()}
    for label, children in other.moves.items():
        into = moves.setdefault(label, {})
        for z, child in children.items():
            into[z] = _merged(into[z], child) if z in into else child
    return Node(one.mass | other.mass, moves)


def _best(node: Node, a: int, b: int) -> Fraction:
    here = max(ZERO, node.mass.get(a, ZERO) - FACTOR * node.mass.get(b, ZERO))
    ways = (sum((_best(c, a, b) for c in cs.values()), ZERO) for cs in node.moves.values())
    return max(ways, default=here)


def _most_revealing(specimen: Specimen, roots: Mapping[int, Node], a: int, b: int) -> Json:
    """The transcript on the best observer's path that distinguishes most."""
    best: tuple[Fraction, list[Output], Node] | None = None

    def walk(seen: list[Output], node: Node) -> None:
        nonlocal best
        if not node.moves:
            over = node.mass.get(a, ZERO) - FACTOR * node.mass.get(b, ZERO)
            if best is None or over > best[0]:
                best = over, seen, node
            return
        label = max(node.moves, key=lambda m: sum((_best(c, a, b) for c in node.moves[m].values()), ZERO))
        for z, child in node.moves[label].items():
            walk([*seen, {"deleted": label[0], "output": specimen.steps.outputs.shown(z)}], child)

    for z, root in roots.items():
        walk([{"output": specimen.steps.outputs.shown(z)}], root)
    assert best is not None
    probabilities = [str(best[2].mass.get(d, ZERO)) for d in (0, 1)]
    return {"seen": best[1], "probabilities": probabilities}


def _shown(value: Output) -> Output:
    while isinstance(value, tuple) and len(value) == 1:
        [value] = value
    return [_shown(v) for v in value] if isinstance(value, tuple) else value
