"""Publish noisy counts by class and value once, for each column: naive Bayes on categories (M7).

release   for every column, class k and value v: #{records} + η
forget    subtract 1 from one cell per column
answer    class shares from all columns together; P(v | k) from counts clamped at 0 and smoothed
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.bootstrap import Parameters
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import CLASSES, Rows, Takes, classes_of, likeliest
from undeleted.curate.statistics.class_histograms import ClassHistograms
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn

ALPHA = 1.0  # added to every count of a category


@dataclass(frozen=True)
class NoisyClassHistograms(Parameters, Linear):
    """Noisy histograms by class.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Category, Schema
    >>> grade, passed = Category("grade", values=("a", "b")), Boolean("passed")
    >>> mechanism = NoisyClassHistograms((grade,), passed, Budget(1e6))
    >>> people = Schema([grade, passed]).table([("a", True)] * 30 + [("b", False)] * 10)
    >>> mechanism.counts(mechanism.release(Arrays(people), seeded(7))).tolist()
    [10.0, 30.0]
    """

    kinds: ClassVar = {
        "naive-bayes": (
            Takes(
                "features",
                CLASSES,
                "features that are all numbers or all categories",
                target=CLASSES,
                priority=1,
            ),
        )
    }

    over: tuple[GridColumn, ...]
    by: GridColumn
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> ClassHistograms:
        return ClassHistograms(self.over, self.by)

    def parameters(self) -> tuple[list[str], Callable[[FloatArray], FloatArray]]:
        labels = [f"share of {label}" for label in classes_of(self.by)]
        return labels, lambda values: np.exp(self.log_shares(values, ALPHA)[0])

    def predictions(self, release: Cells, codes: IntArray) -> Rows:
        return likeliest(self.by, self.log_joint(release.value.astype(float), codes, ALPHA))

    def tables(self, release: Cells) -> list[FloatArray]:
        """For every column the noisy counts, unchanged: one row per class, one column per value."""
        return self.tables_of(release.value.astype(float))

    def tables_of(self, values: FloatArray) -> list[FloatArray]:
        parts = np.split(values, self.statistic.starts[1:])
        return [
            part.reshape(self.by.cells, column.cells) for part, column in zip(parts, self.over, strict=True)
        ]

    def counts(self, release: Cells) -> FloatArray:
        """Class counts: the mean of the noisy class counts of all columns, weighted by their noise."""
        return self.counts_of(release.value.astype(float))

    def counts_of(self, values: FloatArray) -> FloatArray:
        weights = np.array([1 / column.cells for column in self.over])
        sums = np.array([table.sum(axis=1) for table in self.tables_of(values)])
        return np.asarray((weights[:, None] * sums).sum(axis=0) / weights.sum())

    def log_shares(self, values: FloatArray, alpha: float) -> tuple[FloatArray, list[FloatArray]]:
        """log P(class), and log P(value | class) for every column, each count smoothed by alpha."""
        counts = np.maximum(self.counts_of(values), 0.0) + max(alpha, 1e-9)
        tables = [np.maximum(table, 0.0) + max(alpha, 1e-9) for table in self.tables_of(values)]
        return np.log(counts / counts.sum()), [np.log(t / t.sum(axis=1, keepdims=True)) for t in tables]

    def log_joint(self, values: FloatArray, codes: IntArray, alpha: float) -> FloatArray:
        """log P(class) + log P(values | class), one row per record and one column per class."""
        shares, tables = self.log_shares(values, alpha)
        return np.asarray(shares + sum(table[:, codes[:, i]].T for i, table in enumerate(tables)))
