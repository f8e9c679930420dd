"""What a published model says: its parameters with intervals, and predictions for rows of a file."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.curate.mechanisms.noisy_class_histograms import NoisyClassHistograms
from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.curate.mechanisms.noisy_forest import NoisyForest
from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs
from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.curate.releases.bootstrap import estimates
from undeleted.curate.spec.models import MODELS as KINDS
from undeleted.errors import BadFile, BadQuestion
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.intervals import Estimate, estimate
from undeleted.foundations.schema import Boolean, Schema

MODELS = (NoisyClassMoments, NoisyClassHistograms, NoisySecondMoments, NoisyForest, GrownBoxes, NoisyPairs)
_PAIRS = 100  # that are shown, the closest first
_BEST = 5  # items that are recommended
_DRAWS = 400
_ALPHA = 1.0  # added to every count of a category


def parameters(mechanism: Any, release: Any, confidence: float) -> Iterator[tuple[str, Any]]:
    """Every parameter with its interval."""
    if isinstance(mechanism, GrownBoxes):
        yield from _centres(mechanism, release, confidence)
        return
    if isinstance(mechanism, NoisyPairs):
        yield from _pairs(mechanism, release, confidence)
        return
    labels, of = _described(mechanism)
    values = release.value.astype(float)
    yield from zip(labels, estimates(mechanism, values, of, confidence, _DRAWS), strict=True)


def predictions(publication: Any, source: str) -> list[dict[str, Any]]:
    """A prediction for every row of a file: from the release as it stands."""
    from undeleted.curate import files

    mechanism = publication.mechanism
    if not isinstance(mechanism, MODELS):
        raise BadQuestion(
            "--predict is a question for a model.",
            f"Name a publication of kind {', '.join(KINDS)}.",
        )
    features = mechanism.over
    try:
        table = files.read(source, Schema(list(features)))
    except BadFile as error:
        raise BadFile(
            source, error.problem, error.remedy.replace("`source` in the spec", "the path")
        ) from None
    there = table.complete(features)
    codes = np.column_stack([table.codes[c.name].astype(np.int64) for c in features])
    found = _predicted(mechanism, publication.release, codes)
    return [{"row": i, **(found[i] if known else {"prediction": None})} for i, known in enumerate(there)]


def _described(mechanism: Any) -> tuple[list[str], Any]:
    """Names of the parameters, and how they follow from the cells."""
    names = [column.name for column in mechanism.over]
    classes = _classes(mechanism)
    if isinstance(mechanism, NoisyForest) and mechanism.target is not None:
        target = mechanism.target
        return [f"mean {target.name}"], lambda v: np.array([_between(target, mechanism.prior_of(v)[1])])
    if isinstance(mechanism, NoisyForest):
        return [f"share of {c}" for c in classes], mechanism.prior_of
    if isinstance(mechanism, NoisyClassHistograms):
        return [f"share of {c}" for c in classes], lambda v: np.exp(mechanism.log_shares(v, _ALPHA)[0])
    if isinstance(mechanism, NoisyClassMoments):
        labels = [f"share of {c}" for c in classes] + [f"mean {n} of {c}" for c in classes for n in names]

        def gaussians(values: FloatArray) -> FloatArray:
            found = mechanism.gaussians_of(values)
            return np.concatenate([found.shares, found.means.ravel()])

        return labels, gaussians
    if mechanism.target is not None:
        labels = [f"{mechanism.target.name} ~ {name}" for name in ("(intercept)", *names)]
        return labels, lambda v: np.append(*mechanism.least_squares_of(v)[::-1])
    if mechanism.by is not None:
        first, *others = classes
        labels = [f"{c} against {first} ~ {name}" for c in others for name in ("(intercept)", *names)]

        def against_the_first(values: FloatArray) -> FloatArray:
            """Log odds; without taming, whose bias an interval would not show."""
            slopes, intercepts = mechanism.discriminants_of(values, tame=False)
            rows = np.column_stack([intercepts, slopes])
            return np.asarray((rows[1:] - rows[0]).ravel())

        return labels, against_the_first
    return [f"share of variance, component {i + 1}" for i in range(len(names))], lambda v: _shares(
        mechanism, v
    )


def _predicted(mechanism: Any, release: Any, codes: Any) -> list[dict[str, Any]]:
    if isinstance(mechanism, GrownBoxes):
        return [{"prediction": int(c) + 1} for c in _nearest(mechanism, release, codes)]
    if isinstance(mechanism, NoisyPairs):
        return _recommended(mechanism, release, codes)
    values = release.value.astype(float)
    if isinstance(mechanism, NoisyForest):
        shares = mechanism.shares_of(values)
        if mechanism.target is None:
            return _likeliest(mechanism, mechanism.log_shares_at(shares, codes))
        means = _between(mechanism.target, mechanism.means_at(shares, codes))
        return [{"prediction": float(mean)} for mean in means]
    if isinstance(mechanism, NoisyClassHistograms):
        return _likeliest(mechanism, mechanism.log_joint(values, codes, _ALPHA))
    rows = np.column_stack([_decoded(column, codes[:, i]) for i, column in enumerate(mechanism.over)])
    if isinstance(mechanism, NoisyClassMoments):
        return _likeliest(mechanism, mechanism.gaussians_of(values).log_joint(rows))
    if mechanism.target is not None:
        slopes, intercept = mechanism.least_squares_of(values)
        return [{"prediction": float(p)} for p in rows @ slopes + intercept]
    if mechanism.by is not None:
        slopes, intercepts = mechanism.discriminants_of(values)
        return _likeliest(mechanism, rows @ slopes.T + intercepts)
    mean, covariance = mechanism.covariance_of(values)
    basis = np.linalg.eigh(covariance)[1][:, ::-1]
    return [{"prediction": [float(v) for v in row]} for row in (rows - mean) @ basis]


def _likeliest(mechanism: Any, joint: FloatArray) -> list[dict[str, Any]]:
    classes = _classes(mechanism)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = shares.argmax(axis=1)
    return [
        {"prediction": classes[k], "probability": float(row[k])} for k, row in zip(best, shares, strict=True)
    ]


def _classes(mechanism: Any) -> list[Any]:
    by = mechanism.by
    if by is None:
        return []
    return [False, True] if isinstance(by, Boolean) else list(by.values)


def _decoded(column: Any, codes: Any) -> Any:
    return column.decode(codes.astype(float))


def _shares(mechanism: NoisySecondMoments, values: FloatArray) -> FloatArray:
    variances = np.maximum(np.linalg.eigvalsh(mechanism.covariance_of(values)[1])[::-1], 0.0)
    return np.asarray(variances / max(float(variances.sum()), 1e-300))


def _between(column: Any, share: Any) -> Any:
    """So much of the way from a column's low bound to its high one."""
    low, high = _decoded(column, np.array([0, column.cells - 1]))
    return low + (high - low) * share


