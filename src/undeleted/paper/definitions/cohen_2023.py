"""Deletion as control: the state after Alice left could have come about without her, if others act the same.

real    Alice and the others start; Alice leaves; others leave, chosen from what they saw
ideal   the others start, with coins R′; the same others leave
needs   R′ (ε, δ)-close to fair coins, and the same state in both
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

from undeleted.foundations.coins import Enumerated, outcomes
from undeleted.foundations.types import Json, Output
from undeleted.games.transcript import plain
from undeleted.paper.answers import FACTOR, ONE, ZERO, Answer, close, data_sets, marginal
from undeleted.paper.specimens import Specimen
from undeleted.verifying.linear_program import LinearProgram

KIND = "retraining"
SOURCE = (
    "Cohen, Smith, Swanberg, Vasudevan, Control, confidentiality, and the right to be forgotten, CCS 2023"
)
SIMPLIFIED = (
    "Alice has one point and leaves first; then at most one of the others leaves, chosen from the outputs "
    "they saw.  At e^ε = 8, δ = 3/10; the coins R′ are found by a linear program."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def cohen_2023(specimen: Specimen) -> Answer:
    """How much of the real execution cannot be reproduced by any coins of the ideal one."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for data in data_sets(specimen):
            if list(data[1:]) != sorted(data[1:], key=repr):
                continue
            seen = marginal(specimen.play(data, [(data[0],)]), lambda end: end[0])
            for follows in _behaviours(list(seen), specimen.n):
                yield (
                    _distance(specimen, data, follows),
                    {
                        "data": list(data),
                        "Alice": data[0],
                        "the others, having seen": {str(h): _who(follows(h)) for h in seen},
                    },
                )

    return close(cases())


def _behaviours(histories: list[Output], n: int) -> Iterator[Callable[[Output], int | None]]:
    """Whom the others delete next: nobody, always the same person, or another one after one history."""
    yield lambda history: None
    if n > 2:
        yield lambda history: 1
        if len(histories) > 1:
            for special in histories:
                yield lambda history, special=special: 2 if history == special else 1  # type: ignore[misc]


def _distance(
    specimen: Specimen, data: tuple[Output, ...], follows: Callable[[Output], int | None]
) -> Fraction:
    """The least δ: R′ is (ε, δ)-close to fair coins, and misses the real state with probability δ at most."""
    real: dict[tuple[int | None, Output], Fraction] = {}
    seen = marginal(specimen.play(data, [(data[0],)]), lambda end: end[0])
    for who in {follows(history) for history in seen}:
        batches = [(data[0],)] if who is None else [(data[0],), (data[who],)]
        for (published, kept), p in specimen.play(data, batches).items():
            if follows(published[:2]) == who:
                real[who, kept] = real.get((who, kept), ZERO) + p
    coins: dict[Output, Fraction] = {}
    leads: dict[tuple[int | None, Output], set[Output]] = {}
    for who in {who for who, _ in real}:
        for (path, kept), p in outcomes(lambda tosses, who=who: _ideal(specimen, data, who, tosses)):  # type: ignore[misc]
            assert coins.setdefault(path, p) == p, "the coins must not depend on who leaves"
            leads.setdefault((who, kept), set()).add(path)
    program = LinearProgram()
    delta = program.variable(ONE)
    flows = {(execution, path): program.variable() for execution in real for path in leads.get(execution, ())}
    lost = {execution: program.variable() for execution in real}
    for execution, mass in real.items():
        program.equals(
            {j: ONE for (e, _), j in flows.items() if e == execution} | {lost[execution]: ONE}, mass
        )
    elsewhere = {
        path: program.variable() for path in coins
    }  # where no coins lead to the state, any coins may be used
    program.equals(dict.fromkeys(elsewhere.values(), ONE) | dict.fromkeys(lost.values(), -ONE), ZERO)
    too_often, too_rarely = {delta: ONE}, {delta: ONE}
    for path, mass in coins.items():
        over, under = program.variable(), program.variable()
        into = [elsewhere[path], *(j for (_, c), j in flows.items() if c == path)]
        program.at_least({over: ONE} | dict.fromkeys(into, -ONE), -FACTOR * mass)
        program.at_least({under: ONE} | dict.fromkeys(into, FACTOR), mass)
        too_often[over] = too_rarely[under] = -ONE
    for worst in (too_often, too_rarely, {delta: ONE} | dict.fromkeys(lost.values(), -ONE)):
        program.at_least(worst, ZERO)
    return program.solve(60.0).bound


def _ideal(
    specimen: Specimen, data: tuple[Output, ...], who: int | None, tosses: Enumerated
) -> tuple[Output, Output]:
    """Run the world without Alice; return the outcomes of the coins, and the state."""
    curator = specimen.make()
    curator.start(data[1:], tosses)
    if who is not None:
        curator.delete([data[who]])
    return tuple(option for option, _ in tosses.path), plain(specimen.state(curator))


def _who(index: int | None) -> str:
    return "nobody" if index is None else f"delete no. {index}"
