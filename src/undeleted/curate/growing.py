"""How a table grows: its clock, its horizon, and what happens to those who leave or correct their record."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from undeleted.curate.publications import part_of, shares
from undeleted.curate.releases.arrivals import Arrivals, RowNoise
from undeleted.curate.tick_clock import EVERY, TickClock
from undeleted.errors import BadSetting
from undeleted.foundations.privacy import Budget, as_noise
from undeleted.foundations.types import Given, Json


@dataclass(frozen=True)
class Growing:
    """People join until the horizon; the publications' budget pays for all of its ticks together.

    `leavers` is the budget that hides who leaves, and that anybody does; without it, deletions show at once.

    >>> Growing("day", horizon=365).horizon
    365
    """

    every: str = "day"
    horizon: int = 365
    noise: RowNoise = "auto"
    max_corrections: int = 0
    leavers: float | Budget | None = None

    def __post_init__(self) -> None:
        if self.every not in EVERY:
            raise BadSetting(f"every = {self.every!r} is not a clock.", f"Choose {', '.join(EVERY)}.")
        if self.leavers is not None and not isinstance(as_noise(self.leavers), Budget):
            raise BadSetting("leavers is not a budget.", "Give an ε, or a Budget(epsilon, delta).")

    def clock(self) -> TickClock:
        """The clock, from now on."""
        return TickClock(self.every, datetime.now(UTC))

    @property
    def budget_of_leavers(self) -> Budget | None:
        """What hides leavers, as a budget."""
        return None if self.leavers is None else _as_budget(self.leavers)

    def departures(self, wanted: Mapping[str, tuple[str, float]]) -> Mapping[str, Given]:
        """Every publication's share of the budget for departures, by its kind and weight."""
        if self.leavers is None:
            return {}
        return shares(part_of(_as_budget(self.leavers), 1.0), wanted)

    def of(self, mechanism: Given, departures: Given = None) -> Arrivals:
        """A mechanism over the table as it grows."""
        return Arrivals(mechanism, self.horizon, self.noise, self.max_corrections, departures)

    def all_of(self, mechanisms: Mapping[str, Given], wanted: Mapping[str, tuple[str, float]]) -> Json:
        """All mechanisms, by name."""
        departures = self.departures(wanted)
        return {name: self.of(mechanism, departures.get(name)) for name, mechanism in mechanisms.items()}


def _as_budget(given: float | Budget) -> Budget:
    return given if isinstance(given, Budget) else Budget(given)
