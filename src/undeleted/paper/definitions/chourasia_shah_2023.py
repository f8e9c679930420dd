"""One output at a time: after adaptive deletions and then Alice's, the output can be simulated without her.

law(z_i on D; i − 1 deletions chosen by Q, then y)   ≈   π(D ∖ {y})       for every y, with one π for Q and i
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations

from undeleted.foundations.types import Json, Output
from undeleted.paper.answers import DELTA, FACTOR, ZERO, Answer, data_sets, worst
from undeleted.paper.specimens import Specimen
from undeleted.verifying.best_simulator import Channel
from undeleted.verifying.history_tree import Move, Node, grow

KIND = "privacy"
SOURCE = "Chourasia and Shah, Forget unlearning: towards true data deletion in machine learning, ICML 2023"
SIMPLIFIED = (
    "Deletions only, no insertions; at e^ε = 8, δ = 3/10 instead of Rényi divergences.  Q is the adaptive "
    "requester that best distinguishes two values of Alice in total variation; π is found for it by a linear "
    "program.  A no is certain; a yes is certain if the distance is 0, and otherwise says that this Q fails."
)
CLAIMS = {
    "retrain-sum": False,
    "exact-sum": False,
    "bulletin-board": False,
    "xor-pad": True,
}
MOST_EVENTS = 1 << 10


def chourasia_shah_2023(specimen: Specimen, factor: Fraction = FACTOR) -> Answer:
    """Check every time step by itself, under the requester that is worst for it."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for others in data_sets(specimen, specimen.n - 1):
            if list(others) == sorted(others, key=repr):
                for step in range(1, specimen.k + 1):
                    for values in combinations(range(len(specimen.domain)), 2):
                        yield _against_the_best(specimen, others, step, values, factor)

    distance, witness = worst(cases())
    holds = distance is not None and distance <= DELTA
    return Answer(holds, distance, f"δ at e^ε = {factor}, of the best π", witness, str(DELTA))


def _against_the_best(
    specimen: Specimen, others: tuple[Output, ...], step: int, values: tuple[int, int], factor: Fraction
) -> tuple[Fraction, Json]:
    """Alice has one of two values: find the requester that distinguishes them best, and the best π for it."""
    sides = {d: (specimen.domain[v], *others) for d, v in enumerate(values)}

    def moves(data: tuple[Output, ...], gone: frozenset[int]) -> Iterator[Move]:
        if len(gone) == step - 1:
            yield ("Alice",), (data[0],), gone | {0}
            return
        for i in range(1, len(data)):
            if i not in gone:
                yield (i,), (data[i],), gone | {i}

    roots = grow(specimen.steps, sides, step, moves).without_leaks()
    outputs = sorted({z for root in roots.values() for z in _last_outputs(root)})
    best: tuple[Fraction, frozenset[int]] = (ZERO, frozenset())
    for event in _events(outputs):
        gain = sum((_gain(root, event) for root in roots.values()), ZERO)
        best = max(best, (gain, event), key=lambda pair: pair[0])
    laws: dict[int, dict[int, Fraction]] = {}
    strategy: Json = {}
    for z, root in roots.items():
        _follow(specimen, root, best[1], (z,), laws, strategy)
    inputs = {("π",): {d: Fraction(1) for d in sides}}
    views = {("π", z): mass for z, mass in laws.items()}
    bounds = Channel(inputs, views, lambda name: name[0], keep=False).solve(factor, factor, 60.0)
    shown = specimen.steps.outputs.shown
    return bounds.upper, {
        "others": list(others),
        "Alice had": [specimen.domain[v] for v in values],
        "Q deletes, having seen": strategy,
        "the output after Alice left": [
            {"output": shown(z), "probabilities": [str(mass.get(d, ZERO)) for d in sides]}
            for z, mass in sorted(laws.items())
        ],
    }


def _events(outputs: list[int]) -> Iterator[frozenset[int]]:
    """Sets of outputs: all of them if there are few, otherwise single outputs and intervals."""
    if 1 << len(outputs) <= MOST_EVENTS:
        parts = chain.from_iterable(combinations(outputs, size) for size in range(len(outputs) + 1))
        yield from map(frozenset, parts)
    else:
        yield from (
            frozenset(outputs[a:b]) for a in range(len(outputs)) for b in range(a + 1, len(outputs) + 1)
        )


def _last_outputs(node: Node) -> Iterator[int]:
    for children in node.moves.values():
        for z, child in children.items():
            yield from _last_outputs(child) if child.moves else (z,)


def _gain(node: Node, event: frozenset[int], z: int | None = None) -> Fraction:
    """How much likelier Q can make the event for the first value than for the second, at most."""
    if not node.moves:
        return node.mass.get(0, ZERO) - node.mass.get(1, ZERO) if z in event else ZERO
    return max(sum((_gain(c, event, z) for z, c in cs.items()), ZERO) for cs in node.moves.values())


def _follow(
    specimen: Specimen,
    node: Node,
    event: frozenset[int],
    seen: tuple[Output, ...],
    laws: dict[int, dict[int, Fraction]],
    strategy: Json,
) -> None:
    """Add up the law of the last output under the best requester, and record its choices."""
    if not node.moves:
        into = laws.setdefault(seen[-1], {})
        for d, mass in node.mass.items():
            into[d] = into.get(d, ZERO) + mass
        return
    label = max(node.moves, key=lambda m: sum((_gain(c, event, z) for z, c in node.moves[m].items()), ZERO))
    if label != ("Alice",):
        strategy[str([specimen.steps.outputs.shown(z) for z in seen])] = f"no. {label[0]}"
    for z, child in node.moves[label].items():
        _follow(specimen, child, event, (*seen, z), laws, strategy)
