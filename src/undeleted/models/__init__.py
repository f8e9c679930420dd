"""Scikit-learn models that forget without exposing anyone: fit once with noise, then forget row by row.

    model = GaussianNB(bounds=([17, 1], [90, 16]), classes=[0, 1], budget=1.0).fit(X, y)
    model.forget(X[:1], y[:1])          # microseconds; no other row is read, and no ε is spent

`release_` is all that was published and all that is kept; all else is computed from it.  Bounds,
classes and categories are public: they are given, never read from the data.  Needs the extra `models`.

One file per estimator.  Imports `errors`, `foundations` and `curate`.
"""

from typing import TYPE_CHECKING

from undeleted.errors import MissingExtra
from undeleted.foundations import registry

if TYPE_CHECKING:
    from undeleted.models.categorical_nb import CategoricalNB
    from undeleted.models.gaussian_nb import GaussianNB
    from undeleted.models.item_item_recommender import ItemItemRecommender
    from undeleted.models.k_means import KMeans
    from undeleted.models.linear_regression import LinearRegression
    from undeleted.models.logistic_regression import LogisticRegression
    from undeleted.models.pca import PCA
    from undeleted.models.quantile_transformer import QuantileTransformer
    from undeleted.models.random_forest_classifier import RandomForestClassifier
    from undeleted.models.random_forest_regressor import RandomForestRegressor
    from undeleted.models.ridge import Ridge
    from undeleted.models.standard_scaler import StandardScaler
    from undeleted.models.synthetic_trainer import SyntheticTrainer

__all__ = [
    "PCA",
    "CategoricalNB",
    "GaussianNB",
    "ItemItemRecommender",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "QuantileTransformer",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
    "StandardScaler",
    "SyntheticTrainer",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        try:
            return registry.lookup(__name__, name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "sklearn":
                raise
            raise MissingExtra("an estimator", "scikit-learn", "models") from None

    def __dir__() -> list[str]:
        return __all__
