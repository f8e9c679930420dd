"""Differential privacy for the undeleted, over whole transcripts, exactly.

    neighbours   D, and D without one person who is never deleted
    attacker     deletes others, one or more at a time, and chooses them by what it saw
    δ(ε)         the worst Σ max(0, P_D − e^ε P_D′) over everything it sees, both ways, over all neighbours

The best attacker is found by backward induction, without a linear program.  Undeleted-safety does not imply
this and is not implied by it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic

from undeleted.errors import BadWorld
from undeleted.foundations.types import Json, Output
from undeleted.verifying.exact import factor_of
from undeleted.verifying.finite_world import FiniteWorld, check_runs
from undeleted.verifying.history_tree import Label, Move, Node, grow, in_batches
from undeleted.verifying.step_laws import Batch, Data, Steps

ZERO = Fraction(0)


@dataclass(frozen=True)
class Ratio:
    """The largest P_D / P_D′ of a single observation: e^ε of pure differential privacy."""

    ratio: Fraction | None  # None: infinite

    @property
    def epsilon(self) -> float:
        return math.inf if self.ratio is None else math.log(self.ratio)

    def worse(self, other: "Ratio") -> "Ratio":
        if self.ratio is None or other.ratio is None:
            return Ratio(None)
        return self if self.ratio >= other.ratio else other


@dataclass(frozen=True)
class Divergence:
    """What a transcript reveals about somebody who stays, next to what the first release alone reveals."""

    epsilon: float
    first: Ratio
    transcript: Ratio
    delta_first: tuple[Fraction, Fraction]  # at ε: lower and upper bound
    delta: tuple[Fraction, Fraction]
    witness: Json | None
    neighbours: int
    seconds: float

    @property
    def deletions_cost_nothing(self) -> bool:
        """Whether the transcript is as private for those who stay as its first release."""
        return self.transcript == self.first and self.delta == self.delta_first

    def as_json(self) -> Json:
        return {
            "epsilon": self.epsilon,
            "delta": float(self.delta[1]),
            "lower": float(self.delta[0]),
            "upper": float(self.delta[1]),
            "delta_first": float(self.delta_first[1]),
            "epsilon_first": _finite(self.first.epsilon),
            "epsilon_transcript": _finite(self.transcript.epsilon),
            "ratio_first": None if self.first.ratio is None else str(self.first.ratio),
            "ratio_transcript": None if self.transcript.ratio is None else str(self.transcript.ratio),
            "deletions_cost_nothing": self.deletions_cost_nothing,
            "certified": True,
            "neighbours": self.neighbours,
            "seconds": self.seconds,
            "witness": self.witness,
        }


def privacy_of_the_undeleted(world: FiniteWorld, epsilon: float = 0.0) -> Divergence:
    """The exact divergence between neighbours that differ in one person who stays.

    >>> from undeleted.foundations.coins import ClampedGeometric
    >>> from undeleted.curate.mechanisms.noisy_sum import NoisySum
    >>> from undeleted.foundations.schema import Number, Schema
    >>> x = Number("x", min=0, max=1)
    >>> noisy = NoisySum(x, ClampedGeometric(Fraction(1, 2), 0, 3))
    >>> found = privacy_of_the_undeleted(FiniteWorld.of(noisy, [0, 1], n=3, k=1, schema=Schema([x])))
    >>> found.first.ratio, found.transcript.ratio
    (Fraction(2, 1), Fraction(2, 1))
    """
    started = monotonic()
    low, high = factor_of(epsilon)
    if world.n < 2:
        raise BadWorld("n", world.n, "at least 2: with one person nobody stays")
    steps = Steps(world.make)
    check_runs(world, steps, dict(enumerate(world.data_sets())), 10.0)
    first = transcript = Ratio(Fraction(1))
    at_first, at_end = (ZERO, ZERO), (ZERO, ZERO)
    witness, pairs = None, 0
    for larger, smaller in neighbours(world):
        pairs += 1
        tree = grow(steps, {0: larger, 1: smaller}, world.k, _common(smaller, world.k))
        roots = tree.without_leaks()
        for a, b in ((0, 1), (1, 0)):
            first = first.worse(Ratio(largest([root.mass for root in roots.values()], a, b)))
            last = [leaf.mass for root in roots.values() for leaf in ends(root)]
            transcript = transcript.worse(Ratio(largest(last, a, b)))
            outset = sum((max(ZERO, _over(r, a, b, high)) for r in roots.values()), ZERO)
            outset_high = sum((max(ZERO, _over(r, a, b, low)) for r in roots.values()), ZERO)
            at_first = max(at_first[0], outset), max(at_first[1], outset_high)
            most = sum((worst(r, a, b, high) for r in roots.values()), ZERO)
            if most > at_end[0] or witness is None:
                witness = observation(steps, roots, larger, smaller, (a, b), high)
            at_end = (
                max(at_end[0], most),
                max(at_end[1], sum((worst(r, a, b, low) for r in roots.values()), ZERO)),
            )
    return Divergence(
        float(epsilon), first, transcript, at_first, at_end, witness, pairs, monotonic() - started
    )


def neighbours(world: FiniteWorld) -> Iterator[tuple[Data, Data]]:
    """Every data set, paired with the same data set without one of its people."""
    for data in world.data_sets():
        if len(data) > 1:
            without = {data[:i] + data[i + 1 :] for i in range(len(data))}
            for smaller in sorted(without, key=repr):
                yield data, smaller


def _common(people: Data, k: int) -> Output:
    """Requests to delete people who are in both data sets."""

    def one(_: Data, gone: frozenset[int]) -> Iterator[Move]:
        for i, point in enumerate(people):
            if i not in gone and not any(people[j] == point and j not in gone for j in range(i)):
                batch: Batch = (point,)
                yield batch, batch, gone | {i}

    return in_batches(one, min(k, len(people)))


def _over(node: Node, a: int, b: int, factor: Fraction) -> Fraction:
    return node.mass.get(a, ZERO) - factor * node.mass.get(b, ZERO)


def worst(node: Node, a: int, b: int, factor: Fraction) -> Fraction:
    """The divergence under the best attacker from here on."""
    ways = [sum((worst(c, a, b, factor) for c in cs.values()), ZERO) for cs in node.moves.values()]
    return max(ways, default=max(ZERO, _over(node, a, b, factor)))


def ends(node: Node) -> Iterator[Node]:
    """The histories in which nothing can be requested any more."""
    if not node.moves:
        yield node
    for children in node.moves.values():
        for child in children.values():
            yield from ends(child)


def largest(masses: list[dict[int, Fraction]], a: int, b: int) -> Fraction | None:
    """The largest ratio of two masses; None if it is infinite."""
    largest = Fraction(1)
    for mass in masses:
        if mass.get(a) and not mass.get(b):
            return None
        if mass.get(b):
            largest = max(largest, mass.get(a, ZERO) / mass[b])
    return largest


def observation(
    steps: Steps, roots: dict[int, Node], larger: Data, smaller: Data, way: tuple[int, int], factor: Fraction
) -> Json:
    """The observation that distinguishes the neighbours best, on the best attacker's path."""
    a, b = way
    best: tuple[Fraction, list[Output], Fraction, Fraction] | None = None

    def walk(seen: list[Output], node: Node) -> None:
        nonlocal best
        if not node.moves:
            over = _over(node, a, b, factor)
            if best is None or over > best[0]:
                best = over, seen, node.mass.get(0, ZERO), node.mass.get(1, ZERO)
            return

        def gain(label: Label) -> Fraction:
            return sum((worst(c, a, b, factor) for c in node.moves[label].values()), ZERO)

        label = max(node.moves, key=gain)
        for z, child in node.moves[label].items():
            walk([*seen, {"deleted": list(label), "output": steps.outputs.shown(z)}], child)

    for z, root in roots.items():
        walk([{"output": steps.outputs.shown(z)}], root)
    assert best is not None
    return {
        "data": [list(larger), list(smaller)],
        "seen": best[1],
        "probabilities": [str(best[2]), str(best[3])],
    }


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
