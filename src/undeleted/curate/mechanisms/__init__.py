"""Release once; forget with the release and the deleted record only.

`forget` has no parameter through which data could reach it: its signature is the security argument.
Anybody who has the release and the deleted records can compute the next release from these alone, so a
deletion reveals nothing new about the records that stay.  `forget` is its own simulator.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

from undeleted.curate.engines import Totals
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table

if TYPE_CHECKING:
    from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
    from undeleted.curate.mechanisms.exact_sum import ExactSum
    from undeleted.curate.mechanisms.frozen_median import FrozenMedian
    from undeleted.curate.mechanisms.grouped import Grouped
    from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
    from undeleted.curate.mechanisms.grown_range_counts import GrownRangeCounts
    from undeleted.curate.mechanisms.noisy_class_histograms import NoisyClassHistograms
    from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
    from undeleted.curate.mechanisms.noisy_count import NoisyCount
    from undeleted.curate.mechanisms.noisy_forest import NoisyForest
    from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
    from undeleted.curate.mechanisms.noisy_marginals import NoisyMarginals
    from undeleted.curate.mechanisms.noisy_mean import NoisyMean
    from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs
    from undeleted.curate.mechanisms.noisy_people import NoisyPeople
    from undeleted.curate.mechanisms.noisy_products import NoisyProducts
    from undeleted.curate.mechanisms.noisy_quantiles import NoisyQuantiles
    from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
    from undeleted.curate.mechanisms.noisy_sum import NoisySum
    from undeleted.curate.mechanisms.noisy_variance import NoisyVariance
    from undeleted.curate.mechanisms.range_counts import RangeCounts
    from undeleted.curate.mechanisms.recipe import Recipe

__all__ = [
    "BulletinBoard",
    "ExactSum",
    "FrozenMedian",
    "Grouped",
    "GrownBoxes",
    "GrownRangeCounts",
    "Mechanism",
    "NoisyClassHistograms",
    "NoisyClassMoments",
    "NoisyCount",
    "NoisyForest",
    "NoisyHistogram",
    "NoisyMarginals",
    "NoisyMean",
    "NoisyPairs",
    "NoisyPeople",
    "NoisyProducts",
    "NoisyQuantiles",
    "NoisySecondMoments",
    "NoisySum",
    "NoisyVariance",
    "RangeCounts",
    "Recipe",
]

R = TypeVar("R")
C = TypeVar("C")


class Mechanism(Protocol[R, C]):
    """A mechanism that is safe by construction."""

    def release(self, totals: Totals, coins: Coins) -> R:
        """The only access to the data: it requests sums of statistics from `totals`."""

    def contribution(self, deleted: Table) -> C:
        """What the deleted records added, and nothing else."""

    def forget(self, release: R, contribution: C) -> R:
        """The next release, from the last one and the contribution; it cannot access the data."""


if not TYPE_CHECKING:
    __getattr__, __dir__ = registry.on_demand(__name__, __all__)
