"""What a published model says: its parameters with intervals, and predictions for rows of a file."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from undeleted.arrays import FloatArray
from undeleted.errors import BadFile, BadQuestion
from undeleted.mechanisms._redrawn import estimates
from undeleted.mechanisms.noisy_class_histograms import NoisyClassHistograms
from undeleted.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.schema import Boolean, Schema

MODELS = (NoisyClassMoments, NoisyClassHistograms, NoisySecondMoments)
_DRAWS = 400
_ALPHA = 1.0  # added to every count of a category


def parameters(mechanism: Any, release: Any, confidence: float) -> Iterator[tuple[str, Any]]:
    """Every parameter with its interval."""
    labels, of = _described(mechanism)
    values = release.value.astype(float)
    yield from zip(labels, estimates(mechanism, values, of, confidence, _DRAWS), strict=True)


def predictions(publication: Any, source: str) -> list[dict[str, Any]]:
    """A prediction for every row of a file: from the release as it stands."""
    from undeleted import files

    mechanism = publication.mechanism
    if not isinstance(mechanism, MODELS):
        raise BadQuestion(
            "--predict is a question for a model.",
            "Name a publication of kind naive-bayes, linear-regression, logistic-regression or pca.",
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
    found = _predicted(mechanism, publication.release.value.astype(float), codes)
    return [{"row": i, **(found[i] if known else {"prediction": None})} for i, known in enumerate(there)]


def _described(mechanism: Any) -> tuple[list[str], Any]:
    """Names of the parameters, and how they follow from the cells."""
    names = [column.name for column in mechanism.over]
    classes = _classes(mechanism)
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


def _predicted(mechanism: Any, values: FloatArray, codes: Any) -> list[dict[str, Any]]:
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
