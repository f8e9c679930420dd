"""The dynamic game on a growing table, decided in small worlds; and what its transcripts cost those who stay.

    safe      after every history that an attacker can bring about, the generic simulator shows what the
              curator shows, with exactly the same probability: δ = 0
    not safe  2δ ≥ TV(what the curator shows) − TV(M), for two tables on which the attacker does the same: no
              simulator tells the tables apart better than M does, and M is all that it is given
    privacy   two tables that differ in one person who stays; arrivals, the attacker's own records and
              deletions are chosen by what was seen

An attacker's moves are to close a tick, with records of its own in it or none, and to delete a published
record.  The best attacker is found by backward induction; all probabilities are fractions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from time import monotonic
from typing import TypeAlias

from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import BadWorld, TooLarge
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Given, Json, Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.arrivals import GrowingTable, Person, Redraws, SimulatedTable, Tick, Undisturbed
from undeleted.verifying.divergence import Ratio, ends, largest, observation, worst
from undeleted.verifying.exact import factor_of
from undeleted.verifying.history_tree import Move, Moves, Node, grow
from undeleted.verifying.linear_program import ONE, ZERO
from undeleted.verifying.step_laws import Data, Steps

MOST_TABLES = 5_000
Gone: TypeAlias = frozenset[Given]


@dataclass(frozen=True)
class GrowingSmallWorld:
    """A growing table in which so many honest people join at each tick, with records from a small domain."""

    arrivals: Arrivals
    schema: Schema
    domain: tuple[Point, ...]
    honest: tuple[int, ...]  # how many honest people join at each tick
    own: int = 1  # the most records of the attacker's own in a batch
    k: int = 1  # the most people who leave
    redraws: Redraws = "never"

    def __post_init__(self) -> None:
        if not 1 <= len(self.honest) <= self.arrivals.horizon:
            rule = f"one number for each of 1 to {self.arrivals.horizon} ticks"
            raise BadWorld("honest", self.honest, rule)
        if not self.domain or min(self.honest) < 0 or self.own < 0 or self.k < 0:
            raise BadWorld("a small world", self.honest, "records to choose from, and no negative numbers")

    def tables(self, honest: Sequence[int] | None = None) -> list[Data]:
        """All tables, as the people who join, with their ticks."""
        numbers = self.honest if honest is None else honest
        batches = [
            [tuple((tick, record) for record in chosen) for chosen in self._chosen(number)]
            for tick, number in enumerate(numbers)
        ]
        count = 1
        for batch in batches:
            count *= len(batch)
        if count > MOST_TABLES:
            raise TooLarge("the tables of this world", count, MOST_TABLES, "Take fewer people or values.")
        return [tuple(person for batch in table for person in batch) for table in product(*batches)]

    def _chosen(self, number: int) -> list[tuple[Point, ...]]:
        return list(combinations_with_replacement(self.domain, number))

    def steps(self, kind: Callable[..., Algorithm]) -> Steps:
        """The laws of the steps of the curator, of its simulation, or of M."""
        return Steps(lambda: kind(self.arrivals, self.schema, redraws=self.redraws))

    @property
    def depth(self) -> int:
        """The most requests."""
        return len(self.honest) + self.k

    def moves(self, known: Data | None = None) -> Moves:
        """What an attacker may request; if `known` is given, of honest people it deletes only those."""

        def moves(data: Data, gone: Gone) -> Iterator[Move]:
            closed = sum(1 for done in gone if done[0] == "tick")
            if closed < len(self.honest):
                for number in range(self.own + 1):
                    for own in self._chosen(number):
                        yield ("tick", *own), (Tick(own),), gone | {("tick", closed, own)}
            if sum(1 for done in gone if done[0] == "left") < self.k:
                for person in sorted(set(self._there(data if known is None else known, gone)), key=repr):
                    again = sum(1 for done in gone if done[:2] == ("left", person))
                    yield ("delete", person), (person,), gone | {("left", person, again)}

        return moves

    def _there(self, people: Data, gone: Gone) -> Iterator[Person]:
        """Everybody who was published and has not left, honest ones and the attacker's own."""
        ticks = {done[1]: done[2] for done in gone if done[0] == "tick"}
        honest: Given = people
        published = [person for person in honest if person[0] in ticks]
        published += [(tick, record) for tick, own in ticks.items() for record in own]
        for done in gone:
            if done[0] == "left":
                published.remove(done[1])
        yield from published


