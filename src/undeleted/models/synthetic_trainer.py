"""Any scikit-learn model, trained on synthetic rows: it forgets because the rows' marginals do.

published    noisy counts over all pairs of columns, the target's included
forgotten    subtract 1 from one cell of each; the trained model is dropped with the rows it was trained on
predicted    by a model that is trained again, on rows drawn from what is published now
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_marginals import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic.fitting import MEGABYTES, SECONDS, Model
from undeleted.curate.synthetic.rows import sampled_codes
from undeleted.errors import BadQuestion, BadSetting, NotStarted, WrongType
from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Boolean, Category, GridColumn, Schema, Table
from undeleted.foundations.schema.centred_codes import as_columns
from undeleted.foundations.types import Given
from undeleted.models._base import coins_of, restore_on_failure, warn_of_refit, warn_of_tuning


class SyntheticTrainer(BaseEstimator):  # type: ignore[misc]
    """Any classifier or regressor over declared columns, which forgets rows without seeing the others.

    Parameters
    ----------
    estimator : a scikit-learn classifier or regressor
        It is cloned, and trained on synthetic rows when a prediction is asked for.
    columns : list of columns
        The features, with their public bounds and categories.
    target : column
        What is predicted: a category or boolean for a classifier, a number for a regressor.
    edges : dict of lists
        The public values at which bins of numbers begin, by column.
    marginals : list of lists of names
        The columns that are counted together; all pairs, if it is empty.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the table; a number is a pure ε.
    rows : int
        How many rows the model is trained on.
    model : "tree" or "mixture"
        What the rows are drawn from.
    encoding : "one-hot" or "ordinal"
        How categories become numbers.
    megabytes, seconds : float
        The largest junction tree, and the longest time of a fit.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    seed : int
        Of the rows; it has nothing to do with the noise.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from undeleted.foundations.schema import Number
    >>> age, rich = Number("age", min=0, max=99), Boolean("rich")
    >>> trainer = SyntheticTrainer(DecisionTreeClassifier(), columns=[age], target=rich, edges={"age": [50]})
    >>> people = {"age": [20, 70] * 500, "rich": [False, True] * 500}
    >>> before = trainer.fit(people).release_.value
    >>> after = trainer.forget({"age": [70], "rich": [True]}).release_.value
    >>> (before - after).tolist()
    [0, 0, 0, 1]
    """

    def __init__(
        self,
        estimator: Given,
        *,
        columns: Sequence[GridColumn],
        target: GridColumn,
        edges: Mapping[str, Sequence[Given]] | None = None,
        marginals: Sequence[Sequence[str]] = (),
        budget: Noise = 1.0,
        rows: int = 50_000,
        model: Model = "tree",
        encoding: Literal["one-hot", "ordinal"] = "one-hot",
        megabytes: float = MEGABYTES,
        seconds: float = SECONDS,
        rows_per_person: int = 1,
        seed: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.columns = columns
        self.target = target
        self.edges = edges
        self.marginals = marginals
        self.budget = budget
        self.rows = rows
        self.model = model
        self.encoding = encoding
        self.megabytes = megabytes
        self.seconds = seconds
        self.rows_per_person = rows_per_person
        self.seed = seed
        self.random_state = random_state

    # -- publishing and forgetting

    @restore_on_failure
    def fit(self, table: Given) -> "SyntheticTrainer":
        """Publish noisy marginals of a table, once: a frame, or a mapping of columns, with the target."""
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            problem = f"{type(self.estimator).__name__} is not a classifier or regressor."
            raise WrongType(problem, "Give an estimator of scikit-learn, such as DecisionTreeClassifier().")
        if is_regressor(self.estimator) and isinstance(self.target, Category | Boolean):
            problem = f"a regressor cannot predict {self.target.name!r}, which is no number."
            raise BadSetting(problem, "Give a classifier, or another target.")
        if self.encoding not in ("one-hot", "ordinal"):
            raise BadSetting(f"encoding = {self.encoding!r} does not exist.", "Choose one-hot or ordinal.")
        warn_of_tuning(type(self).__name__, self.budget)
        if hasattr(self, "release_"):
            warn_of_refit(type(self).__name__, self.budget)
        self.mechanism_ = NoisyMarginals(
            (*as_columns(self.columns), self.target),
            budget=self.budget,
            marginals=tuple(map(tuple, self.marginals)),
            edges=self.edges or {},  # type: ignore[arg-type]
            rows_per_person=self.rows_per_person,
        )
        self.schema_ = Schema([*as_columns(self.columns), self.target], rows_per_person=self.rows_per_person)
        self.release_: Cells = self.mechanism_.release(Arrays(self._table(table)), coins_of(self))
        self.estimator_ = None
        return self

    def forget(self, table: Given) -> "SyntheticTrainer":
        """Forget these rows, given with their targets; the trained model is dropped."""
        self._require_fitted()
        gone = self.mechanism_.contribution(self._table(table))
        self.release_, self.estimator_ = self.mechanism_.forget(self.release_, gone), None
        return self

    def _table(self, table: Given) -> Table:
        return table if isinstance(table, Table) else self.schema_.table(table)

    def _require_fitted(self) -> None:
        if not hasattr(self, "release_"):
            raise NotStarted(type(self).__name__)

    # -- predicting

    def train(self) -> "SyntheticTrainer":
        """Train the model on fresh rows now, and not when the first prediction is asked for."""
        self._require_fitted()
        codes = sampled_codes(
            self.mechanism_,
            self.release_,
            self.rows,
            self.seed,
            self.model,
            megabytes=self.megabytes,
            seconds=self.seconds,
        )
        labels = self._labels(codes[:, -1])
        if not is_regressor(self.estimator) and len(np.unique(labels)) < 2:
            problem = f"all synthetic rows have the same {self.target.name!r}: nothing can be learned."
            raise BadQuestion(problem, "Draw more rows; or almost everybody with another value has left.")
        trained = clone(self.estimator)
        self.estimator_ = trained.fit(self._encoded(codes[:, :-1]), labels)
        return self

    def predict(self, table: Given) -> Array:
        """A prediction for every row of a table; it needs no target."""
        predicted: Array = self._trained().predict(self._features(table))
        return predicted

    def predict_proba(self, table: Given) -> FloatArray:
        """The probability of every class, for every row of a table."""
        shares: FloatArray = self._trained().predict_proba(self._features(table))
        return shares

    def score(self, table: Given) -> float:
        """The estimator's own score on a table with targets; rows that lack a value do not count."""
        self._require_fitted()
        there = self._table(table)
        complete = there.take(np.flatnonzero(there.complete(self.mechanism_.over)))
        codes = np.column_stack([complete.codes[column.name] for column in self.mechanism_.over])
        scored: float = self._trained().score(self._encoded(codes[:, :-1]), self._labels(codes[:, -1]))
        return scored

    def _trained(self) -> Given:
        self._require_fitted()
        if self.estimator_ is None:
            self.train()
        return self.estimator_

    def _features(self, table: Given) -> FloatArray:
        there = table if isinstance(table, Table) else Schema(list(self.columns)).table(table)
        lacking = there.rows - int(there.complete(self.columns).sum())
        if lacking or not there.rows:
            some = "1 row lacks a feature." if lacking == 1 else f"{lacking:,} rows lack a feature."
            problem = some if lacking else "there are no rows."
            raise BadSetting(f"nothing can be predicted: {problem}", "Leave out rows that are not complete.")
        return self._encoded(np.column_stack([there.codes[column.name] for column in self.columns]))

    def _encoded(self, codes: IntArray) -> FloatArray:
        """Codes as numbers: values, 0 and 1, and for categories their places or a column each."""
        parts = []
        for column, values in zip(self.columns, codes.T, strict=True):
            if isinstance(column, Category) and self.encoding == "one-hot":
                parts.append(np.eye(column.cells)[values])
            elif isinstance(column, Category | Boolean):
                parts.append(values[:, None].astype(float))
            else:
                parts.append(np.asarray(column.decode(values.astype(float)))[:, None])
        return np.concatenate(parts, axis=1)

    def _labels(self, codes: IntArray) -> Array:
        target: Given = self.target
        if isinstance(target, Category):
            return np.array(target.values)[codes]
        labels: Array = (
            codes.astype(bool) if isinstance(target, Boolean) else target.decode(codes.astype(float))
        )
        return labels
