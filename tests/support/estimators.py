"""Settings and rows for every estimator with public bounds; a new estimator needs a line here."""

import numpy as np

from undeleted.foundations import registry

OTHERS = ("item-item-recommender", "synthetic-trainer")  # have their own contract tests: they take no matrix
NAMES = tuple(name for name in registry.names("undeleted.models") if name not in OTHERS)
BOUNDS = {"bounds": (0.0, 10.0)}
CLASSES = {"classes": ["a", "b", "c"]}
COLOURS = [["blue", "green", "red"], [0, 1, 2, 3]]
SETTINGS = {
    "gaussian-nb": BOUNDS | CLASSES,
    "categorical-nb": {"categories": COLOURS} | CLASSES,
    "linear-regression": BOUNDS | {"bounds_y": (-5.0, 5.0)},
    "ridge": BOUNDS | {"bounds_y": (-5.0, 5.0), "alpha": 2.0},
    "logistic-regression": BOUNDS | CLASSES,
    "pca": BOUNDS | {"n_components": 2},
    "standard-scaler": BOUNDS,
    "quantile-transformer": BOUNDS | {"n_quantiles": 11},
    "k-means": BOUNDS | {"n_clusters": 2},
    "random-forest-classifier": BOUNDS | CLASSES | {"max_depth": 5},
    "random-forest-regressor": BOUNDS | {"bounds_y": (-5.0, 5.0), "max_depth": 5},
}
WITHOUT_Y = ("k-means", "pca", "standard-scaler", "quantile-transformer")
GROWN = ("k-means",)  # their shape depends on noisy counts: with equal coins, other rows may give another
LINEAR = ("linear-regression", "ridge")
OF_NUMBERS = (*LINEAR, "random-forest-regressor")


def make(name, **settings):
    """Return one of the estimators, by name."""
    return registry.find("undeleted.models", name)(**SETTINGS[name] | settings)


def rows(name, n, seed=0):
    """Return rows and their targets (None for estimators without a target); class c never occurs."""
    rng = np.random.default_rng([seed, n])
    label = rng.integers(0, 2, n)
    y = np.array(["a", "b"])[label]
    if name == "categorical-nb":
        colours = np.where(rng.random(n) < 0.8, np.where(label, "red", "blue"), "green").astype(object)
        return np.column_stack([colours, rng.integers(0, 3, n).astype(object)]), y
    X = np.clip(rng.normal(4.0, 1.5, (n, 3)) + label[:, None] * [3.0, 1.0, 0.0], -1, 11)
    X[:, 2] += 0.5 * X[:, 0] - 2
    if name in WITHOUT_Y:
        return X, None
    return X, X @ [0.8, -0.5, 0.2] - 2 + rng.normal(0, 0.2, n) if name in OF_NUMBERS else y


def taken(data, chosen):
    """Return the chosen rows as arguments for fit or forget."""
    X, y = data
    return (X[chosen],) if y is None else (X[chosen], y[chosen])
