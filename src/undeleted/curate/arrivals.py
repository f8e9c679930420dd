"""Running totals of people who join in batches, tick by tick, at one budget per person; and leave any time.

    tick      a row is published, whether anybody came or not
    forget    Y_r ← Y_r − F_{r−c} s(z)      for somebody who joined at tick c, in every published row r ≥ c
    total     decoded from the rows; the rows are all that is published, and all that is kept

There are two kinds of rows.  `factorization` (SquareRoot): the total's noise hardly grows with the number of
ticks; a row to come needs the exact totals of all batches of those who remain.  `cohorts`: a row is its own
batch with its own noise; the total's noise grows as the root of the number of ticks, and nothing of a batch
is needed after its tick.

After somebody has left, the rows are those of a table without them, with the same noise; rows to
come are built from those who remain.  Somebody who leaves before their tick closes was never in it.

A correction is made by somebody who stays.  Published at once it would reveal their old record, so the
difference enters the next batch, under its noise: with at most m corrections, a person moves the rows
(1 + 2m) times as far.

Who is who is not known here: the caller sees to it that a person is in one batch, and makes at most m
corrections.  Whatever a person adds beyond that, the noise was not made for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear, add_noise
from undeleted.curate.releases.publishable import Answers
from undeleted.curate.statistics import Contribution
from undeleted.curate.statistics import merged as merge
from undeleted.errors import BadBudget, BadSetting, TooLarge
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import Coins, DiscreteGaussian, DiscreteLaplace, Law
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget, Reach, Zcdp, calibrate
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.privacy.square_root import BITS, SquareRoot
from undeleted.foundations.schema import Leaving, Table
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.types import Given

MOST = 2**62  # rows and their noise stay inside 64 bits


@dataclass(frozen=True, eq=False)
class Rows:
    """What was published until now: a row of noisy cells for every closed tick."""

    value: IntArray

    @property
    def ticks(self) -> int:
        """How many ticks have closed."""
        return len(self.value)


@dataclass(frozen=True)
class Arrivals:
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

    mechanism: Linear
    horizon: int
    noise: Literal["factorization", "cohorts"] = "factorization"
    max_corrections: int = 0
    bits: int = BITS  # of the factorization's coefficients

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Linear):
            problem = f"{type(self.mechanism).__name__} is not a total: new people cannot be added to it."
            raise BadSetting(problem, "Publish counts, sums, means, variances, histograms or products.")
        if FIRST in self.mechanism.columns:
            problem = "a first row in every batch would count a person in several batches several times."
            raise BadSetting(problem, "Count rows, with one row per person.")
        if self.noise not in ("factorization", "cohorts"):
            raise BadSetting(f"noise = {self.noise!r} does not exist.", "Choose factorization or cohorts.")
        if isinstance(self.max_corrections, bool) or self.max_corrections < 0:
            raise BadSetting(f"max_corrections = {self.max_corrections!r} is below 0.", "Choose at least 0.")
        _ = self.factors, self.laws

    @cached_property
    def factors(self) -> SquareRoot:
        return SquareRoot(self.horizon, self.bits)

    @cached_property
    def coefficients(self) -> IntArray:
        """By how much a batch moves its own row, and each that follows."""
        if self.noise == "factorization":
            return self.factors.coefficients
        return np.concatenate([[1], np.zeros(self.horizon - 1, dtype=np.int64)])

    @cached_property
    def norm(self) -> float:
        """How far a batch moves all rows together, in L2."""
        return self.factors.norm if self.noise == "factorization" else 1.0

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every block of a row; the same in every row.

        With the factorization rows compose adaptively in zCDP.  Cohorts are of different people, so each has
        the whole budget; somebody who corrects is in several, by (1 + 2m) Δ in all.
        """
        budget, statistic = self.mechanism.budget, self.mechanism.statistic
        rows = self.mechanism.rows_that_count * (1 + 2 * self.max_corrections)
        if not isinstance(budget, Budget | Zcdp):
            return self.mechanism.laws  # laws for exact worlds
        if self.noise == "cohorts" and isinstance(budget, Budget) and budget.delta == 0:
            return calibrate([statistic.sensitivity], budget, rows=rows)[0]
        if isinstance(budget, Budget) and budget.delta == 0:
            rule = 'with a δ, such as Budget(1.0, 1e-6): without one, choose noise = "cohorts"'
            raise BadBudget("budget", budget, rule)
        rho = budget if isinstance(budget, Zcdp) else Zcdp(rho_for(budget))
        reaches = [
            Reach(r.l1, r.l2 * self.norm, r.cells, r.weight) for r in self.mechanism.statistic.sensitivity
        ]
        return calibrate([reaches], rho, rows=rows)[0]

    @property
    def rho(self) -> float:
        """What all ticks together cost a person, from the integers that are used."""
        rows = self.mechanism.rows_that_count * (1 + 2 * self.max_corrections)
        return math.fsum(
            (rows * reach.l2 * self.norm / law.sigma) ** 2 / 2
            if isinstance(law, DiscreteGaussian)
            else math.inf
            for reach, law in zip(self.mechanism.statistic.sensitivity, self.laws, strict=True)
        )

    def start(self) -> Rows:
        """Nothing is published before the first tick closes."""
        return Rows(np.zeros((0, self.mechanism.statistic.size), dtype=np.int64))

    def batch(self, arrivals: Table | None, corrections: Sequence[tuple[Leaving, Leaving]] = ()) -> IntArray:
        """The exact total of a batch: who joined, and what was corrected from an old record to a new one."""
        total = np.zeros(self.mechanism.statistic.size, dtype=np.int64)
        for table in (arrivals, *(record for pair in corrections for record in pair)):
            if isinstance(table, Table) and table.schema.rows_per_person > self.mechanism.rows_per_person:
                rule = f"at least the {table.schema.rows_per_person} rows per person that the table allows"
                raise BadBudget("rows_per_person", self.mechanism.rows_per_person, rule)
        if arrivals is not None and arrivals.rows:
            self.mechanism.contribution(arrivals).add_to(total)
        for old, new in corrections:
            self.difference(old, new).add_to(total)
        return total

    def difference(self, old: Leaving, new: Leaving) -> Contribution:
        """What a correction adds to the next batch; forgetting it needs the tick of that batch."""
        if not self.max_corrections:
            problem = "corrections were not foreseen, and the noise was not made for them."
            raise BadSetting(problem, "Set max_corrections before the first tick.")
        before, after = (list(self.mechanism.contribution(record).pairs()) for record in (old, new))
        cells = np.array([cell for cell, _ in (*before, *after)], dtype=np.int64)
        values = np.array([*(-v for _, v in before), *(v for _, v in after)], dtype=np.int64)
        return merge(cells, values)

    def tick(self, release: Rows, batches: Sequence[IntArray], coins: Coins) -> Rows:
        """Close a tick: publish one more row, from the exact totals of the batches of those who remain.

        `batches` has one total for every tick so far, this one included; cohorts use the last alone.
        """
        at = release.ticks
        if at >= self.horizon:
            problem = f"all {self.horizon:,} ticks have closed: the noise was made for so many."
            remedy = "Keep these rows, from which people may still leave, and start new ones for new people."
            raise BadSetting(problem, remedy)
        needed = at + 1 if self.noise == "factorization" else 1
        if len(batches) < needed:
            raise BadSetting(f"tick {at} needs the totals of {needed} batches.", "Give one for every tick.")
        used = [np.asarray(batch, dtype=np.int64) for batch in batches[-needed:]]
        if sum(float(np.abs(batch).max(initial=0)) for batch in used) * 2.0**self.factors.bits > MOST:
            raise TooLarge("a row", None, MOST, "Choose narrower bounds or a coarser step.")
        exact = sum(f * batch for f, batch in zip(self.coefficients[:needed], used[::-1], strict=True))
        row = add_noise(self.mechanism.statistic, self.laws, np.asarray(exact), coins)
        return Rows(np.vstack([release.value, row]))

    def forget(self, release: Rows, contribution: Contribution, *, joined: int) -> Rows:
        """The rows without somebody who joined at this tick; it cannot access the data.

        In a tick that has not closed, nobody is in any row.
        """
        rows = np.array(release.value)
        moved = self.coefficients[: max(0, release.ticks - joined)]
        for cell, value in contribution.pairs():
            rows[joined:, cell] -= moved * value
        return Rows(rows)

    def total(self, release: Rows, tick: int | None = None) -> FloatArray:
        """The running totals at the end of a tick (the last by default), of those who remain."""
        at = self._tick(release, tick)
        if self.noise == "factorization":
            return self.factors.decode(release.value, at)
        summed: FloatArray = release.value[: at + 1].sum(axis=0).astype(float)
        return summed

    def error(self, tick: int) -> float:
        """The standard deviation of a total at a tick, in units of one release with the same budget."""
        return self.factors.error(tick) if self.noise == "factorization" else math.sqrt(tick + 1)

    def answers(
        self,
        release: Rows,
        asked: Mapping[str, Given] | None = None,
        confidence: float = 0.95,
        tick: int | None = None,
    ) -> Answers:
        """The mechanism's answers from the running totals, with intervals for their noise."""
        at = self._tick(release, tick)
        laws = tuple(self._in_all(law, at, confidence) for law in self.laws)
        cells = Cells(np.rint(self.total(release, at)).astype(np.int64))
        yield from self.mechanism.with_laws(laws).answers(cells, asked or {}, confidence)

    def _in_all(self, law: Law, tick: int, confidence: float) -> Law:
        """A law that is at least as wide, at this confidence, as the noise of a total and its rounding.

        Sums of Laplace noise lie between a Laplace and a normal law of the same variance.
        """
        if self.noise == "cohorts" and tick == 0:
            return law
        weights = self.factors.weights[: tick + 1] if self.noise == "factorization" else np.ones(tick + 1)
        spread = math.sqrt(standard_deviation(law) ** 2 * float((weights**2).sum()) + 1 / 12)
        tail = -math.log(1 - confidence) / math.sqrt(2)
        if isinstance(law, DiscreteLaplace) and tail > NormalDist().inv_cdf((1 + confidence) / 2):
            return DiscreteLaplace(spread / math.sqrt(2))
        return DiscreteGaussian(spread)

    def _tick(self, release: Rows, tick: int | None) -> int:
        if not release.ticks:
            raise BadSetting("no tick has closed yet.", "Nothing is published before the first does.")
        at = release.ticks - 1 if tick is None else tick
        if not 0 <= at < release.ticks:
            raise BadSetting(f"tick {at} has not closed.", f"Choose from 0 to {release.ticks - 1}.")
        return at
