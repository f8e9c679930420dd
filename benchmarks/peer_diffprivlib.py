"""diffprivlib's side of the accuracy comparison, run by `accuracy.py` in a separate environment.

    python peer_diffprivlib.py DATA.npz SEEDS EPSILON       a JSON line per result

The number of rows is public, and bounds and norms are those of the box [−1, 1].  After deletions a user who
retrains publishes twice: each release gets half of the ε.
"""

import json
import signal
import sys
import warnings
from typing import Any

import numpy as np
from diffprivlib import models, tools

from tasks import (
    ADULT_CATEGORIES,
    COMPONENTS,
    DECILES,
    DEPTH,
    FIRST_SEED,
    TASKS,
    TREES,
    captured,
    explained,
    labelled,
    misranked,
    off,
    split,
    spread,
)

TIMEOUT = (
    20  # seconds of its own work; its sampler for eigenvectors rejects for ever if they are well determined
)


def score(model: str, data: Any, rows: Any, test: Any, epsilon: float, seed: int) -> float:
    """Fit one release on these rows and return its score."""
    X, y = data
    d = X.shape[1]
    box: dict[str, Any] = {"bounds": (-1, 1)}
    rest: dict[str, Any] = {"epsilon": epsilon, "random_state": seed}
    match model:
        case "CategoricalNB":
            return labelled(from_histograms(X, y, rows, test, epsilon, seed), y[test])
        case "GaussianNB":
            fitted = models.GaussianNB(**box, **rest).fit(X[rows], y[rows])
            return labelled(fitted.predict(X[test]), y[test])
        case "LogisticRegression":
            fitted = models.LogisticRegression(data_norm=np.sqrt(d), max_iter=1000, **rest)
            return labelled(fitted.fit(X[rows], y[rows]).predict(X[test]), y[test])
        case "LinearRegression":
            bounds = {"bounds_X": (-1, 1), "bounds_y": (-1, 1)}
            fitted = models.LinearRegression(**bounds, **rest).fit(X[rows], y[rows])
            return explained(fitted.predict(X[test]), y[test])
        case "PCA":
            fitted = models.PCA(COMPONENTS, data_norm=np.sqrt(d), **box, **rest).fit(X[rows].copy())
            return captured(fitted.components_, X[rows])
        case "RandomForestClassifier":
            classes = np.unique(y).tolist()
            fitted = models.RandomForestClassifier(TREES, max_depth=DEPTH, classes=classes, **box, **rest)
            return labelled(fitted.fit(X[rows], y[rows]).predict(X[test]), y[test])
        case "KMeans":
            fitted = models.KMeans(len(np.unique(y)), **box, **rest).fit(X[rows])
            return spread(fitted.cluster_centers_, X[rows], y[rows])
        case "StandardScaler":
            fitted = models.StandardScaler(**box, **rest).fit(X[rows])
            return off(fitted.mean_, fitted.scale_, X[rows])
        case "QuantileTransformer":
            rng = np.random.RandomState(seed)
            each = [
                tools.quantile(X[rows, i], DECILES, epsilon=epsilon / d, bounds=(-1, 1), random_state=rng)
                for i in range(d)
            ]
            return misranked(np.sort(np.column_stack(each), axis=0), X[rows])
    raise ValueError(model)


def from_histograms(X: Any, y: Any, rows: Any, test: Any, epsilon: float, seed: int) -> Any:
    """Naive Bayes on categories, which diffprivlib lacks, as a user would build it from its histograms."""
    rng = np.random.RandomState(seed)
    joint = np.zeros((len(test), 2))
    for i, k in enumerate(ADULT_CATEGORIES.values()):
        share = epsilon / X.shape[1]
        both = np.column_stack([X[rows, i], y[rows]])
        edges = [np.arange(k + 1) - 0.5, np.arange(3) - 0.5]
        counts, _ = tools.histogramdd(both, epsilon=share, bins=edges, random_state=rng)
        smoothed = np.maximum(counts, 0) + 1.0
        if i == 0:
            joint += np.log(smoothed.sum(axis=0) / smoothed.sum())
        joint += np.log(smoothed / smoothed.sum(axis=0))[X[test, i].astype(int)]
    return joint.argmax(axis=1)


def timed_out(*_: Any) -> None:
    raise TimeoutError(f"no answer in {TIMEOUT} s")


def main(path: str, seeds: int, epsilon: float) -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, timed_out)
    with np.load(path) as arrays:
        data = {name: (arrays[name + " X"], arrays[name + " y"]) for name in {k[:-2] for k in arrays.files}}
    for model, names in TASKS.items():
        for name in names:
            failed = {"before": 0, "after": 0}
            for seed in range(FIRST_SEED, FIRST_SEED + seeds):
                train, gone, test = split(len(data[name][0]), seed)
                left = train[len(gone) :]
                result: dict[str, Any] = {"model": model, "data": name, "seed": seed}
                for when, rows, share, coins in (
                    ("before", train, epsilon, seed),
                    ("after", left, epsilon / 2, seed + 1000),
                ):
                    result[when] = None
                    try:
                        if failed[when] < 2:
                            signal.setitimer(signal.ITIMER_PROF, TIMEOUT)
                            result[when] = score(model, data[name], rows, test, share, coins)
                    except (TimeoutError, RuntimeError, np.linalg.LinAlgError) as error:
                        failed[when] += 1
                        print(model, name, epsilon, when, type(error).__name__, error, file=sys.stderr)
                    finally:
                        signal.setitimer(signal.ITIMER_PROF, 0)
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
