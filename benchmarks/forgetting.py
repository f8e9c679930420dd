"""Time a deletion from every estimator, compared with retraining scikit-learn's and with a bare numpy loop.

100,000 rows of 20 features.  A deletion is `forget` of one row, including its validation; it is timed with
and without reading the answers again (slopes, means, quantiles), which are computed on request.
The floor for linear models subtracts a row from the normal equations and solves them, without any checks.
"""

import math
import pickle
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import cluster, decomposition, ensemble, linear_model, naive_bayes, preprocessing

from bench import Bench
from undeleted import models

ROWS, FEATURES, CATEGORIES = 100_000, 20, 8
DIMENSIONS = 10  # for clustering
DELETIONS = 2_000
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
LINEAR = ("LinearRegression", "Ridge", "LogisticRegression")
BOX: dict[str, Any] = {"bounds": (0.0, 1.0)}
CLASSES: dict[str, Any] = {"classes": [0, 1]}
FOREST: dict[str, Any] = {"n_estimators": 100, "max_depth": 10}
OURS: dict[str, dict[str, Any]] = {
    "GaussianNB": BOX | CLASSES,
    "CategoricalNB": {"categories": [list(range(CATEGORIES))] * FEATURES} | CLASSES,
    "LinearRegression": BOX | {"bounds_y": (-5.0, 5.0)},
    "Ridge": BOX | {"bounds_y": (-5.0, 5.0)},
    "LogisticRegression": BOX | CLASSES,
    "PCA": BOX | {"n_components": 5},
    "StandardScaler": BOX,
    "QuantileTransformer": BOX,
    "RandomForestClassifier": BOX | CLASSES | FOREST,
    "RandomForestRegressor": BOX | {"bounds_y": (-5.0, 5.0)} | FOREST,
    "KMeans": BOX,
}
THEIRS: dict[str, Callable[[], Any]] = {
    "GaussianNB": naive_bayes.GaussianNB,
    "CategoricalNB": lambda: naive_bayes.CategoricalNB(min_categories=CATEGORIES),
    "LinearRegression": linear_model.LinearRegression,
    "Ridge": linear_model.Ridge,
    "LogisticRegression": linear_model.LogisticRegression,
    "PCA": lambda: decomposition.PCA(5),
    "StandardScaler": preprocessing.StandardScaler,
    "QuantileTransformer": preprocessing.QuantileTransformer,
    "RandomForestClassifier": lambda: ensemble.RandomForestClassifier(**FOREST, n_jobs=-1),
    "RandomForestRegressor": lambda: ensemble.RandomForestRegressor(**FOREST, n_jobs=-1, max_features=0.3),
    "KMeans": lambda: cluster.KMeans(8),
}
SLOW = ("RandomForestClassifier", "RandomForestRegressor")  # retrained once
ONE_BY_ONE, BATCHED = 100.0, 10.0  # µs that a deletion from a forest may take
BATCH = 10_000


def data(name: str, rows: int, seed: int) -> tuple[Any, Any]:
    """Rows, and a target where there is one to learn."""
    rng = np.random.default_rng([seed, rows])
    X = rng.random((rows, FEATURES))
    score = X @ np.linspace(-1, 1, FEATURES) + rng.normal(0, 0.3, rows)
    if name == "CategoricalNB":
        return (X * CATEGORIES).astype(np.int64), (score > 0).astype(int)
    if name in ("PCA", "StandardScaler", "QuantileTransformer", "KMeans"):
        return (X[:, :DIMENSIONS] if name == "KMeans" else X), None
    return X, score if name in ("LinearRegression", "Ridge", "RandomForestRegressor") else (score > 0).astype(
        int
    )


def timed(make: Callable[[], Any], arguments: tuple[Any, ...], repeats: int) -> float:
    """Return the seconds of retraining: the minimum of several runs, to exclude other load."""
    best = math.inf
    for _ in range(repeats):
        began = time.perf_counter()
        make().fit(*arguments)
        best = min(best, time.perf_counter() - began)
    return best


def deletions(model: Any, X: Any, y: Any, rows: int, answers: bool) -> float:
    """Return the seconds per deletion, one by one; the minimum of ten parts."""
    step, best = rows // 10, math.inf
    for start in range(0, rows, step):
        began = time.perf_counter()
        for i in range(start, start + step):
            model.forget(X[i : i + 1], None if y is None else y[i : i + 1])
            if answers:
                model._cached_answers()
        best = min(best, (time.perf_counter() - began) / step)
    return best


