"""Every claim holds as it stands, and is reported as failing when what it speaks of is broken on purpose.

A newcomer in `claims/` must have an entry in `BREAKS`: how to break what it is about.

Covers: paper/claims/*.py, paper/claim.py
"""

import numpy as np
import pytest

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import bulletin_board, frozen_median
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.foundations import registry
from undeleted.games.arrivals import GrowingTable
from undeleted.games.attacks import fourier, kmeans_line, median_walk
from undeleted.games.baselines import (
    ignore,
    recompute,
    retrain,
    threshold,
    tree_counter,
    xor_pad,
    xor_undeleted,
)
from undeleted.games.dynamic import Leakage
from undeleted.games.reconstruction import tasks
from undeleted.interfaces.report.reproduction import CRASHED, claims, file_of, run
from undeleted.paper.claim import ClaimResult, Figure, Setting, about, exactly, share
from undeleted.paper.survey_table import survey

QUICK = Setting(quick=True, seed=7)


def forgets_twice(patch):
    """Every linear mechanism subtracts what left twice."""
    once = Linear.forget
    patch.setattr(Linear, "forget", lambda self, release, gone: once(self, once(self, release, gone), gone))


def forgets_nobody(patch):
    patch.setattr(Linear, "forget", lambda self, release, gone: release)


def redraws(patch):
    """The adapter publishes afresh, from the data, after every deletion."""
    from undeleted.games.release_once import ReleaseOnce

    start = ReleaseOnce.start

    def remember(self, data, coins):
        self.left, self.coins = list(data), coins
        return start(self, data, coins)

    def again(self, points):
        for point in points:
            self.left.remove(point)
        return self.mechanism.release(Arrays(self.schema.table(self.left)), self.coins)

    patch.setattr(ReleaseOnce, "start", remember)
    patch.setattr(ReleaseOnce, "delete", again)


def keeps_everybody(patch):
    """A curator that retrains forgets to take people out."""
    patch.setattr(retrain, "without", lambda left, points: left)


def twice_the_noise(patch):
    error = fourier.error
    patch.setattr(fourier, "error", lambda *arguments: 2 * error(*arguments))


def half_of_the_answers(patch):
    look = tasks.BatchQueries.look
    patch.setattr(tasks.BatchQueries, "look", lambda self: look(self) / 2)


def count_modulo_two(patch):
    def look(self):
        self.releases += 1
        return int(np.count_nonzero(self._mod % 2))

    patch.setattr(tasks.CountMod, "look", look)


def with_the_first_noise(patch):
    """What is recomputed is subtracted instead."""
    release = recompute.Recompute._release

    def once(self, left):
        if self._made == 0:
            self.first, self.all = release(self, left), sum(left)
        return Cells(self.first.value - self.all + sum(left))

    patch.setattr(recompute.Recompute, "_release", once)


def redraws_where_it_is_quick(patch):
    """Two cells: the noise makes many worlds."""
    redraws(patch)
    few = {"definitions": ("undeleted-non-adaptive",), "on": ("noisy-sum", "exact-sum")}
    patch.setattr("undeleted.paper.claims.survey.table", lambda: survey(**few))


