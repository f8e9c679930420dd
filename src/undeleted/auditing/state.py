"""The state of an audit: the target, the options and the budget, and the results so far."""

from collections.abc import Callable
from statistics import median_low

from undeleted.auditing.collisions import Search
from undeleted.auditing.exposures import Exposure
from undeleted.auditing.forgetting import Forgetting
from undeleted.auditing.lab import Lab
from undeleted.auditing.pairs import Pair, Space
from undeleted.auditing.sequential_tests import Candidate, Judgement
from undeleted.auditing.targets import Target, TargetSpec
from undeleted.auditing.targets.process import Clock
from undeleted.auditing.verdict import Options
from undeleted.foundations.coins import Seeded, seeded
from undeleted.foundations.types import Json, Output

SMALL = 8  # people in a world, in the first runs and for slow targets
FEW_CALLS = 3000


class AuditState:
    """What the stages of an audit share; each stage adds its results."""

    def __init__(
        self,
        named: TargetSpec,
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
        self.attacks: list[Json] = []
        self.exposures: list[Exposure] = []
        self.indications: list[str] = []
        self.findings: list[Json] = []
        self.assumptions: list[str] = []
        self.judged: list[Judgement] = []
        self.search = Search()
        self.piloted: list[Candidate] = []
        self.forgets = Forgetting("unknown", "the budget ended before this was tested")
        self.verdict, self.argument = "", ""
        self.delta: float | None = None
        self.randomised = False
        self.paces: list[float] = []  # seconds per call, for every run of a probe

    def until(self, share: float, text: str) -> Callable[..., bool]:
        """Return a function that shows progress and says whether this stage may go on."""

        def go_on(*_: Output) -> bool:
            self._progress(self.clock.spent / self.clock.budget, text)
            return self.clock.spent < share * self.clock.budget

        return go_on

    @property
    def pace(self) -> float:
        """The median seconds per call, so that one pause of the machine does not make a target slow."""
        return median_low(self.paces) if self.paces else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether the budget allows only few calls: then worlds are small, and checks are fewer."""
        return self.pace * FEW_CALLS > self.clock.budget


def pair_json(pair: Pair, batches: Output) -> Json:
    """A pair and its deletions, as a witness stores them."""
    return {
        "family": pair.family,
        "one": list(pair.one),
        "other": list(pair.other),
        "batches": [list(batch) for batch in batches],
    }
