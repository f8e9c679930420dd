"""What the two forests share: trees that never look at the data, and their noisy leaves."""

from typing import Any

import numpy as np

from undeleted.arrays import IntArray
from undeleted.errors import BadQuestion
from undeleted.estimators._base import checked
from undeleted.estimators._faces import OfRows
from undeleted.mechanisms.noisy_forest import NoisyForest


class OfTrees(OfRows):
    """Leaves of random trees; whoever learns the seed of their questions learns nothing else."""

    _mechanism: NoisyForest

    def _grow(self, last: dict[str, Any]) -> NoisyForest:
        """The mechanism; a forest that cannot be is refused before anything is published."""
        try:
            return NoisyForest(
                self._grid.columns,
                self._budget(),
                trees=self.n_estimators,
                depth=self.max_depth,
                seed=self.questions,
                rows_per_person=self.rows_per_person,
                **last,
            )
        except BadQuestion as error:
            said = str(error).replace("trees =", "n_estimators =").replace("depth =", "max_depth =")
            raise ValueError(said.replace("seed of a forest's questions", "seed `questions`")) from None

    def _count(self) -> float:
        return float(self._mechanism.counts_of(self._state.value.astype(float)).sum())

    def _noise_of_count(self) -> float:
        return self._mechanism.spread_of_count

    def _asked(self, X: Any) -> IntArray:
        """Rows that are asked about, on the grid."""
        return self._grid.codes(checked(self, X, reset=False, dtype=np.float64))