BREAKS = {
    "P1": keeps_everybody,
    "P2": lambda patch: patch.setattr(median_walk, "in_order", lambda above, below, strategy: above[:1]),
    "P3": lambda patch: patch.setattr(threshold.Threshold, "delete", lambda self, points: ()),
    "P4": count_modulo_two,
    "P5": lambda patch: patch.setattr(tasks, "round_half_up", lambda a, b: a // b),
    "P6": half_of_the_answers,
    "P7": lambda patch: patch.setattr(xor_undeleted.XorUndeleted, "delete", xor_pad.XorPad.delete),
    "P8": lambda patch: patch.setattr(kmeans_line, "total_of", lambda states, blur=0.0: None),
    "P9": twice_the_noise,
    "D1": keeps_everybody,
    "D2": redraws,
    "D3": redraws,
    "D4": lambda patch: patch.setattr(Leakage, "draw", lambda self, data, algorithm, coins: None),
    "D5": redraws,
    "M1": forgets_twice,
    "M2": lambda patch: patch.setattr(
        bulletin_board.BulletinBoard, "forget", lambda self, release, gone: release[1:]
    ),
    "M3": forgets_nobody,
    "M4": lambda patch: patch.setattr(
        frozen_median.FrozenMedian, "release", lambda self, totals, coins: frozen_median.Frozen(0)
    ),
    "M5": forgets_twice,
    "M6": forgets_nobody,
    "M7": forgets_twice,
    "M8": lambda patch: patch.setattr(
        ignore.Ignore, "delete", lambda self, points: Cells(self._first.value - 1)
    ),
    "M9": lambda patch: patch.setattr(tree_counter, "add_noise", lambda statistic, laws, exact, coins: exact),
    "M10": keeps_everybody,
    "M11": with_the_first_noise,
    "G4": lambda patch: patch.setattr(GrowingTable, "_leave", lambda self, person: self._draw_again()),
    "survey": redraws_where_it_is_quick,
}


def test_every_claim_has_a_break():
    assert set(BREAKS) == set(claims())
    assert len(claims()) == 9 + 5 + 11 + 1 + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", claims())
def test_a_report_says_so_when_a_claim_is_broken(name, monkeypatch):
    """That all of them hold as they stand is shown in `tests/interfaces/report/test_reproduction_page.py`."""
    BREAKS[name](monkeypatch)
    broken = run(name, QUICK)
    assert broken.verdict == "does not hold"
    if name == "survey":  # a part of it: that it is a part is no break
        assert broken.figures[1].measured != "none"
    assert broken.figures[0].what != CRASHED, "a figure must notice, not a traceback"


@pytest.mark.parametrize("name", ["P2", "P3", "D1", "D4", "M4", "M6"])
def test_a_broken_claim_is_reported(name, monkeypatch):
    """The quick ones of the above, for every run of the tests."""
    assert run(name, QUICK).verdict == "holds"
    BREAKS[name](monkeypatch)
    assert run(name, QUICK).verdict == "does not hold"


@pytest.mark.parametrize("name", claims())
def test_a_claim_says_what_the_paper_says_and_where(name):
    for constant in ("SAYS", "WHERE"):
        assert registry.constant("undeleted.paper.claims", file_of(name), constant)
    assert registry.summary("undeleted.paper.claims", file_of(name)).endswith(".")


def test_verdicts_follow_from_the_figures():
    good, bad = (Figure("a", 1, 1, holds) for holds in (True, False))
    literal = Figure("a", 1, 2, False, literal=True)
    assert ClaimResult((good,)).verdict == "holds"
    assert ClaimResult((good, literal), correction="it is 1").verdict == "holds with a correction"
    assert ClaimResult((good, literal)).verdict == "does not hold", "a failure that nobody corrects"
    assert ClaimResult((good,), correction="it is 1").verdict == "does not hold", "a correction of nothing"
    assert ClaimResult((good, literal, bad), correction="it is 1").verdict == "does not hold"
    assert ClaimResult((good, bad)).verdict == "does not hold"
    assert ClaimResult(()).verdict == "does not hold", "nothing measured, nothing shown"


def test_what_stops_a_claim_is_a_figure_that_does_not_hold(monkeypatch):
    def stop(*_, **__):
        raise AssertionError("7 wrong exceeds the bound 3")

    monkeypatch.setattr("undeleted.games.attacks.threshold.run", stop)
    found = run("P3", QUICK)
    assert found.verdict == "does not hold"
    assert "7 wrong exceeds" in found.figures[0].measured


def test_chance_is_judged_at_the_stated_rate():
    assert share("x", 500, 1000, 0.5).holds
    assert not share("x", 600, 1000, 0.5).holds
    assert share("x", 0, 300, 0.0).holds
    assert share("x", 300, 300, 1.0).holds
    assert about("x", 1.0, 1.0 + 4.8, 1.0).holds
    assert not about("x", 1.0, 1.0 + 5.0, 1.0).holds
    assert exactly("x", 1, 1).holds
    assert not exactly("x", 1, 2).holds
