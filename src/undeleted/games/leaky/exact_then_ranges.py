"""The exact median first, then medians of hidden range counts: (k, g)-safe with g = the counts.

    release   z0 = the exact median;  P = range counts with noise, hidden
    forget    P ← P − #deleted
    answer    median(P)

The first answer is the best possible, at the cost of its privacy; the updates cost what P costs.
"""

from dataclasses import dataclass

from undeleted.curate.engines import Totals
from undeleted.curate.releases.linear import Cells
from undeleted.foundations.coins import Coins
from undeleted.games.leaky.hidden_range_median import HiddenRangeMedian


@dataclass(frozen=True)
class ExactThenRanges(HiddenRangeMedian):
    """An exact first median, and noisy medians after deletions.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number, Schema
    >>> age = Number("age", min=0, max=120)
    >>> ExactThenRanges(age, Budget(1.0)).release(Arrays(Schema([age]).table([41, 17, 30])), seeded(7))[0]
    30
    """

    def release(self, totals: Totals, coins: Coins) -> tuple[int | float, Cells]:
        return self.column.value(totals.lower_median(self.column)), self.hidden.release(totals, coins)
