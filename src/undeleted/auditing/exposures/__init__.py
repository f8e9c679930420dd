"""Attacks that recover values of people who stay from what a target publishes.

Each sets up stages where it applies, runs on them and claims values; the claims are checked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from undeleted.auditing.columns import Row, TargetColumn, columns_from
from undeleted.auditing.lab import Lab
from undeleted.auditing.pairs import Space
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Given, Json


@dataclass(frozen=True)
class Stage:
    """A world to attack: its records, which of them are the attacker's, and the columns."""

    records: tuple[Row, ...] = field(repr=False)
    own: tuple[str, ...] = field(repr=False)
    columns: tuple[TargetColumn, ...]
    label: str | None = None
    column: str | None = None

    @property
    def staying(self) -> list[Row]:
        own = set(self.own)
        return [r for r in self.records if r["id"] not in own]

    def as_json(self) -> Json:
        return {
            "records": list(self.records),
            "own": list(self.own),
            "columns": {c.name: c.as_json() for c in self.columns},
            "label": self.label,
            "column": self.column,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Given]) -> "Stage":
        columns = columns_from(body["columns"])
        return cls(tuple(body["records"]), tuple(body["own"]), columns, body["label"], body["column"])


@dataclass(frozen=True)
class Exposure:
    """What an attack learned about people who stayed that could not be read from the first output."""

    attack: str
    exposed: int
    of: int
    deletions: int
    controlled: int
    claims: Json = field(repr=False)
    false_claims: int = 0

    def as_json(self) -> Json:
        return {
            "attack": self.attack,
            "exposed": self.exposed,
            "of": self.of,
            "false_claims": self.false_claims,
            "deletions": self.deletions,
            "controlled": self.controlled,
        }


class Attack(Protocol):
    """An attack: the stages it can be run on, and how it runs."""

    def stages(self, space: Space, coins: Coins) -> Iterator[Stage]:
        """Worlds to try; none where the attack does not apply."""

    def play(self, lab: Lab, stage: Stage, seed: int) -> Exposure | None:
        """Run the attack; return what it recovered, if anything."""
