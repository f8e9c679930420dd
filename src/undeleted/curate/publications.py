"""Kinds of publications, by the name that a spec uses; each mechanism declares its own."""

import math
from collections.abc import Mapping, Sequence
from functools import cache

from undeleted.curate.releases.publishable import Publishable, Takes
from undeleted.errors import BadColumns
from undeleted.foundations import registry
from undeleted.foundations.privacy import Budget, Event, Ledger, Privacy, Zcdp, split
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import Column
from undeleted.foundations.types import Given

FOLDER = "undeleted.curate.mechanisms"


@cache
def kinds() -> dict[str, list[tuple[Takes, type[Publishable]]]]:
    """For every kind, what it takes and its mechanisms, in the order in which they are tried."""
    by_kind: dict[str, list[tuple[Takes, type[Publishable]]]] = {}
    for name in registry.names(FOLDER):
        mechanism = registry.find(FOLDER, name)
        for kind, candidates in getattr(mechanism, "kinds", {}).items():
            by_kind.setdefault(kind, []).extend((takes, mechanism) for takes in candidates)
    return {
        kind: sorted(candidates, key=lambda candidate: candidate[0].priority)
        for kind, candidates in sorted(by_kind.items())
    }


def part_of(budget: Budget, share: float) -> Privacy:
    """A share of a budget: of ε if δ = 0, else of ρ (zero-concentrated), which divides better."""
    if budget.delta == 0:
        return Budget(budget.epsilon * share)
    return Zcdp(rho_for(budget) * share)


def left_of(budget: Budget, events: Sequence[Event]) -> Privacy | None:
    """What is left of a budget after these releases, in the same terms; None if nothing is."""
    if budget.delta == 0:
        left = Ledger(budget, list(events), resumed=True).left
        return Budget(left) if left > 0 else None
    whole = rho_for(budget)
    rho = whole - math.fsum(event.times * event.rho for event in events)
    return Zcdp(rho) if rho > 1e-9 * whole else None


def shares(budget: Privacy, wanted: Mapping[str, tuple[str, float]]) -> dict[str, Privacy]:
    """The share of the budget of every noisy publication, by its kind and weight."""
    noisy = {name: weight for name, (kind, weight) in wanted.items() if kinds()[kind][0][0].noisy}
    return dict(zip(noisy, split(budget, list(noisy.values())), strict=True)) if noisy else {}


def kinds_that_answer(question: str) -> list[str]:
    """The kinds that answer a question."""
    return [
        kind for kind, candidates in kinds().items() if any(question in m.questions for _, m in candidates)
    ]


def kinds_that_predict() -> list[str]:
    """The kinds that predict: those with features."""
    return [kind for kind, candidates in kinds().items() if candidates[0][0].columns == "features"]


def build(
    kind: str, over: Sequence[Column], target: Column | None, options: Mapping[str, Given], **rest: Given
) -> Given:
    """Build the mechanism of a kind that accepts these columns, or raise an error that names the misfits."""
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
