"""The marginals of a release, as a model takes them: in the columns' order, with the noise they have."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.mechanisms.noisy_marginals import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.intervals import standard_deviation


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy counts by marginal, each with the standard deviation of its noise."""

    sets: tuple[tuple[int, ...], ...]  # columns, in order
    bins: tuple[int, ...]
    counts: tuple[FloatArray, ...]
    spreads: tuple[float, ...]

    @classmethod
    def of(cls, mechanism: NoisyMarginals, release: Cells) -> "Measured":
        """What a release says, with the columns of every marginal in their order."""
        statistic = mechanism.statistic
        orders = [sorted(range(len(columns)), key=columns.__getitem__) for columns in statistic.sets]
        sets = tuple(tuple(sorted(columns)) for columns in statistic.sets)
        tables = zip(mechanism.tables(release), orders, strict=True)
        counts = tuple(table.transpose(order).astype(float) for table, order in tables)
        spreads = tuple(max(standard_deviation(law), 1e-9) for law in mechanism.laws)
        return cls(sets, statistic.bins, counts, spreads)

    @cached_property
    def total(self) -> float:
        """The number of records, from all marginals: each weighs as much as its sum is certain."""
        weights = [1 / (spread**2 * counts.size) for counts, spread in self._each]
        sums = [float(counts.sum()) for counts in self.counts]
        return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / math.fsum(weights))

    @property
    def _each(self) -> list[tuple[FloatArray, float]]:
        return list(zip(self.counts, self.spreads, strict=True))

    def alone(self, column: int) -> tuple[FloatArray, float]:
        """The shares of one column's bins, from every marginal that has it; and how wide their noise is."""
        most, weight = np.zeros(self.bins[column]), 0.0
        for columns, (counts, spread) in zip(self.sets, self._each, strict=True):
            if column in columns:
                others = tuple(i for i, c in enumerate(columns) if c != column)
                draws = counts.size / self.bins[column]
                most += counts.sum(axis=others) / (spread**2 * draws)
                weight += 1 / (spread**2 * draws)
        shares = np.maximum(most / weight, 0.0)
        even = np.full(self.bins[column], 1 / self.bins[column])
        return (shares / shares.sum() if shares.sum() > 0 else even), 1 / math.sqrt(weight)

    def excess(self) -> list[float]:
        """For every marginal: how far it is from independent columns, beyond what noise alone would show.

        In L1, as a share of all records.  A marginal at or below 0 says nothing that its columns do not.
        """
        alone = [self.alone(column)[0] for column in range(len(self.bins))]
        found = []
        for columns, (counts, spread) in zip(self.sets, self._each, strict=True):
            independent = np.array(1.0)
            for column in columns:
                independent = np.multiply.outer(independent, alone[column])
            noise = math.sqrt(2 / math.pi) * spread * counts.size / self.total
            found.append(float(np.abs(counts / self.total - independent).sum()) - noise)
        return found
