"""The result of running a claim: measured figures, each compared with a prediction.

    holds                      all figures are as predicted, including those of the paper's literal text
    holds with a correction    all of ours are; a literal one is not, and the correction says which and why
    does not hold              one of ours is not; or a correction has no failure, or a failure no correction

A random figure is shown with its 95% interval.  It fails only if chance would explain it once in a million
runs (`ALARM`), so that another seed does not give another verdict.  If a random figure must only exceed a
bound, the bound is far from its expected value.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from scipy.special import ndtri

from undeleted.auditing.confidence_bounds import at_least, at_most
from undeleted.foundations.types import Json, Output

ALARM = 1e-6
WIDE = float(-ndtri(ALARM / 2))  # standard deviations that chance exceeds once in a million runs
SHOWN = 0.05  # the probability outside an interval in the report

Value: TypeAlias = int | float | str
Conclusion: TypeAlias = Literal["holds", "holds with a correction", "does not hold"]
VERDICTS: tuple[Conclusion, ...] = ("holds", "holds with a correction", "does not hold")


@dataclass(frozen=True)
class Setting:
    """How much time a claim may take, and its seed."""

    quick: bool = False
    seed: int = 7

    def pick(self, quick: Output, full: Output) -> Output:
        """Return the quick or the full size."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Figure:
    """One measured value and its prediction.

    `literal` marks what the paper's text says word for word; if that fails, the claim needs a correction.
    """

    what: str
    measured: Value
    predicted: Value
    holds: bool
    uncertainty: str = "exact"
    literal: bool = False
    command: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart in Vega-Lite, or grey pixels as a PNG in base64; `alt` describes it in words."""

    caption: str
    alt: str
    chart: Mapping[str, Output] | None = None
    png: str = ""


@dataclass(frozen=True)
class ClaimResult:
    """The result of running a claim."""

    figures: tuple[Figure, ...]
    pictures: tuple[Picture, ...] = ()
    correction: str = ""
    note: str = ""
    table: tuple[Mapping[str, Output], ...] = field(default=())

    @property
    def verdict(self) -> Conclusion:
        if not self.figures or not all(f.holds for f in self.figures if not f.literal):
            return "does not hold"
        as_written = all(f.holds for f in self.figures)
        if as_written == bool(self.correction):
            return "does not hold"  # a correction without a failure, or a failure without a correction
        return "holds" if as_written else "holds with a correction"

    def as_json(self) -> Json:
        return {"verdict": self.verdict} | asdict(self)


def exactly(what: str, measured: Value, predicted: Value, command: str = "", **more: Output) -> Figure:
    """A figure that is not random."""
    return Figure(what, measured, predicted, measured == predicted, command=command, **more)


def none_above(what: str, measured: float, bound: float, command: str = "", **more: Output) -> Figure:
    """A figure that is not random and must not exceed a bound."""
    return Figure(what, measured, f"at most {short(bound)}", measured <= bound, command=command, **more)


def more_than(what: str, measured: float, bound: float, command: str = "", **more: Output) -> Figure:
    """A figure that is not random and must exceed a bound."""
    return Figure(what, measured, f"more than {short(bound)}", measured > bound, command=command, **more)


def share(what: str, hits: int, runs: int, predicted: float, command: str = "", **more: Output) -> Figure:
    """Hits among independent runs, with Clopper and Pearson's interval."""
    low, high = (at_least(hits, runs, SHOWN / 2), at_most(hits, runs, SHOWN / 2))
    holds = at_least(hits, runs, ALARM / 2) <= predicted <= at_most(hits, runs, ALARM / 2)
    shown = f"{short(low)} to {short(high)} (95%, {runs:,} runs)"
    return Figure(what, hits / runs, predicted, holds, shown, command=command, **more)


def about(
    what: str, measured: float, predicted: float, deviation: float, command: str = "", **more: Output
) -> Figure:
    """A random figure that is approximately normal, with its standard deviation."""
    holds = abs(measured - predicted) <= WIDE * deviation
    shown = f"± {short(-ndtri(SHOWN / 2) * deviation)} (95%)"
    return Figure(what, measured, predicted, holds, shown, command=command, **more)


def short(value: Value) -> str:
    """A figure as readable text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return f"{value:,}" if isinstance(value, int) else value
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
