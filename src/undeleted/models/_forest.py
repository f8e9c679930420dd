"""What the two forests share: trees that do not depend on the data, and their noisy leaves."""

from abc import abstractmethod

import numpy as np

from undeleted.curate.mechanisms.noisy_forest import NoisyForest
from undeleted.errors import Misuse
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.intervals import check_confidence
from undeleted.foundations.types import Given
from undeleted.models._base import as_count, checked
from undeleted.models._row_estimators import RowEstimator
from undeleted.models._types import Answers, Intervals

_DRAWS = 400


class TreeEstimator(RowEstimator):
    """Leaves of random trees; the seed of their questions reveals the questions and nothing else."""

    _mechanism: NoisyForest

    def _grow(self, last: Answers) -> NoisyForest:
        """Build the mechanism; an invalid forest is refused before anything is published."""
        try:
            return NoisyForest(
                self._grid.columns,
                self._budget(),
                trees=as_count(self.n_estimators),
                depth=as_count(self.max_depth),
                seed=as_count(self.questions),
                rows_per_person=self.rows_per_person,
                **last,
            )
        except Misuse as error:
            said = str(error).replace("trees =", "n_estimators =").replace("depth =", "max_depth =")
            raise ValueError(said.replace("seed of a forest's questions", "seed `questions`")) from None

    def intervals(self, confidence: float = 0.95) -> Intervals:
        """For every fitted number two arrays, low and high: an interval for its value without noise."""
        check_confidence(confidence)
        [name] = self._numbers
        answer, counts = (
            np.asarray(self._cached_answers()[name]),
            self._mechanism.counts_of(self._published()),
        )
        rng, spread = np.random.default_rng(0), self._mechanism.spread_of_kind
        moved: list[Given] = [
            self._from_counts(counts + rng.normal(0.0, spread, counts.size)) for _ in range(_DRAWS)
        ]
        tail = (1 - confidence) / 2
        low, high = np.quantile(moved, [tail, 1 - tail], axis=0)
        return {name: (np.minimum(2 * answer - high, low), np.maximum(2 * answer - low, high))}

    @abstractmethod
    def _from_counts(self, counts: FloatArray) -> FloatArray | float:
        """The fitted number, from the counts of every kind."""

    def _count(self) -> float:
        return float(self._mechanism.counts_of(self._state.value.astype(float)).sum())

    def _noise_of_count(self) -> float:
        return self._mechanism.spread_of_count

    def _rough_count(self) -> float:
        """The noisy count of the first tree only."""
        block = self._mechanism.statistic.blocks[0]
        return float(int(self._state.value[: block.width].sum()) / block.reach)

    def _noise_of_rough_count(self) -> float:
        return float(self._noise_of_count() * np.sqrt(self._mechanism.trees))

    def _asked(self, X: Given) -> IntArray:
        """Encode the rows to predict."""
        return self._grid.codes(checked(self, X, reset=False, dtype=np.float64))
