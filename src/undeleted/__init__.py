"""Honour deletions without exposing the people who stay.

The paper behind this package is *Protecting the Undeleted in Machine Unlearning*
(Cohen, Kohen, Nissim, Stemmer, 2026).  An overview of the code:

    foundations  randomness, privacy, the schema of a record
    curate       publish once, honour deletions
    models       scikit-learn estimators that forget
    games        the definitions of undeleted-safety, today's practice as baselines, and the attacks
    verifying    the best simulator in a small world, with a proof
    auditing     tests of black boxes: broken, with a witness, or not broken by these attacks
    paper        every claim and definition of the paper, as code that runs
    interfaces   the command line, the service, the pages
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from undeleted.auditing.auditor import audit
    from undeleted.curate.curator import Curator
    from undeleted.curate.growing import Growing
    from undeleted.curate.mechanisms import (
        BulletinBoard,
        ExactSum,
        FrozenMedian,
        Grouped,
        GrownBoxes,
        GrownRangeCounts,
        NoisyClassHistograms,
        NoisyClassMoments,
        NoisyCount,
        NoisyForest,
        NoisyHistogram,
        NoisyMarginals,
        NoisyMean,
        NoisyPairs,
        NoisyPeople,
        NoisyProducts,
        NoisyQuantiles,
        NoisySecondMoments,
        NoisySum,
        NoisyVariance,
        RangeCounts,
        Recipe,
    )
    from undeleted.curate.publishing import (
        count,
        histogram,
        mean,
        people,
        publish,
        publish_more,
        quantiles,
        share,
        synthetic,
        total,
        variance,
    )
    from undeleted.errors import (
        AlreadyExists,
        AlreadyJoined,
        AlreadyPublished,
        BadBounds,
        BadBudget,
        BadColumns,
        BadConnection,
        BadFile,
        BadQuestion,
        BadReceipt,
        BadSetting,
        BadSpec,
        BadTarget,
        BadUsage,
        BadWorld,
        BudgetSpent,
        Busy,
        CoinsRefused,
        FalseReceipt,
        FitFailed,
        ForgottenTooMany,
        KeepsNoRecords,
        MissingBounds,
        MissingExtra,
        Misuse,
        NoRecords,
        NotAColumn,
        NotEnumerable,
        NotFound,
        NotGenuine,
        NotReproducible,
        NotStarted,
        PrivacyError,
        PrivacyLeakWarning,
        ReceiptsVoid,
        RecordNotFound,
        RefitWarning,
        RejectedValue,
        RuleBroken,
        SchemaError,
        SeededNoiseWarning,
        StoreError,
        StoreGone,
        TargetFailed,
        TicksElsewhere,
        TooLarge,
        TuningWarning,
        UndeclaredValue,
        UndeletedError,
        UnknownName,
        VoidReceipt,
        WeakDelta,
        WeakPrivacyWarning,
        WorldTooLarge,
        WrongType,
    )
    from undeleted.foundations.privacy import Budget, Zcdp
    from undeleted.foundations.schema import Boolean, Category, Date, Number, Schema, Text
    from undeleted.verifying.exact import verify

__version__ = "0.1.0"
__all__ = [
    "AlreadyExists",
    "AlreadyJoined",
    "AlreadyPublished",
    "BadBounds",
    "BadBudget",
    "BadColumns",
    "BadConnection",
    "BadFile",
    "BadQuestion",
    "BadReceipt",
    "BadSetting",
    "BadSpec",
    "BadTarget",
    "BadUsage",
    "BadWorld",
    "Boolean",
    "Budget",
    "BudgetSpent",
    "BulletinBoard",
    "Busy",
    "Category",
    "CoinsRefused",
    "Curator",
    "Date",
    "ExactSum",
    "FalseReceipt",
    "FitFailed",
    "ForgottenTooMany",
    "FrozenMedian",
    "Grouped",
    "Growing",
    "GrownBoxes",
    "GrownRangeCounts",
    "KeepsNoRecords",
    "MissingBounds",
    "MissingExtra",
    "Misuse",
    "NoRecords",
    "NoisyClassHistograms",
    "NoisyClassMoments",
    "NoisyCount",
    "NoisyForest",
    "NoisyHistogram",
    "NoisyMarginals",
    "NoisyMean",
    "NoisyPairs",
    "NoisyPeople",
    "NoisyProducts",
    "NoisyQuantiles",
    "NoisySecondMoments",
    "NoisySum",
    "NoisyVariance",
    "NotAColumn",
    "NotEnumerable",
    "NotFound",
    "NotGenuine",
    "NotReproducible",
    "NotStarted",
    "Number",
    "PrivacyError",
    "PrivacyLeakWarning",
    "RangeCounts",
    "ReceiptsVoid",
    "Recipe",
    "RecordNotFound",
    "RefitWarning",
    "RejectedValue",
    "RuleBroken",
    "Schema",
    "SchemaError",
    "SeededNoiseWarning",
    "StoreError",
    "StoreGone",
    "TargetFailed",
    "Text",
    "TicksElsewhere",
    "TooLarge",
    "TuningWarning",
    "UndeclaredValue",
    "UndeletedError",
    "UnknownName",
    "VoidReceipt",
    "WeakDelta",
    "WeakPrivacyWarning",
    "WorldTooLarge",
    "WrongType",
    "Zcdp",
    "__version__",
    "audit",
    "count",
    "histogram",
    "mean",
    "people",
    "publish",
    "publish_more",
    "quantiles",
    "share",
    "synthetic",
    "total",
    "variance",
    "verify",
]

if not TYPE_CHECKING:
    _HOMES = {
        "Budget": "undeleted.foundations.privacy",
        "Zcdp": "undeleted.foundations.privacy",
        "Curator": "undeleted.curate.curator",
        "Growing": "undeleted.curate.growing",
        "Schema": "undeleted.foundations.schema",
        "Number": "undeleted.foundations.schema",
        "Category": "undeleted.foundations.schema",
        "Date": "undeleted.foundations.schema",
        "Boolean": "undeleted.foundations.schema",
        "Text": "undeleted.foundations.schema",
        "audit": "undeleted.auditing.auditor",
        "variance": "undeleted.curate.publishing",
        "total": "undeleted.curate.publishing",
        "quantiles": "undeleted.curate.publishing",
        "share": "undeleted.curate.publishing",
        "people": "undeleted.curate.publishing",
        "publish": "undeleted.curate.publishing",
        "publish_more": "undeleted.curate.publishing",
        "mean": "undeleted.curate.publishing",
        "histogram": "undeleted.curate.publishing",
        "synthetic": "undeleted.curate.publishing",
        "count": "undeleted.curate.publishing",
        "verify": "undeleted.verifying.exact",
    }

    def __getattr__(name):
        """Names are imported when somebody asks for them, so that `undeleted --help` stays quick."""
        if name not in __all__:
            raise AttributeError(f"module 'undeleted' has no attribute {name!r}")
        import importlib

        from undeleted import errors

        if hasattr(errors, name):
            return getattr(errors, name)
        return getattr(importlib.import_module(_HOMES.get(name, "undeleted.curate.mechanisms")), name)

    def __dir__() -> list[str]:
        return __all__