@dataclass(frozen=True)
class GrowingVerdict:
    """Whether the curator is safe: proven for every attacker, or refuted by a witness."""

    safe: bool | None  # None: the simulator differs, and no two tables prove that every simulator does
    lower: Fraction  # no simulator comes closer than this
    witness: Json | None
    tables: int
    histories: int
    seconds: float

    def as_json(self) -> Json:
        return {
            "safe": self.safe,
            "lower": float(self.lower),
            "lower_exact": str(self.lower),
            "witness": self.witness,
            "tables": self.tables,
            "histories": self.histories,
            "seconds": self.seconds,
        }


def verify_growing(world: GrowingSmallWorld) -> GrowingVerdict:
    """Decide the dynamic game with arrivals in a small world.

    >>> from undeleted.curate.mechanisms import NoisySum
    >>> from undeleted.foundations.coins import TruncatedGeometric
    >>> from undeleted.foundations.schema import Number
    >>> x = Number("x", min=0, max=1)
    >>> cohorts = Arrivals(NoisySum(x, TruncatedGeometric(Fraction(1, 2), 1)), 2, "cohorts")
    >>> verify_growing(GrowingSmallWorld(cohorts, Schema([x]), (0, 1), honest=(1, 1))).safe
    True
    >>> again = GrowingSmallWorld(cohorts, Schema([x]), (0, 1), honest=(2, 0), redraws="at-deletion")
    >>> found = verify_growing(again)
    >>> found.safe, found.lower > 0, found.witness["tables"]
    (False, True, [[[0, 0], [0, 0]], [[0, 1], [0, 1]]])
    """
    started = monotonic()
    tables = dict(enumerate(world.tables()))
    curator, simulation = world.steps(GrowingTable), world.steps(SimulatedTable)
    simulation.outputs = curator.outputs  # so that equal outputs have equal numbers
    shown = grow(curator, tables, world.depth, world.moves()).without_leaks()
    simulated = grow(simulation, tables, world.depth, world.moves()).without_leaks()
    histories = sum(map(_count, shown.values()))
    if _same(shown, simulated):
        return GrowingVerdict(True, ZERO, None, len(tables), histories, monotonic() - started)
    lower, witness, undisturbed = ZERO, None, world.steps(Undisturbed)
    for one, other in combinations(tables.values(), 2):
        moves = world.moves(_both(one, other))
        roots = grow(curator, {0: one, 1: other}, world.depth, moves).without_leaks()
        alone = grow(undisturbed, {0: one, 1: other}, world.depth, moves).without_leaks()
        apart, given = _divergence(roots, 0, 1, ONE), _divergence(alone, 0, 1, ONE)
        if (apart - given) / 2 > lower:
            lower = (apart - given) / 2
            seen = observation(curator, roots, one, other, (0, 1), ONE)
            witness = {"tables": _listed(one, other), "shown": str(apart), "undisturbed": str(given)}
            witness |= {"seen": seen["seen"], "probabilities": seen["probabilities"]}
    safe = False if lower > 0 else None
    return GrowingVerdict(safe, lower, witness, len(tables), histories, monotonic() - started)


@dataclass(frozen=True)
class GrowingPrivacy:
    """What whole transcripts reveal about somebody who stays, with adaptive arrivals and deletions."""

    epsilon: float
    undisturbed: Ratio  # if nobody ever leaves
    transcript: Ratio
    delta_undisturbed: tuple[Fraction, Fraction]  # at ε: lower and upper bound
    delta: tuple[Fraction, Fraction]
    witness: Json | None
    neighbours: int
    seconds: float

    @property
    def deletions_cost_nothing(self) -> bool:
        """Whether deletions reveal no more about those who stay than the ticks do."""
        return self.transcript == self.undisturbed and self.delta == self.delta_undisturbed


