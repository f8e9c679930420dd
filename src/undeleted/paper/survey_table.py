"""The survey as a table: every definition applied to every specimen, next to what the paper says.

The answers are computed first, by the definitions' functions alone; the claims are read afterwards, as
literals, from the same files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from undeleted.errors import UnknownName
from undeleted.foundations import registry
from undeleted.foundations.types import Json
from undeleted.paper.answers import Answer
from undeleted.paper.specimens import Specimen, specimens

FOLDER = "undeleted.paper.definitions"


@dataclass(frozen=True)
class Cell:
    """One definition and one curator: what we computed, and what the paper says, if anything."""

    definition: str
    specimen: str
    answer: Answer
    claim: bool | None

    @property
    def agrees(self) -> bool | None:
        return None if self.claim is None else self.claim == self.answer.holds

    def as_json(self) -> Json:
        return {
            "definition": self.definition,
            "specimen": self.specimen,
            **self.answer.as_json(),
            "paper": self.claim,
            "agrees": self.agrees,
        }


def ask(definition: str, specimen: Specimen) -> Cell:
    """Compute one cell of the table."""
    answer = registry.find(FOLDER, definition)(specimen)
    claims = registry.constant(FOLDER, definition, "CLAIMS")
    return Cell(definition, specimen.name, answer, claims.get(specimen.name))


def survey(
    definitions: Sequence[str] = (),
    on: Sequence[str] = (),
    each: Callable[[Iterator[tuple[str, Specimen]], int], Iterator[tuple[str, Specimen]]] = lambda pairs, _: (
        pairs
    ),
) -> list[Cell]:
    """Compute the table, or a part of it; `each` may show progress."""
    known = specimens()
    for name in on:
        if name not in known:
            raise UnknownName("specimens", name, tuple(known))
    chosen = [known[name] for name in on or known]
    applied = list(definitions or in_order())
    pairs = ((definition, specimen) for definition in applied for specimen in chosen)
    return [ask(definition, specimen) for definition, specimen in each(pairs, len(applied) * len(chosen))]


def in_order() -> list[str]:
    """The definitions in the paper's order: by kind, then by year."""
    kinds = ("retraining", "privacy", "ours")

    def place(name: str) -> tuple[int, str]:
        games = {"non-adaptive": "1", "static": "2", "dynamic": "3", "with-leakage": "4"}
        year = "".join(filter(str.isdigit, name)) or games.get(name.partition("-")[2], "z")
        return kinds.index(registry.constant(FOLDER, name, "KIND")), year

    return sorted(registry.names(FOLDER), key=place)


def about(definition: str) -> dict[str, str]:
    """A definition in words: what it requires, where it is from, and what the finite world leaves out."""
    return {
        "summary": registry.summary(FOLDER, definition),
        "source": registry.constant(FOLDER, definition, "SOURCE"),
        "simplified": registry.constant(FOLDER, definition, "SIMPLIFIED"),
    }
