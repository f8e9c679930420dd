"""The curators that every definition of the survey is applied to, each in a world that is small enough.

Some definitions are about what a curator keeps, not only about what it publishes: `state` says what it keeps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.exact_sum import ExactSum
from undeleted.curate.mechanisms.frozen_median import FrozenMedian
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.statistics import ClippedSum
from undeleted.errors import UnknownName
from undeleted.foundations.coins import Coins, TruncatedGeometric, exact_law
from undeleted.foundations.schema import Number, Schema, Text
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.baselines.ignore import Ignore
from undeleted.games.baselines.retrain import Retrain, median, total
from undeleted.games.baselines.tree_counter import TreeCounter
from undeleted.games.baselines.xor_pad import XorPad
from undeleted.games.baselines.xor_undeleted import XorUndeleted
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.transcript import plain
from undeleted.verifying.finite_world import FiniteWorld
from undeleted.verifying.step_laws import Steps

Data: TypeAlias = tuple[Point, ...]
PointBatches: TypeAlias = tuple[tuple[Point, ...], ...]
End: TypeAlias = tuple[tuple[Output, ...], Output]  # what was published, and what is kept

STAR = "*"
NOISE = TruncatedGeometric(Fraction(1, 2), width=2)  # ratio 2 per step, and a tenth falls off either end
X = Number("x", min=0, max=1)
PEOPLE = Schema([X])
POST = Text("post")


@dataclass(eq=False)
class Specimen:
    """A curator in a finite world: n people on a domain, at most k of whom leave."""

    name: str
    about: str
    make: Callable[[], Algorithm]
    state: Callable[[Output], Output]
    domain: Data = (0, 1)
    n: int = 3
    k: int = 2
    _played: dict[tuple[Data, PointBatches], dict[End, Fraction]] = field(default_factory=dict)

    def play(self, data: Data, batches: Sequence[Sequence[Point]] = ()) -> dict[End, Fraction]:
        """The exact law of what is published and what is kept in the end."""
        key = data, tuple(tuple(batch) for batch in batches)
        if key not in self._played:

            def run(coins: Coins) -> End:
                curator = self.make()
                outputs = [curator.start(data, coins)]
                outputs += [curator.delete(list(batch)) for batch in key[1]]
                return plain(outputs), plain(self.state(curator))

            self._played[key] = exact_law(run)
        return self._played[key]

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.make)

    @property
    def world(self) -> FiniteWorld:
        world = FiniteWorld.of(self.make, self.domain, self.n, self.k, by_value=True)
        return replace(world, order_known=True)  # the tests run every order of our curators


def batch_queries(points: Data) -> tuple[int, int]:
    """Exact BQ on two Fourier queries, one per block; the number of stars chooses, three stars per block.

    q1 counts everybody in {0, 1}, q2 those at 0.
    """
    stars = sum(point == STAR for point in points)
    block = min(max((2 * stars + 3) // 6, 1), 2)
    return block, sum(point == 0 or (block == 1 and point == 1) for point in points)


def _left(curator: Output) -> Output:
    """The data of a curator that keeps them, sorted, so that their order is not part of the state."""
    return tuple(sorted(curator._left, key=repr))


def specimens() -> dict[str, Specimen]:
    """All specimens, newly made."""
    noisy = NoisySum(X, NOISE)
    built = [
        Specimen("retrain-sum", "perfect retraining of the exact sum", lambda: Retrain(total), _left),
        Specimen("retrain-median", "perfect retraining of the exact median", lambda: Retrain(median), _left),
        Specimen(
            "retrain-bq",
            "perfect retraining of two batch queries that the number of stars chooses from",
            lambda: Retrain(batch_queries),
            _left,
            domain=(0, 1, STAR),
            n=6,
            k=2,
        ),
        Specimen(
            "exact-sum",
            "the sum, less every deleted point",
            lambda: ReleaseOnce(ExactSum(X), PEOPLE),
            _release,
        ),
        Specimen(
            "bulletin-board",
            "everybody's post, until it is taken down",
            lambda: ReleaseOnce(BulletinBoard(POST), Schema([POST])),
            _release,
            domain=("0", "1"),
        ),
        Specimen(
            "noisy-sum", "a noisy sum, less every deleted point", lambda: ReleaseOnce(noisy, PEOPLE), _release
        ),
        Specimen(
            "frozen-median",
            "the exact median of the first data, for ever",
            lambda: Ignore(FrozenMedian(X), PEOPLE),
            _first,
        ),
        Specimen("ignore", "a noisy sum of the first data, for ever", lambda: Ignore(noisy, PEOPLE), _first),
        Specimen("xor-pad", "a random pad, then pad ⊕ deleted", lambda: XorPad(1), _pad),
        Specimen(
            "xor-undeleted", "a random pad, then pad ⊕ somebody who stayed", lambda: XorUndeleted(1), _pad
        ),
        Specimen(
            "cumulative-xor-pad",
            "a random pad, then the latest release ⊕ deleted",
            lambda: XorPad(1, cumulative=True),
            _pad,
        ),
        Specimen(
            "tree-counter",
            "a noisy sum, less a binary-tree count of the deletions",
            lambda: TreeCounter(ClippedSum(X), PEOPLE, NOISE, horizon=2),
            _tree,
        ),
    ]
    return {specimen.name: specimen for specimen in built}


def specimen(name: str) -> Specimen:
    known = specimens()
    if name not in known:
        raise UnknownName("specimens", name, tuple(known))
    return known[name]


def _release(curator: Output) -> Output:
    return curator._release


def _first(curator: Output) -> Output:
    return curator._first


def _pad(curator: Output) -> Output:
    return _left(curator), curator._pad


def _tree(curator: Output) -> Output:
    """The people, the stream of deletions (later blocks add it up again), and the noise that was drawn."""
    return _left(curator), curator._stream, curator._first, curator._tree._blocks