def privacy_of_the_stayers(world: GrowingSmallWorld, epsilon: float = 0.0) -> GrowingPrivacy:
    """The exact divergence between tables that differ in one person who joins at some tick, and stays.

    >>> from undeleted.curate.mechanisms import NoisySum
    >>> from undeleted.foundations.coins import ClampedGeometric
    >>> from undeleted.foundations.schema import Number
    >>> x = Number("x", min=0, max=1)
    >>> cohorts = Arrivals(NoisySum(x, ClampedGeometric(Fraction(1, 2), 0, 2)), 2, "cohorts")
    >>> found = privacy_of_the_stayers(GrowingSmallWorld(cohorts, Schema([x]), (0, 1), honest=(2, 1)))
    >>> found.transcript.ratio, found.deletions_cost_nothing
    (Fraction(2, 1), True)
    """
    started = monotonic()
    low, high = factor_of(epsilon)
    curator, undisturbed = world.steps(GrowingTable), world.steps(Undisturbed)
    transcript = alone = Ratio(ONE)
    before, delta, witness, pairs = (ZERO, ZERO), (ZERO, ZERO), None, 0
    for larger, smaller in _neighbours(world):
        pairs += 1
        moves = world.moves(smaller)
        roots = grow(curator, {0: larger, 1: smaller}, world.depth, moves).without_leaks()
        ticks = grow(undisturbed, {0: larger, 1: smaller}, world.depth, moves).without_leaks()
        for a, b in ((0, 1), (1, 0)):
            alone = alone.worse(_ratio(ticks, a, b))
            transcript = transcript.worse(_ratio(roots, a, b))
            least, most = (_divergence(roots, a, b, factor) for factor in (high, low))
            alone_least, alone_most = (_divergence(ticks, a, b, factor) for factor in (high, low))
            before = max(before[0], alone_least), max(before[1], alone_most)
            if least > delta[0] or witness is None:
                witness = observation(curator, roots, larger, smaller, (a, b), high)
            delta = max(delta[0], least), max(delta[1], most)
    seconds = monotonic() - started
    return GrowingPrivacy(float(epsilon), alone, transcript, before, delta, witness, pairs, seconds)


def _divergence(roots: dict[int, Node], a: int, b: int, factor: Fraction) -> Fraction:
    """What the best attacker sees of the difference, over all first outputs."""
    return sum((worst(root, a, b, factor) for root in roots.values()), ZERO)


def _ratio(roots: dict[int, Node], a: int, b: int) -> Ratio:
    return Ratio(largest([leaf.mass for root in roots.values() for leaf in ends(root)], a, b))


def _neighbours(world: GrowingSmallWorld) -> Iterator[tuple[Data, Data]]:
    """Every table, paired with the same table without one of its people."""
    for table in world.tables():
        for smaller in sorted({table[:i] + table[i + 1 :] for i in range(len(table))}, key=repr):
            yield table, smaller


def _both(one: Data, other: Data) -> Data:
    """The people who are in both tables, as often as in both."""
    left, both = list(other), []
    for person in one:
        if person in left:
            left.remove(person)
            both.append(person)
    return tuple(both)


def _same(one: dict[int, Node], other: dict[int, Node]) -> bool:
    """Whether two trees give every history the same probability, under every table."""
    if one.keys() != other.keys():
        return False
    for output, node in one.items():
        twin = other[output]
        if node.mass != twin.mass or node.moves.keys() != twin.moves.keys():
            return False
        if not all(_same(children, twin.moves[label]) for label, children in node.moves.items()):
            return False
    return True


def _count(node: Node) -> int:
    return 1 + sum(_count(c) for children in node.moves.values() for c in children.values())


def _listed(*tables: Data) -> list[list[Output]]:
    return [[list(person) for person in _people(table)] for table in tables]


def _people(table: Data) -> list[Person]:
    people: Given = table
    return list(people)
