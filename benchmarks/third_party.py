"""Audit third-party code: what each library promises, and what the audit found."""

from bench import Bench
from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.targets import TargetSpec

RETRAINED = "nothing about deletions: retrained by us on what is left"
ROWS: list[tuple[str, TargetSpec, str, str]] = [
    ("running mean", TargetSpec("river.stats:Mean"), "`revert` undoes `update`", "not broken"),
    ("running sum", TargetSpec("river.stats:Sum"), "`revert` undoes `update`", "not broken"),
    ("running variance", TargetSpec("river.stats:Var"), "`revert` undoes `update`", "broken"),
    ("running covariance", TargetSpec("river.stats:Cov"), "`revert` undoes `update`", "broken"),
    (
        "vector index, nearest distances",
        TargetSpec("examples/usearch_index.py:Neighbours"),
        "a removed vector is not found any more",
        "broken",
    ),
    (
        "counting Bloom filter, all counters",
        TargetSpec("examples/counting_bloom.py:Sketch"),
        "a removed element leaves the counters as if never added",
        "not broken",
    ),
    ("2-means on a line", TargetSpec("sklearn.cluster:KMeans", {"n_clusters": 2}), RETRAINED, "broken"),
    ("least squares, coefficients", TargetSpec("sklearn.linear_model:LinearRegression"), RETRAINED, "broken"),
    ("ridge, coefficients", TargetSpec("sklearn.linear_model:Ridge"), RETRAINED, "broken"),
    (
        "logistic regression, coefficients",
        TargetSpec("sklearn.linear_model:LogisticRegression"),
        RETRAINED,
        "broken",
    ),
    (
        "decision tree, hard labels",
        TargetSpec("sklearn.tree:DecisionTreeClassifier", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    ("support vectors, hard labels", TargetSpec("sklearn.svm:SVC", see=("labels",)), RETRAINED, "broken"),
    (
        "nearest neighbours, hard labels",
        TargetSpec("sklearn.neighbors:KNeighborsClassifier", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    (
        "naive Bayes, all public",
        TargetSpec("sklearn.naive_bayes:GaussianNB", see=("fitted",)),
        RETRAINED,
        "not broken",
    ),
    (
        "naive Bayes, hard labels",
        TargetSpec("sklearn.naive_bayes:GaussianNB", see=("labels",)),
        RETRAINED,
        "broken",
    ),
    ("scaler, all public", TargetSpec("sklearn.preprocessing:StandardScaler"), RETRAINED, "not broken"),
    ("smallest and largest", TargetSpec("sklearn.preprocessing:MinMaxScaler"), RETRAINED, "broken"),
    (
        "covariance alone",
        TargetSpec("sklearn.covariance:EmpiricalCovariance", see=("covariance_",), features=2),
        RETRAINED,
        "broken",
    ),
]


def main() -> None:
    bench = Bench("third_party", __doc__ or "", seeds=1)
    for what, target, promises, expected in ROWS:
        report = audit(target, Options(budget=90))
        bench.row(
            what=what,
            target=target.name,
            settings=dict(target.settings),
            sees=list(target.see),
            features=target.features,
            versions=report.versions,
            promises=promises,
            undeleted=report.undeleted,
            delta=report.delta,
            exposed=sum(e.exposed for e in report.exposures),
            forgets=report.forgets.verdict,
            rounding=report.rounding is not None,
            seconds=round(report.seconds, 1),
        )
        bench.claim(
            f"{what}: {expected}, in under two minutes",
            report.undeleted.startswith(expected) and report.seconds < 120,
        )
    bench.finish()


if __name__ == "__main__":
    main()
