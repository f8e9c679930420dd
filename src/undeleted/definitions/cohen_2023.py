"""Deletion as control: what is kept after Alice left could have come about without her, others acting alike.

real    Alice and the others start; Alice leaves; others leave as they please after what they saw
ideal   the others start, with coins R′; the same others leave
asks    R′ distributed as coins are, and the same state in both
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from undeleted.audit._program import Program, rational
from undeleted.coins import Enumerated, outcomes
from undeleted.definitions._answer import ONE, ZERO, Answer, data_sets, equal, marginal
from undeleted.definitions._specimens import Specimen
from undeleted.games.transcript import plain

KIND = "retraining"
SOURCE = (
    "Cohen, Smith, Swanberg, Vasudevan, Control, confidentiality, and the right to be forgotten, CCS 2023"
)
SIMPLIFIED = (
    "Alice has one point and leaves first; then at most one of the others leaves, whoever they please after "
    "the outputs they saw.  Equality instead of approximation; the coins R′ are found by a linear program."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def cohen_2023(specimen: Specimen) -> Answer:
    """How much of the real execution has no coins in the ideal one."""

    def cases() -> Iterator[tuple[Fraction, dict[str, Any]]]:
        for data in data_sets(specimen):
            if list(data[1:]) != sorted(data[1:], key=repr):
                continue
            seen = marginal(specimen.play(data, [(data[0],)]), lambda end: end[0])
            for follows in _behaviours(list(seen), specimen.n):
                yield (
                    _unmatched(specimen, data, follows),
                    {
                        "data": list(data),
                        "Alice": data[0],
                        "the others, having seen": {str(h): _who(follows(h)) for h in seen},
                    },
                )

    return equal(cases(), "mass of executions without matching coins")


def _behaviours(histories: list[Any], n: int) -> Iterator[Callable[[Any], int | None]]:
    """Whom the others delete next: nobody, always the same, or another after one history."""
    yield lambda history: None
    if n > 2:
        yield lambda history: 1
        if len(histories) > 1:
            for special in histories:
                yield lambda history, special=special: 2 if history == special else 1  # type: ignore[misc]


def _unmatched(specimen: Specimen, data: tuple[Any, ...], follows: Callable[[Any], int | None]) -> Fraction:
    """The least mass that no joint law of real executions and ideal coins can match."""
    real: dict[tuple[int | None, Any], Fraction] = {}
    seen = marginal(specimen.play(data, [(data[0],)]), lambda end: end[0])
    for who in {follows(history) for history in seen}:
        batches = [(data[0],)] if who is None else [(data[0],), (data[who],)]
        for (published, kept), p in specimen.play(data, batches).items():
            if follows(published[:2]) == who:
                real[who, kept] = real.get((who, kept), ZERO) + p
    coins: dict[Any, Fraction] = {}
    leads: dict[tuple[int | None, Any], set[Any]] = {}
    for who in {who for who, _ in real}:
        for (path, kept), p in outcomes(lambda tosses, who=who: _ideal(specimen, data, who, tosses)):  # type: ignore[misc]
            coins[path] = p
            leads.setdefault((who, kept), set()).add(path)
    program = Program()
    flows = {
        (execution, path): program.variable(-ONE) for execution in real for path in leads.get(execution, ())
    }
    for execution, mass in real.items():
        program.at_least({j: -ONE for (e, _), j in flows.items() if e == execution}, -mass)
    for path, mass in coins.items():
        program.at_least({j: -ONE for (_, c), j in flows.items() if c == path}, -mass)
    if not flows:
        return ONE
    solved = program.solve(60.0)
    return max(ZERO, ONE - sum((rational(v) for v in solved.values), ZERO))


def _ideal(specimen: Specimen, data: tuple[Any, ...], who: int | None, tosses: Enumerated) -> tuple[Any, Any]:
    """The world without Alice; the state, and which way the coins fell."""
    curator = specimen.make()
    curator.start(data[1:], tosses)
    if who is not None:
        curator.delete([data[who]])
    return tuple(option for option, _ in tosses.path), plain(specimen.state(curator))


def _who(index: int | None) -> str:
    return "nobody" if index is None else f"delete no. {index}"
