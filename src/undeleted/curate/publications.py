"""Kinds of publications, by the name that a spec uses; each mechanism declares its own."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from undeleted.curate.releases.publishable import Publishable, Takes
from undeleted.errors import BadColumns
from undeleted.foundations import registry
from undeleted.foundations.schema import Column

FOLDER = "undeleted.curate.mechanisms"


@cache
def kinds() -> dict[str, list[tuple[Takes, type[Publishable]]]]:
    """For every kind what it takes, and the mechanism; the one that is tried first comes first."""
    found: dict[str, list[tuple[Takes, type[Publishable]]]] = {}
    for name in registry.names(FOLDER):
        mechanism = registry.find(FOLDER, name)
        for kind, candidates in getattr(mechanism, "kinds", {}).items():
            found.setdefault(kind, []).extend((takes, mechanism) for takes in candidates)
    return {
        kind: sorted(candidates, key=lambda candidate: candidate[0].priority)
        for kind, candidates in sorted(found.items())
    }


def who_answers(question: str) -> list[str]:
    """The kinds that answer a question."""
    return [
        kind for kind, candidates in kinds().items() if any(question in m.questions for _, m in candidates)
    ]


def who_predicts() -> list[str]:
    """The kinds that predict: those with features."""
    return [kind for kind, candidates in kinds().items() if candidates[0][0].columns == "features"]


def build(
    kind: str, over: Sequence[Column], target: Column | None, options: Mapping[str, Any], **rest: Any
) -> Any:
    """The mechanism of a kind that these columns fit, or an error that names those which do not."""
    problem: BadColumns | None = None
    for takes, mechanism in kinds()[kind]:
        try:
            takes.require(kind, over, target)
        except BadColumns as error:
            problem = error
            continue
        return mechanism.from_spec(takes, over, target, **options, **(rest if takes.noisy else {}))
    assert problem is not None
    raise problem
