"""What a publication answers, as it is shown and sent: by itself, to a question, row by row of a file."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from undeleted.curate import files
from undeleted.curate.publications import kinds, who_answers, who_predicts
from undeleted.errors import BadFile, BadQuestion
from undeleted.foundations.schema import Schema


def steadiness(kind: str) -> str:
    """What becomes of the intervals of a kind of publication as people leave."""
    if kind in kinds() and kinds()[kind][0][1].steady:
        return "deletions do not widen it"
    return "it grows as fewer people remain, who share the same noise"


def shown(
    name: str, publication: Any, asked: Mapping[str, Any], confidence: float = 0.95
) -> Iterator[dict[str, Any]]:
    """Every answer with its interval: an end that is open is null."""
    for label, estimate in answers(publication, asked, confidence):
        yield {
            "name": name,
            **({"of": label} if label else {}),
            "version": publication.version,
            "estimate": _finite(estimate.value) if hasattr(estimate, "value") else estimate,
            "low": _finite(getattr(estimate, "low", None)),
            "high": _finite(getattr(estimate, "high", None)),
            "confidence": confidence if hasattr(estimate, "low") else None,
        }


def _finite(number: float | None) -> float | None:
    """JSON has no infinity."""
    return number if number is not None and math.isfinite(number) else None


def answers(publication: Any, asked: Mapping[str, Any], confidence: float) -> Iterator[tuple[str, Any]]:
    """A label and an estimate for each answer."""
    mechanism = publication.mechanism
    questions = {name: value for name, value in asked.items() if value not in (None, [], ())}
    for name in questions:
        if name not in mechanism.questions:
            wanted = " or ".join(who_answers(name))
            problem = f"{name} is a question for a publication of kind {wanted}."
            raise BadQuestion(problem, "Name one that is.")
    yield from mechanism.answers(publication.release, questions, confidence)


def predictions(publication: Any, source: str) -> list[dict[str, Any]]:
    """A prediction for every row of a file: from the release as it stands."""
    mechanism = publication.mechanism
    if mechanism.kind not in who_predicts():
        remedy = f"Name a publication of kind {', '.join(who_predicts())}."
        raise BadQuestion("--predict is a question for a model.", remedy)
    features = mechanism.over
    try:
        table = files.read(source, Schema(list(features)))
    except BadFile as error:
        remedy = error.remedy.replace("`source` in the spec", "the path")
        raise BadFile(source, error.problem, remedy) from None
    there = table.complete(features)
    codes = np.column_stack([table.codes[c.name].astype(np.int64) for c in features])
    found = mechanism.predictions(publication.release, codes)
    return [{"row": i, **(found[i] if known else {"prediction": None})} for i, known in enumerate(there)]