def _found(mechanism: GrownBoxes, release: Any) -> Any:
    try:
        from undeleted.curate.clusters import clusters

        return clusters(mechanism, release, mechanism.clusters)
    except ModuleNotFoundError:
        remedy = "pip install 'undeleted[models]'"
        raise BadQuestion("clusters need scikit-learn.", remedy) from None


def _centres(mechanism: GrownBoxes, release: Any, confidence: float) -> Iterator[tuple[str, Estimate]]:
    """Cluster by cluster: about how many are in it, and its centre, column by column."""
    found = _found(mechanism, release)
    from undeleted.curate.clusters import centres_within, sizes_within

    centres, sizes = centres_within(mechanism, found, confidence), sizes_within(found, confidence)
    for c, centre in enumerate(found.centres):
        yield f"cluster {c + 1}, records", _estimate(found.sizes[c], sizes[0][c], sizes[1][c], confidence)
        for j, column in enumerate(mechanism.over):
            ends = centres[0][c, j], centres[1][c, j]
            yield f"cluster {c + 1}, {column.name}", _estimate(centre[j], *ends, confidence)


def _estimate(value: Any, low: Any, high: Any, confidence: float) -> Estimate:
    return Estimate(float(value), float(low), float(high), confidence, float(high - low) / 4)


def _nearest(mechanism: GrownBoxes, release: Any, codes: Any) -> Any:
    rows = np.column_stack([_decoded(column, codes[:, j]) for j, column in enumerate(mechanism.over)])
    centres = _found(mechanism, release).centres
    return ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def _pairs(mechanism: NoisyPairs, release: Any, confidence: float) -> Iterator[tuple[str, Estimate]]:
    """How many have each of the closest pairs of items."""
    i, j = mechanism.statistic.items_of(release.pairs)
    alike = mechanism.similarities(release)
    closeness = np.array([alike[a, b] for a, b in zip(i, j, strict=True)])
    for at in np.argsort(-closeness, kind="stable")[:_PAIRS]:
        names = f"{mechanism.over[i[at]].name} & {mechanism.over[j[at]].name}"
        yield names, estimate(int(release.counts[at]), mechanism.laws[1], confidence=confidence)


def _recommended(mechanism: NoisyPairs, release: Any, codes: Any) -> list[dict[str, Any]]:
    """What goes best with every row's items."""
    scores = np.where(codes > 0, -1.0, codes @ mechanism.similarities(release))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :_BEST]
    names = [column.name for column in mechanism.over]
    return [{"prediction": [names[at] for at in row if scores[i, at] > 0]} for i, row in enumerate(best)]
