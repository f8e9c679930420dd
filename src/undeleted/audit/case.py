"""A case: the target under audit, what there is to work with, and what is known so far."""

from collections.abc import Callable
from statistics import median_low
from typing import Any

from undeleted.audit.collisions import Search
from undeleted.audit.exposures import Exposure
from undeleted.audit.forgetting import Forgetting
from undeleted.audit.lab import Lab
from undeleted.audit.pairs import Pair, Space
from undeleted.audit.sequential_tests import Candidate, Judgement
from undeleted.audit.targets import Named, Target
from undeleted.audit.targets.process import Clock
from undeleted.audit.verdict import Options
from undeleted.foundations.coins import Seeded, seeded

SMALL = 8  # people, in the first runs and for targets that are slow
FEW_CALLS = 3000


class Case:
    """What the parts of an audit share; each part adds what it found."""

    def __init__(
        self,
        named: Named,
        target: Target,
        options: Options,
        clock: Clock,
        progress: Callable[[float, str], None],
    ) -> None:
        self.named, self.target, self.options, self.clock = named, target, options, clock
        self.lab = Lab(target, options.digits)
        self.space = Space(target.columns, target.label, options.people, options.rows)
        self.coins: Seeded = seeded(f"audit {options.seed}")
        self._progress = progress
        self.alpha = 1 - options.confidence
        self.attacks: list[dict[str, Any]] = []
        self.exposures: list[Exposure] = []
        self.indications: list[str] = []
        self.findings: list[dict[str, Any]] = []
        self.assumptions: list[str] = []
        self.judged: list[Judgement] = []
        self.search = Search()
        self.piloted: list[Candidate] = []
        self.forgets = Forgetting("unknown", "the budget ended before it could be judged")
        self.verdict, self.argument = "", ""
        self.delta: float | None = None
        self.randomised = False
        self.paces: list[float] = []  # seconds a call, of every run of a probe

    def until(self, share: float, text: str) -> Callable[..., bool]:
        """Whether this part's share of the budget is still there."""

        def go_on(*_: Any) -> bool:
            self._progress(self.clock.spent / self.clock.budget, text)
            return self.clock.spent < share * self.clock.budget

        return go_on

    @property
    def pace(self) -> float:
        """Seconds a call; a machine that stands still once does not make a target slow."""
        return median_low(self.paces) if self.paces else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether the budget is for few calls: then worlds are small, and checks are fewer."""
        return self.pace * FEW_CALLS > self.clock.budget


def pair_json(pair: Pair, batches: Any) -> dict[str, Any]:
    """A pair and its deletions, as a witness holds them."""
    return {
        "family": pair.family,
        "one": list(pair.one),
        "other": list(pair.other),
        "batches": [list(batch) for batch in batches],
    }