def in_batches(model: Any, X: Any, y: Any) -> float:
    """Return the seconds per row in batches; the minimum of five."""
    best = math.inf
    for start in range(ROWS - 5 * BATCH, ROWS, BATCH):
        rows = slice(start, start + BATCH)
        began = time.perf_counter()
        model.forget(X[rows], None if y is None else y[rows])
        best = min(best, (time.perf_counter() - began) / BATCH)
    return best


def bare(X: Any, y: Any, rows: int) -> float:
    """Return the seconds to subtract and solve, with an intercept, and nothing else."""
    Z = np.column_stack([np.ones(len(X)), X])
    A, b = Z.T @ Z, Z.T @ y
    step, best = rows // 10, math.inf
    for start in range(0, rows, step):
        began = time.perf_counter()
        for i in range(start, start + step):
            z = Z[i]
            A -= np.outer(z, z)
            b -= z * y[i]
            np.linalg.solve(A, b)
        best = min(best, (time.perf_counter() - began) / step)
    return best


def main() -> None:
    bench = Bench("forgetting", __doc__ or "", seeds=1)
    warnings.simplefilter("ignore")
    X, y = data("LinearRegression", ROWS, 1)
    floors = [bare(X, y, DELETIONS)]
    for name, settings in OURS.items():
        X, y = data(name, ROWS, 1)
        arguments = (X,) if y is None else (X, y)
        model = getattr(models, name)(**settings, random_state=1)
        began = time.perf_counter()
        model.fit(*arguments)
        fitted = time.perf_counter() - began
        retrained = timed(THEIRS[name], arguments, 1 if name in SLOW else 5)
        forget = deletions(model, X, y, DELETIONS, answers=False)
        answered = deletions(model, X, y, DELETIONS // 10, answers=True)
        batched = in_batches(model, X, y)
        floor = bare(*data("LinearRegression", ROWS, 1), DELETIONS) if name in LINEAR else None
        floors += [floor] if floor is not None else []
        bench.row(
            model=name,
            fit_s=fitted,
            forget_us=1e6 * forget,
            batched_us=1e6 * batched,
            forget_and_answer_us=1e6 * answered,
            retrain_ms=1e3 * retrained,
            times_faster=retrained / forget,
            bare_us=None if floor is None else 1e6 * floor,
            over_bare=None if floor is None else forget / floor,
            answered_over_bare=None if floor is None else answered / floor,
            pickled_kb=len(pickle.dumps(model)) / 1e3,
        )
    rows = {row["model"]: row for row in bench.rows}
    for name, row in rows.items():
        bench.claim(f"{name}: a deletion 1,000 times faster than retraining", row["times_faster"] >= 1000)
    for name in SLOW:
        bench.claim(
            f"{name}: a deletion in less than {ONE_BY_ONE:g} µs", rows[name]["forget_us"] < ONE_BY_ONE
        )
        bench.claim(f"{name}: less than {BATCHED:g} µs a row in batches", rows[name]["batched_us"] < BATCHED)
    for name in LINEAR:
        bench.claim(
            f"{name}: a deletion takes at most twice a bare subtract and solve", rows[name]["over_bare"] <= 2
        )
    for name in ("LinearRegression", "GaussianNB"):
        times, sizes = [], []
        for size in SIZES:
            X, y = data(name, size, 2)
            model = getattr(models, name)(**OURS[name], random_state=1).fit(X, y)
            passes = [deletions(model, X, y, DELETIONS, answers=False) for _ in range(3)]
            times.append(1e6 * min(passes))  # other load on the machine may disturb a whole pass
            sizes.append(len(pickle.dumps(model)))
            bench.row(model=name, rows=size, forget_us=times[-1], pickled_kb=sizes[-1] / 1e3)
            del X, y
        bench.claim(f"{name}: constant time from 10⁴ to 10⁷ rows", max(times) <= 1.5 * min(times), us=times)
        bench.claim(f"{name}: no larger at 10⁷ rows", max(sizes) - min(sizes) < 1000, bytes=sizes[-1])
    bench.finish()


if __name__ == "__main__":
    main()
