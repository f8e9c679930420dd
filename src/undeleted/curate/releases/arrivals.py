"""Running totals of people who join in batches, tick by tick, at one budget per person; and leave any time.

    tick      a row is published, whether anybody came or not
    forget    Y_r ← Y_r − A_rc s(z)      for somebody who joined at tick c, in every published row r ≥ c
    total     decoded from the rows; the rows are all that is published, and all that is kept

How batches enter rows (A) is one of three: `factorization` (SquareRoot), `cohorts`, `tree` (BinaryTree).  A
row to come needs the exact totals of earlier batches, except with cohorts.

After somebody has left, the rows are those of a table without them, with the same noise; rows to
come are built from those who remain.  Somebody who leaves before their tick closes was never in it.

A correction is made by somebody who stays.  Published at once it would reveal their old record, so the
difference enters the next batch, under its noise: with at most m corrections, a person moves the rows
(1 + 2m) times as far.

Structures that grew where people are keep the shape of the first release (`FirstApart`): newcomers are
counted into it, and corrections and hidden leavers are not possible.

With hidden leavers (`leavers` is a budget) the rows never change.  Those who left enter rows of their own,
with noise of their own, at the next tick; the total is the difference.  Rows to come need the leavers too.

Who is who is not known here: the caller sees to it that a person is in one batch, and makes at most m
corrections.  Whatever a person adds beyond that, the noise was not made for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.linear import Linear, require_rows
from undeleted.curate.releases.publishable import Answers, Foreseen, Publishable
from undeleted.curate.releases.publishable import Rows as ListedRows
from undeleted.curate.releases.subtracting import PendingChanges, Shape, Subtracting
from undeleted.curate.statistics import Contribution, Declared, Statistic
from undeleted.curate.statistics import merged as merge
from undeleted.errors import BadBudget, BadQuestion, BadSetting, TooLarge
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import Coins, DiscreteGaussian, DiscreteLaplace, Law
from undeleted.foundations.intervals import Estimate, check_confidence, standard_deviation
from undeleted.foundations.privacy import Budget, Event, Noise, Reach, Zcdp, as_noise, calibrate
from undeleted.foundations.privacy.binary_tree import BinaryTree
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.privacy.cohorts import Cohorts
from undeleted.foundations.privacy.first_apart import FirstApart
from undeleted.foundations.privacy.running_totals import RunningTotals
from undeleted.foundations.privacy.square_root import BITS, SquareRoot
from undeleted.foundations.schema import Column, Leaving, Table
from undeleted.foundations.types import Given, Json

RowNoise: TypeAlias = Literal["auto", "factorization", "cohorts", "tree"]  # how batches enter rows
MOST = 2**62  # rows and their noise stay inside 64 bits


@dataclass(frozen=True, eq=False)
class Withdrawal:
    """What a deletion subtracts: row `first + i` loses series_i times the contribution."""

    first: int
    series: IntArray
    contribution: Contribution


@dataclass(frozen=True, eq=False)
class Rows:
    """What was published until now: a row of noisy cells for every closed tick.

    With hidden leavers a row has twice as many cells: those of arrivals, then those of departures.
    """

    value: IntArray
    shape: Shape = ()  # of a structure that grew: what its cells are

    @property
    def ticks(self) -> int:
        """How many ticks have closed."""
        return len(self.value)

    def less(self, moved: Withdrawal) -> "Rows":
        """The rows minus what moved; these rows do not change."""
        rows = np.array(self.value)
        for cell, value in moved.contribution.pairs():
            rows[moved.first : moved.first + moved.series.size, cell] -= moved.series * value
        return Rows(rows, self.shape)


@dataclass(frozen=True)
class Arrivals(Publishable, Declared):
    """A mechanism over a table that grows; its budget pays for all ticks together.

    >>> from undeleted.curate.mechanisms import NoisyCount
    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.foundations.schema import Number, Schema
    >>> people = Schema([Number("age", min=0, max=120)])
    >>> running = Arrivals(NoisyCount(Budget(1.0, 1e-6)), horizon=365)
    >>> monday, tuesday = people.table([30] * 40), people.table([50] * 25)
    >>> rows = running.tick(running.start(), [running.batch(monday)], seeded(1))
    >>> rows = running.tick(rows, [running.batch(monday), running.batch(tuesday)], seeded(2))
    >>> one = running.mechanism.contribution(people.table([30]))
    >>> left = running.forget(rows, one, joined=0)
    >>> [float((running.total(left, t) - running.total(rows, t))[0].round(6)) for t in range(2)]
    [-1.0, -1.0]
    """

    mechanism: Subtracting
    horizon: int
    noise: RowNoise = "auto"
    max_corrections: int = 0
    leavers: Noise | None = None  # the budget of departures, if leavers are hidden
    bits: int = BITS  # of the factorization's coefficients

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Subtracting):
            named: Given = self.mechanism
            kind = getattr(named, "kind", type(named).__name__)
            problem = f"{kind!r} is not a total: new people cannot be added to it."
            raise BadSetting(problem, "Publish counts, sums, means, variances, histograms or products.")
        if self.noise not in ("auto", "factorization", "cohorts", "tree"):
            remedy = "Choose auto, factorization, cohorts or tree."
            raise BadSetting(f"noise = {self.noise!r} does not exist.", remedy)
        whole = isinstance(self.max_corrections, int) and not isinstance(self.max_corrections, bool)
        if not whole or self.max_corrections < 0:
            problem = f"max_corrections = {self.max_corrections!r} is not a number of corrections."
            raise BadSetting(problem, "Choose a whole number, at least 0.")
        if self.leavers is not None:
            object.__setattr__(self, "leavers", as_noise(self.leavers))
        if self.grew and (self.max_corrections or self.leavers is not None):
            what = "corrections" if self.max_corrections else "hidden leavers"
            problem = f"{self.mechanism.kind!r} keeps the shape of the first release, without {what}."
            raise BadSetting(problem, "Publish it in a store of its own, or leave that out.")
        if self.grew and isinstance(self.budget, Budget) and self.budget.delta > 0:
            given: Given = self.mechanism  # rows compose adaptively, in zCDP
            object.__setattr__(self, "mechanism", replace(given, budget=Zcdp(rho_for(self.budget))))
        _ = self.factors, self.laws, self.departure_laws

    # -- noise

    @property
    def budget(self) -> Noise:
        """What all ticks together may cost a person."""
        mechanism: Given = self.mechanism
        budget: Noise = mechanism.budget
        return budget

    @property
    def grew(self) -> bool:
        """Whether the cells are those of a structure that grew where the first people are."""
        return not isinstance(self.mechanism, Linear)

    @cached_property
    def factors(self) -> RunningTotals:
        """How batches enter rows; by default what gives the smallest error at its widest tick."""
        if not self.grew:
            return self._ways(self.horizon)
        return FirstApart(self.horizon, self._ways(max(1, self.horizon - 1)))

    def _ways(self, horizon: int) -> RunningTotals:
        match self.noise:
            case "factorization":
                return SquareRoot(horizon, self.bits)
            case "cohorts":
                return Cohorts(horizon)
            case "tree":
                return BinaryTree(horizon)
        if not _is_pure(self.budget):
            return SquareRoot(horizon, self.bits)
        pure: list[RunningTotals] = [Cohorts(horizon), BinaryTree(horizon)]
        return min(pure, key=lambda kind: kind.l1 * kind.spread(kind.widest))

    @property
    def times_as_far(self) -> int:
        """How much further a person with all their corrections moves the rows."""
        return 1 + 2 * self.max_corrections

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every block of a row; the same in every row.

        With Gaussian noise rows compose adaptively in zCDP, in L2; with Laplace noise in L1.
        """
        if isinstance(self.mechanism, Linear):
            return self._calibrated(self.mechanism, self.budget, self.times_as_far)
        self._require_ways(self.budget)
        far = self.factors.l1 if _is_pure(self.budget) else self.factors.norm
        return tuple(_times(law, far) for law in self.mechanism.laws)

    @cached_property
    def departure_laws(self) -> tuple[Law, ...]:
        """The same of departures: a person departs once, with the record they have then."""
        if self.leavers is None or not isinstance(self.mechanism, Linear):
            return ()
        return self._calibrated(self.mechanism, self.leavers, 1)

    def _require_ways(self, budget: Noise) -> None:
        """Refuse pure ε with the factorization, whose rows compose in zCDP."""
        if _is_pure(budget) and isinstance(getattr(self.factors, "others", self.factors), SquareRoot):
            remedy = 'Give the budget a δ, such as 1e-6; or choose noise = "cohorts" or "tree".'
            raise BadSetting('noise = "factorization" needs a budget with a δ.', remedy)

    def _calibrated(self, mechanism: Linear, budget: Noise, times: int) -> tuple[Law, ...]:
        statistic, rows = mechanism.statistic, mechanism.rows_that_count * times
        if not isinstance(budget, Budget | Zcdp):
            return mechanism.with_laws(_as_laws(budget, len(statistic.blocks))).laws
        self._require_ways(budget)
        if isinstance(budget, Budget) and budget.delta == 0:
            pure = [Reach(r.l1 * self.factors.l1, r.l2, r.cells, r.weight) for r in statistic.sensitivity]
            return calibrate([pure], budget, rows=rows)[0]
        rho = budget if isinstance(budget, Zcdp) else Zcdp(rho_for(budget))
        far = [Reach(r.l1, r.l2 * self.factors.norm, r.cells, r.weight) for r in statistic.sensitivity]
        return calibrate([far], rho, rows=rows)[0]

    @cached_property
    def events(self) -> list[Event] | None:
        """What all ticks together cost a person, from the integers that are used."""
        return self._events(self.laws, self.times_as_far)

    @cached_property
    def departure_events(self) -> list[Event] | None:
        """What being among the leavers costs: what hides that somebody left."""
        return self._events(self.departure_laws, 1) if self.leavers is not None else []

    def _events(self, laws: Sequence[Law], times: int) -> list[Event] | None:
        events = []
        for reach, law in zip(self.mechanism.sensitivity, laws, strict=True):
            if isinstance(law, DiscreteLaplace):
                shift: float = reach.l1 * self.factors.l1 * times
            elif isinstance(law, DiscreteGaussian):
                shift = reach.l2 * self.factors.norm * times
            else:
                return None
            cells = reach.cells * self.factors.entered * times
            events.append(Event(law, shift, self.mechanism.rows_that_count, cells=cells))
        return events

    @property
    def rho(self) -> float:
        """The same in zCDP."""
        return math.inf if self.events is None else math.fsum(event.rho for event in self.events)

    # -- rows

    @property
    def statistic(self) -> Statistic:
        """What is summed; a structure that grew may have none."""
        mechanism: Given = self.mechanism
        statistic: Statistic = mechanism.statistic
        return statistic

    def cells(self, shape: Shape) -> int:
        """How many cells a total has."""
        return sum(width for width, _ in self.mechanism.noised_parts(shape))

    def width(self, shape: Shape) -> int:
        """How many cells a row has."""
        return self.cells(shape) * (1 if self.leavers is None else 2)

    def release(self, totals: Totals, coins: Coins) -> Rows:
        """The first tick: everybody who is there joins in it."""
        require_rows(totals, self.mechanism.rows_per_person)
        if isinstance(self.mechanism, Linear):
            return self.tick(self.start(), [totals.total(self.statistic)], coins)
        mechanism: Given = self.mechanism
        first = mechanism.release(totals, coins)
        return Rows(first.value[None, :], first.shape)

    def published_of(self, shape: Shape, answers: Sequence[IntArray]) -> IntArray:
        """The exact total of the first batch."""
        return self.mechanism.published_of(shape, answers)

    def shape_of(self, arrays: Shape) -> Shape:
        """A shape from its stored arrays."""
        return self.mechanism.shape_of(arrays)

    def start(self) -> Rows:
        """Nothing is published before the first tick closes."""
        return Rows(np.zeros((0, self.width(())), dtype=np.int64))

    def added(self, shape: Shape, records: Leaving) -> Contribution:
        """What records add to a total."""
        mechanism: Given = self.mechanism
        gone: Contribution = mechanism.moves(shape, mechanism.contribution(records))
        return gone

    def batch(self, arrivals: Table | None, corrections: Sequence[tuple[Leaving, Leaving]] = ()) -> IntArray:
        """The exact total of a batch: who joined, and what was corrected from an old record to a new one."""
        total = np.zeros(self.cells(()), dtype=np.int64)
        for table in (arrivals, *(record for pair in corrections for record in pair)):
            if isinstance(table, Table) and table.schema.rows_per_person > self.mechanism.rows_per_person:
                rule = f"at least the {table.schema.rows_per_person} rows per person that the table allows"
                raise BadBudget("rows_per_person", self.mechanism.rows_per_person, rule)
        if arrivals is not None and arrivals.rows:
            self.added((), arrivals).add_to(total)
        for old, new in corrections:
            self.difference(old, new).add_to(total)
        return total

    def difference(self, old: Leaving, new: Leaving) -> Contribution:
        """What a correction adds to the next batch; forgetting it needs the tick of that batch."""
        if not self.max_corrections:
            problem = "corrections were not foreseen, and the noise was not made for them."
            raise BadSetting(problem, "Set max_corrections before the first tick.")
        before, after = (list(self.added((), record).pairs()) for record in (old, new))
        cells = np.array([cell for cell, _ in (*before, *after)], dtype=np.int64)
        values = np.array([*(-v for _, v in before), *(v for _, v in after)], dtype=np.int64)
        return merge(cells, values)

    def tick(
        self,
        release: Rows,
        batches: Sequence[IntArray],
        coins: Coins,
        departed: Sequence[IntArray] = (),
    ) -> Rows:
        """Close a tick: publish one more row, from the exact totals of the batches of those who remain.

        `batches` has one total for every tick so far, this one included; cohorts use the last alone.  If
        leavers are hidden they remain in these totals, and `departed` has those of who left, by tick.
        """
        at = release.ticks
        self.require_open(at)
        needed = 1 if isinstance(self.factors, Cohorts) else at + 1
        if len(batches) < needed:
            raise BadSetting(f"tick {at} needs the totals of {needed} batches.", "Give one for every tick.")
        given = dict(enumerate(batches[-needed:], start=at + 1 - needed))
        left = dict(enumerate(departed))
        row = self.noisy(self.exact(at, given, left, release.shape), coins, at, release.shape)
        return Rows(np.vstack([release.value, row]), release.shape)

    def require_open(self, tick: int) -> None:
        """Refuse a tick after the horizon: the noise was made for no more."""
        if tick >= self.horizon:
            problem = f"all {self.horizon:,} ticks have closed: the noise was made for so many."
            remedy = "Keep these rows, from which people may still leave, and start new ones for new people."
            raise BadSetting(problem, remedy)

    def exact(
        self,
        tick: int,
        joined: Mapping[int, IntArray],
        departed: Mapping[int, IntArray] | None = None,
        shape: Shape = (),
    ) -> IntArray:
        """The exact row of a tick, from the totals of the batches that count in it, by their ticks."""
        parts = [joined] if self.leavers is None else [joined, departed or {}]
        moves, row = self.factors.row(tick), np.zeros(self.width(shape), dtype=np.int64)
        cells = self.cells(shape)
        for part, batches in enumerate(parts):
            used = [at for at in batches if moves[at]]
            if used:
                totals = np.array([batches[at] for at in used], dtype=np.int64)
                self.require_room(float(np.abs(totals).max(axis=1).astype(float) @ moves[used]))
                row[part * cells :][:cells] = moves[used] @ totals
        return row

    def require_room(self, most: float) -> None:
        """Refuse rows that might overflow 64-bit integers."""
        if most > MOST:
            raise TooLarge("a row", None, MOST, "Choose narrower bounds or a coarser step.")

    def noisy(self, exact: IntArray, coins: Coins, tick: int = 1, shape: Shape = ()) -> IntArray:
        """A row with its noise: that of the first release of a structure that grew is its own."""
        laws = [self.mechanism.laws if self.grew and tick == 0 else self.laws]
        laws += [] if self.leavers is None else [self.departure_laws]
        parts = self.mechanism.noised_parts(shape)
        ends = np.cumsum([width for width, _ in parts])[:-1]
        return np.concatenate(
            [
                coins.noisy(law[number], cells)
                for law, half in zip(laws, np.split(exact, len(laws)), strict=True)
                for (_, number), cells in zip(parts, np.split(half, ends), strict=True)
            ]
        )

    def forget(self, release: Given, contribution: Given, *, joined: int, until: int | None = None) -> Given:
        """The rows without a record that counted from the tick `joined` on; it cannot access the data.

        A record that was corrected counted until the tick of the correction.  In a tick that has not closed,
        nobody is in any row.  Rows do not change if leavers are hidden.
        """
        pending = PendingChanges(release.shape)
        self.mechanism.forget(pending, contribution)  # what one release loses, every row loses times a factor
        series = self.series(release.ticks, joined, until)
        for gone in pending.gone:
            release = release.less(Withdrawal(joined, series, gone))
        return release

    def series(self, ticks: int, joined: int, until: int | None) -> IntArray:
        """How often a record counts in each published row, from the row of the tick `joined` on."""
        series = np.array(self.factors.column(joined, ticks))
        if until is not None and until < ticks:
            series[until - joined :] -= self.factors.column(until, ticks)
        return series if self.leavers is None else series[:0]

    # -- answers

    def total(self, release: Rows, tick: int | None = None) -> FloatArray:
        """The running totals at the end of a tick (the last by default), of those who remain."""
        decoded = self.factors.decode(release.value, self._tick(release, tick))
        if self.leavers is None:
            return decoded
        arrived, left = np.split(decoded, 2)
        difference: FloatArray = arrived - left
        return difference

    def error(self, tick: int) -> float:
        """The standard deviation of a total at a tick, in units of one release with the same budget.

        Without hidden leavers and corrections, whose noise comes on top.
        """
        pure = isinstance(self.laws[0], DiscreteLaplace)
        return (self.factors.l1 if pure else self.factors.norm) * self.factors.spread(tick)

    @property
    def kind(self) -> str:
        return self.mechanism.kind

    @property
    def steady(self) -> bool:  # type: ignore[override]
        return self.mechanism.steady

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.mechanism.columns

    @property
    def over(self) -> Given:
        """The columns that a model predicts from."""
        mechanism: Given = self.mechanism
        return mechanism.over

    @property
    def rows_per_person(self) -> int:
        return self.mechanism.rows_per_person

    @property
    def questions(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.mechanism.questions, "tick")

    def read(self, release: Rows, tick: int | None, confidence: float) -> tuple[Given, Given]:
        """The mechanism with the noise of a running total, and its release at the end of a tick."""
        check_confidence(confidence)
        at = self._tick(release, tick)
        cells = np.rint(self.total(release, at)).astype(np.int64)
        mechanism = self.mechanism.with_laws(self._laws_at(at, confidence))
        return mechanism, mechanism.shaped(release.shape, cells)

    def answers(self, release: Rows, asked: Mapping[str, Given], confidence: float) -> Answers:
        """The mechanism's answers from the running totals, with intervals for their noise.

        `tick` is a tick that has closed, a list of them, or "all" for every one.
        """
        asked = dict(asked)
        wanted = asked.pop("tick", None)
        if wanted is None:
            mechanism, cells = self.read(release, None, confidence)
            yield from mechanism.answers(cells, asked, confidence)
            return
        several = wanted if isinstance(wanted, list) else [wanted]
        for tick in range(release.ticks) if wanted == "all" else map(_number, several):
            mechanism, cells = self.read(release, tick, confidence)
            for label, answer in mechanism.answers(cells, asked, confidence):
                named: Json = ({"of": label} if label else {}) if isinstance(label, str) else dict(label)
                yield {"tick": tick, **named}, answer

    def estimate(self, release: Rows, confidence: float = 0.95) -> Estimate:
        mechanism, cells = self.read(release, None, confidence)
        answer: Estimate = mechanism.estimate(cells, confidence)
        return answer

    def predictions(self, release: Rows, codes: Given) -> ListedRows:
        mechanism, cells = self.read(release, None, 0.95)
        predicted: ListedRows = mechanism.predictions(cells, codes)
        return predicted

    def rows(self, release: Rows) -> ListedRows:
        """The published rows as they are, with their noise."""
        cells = self.cells(release.shape)
        halves = {"arrivals": 0, "departures": cells} if self.leavers is not None else {"": 0}
        return [
            {"tick": tick} | ({"of": name} if name else {}) | listed
            for tick, row in enumerate(release.value)
            for name, start in halves.items()
            for listed in self.mechanism.rows(
                self.mechanism.shaped(release.shape, row[start : start + cells])
            )
        ]

    def foreseen(self, rows: float) -> Foreseen:
        """The interval at the tick where it is widest: at the horizon, or with a tree before it."""
        tick = self.factors.widest
        one: Foreseen = self.mechanism.with_laws(self._laws_at(tick, 0.95)).foreseen(rows)
        return replace(one, of=f"{one.of}, after {tick + 1:,} ticks")

    def _laws_at(self, tick: int, confidence: float) -> tuple[Law, ...]:
        """Laws that are at least as wide, at this confidence, as the noise of the totals at a tick."""
        if isinstance(self.factors, FirstApart):
            later = self.factors.others.spread(tick - 1) if tick else 0.0
            pairs = zip(self.mechanism.laws, self.laws, strict=True)
            noises = [[(one, 1.0), (row, later)] if later else [(one, 1.0)] for one, row in pairs]
        else:
            times = self.factors.spread(tick)
            if self.leavers is None and times == 1 and self.factors.largest == 1:
                return self.laws
            halves = [self.laws] if self.leavers is None else [self.laws, self.departure_laws]
            noises = [[(law, times) for law in laws] for laws in zip(*halves, strict=True)]
        if self.grew and not tick:
            return self.mechanism.laws
        return tuple(_as_wide_as(several, confidence) for several in noises)

    def _tick(self, release: Rows, tick: int | None) -> int:
        if not release.ticks:
            raise BadSetting("no tick has closed yet.", "Nothing is published before the first does.")
        at = release.ticks - 1 if tick is None else tick
        if not 0 <= at < release.ticks:
            last = release.ticks - 1
            remedy = f"Choose from 0 to {last}." if last else "Only tick 0 has closed."
            raise BadQuestion(f"tick {at} has not closed.", remedy)
        return at


