"""Data sets with public bounds, splits and scores, shared by both sides of the accuracy comparison.

It imports only numpy, because diffprivlib's side runs in a separate environment.  All features are scaled to
[−1, 1] by bounds that are known without the data: those of the data sets' own documentation, rounded.
"""

from typing import Any

import numpy as np

EPSILONS = (0.1, 1.0, 10.0)
COMPONENTS = 2
DECILES = np.arange(1, 10) / 10
FIRST_SEED = 8000  # other seeds were used while the estimators were written
TREES, DEPTH = 10, 8  # of both forests
BLOBS = {"blobs in 2-d": (2, 5), "blobs in 5-d": (5, 8), "blobs in 10-d": (10, 5)}  # dimensions, clusters
BLOB_ROWS = 28_571  # of which seven tenths are 20,000
GONE = 0.2  # of the training rows, deleted after the first release

IRIS = [(4, 8), (2, 4.5), (1, 7), (0, 2.6)]
WINE = [(11, 15), (0.7, 6), (1.3, 3.3), (10, 30), (70, 165), (0.9, 3.9), (0.3, 5.1), (0.1, 0.7), (0.4, 3.6)]
WINE += [(1.2, 13), (0.4, 1.8), (1.2, 4), (270, 1700)]
CANCER = [
    (6, 29),
    (9, 40),
    (43, 190),
    (140, 2510),
    (0.05, 0.17),
    (0, 0.35),
    (0, 0.43),
    (0, 0.21),
    (0.1, 0.31),
]
CANCER += [
    (0.04, 0.1),
    (0.1, 2.9),
    (0.3, 4.9),
    (0.7, 22),
    (6, 543),
    (0, 0.032),
    (0, 0.14),
    (0, 0.4),
    (0, 0.053),
]
CANCER += [(0, 0.08), (0, 0.03), (7, 37), (12, 50), (50, 252), (185, 4255), (0.07, 0.23), (0.02, 1.06)]
CANCER += [(0, 1.26), (0, 0.3), (0.15, 0.67), (0.05, 0.21)]
DIABETES = [
    (19, 80),
    (1, 2),
    (18, 43),
    (60, 135),
    (95, 305),
    (40, 245),
    (20, 100),
    (2, 10),
    (3, 6.2),
    (55, 125),
]
DIABETES_TARGET = (25, 347)
DIGITS = [(0, 16)] * 64
ADULT = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
ADULT_CATEGORIES = {
    "workclass": 9,
    "education": 16,
    "marital_status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
}

TASKS = {
    "GaussianNB": ["adult", "iris", "wine", "breast cancer", "digits"],
    "LogisticRegression": ["adult", "iris", "wine", "breast cancer", "digits"],
    "CategoricalNB": ["adult categories"],
    "LinearRegression": ["adult hours", "diabetes"],
    "PCA": ["adult", "iris", "wine", "breast cancer"],
    "StandardScaler": ["adult", "iris", "wine", "breast cancer", "diabetes"],
    "QuantileTransformer": ["adult", "iris", "diabetes"],
    "RandomForestClassifier": ["adult", "iris", "wine", "breast cancer", "digits"],
    "KMeans": [*BLOBS, "adult ages"],
}
SCORES = {
    "GaussianNB": "accuracy",
    "LogisticRegression": "accuracy",
    "CategoricalNB": "accuracy",
    "LinearRegression": "R²",
    "PCA": "variance captured",
    "StandardScaler": "error",
    "QuantileTransformer": "rank error",
    "RandomForestClassifier": "accuracy",
    "KMeans": "inertia",
}
LOWER_IS_BETTER = ("error", "rank error", "inertia")


def scaled(values: Any, bounds: Any) -> Any:
    """Scale numbers between public bounds to [−1, 1]."""
    low, high = np.array(bounds, dtype=float).reshape(-1, 2).T
    return np.clip(2 * (np.asarray(values, dtype=float) - low) / (high - low) - 1, -1, 1)


def split(rows: int, seed: int) -> tuple[Any, Any, Any]:
    """Training rows, those of them that are deleted later, and test rows."""
    order = np.random.default_rng([17, seed]).permutation(rows)
    test = rows * 3 // 10
    train = order[test:]
    return train, train[: int(len(train) * GONE)], order[:test]


def labelled(predicted: Any, exact: Any) -> float:
    return float(np.mean(np.asarray(predicted) == exact))


def explained(predicted: Any, exact: Any) -> float:
    """R² of predictions that are clipped to the target's public bounds, which favours wild ones."""
    residual = np.clip(predicted, -1, 1) - exact
    return float(1 - np.mean(residual**2) / np.var(exact))


def captured(components: Any, rows: Any) -> float:
    """Variance along the components, as a share of the maximum for that many components."""
    covariance = np.cov(rows.T)
    most = np.linalg.eigvalsh(covariance)[-len(components) :].sum()
    basis = np.linalg.qr(np.asarray(components).T)[0]
    return float(np.trace(basis.T @ covariance @ basis) / most)


def off(mean: Any, scale: Any, rows: Any) -> float:
    """Means in standard deviations and scales as logarithms: root mean square over all of them."""
    exact = np.maximum(rows.std(axis=0), 1e-9)
    ratio = np.log(np.maximum(scale, 1e-9) / exact)
    return float(np.sqrt(np.mean(np.concatenate([((mean - rows.mean(axis=0)) / exact) ** 2, ratio**2]))))


def misranked(deciles: Any, rows: Any) -> float:
    """The mean distance of each published decile from its share; 0 if the share is within the ties."""
    errors = []
    for i in range(rows.shape[1]):
        column = np.sort(rows[:, i])
        below = np.searchsorted(column, deciles[:, i] - 1e-3, side="left") / len(column)
        upto = np.searchsorted(column, deciles[:, i] + 1e-3, side="right") / len(column)
        errors.append(np.maximum(0, np.maximum(below - DECILES, DECILES - upto)))
    return float(np.mean(errors))


def spread(centres: Any, rows: Any, labels: Any) -> float:
    """Inertia relative to that of the clusters without privacy, whose labels are given."""
    nearest = [((part[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum() for part in parted(rows)]
    best = sum(((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    return float(sum(nearest) / best)


def parted(rows: Any) -> Any:
    return np.array_split(rows, max(1, len(rows) // 4096))


def blobs(dimensions: int, clusters: int) -> Any:
    """Round clusters of different sizes in [−1, 1], always the same."""
    rng = np.random.default_rng([23, dimensions, clusters])
    centres = rng.uniform(-0.75, 0.75, (clusters, dimensions))
    of = rng.choice(clusters, BLOB_ROWS, p=rng.dirichlet(np.full(clusters, 5.0)))
    return np.clip(centres[of] + rng.normal(0, 0.08, (BLOB_ROWS, dimensions)), -1, 1)
