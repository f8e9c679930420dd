"""How an audit is done, and what it says: two independent answers, and what they rest on."""

from dataclasses import dataclass, field
from typing import Any

from undeleted.audit.columns import Record, TargetColumn
from undeleted.audit.exposures import Exposure
from undeleted.audit.forgetting import Forgetting
from undeleted.audit.lab import TOLERANCE
from undeleted.audit.sequential_tests import FirstOutput
from undeleted.audit.targets import Named
from undeleted.errors import BadQuestion


@dataclass(frozen=True)
class Options:
    """How an audit is done."""

    budget: float = 60.0  # seconds
    calls: int | None = None  # of the target: a budget that no busy machine cuts short
    patience: float | None = None
    seed: int = 7
    digits: int | None = None
    people: int = 32
    confidence: float = 0.95
    tolerance: float = TOLERANCE
    first: FirstOutput = field(default_factory=FirstOutput)
    unseeded: bool = False
    rows: tuple[Record, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.budget < float("inf"):
            raise BadQuestion(f"a budget of {self.budget:g} s is none.", "Give one such as 60s.")
        if self.calls is not None and self.calls < 1:
            raise BadQuestion(f"a budget of {self.calls} calls is none.", "Give one such as 20000calls.")
        if self.patience is not None and not self.patience > 0:
            raise BadQuestion(f"a patience of {self.patience:g} s is none.", "Give one such as 10s.")
        if not 0.5 < self.confidence < 1:
            raise BadQuestion(f"{self.confidence:g} is no confidence.", "Choose one such as 0.95.")
        if not 8 <= self.people <= 1024:
            raise BadQuestion(f"worlds of {self.people} people cannot be audited.", "Choose from 8 to 1024.")
        if self.rows and len(self.rows) < 16:
            raise BadQuestion("the data have fewer than 16 complete rows.", "Give more of them.")
        if self.digits is not None and not 0 <= self.digits <= 15:
            raise BadQuestion(f"{self.digits} digits cannot be.", "Choose from 0 to 15.")
        if not 0 <= self.tolerance < 1:
            raise BadQuestion(
                f"a tolerance of {self.tolerance:g} cannot be.", "Choose one such as 1e-9, or 0."
            )


@dataclass(frozen=True)
class Verdict:
    """Two independent answers, and what they rest on."""

    target: Named
    undeleted: str
    forgets: Forgetting
    delta: float | None
    argument: str
    assumptions: tuple[str, ...]
    attacks: tuple[dict[str, Any], ...]
    exposures: tuple[Exposure, ...]
    smallest: str
    indications: tuple[str, ...]
    rounding: str | None
    findings: tuple[dict[str, Any], ...]
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
        """1 for a finding, 0 for none, 3 if the budget ended before both questions were asked."""
        if self.broken or self.forgets.verdict == "no":
            return 1
        return 3 if self.forgets.verdict == "unknown" or not self.attacks else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "target": self.target.name,
            "settings": dict(self.target.settings),
            "records": {c.name: c.as_json() for c in self.columns} if not self.real_values else "the data's",
            "sees": list(self.target.see) or "the usual",
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