def summed(laws: Sequence[Law], batches: int, confidence: float = 0.95) -> tuple[Law, ...]:
    """Laws that are at least as wide as the sum of so many independent noises of these laws.

    >>> [round(law.sigma, 1) for law in summed([DiscreteGaussian(10.0)], 4)]
    [20.0]
    """
    if batches == 1 or not any(isinstance(law, DiscreteLaplace | DiscreteGaussian) for law in laws):
        return tuple(laws)
    return tuple(_as_wide_as([(law, math.sqrt(batches))], confidence) for law in laws)


def _as_wide_as(noises: Sequence[tuple[Law, float]], confidence: float) -> Law:
    """A law that is at least as wide, at this confidence, as a sum of noises of these laws, and its rounding.

    Each has so many times the standard deviation of its law.  Sums of Laplace noise lie between a Laplace and
    a normal law of the same variance.
    """
    squares = sum((standard_deviation(law) * times) ** 2 for law, times in noises)
    spread = math.sqrt(squares + 1 / 12)
    tail = -math.log(1 - confidence) / math.sqrt(2)
    heavy = any(isinstance(law, DiscreteLaplace) for law, _ in noises)
    if heavy and tail > NormalDist().inv_cdf((1 + confidence) / 2):
        return DiscreteLaplace(spread / math.sqrt(2))
    return DiscreteGaussian(spread)


def _is_pure(budget: Noise) -> bool:
    return isinstance(budget, Budget) and budget.delta == 0


def _times(law: Law, far: float) -> Law:
    """The law for a statistic that moves so many times as far; laws for exact worlds stay."""
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * far)
    return DiscreteGaussian(law.sigma * far) if isinstance(law, DiscreteGaussian) else law


def _as_laws(noise: Given, blocks: int) -> tuple[Law, ...]:
    """A law for every block."""
    return noise if isinstance(noise, tuple) else (noise,) * blocks


def _number(tick: Given) -> int:
    """A tick that was asked for."""
    try:
        return int(tick)
    except (TypeError, ValueError):
        raise BadQuestion(f"{tick!r} is not a tick.", 'Give its number, or "all".') from None
