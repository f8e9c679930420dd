"""Attacks that read values of people who stay off what a target publishes.

Each sets up stages where it can, plays on them, claims values, and is told which are true.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from undeleted.audit.columns import Record, TargetColumn, columns_from
from undeleted.audit.lab import Lab
from undeleted.audit.pairs import Space
from undeleted.foundations.coins import Coins


@dataclass(frozen=True)
class Stage:
    """A world to play in: its records, whose the attacker's are, and what the columns are."""

    records: tuple[Record, ...] = field(repr=False)
    own: tuple[str, ...] = field(repr=False)
    columns: tuple[TargetColumn, ...]
    label: str | None = None
    column: str | None = None

    @property
    def staying(self) -> list[Record]:
        own = set(self.own)
        return [r for r in self.records if r["id"] not in own]

    def as_json(self) -> dict[str, Any]:
        return {
            "records": list(self.records),
            "own": list(self.own),
            "columns": {c.name: c.as_json() for c in self.columns},
            "label": self.label,
            "column": self.column,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Stage":
        columns = columns_from(body["columns"])
        return cls(tuple(body["records"]), tuple(body["own"]), columns, body["label"], body["column"])


@dataclass(frozen=True)
class Exposure:
    """What an attack learned of people who stayed and could not have been read off the first output."""

    attack: str
    exposed: int
    of: int
    deletions: int
    controlled: int
    claims: dict[str, Any] = field(repr=False)
    false_claims: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "exposed": self.exposed,
            "of": self.of,
            "false_claims": self.false_claims,
            "deletions": self.deletions,
            "controlled": self.controlled,
        }


class Attack(Protocol):
    """Where it can be staged, and how it plays."""

    def stages(self, space: Space, coins: Coins) -> Iterator[Stage]:
        """Worlds to try; none where the attack does not apply."""

    def play(self, lab: Lab, stage: Stage, seed: int) -> Exposure | None:
        """What it read off, if anything."""
