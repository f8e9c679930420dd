"""Code that nobody here wrote, audited: what each promises, and what the audit found."""

from bench import Bench
from undeleted.audit.auditor import Options, audit
from undeleted.audit.targets import Named

RETRAINED = "nothing about deletions: retrained by us on what is left"
ROWS: list[tuple[str, Named, str, str]] = [
    ("running mean", Named("river.stats:Mean"), "`revert` undoes `update`", "not broken"),
    ("running sum", Named("river.stats:Sum"), "`revert` undoes `update`", "not broken"),
    ("running variance", Named("river.stats:Var"), "`revert` undoes `update`", "broken"),
    ("running covariance", Named("river.stats:Cov"), "`revert` undoes `update`", "broken"),
    (
        "vector index, nearest distances",
        Named("examples/usearch_index.py:Neighbours"),
        "a removed vector is not found any more",
        "broken",
    ),
    (
        "counting Bloom filter, all counters",
        Named("examples/counting_bloom.py:Sketch"),
        "a removed element leaves the counters as if never added",
        "not broken",
    ),
    ("2-means on a line", Named("sklearn.cluster:KMeans", {"n_clusters": 2}), RETRAINED, "broken"),
    ("least squares, coefficients", Named("sklearn.linear_model:LinearRegression"), RETRAINED, "broken"),
    ("ridge, coefficients", Named("sklearn.linear_model:Ridge"), RETRAINED, "broken"),
    (
        "logistic regression, coefficients",
        Named("sklearn.linear_model:LogisticRegression"),
        RETRAINED,
        "broken",
    ),
    (
        "decision tree, hard labels",
        Named("sklearn.tree:DecisionTreeClassifier", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    ("support vectors, hard labels", Named("sklearn.svm:SVC", see=("labels",)), RETRAINED, "broken"),
    (
        "nearest neighbours, hard labels",
        Named("sklearn.neighbors:KNeighborsClassifier", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    (
        "naive Bayes, all public",
        Named("sklearn.naive_bayes:GaussianNB", see=("fitted",)),
        RETRAINED,
        "not broken",
    ),
    (
        "naive Bayes, hard labels",
        Named("sklearn.naive_bayes:GaussianNB", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    ("scaler, all public", Named("sklearn.preprocessing:StandardScaler"), RETRAINED, "not broken"),
    ("smallest and largest", Named("sklearn.preprocessing:MinMaxScaler"), RETRAINED, "broken"),
    (
        "covariance alone",
        Named("sklearn.covariance:EmpiricalCovariance", see=("covariance_",), features=2),
        RETRAINED,
        "broken",
    ),
]


def main() -> None:
    bench = Bench("third_party", __doc__ or "", seeds=1)
    for what, target, promises, expected in ROWS:
        found = audit(target, Options(budget=90))
        bench.row(
            what=what,
            target=target.name,
            settings=dict(target.settings),
            sees=list(target.see),
            features=target.features,
            versions=found.versions,
            promises=promises,
            undeleted=found.undeleted,
            delta=found.delta,
            exposed=sum(e.exposed for e in found.exposures),
            forgets=found.forgets.verdict,
            rounding=found.rounding is not None,
            seconds=round(found.seconds, 1),
        )
        bench.claim(
            f"{what}: {expected}, in under two minutes",
            found.undeleted.startswith(expected) and found.seconds < 120,
        )
    bench.finish()


if __name__ == "__main__":
    main()
