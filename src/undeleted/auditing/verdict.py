"""The options of an audit, and its verdict: two independent answers, and what they rest on."""

from dataclasses import dataclass, field

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.auditing.exposures import Exposure
from undeleted.auditing.forgetting import Forgetting
from undeleted.auditing.lab import TOLERANCE
from undeleted.auditing.sequential_tests import FirstOutput
from undeleted.auditing.targets import TargetSpec
from undeleted.errors import BadSetting
from undeleted.foundations.types import Json


@dataclass(frozen=True)
class Options:
    """The options of an audit."""

    budget: float = 60.0  # seconds
    calls: int | None = None  # of the target: a budget that does not depend on the machine
    timeout: float | None = None
    seed: int = 7
    digits: int | None = None
    people: int = 32
    confidence: float = 0.95
    tolerance: float = TOLERANCE
    first: FirstOutput = field(default_factory=FirstOutput)
    unseeded: bool = False
    rows: tuple[Row, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.budget < float("inf"):
            raise BadSetting(f"a budget of {self.budget:g} s is not allowed.", "Give one such as 60s.")
        if self.calls is not None and self.calls < 1:
            raise BadSetting(f"a budget of {self.calls} calls is not allowed.", "Give 1 or more.")
        if self.timeout is not None and not self.timeout > 0:
            raise BadSetting(f"a timeout of {self.timeout:g} s is not allowed.", "Give one such as 10s.")
        if not 0.5 < self.confidence < 1:
            raise BadSetting(f"confidence {self.confidence:g} is not allowed.", "Choose one such as 0.95.")
        if not 8 <= self.people <= 1024:
            raise BadSetting(f"worlds of {self.people} people cannot be audited.", "Choose from 8 to 1024.")
        if self.rows and len(self.rows) < 16:
            raise BadSetting("the data have fewer than 16 complete rows.", "Give more rows.")
        if self.digits is not None and not 0 <= self.digits <= 15:
            raise BadSetting(f"{self.digits} digits are not allowed.", "Choose from 0 to 15.")
        if not 0 <= self.tolerance < 1:
            raise BadSetting(
                f"a tolerance of {self.tolerance:g} is not allowed.", "Choose one such as 1e-9, or 0."
            )


@dataclass(frozen=True)
class Verdict:
    """Two independent answers, and what they rest on."""

    target: TargetSpec
    undeleted: str
    forgets: Forgetting
    delta: float | None
    argument: str
    assumptions: tuple[str, ...]
    attacks: tuple[Json, ...]
    exposures: tuple[Exposure, ...]
    smallest: str
    indications: tuple[str, ...]
    rounding: str | None
    findings: tuple[Json, ...]
    columns: tuple[TargetColumn, ...]
    randomised: bool
    real_values: bool
    versions: dict[str, str]
    options: Options
    calls: int
    seconds: float

    @property
    def broken(self) -> bool:
        return self.undeleted in ("broken", "not perfectly safe")

    @property
    def exit_code(self) -> int:
        """1 for a finding, 0 for none, 3 if the budget ended before both questions were tested."""
        if self.broken or self.forgets.verdict == "no":
            return 1
        return 3 if self.forgets.verdict == "unknown" or not self.attacks else 0

    def as_json(self) -> Json:
        return {
            "target": self.target.name,
            "settings": dict(self.target.settings),
            "records": {c.name: c.as_json() for c in self.columns} if not self.real_values else "the data's",
            "sees": list(self.target.see) or "the default",
            "digits": self.options.digits,
            "versions": self.versions,
            "randomised": self.randomised,
            "undeleted": self.undeleted,
            "delta_at_least": self.delta,
            "argument": self.argument,
            "assumptions": list(self.assumptions),
            "confidence": self.options.confidence,
            "exposed": [e.as_json() for e in self.exposures],
            "attacks": list(self.attacks),
            "smallest_leak_that_would_have_been_seen": self.smallest,
            "indications": list(self.indications),
            "rounding": self.rounding,
            "forgets": self.forgets.verdict,
            "forgets_why": self.forgets.why,
            "holds_real_values": self.real_values,
            "calls": self.calls,
            "seed": self.options.seed,
            "seconds": round(self.seconds, 2),
        }
