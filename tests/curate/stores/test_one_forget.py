"""One forget: a stored deletion runs the mechanism's own `forget`, and a curator is the only writer.

Covers: curate/releases/subtracting.py, curate/releases/exact_totals.py
"""

import sys

import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import (
    BulletinBoard,
    ExactSum,
    FrozenMedian,
    Grouped,
    GrownBoxes,
    GrownRangeCounts,
    NoisyClassHistograms,
    NoisyClassMoments,
    NoisyCount,
    NoisyForest,
    NoisyHistogram,
    NoisyMarginals,
    NoisyMean,
    NoisyPairs,
    NoisyPeople,
    NoisyProducts,
    NoisyQuantiles,
    NoisySecondMoments,
    NoisySum,
    NoisyVariance,
    RangeCounts,
    Recipe,
)
from undeleted.curate.publishing import count, publish
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.statistics import Count
from undeleted.curate.stores import Fold, Store
from undeleted.errors import Misuse
from undeleted.foundations import registry
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema, Text
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.schema.first_row import FIRST
from undeleted.interfaces.cli import run

POSTGRES = pytest.param("postgres", marks=pytest.mark.services)
X, Y = Number("x", min=0, max=15), Number("y", min=0, max=3)
WIDE = Number("wide", min=0, max=2**32 - 1)
GRADE, SICK, FLAG = Category("grade", values=("a", "b")), Boolean("sick"), Boolean("flag")
NOTE = Text("note")
PEOPLE = Schema([X, Y, WIDE, GRADE, SICK, FLAG, NOTE, FIRST], id="id")
EPSILON = Budget(1.0)
PUBLISHED = {
    "bulletin-board": BulletinBoard(NOTE),
    "grouped": Grouped(NoisyMean(X, EPSILON), (GRADE, SICK), Condition("y > 0", (X, Y))),
    "grown-boxes": GrownBoxes((X, Y), EPSILON, clusters=2),
    "grown-range-counts": GrownRangeCounts(WIDE, EPSILON),
    "noisy-class-histograms": NoisyClassHistograms((SICK,), GRADE, EPSILON),
    "noisy-class-moments": NoisyClassMoments((X, Y), EPSILON, by=GRADE),
    "noisy-count": NoisyCount(EPSILON),
    "noisy-forest": NoisyForest((X, Y), EPSILON, by=GRADE, trees=2, depth=3),
    "noisy-histogram": NoisyHistogram((X, GRADE), EPSILON),
    "noisy-marginals": NoisyMarginals((X, GRADE, SICK), EPSILON, edges={"x": [5, 10]}),
    "noisy-mean": NoisyMean(X, EPSILON),
    "noisy-pairs": NoisyPairs((SICK, FLAG), EPSILON, at_most=2, threshold=-1000),
    "noisy-people": NoisyPeople(EPSILON),
    "noisy-products": NoisyProducts((X, Y), EPSILON),
    "noisy-quantiles": NoisyQuantiles((X, Y), EPSILON),
    "noisy-second-moments": NoisySecondMoments((X, Y), EPSILON, by=GRADE),
    "noisy-sum": NoisySum(X, EPSILON),
    "noisy-variance": NoisyVariance(Y, EPSILON),
    "range-counts": RangeCounts(X, EPSILON),
}
REFUSED = {"exact-sum", "frozen-median", "recipe"}  # no promise of privacy, or several releases in one
N = 40


def rows(people):
    return {
        "id": [f"p{i}" for i in range(people)],
        "x": [i % 16 for i in range(people)],
        "y": [i % 4 for i in range(people)],
        "wide": [i * 10**7 for i in range(people)],
        "grade": ["ab"[i % 2] for i in range(people)],
        "sick": [i % 2 for i in range(people)],
        "flag": [1] * people,
        "note": [f"note {i}" for i in range(people)],
    }


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    """A store with everything that can be published, in either kind of place."""
    where = str(tmp_path / "people.db")
    if request.param == "postgres":
        server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
        where = server.url(mark, tmp_path / "people.key")
    with Curator(PEOPLE, Budget(21.0), where) as curator, pytest.warns(UserWarning, match="next to nothing"):
        curator.publish(rows(N), PUBLISHED)
    return where


def test_every_mechanism_that_can_be_published_is_here():
    assert set(registry.names("undeleted.curate.mechanisms")) == PUBLISHED.keys() | REFUSED


@pytest.mark.parametrize(
    "mechanism", [ExactSum(X), FrozenMedian(X), Recipe((Count(),), EPSILON)], ids=lambda m: type(m).__name__
)
def test_the_others_are_refused_before_anything_is_read(mechanism):
    with pytest.raises(Misuse):
        Curator(PEOPLE, Budget(1.0)).publish(rows(N), {"it": mechanism})


def called_during(work):
    """The name of every method that is called, with the class of its object: `forget` is shared by many."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            found.add((type(frame.f_locals.get("self")), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("people", [1, 12], ids=["one", "a-list"])
def test_the_mechanisms_own_forget_is_on_the_path_of_a_deletion(place, people):
    called = called_during(lambda: run(["delete", *(f"p{i}" for i in range(people)), "--store", place]))
    for name, mechanism in PUBLISHED.items():
        assert (type(mechanism), "forget") in called, name
        assert (type(mechanism), "contribution") in called, name


class TornError(Exception):
    """What the planted forget raises."""


def _torn(self, release, contribution):
    raise TornError


@pytest.mark.parametrize("fold", [None, Fold(people=50, after=3600)], ids=["at-once", "held-back"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_with_a_forget_that_raises_every_deletion_fails(place, name, fold, monkeypatch):
    with Curator.open(place) as curator:
        before = {n: curator.show(n).release for n in PUBLISHED}
        with monkeypatch.context() as planted:
            planted.setattr(type(PUBLISHED[name]), "forget", _torn)
            for leavers in (["p1"], [f"p{i}" for i in range(12)]):
                with pytest.raises(TornError):
                    curator.delete(leavers, fold=fold)
        assert all(curator.show(n).release == before[n] for n in PUBLISHED)
        assert curator.check() == []
        assert curator.delete("p1").deleted == 1


GROWING = {name: mechanism for name, mechanism in PUBLISHED.items() if name != "bulletin-board"}


@pytest.fixture(params=["file", POSTGRES])
def growing_place(request, tmp_path):
    """The same in a store that grows, with people who waited, joined and were published."""
    where = str(tmp_path / "growing.db")
    if request.param == "postgres":
        server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
        where = server.url(f"{mark}_growing", tmp_path / "growing.key")
    schema = Schema([column for column in PEOPLE.columns if column != NOTE], id="id")
    with Curator(schema, Budget(21.0), where) as curator:
        with pytest.warns(UserWarning, match="next to nothing"):
            curator.publish(rows(N), {name: Arrivals(m, 9) for name, m in GROWING.items()})
        curator.add({name: column[N:] for name, column in rows(N + 5).items()})
        curator.tick()
    return where


def test_in_a_table_that_grows_the_inner_mechanism_forgets(growing_place, monkeypatch):
    """What a row loses is what `forget` of the mechanism inside takes from one release, times a factor."""
    leavers = ["p1", "p44"]  # of the first people, and of those who joined
    with Curator.open(growing_place) as curator:
        before = {name: curator.show(name).release.value for name in GROWING}
        for name, mechanism in GROWING.items():
            with monkeypatch.context() as planted:
                planted.setattr(type(mechanism), "forget", _torn)
                for leaver in leavers:
                    with pytest.raises(TornError):
                        curator.delete(leaver)
            assert (curator.show(name).release.value == before[name]).all(), name
        called = called_during(lambda: curator.delete(*leavers))
        assert {(type(m), "forget") for m in GROWING.values()} <= called
        assert curator.check() == []


@pytest.mark.parametrize("people", [1, 12], ids=["one", "a-list"])
def test_what_a_store_holds_after_a_deletion_is_what_forget_gives(place, people):
    """Release by release, in memory and in the store: for one in plain numbers, for a list in arrays."""
    with Curator.open(place) as curator:
        before = {name: curator.show(name).release for name in PUBLISHED}
        leavers = [f"p{i}" for i in range(people)]
        gone = PEOPLE.table(rows(people))
        curator.delete(leavers)
        for name, mechanism in PUBLISHED.items():
            expected = mechanism.forget(before[name], mechanism.contribution(gone))
            assert curator.show(name).release == expected, name


def test_only_a_curator_writes(tmp_path, monkeypatch):
    """Whoever calls what changes a store stands in `curate`; the command line and the service do not."""
    from support.services import Published, client_of

    callers = {}
    changing = ("add", "correct", "tick", "extend", "close_budget", "reopen_budget")
    for name in ("delete", "delete_tagged", "fold", "erase", "probe", "vacuum", *changing):
        for kind in (Store, *Store.__subclasses__()):
            if name in kind.__dict__:
                monkeypatch.setattr(kind, name, _noted(kind.__dict__[name], name, callers))
    published = Published(tmp_path, people=20)
    with client_of(published.store, erase_within=0.05) as client:
        assert client.post("/v1/deletions", json={"receipt": published.receipt(1)}).status_code == 200
        assert client.get("/health/ready").status_code == 200
    assert run(["delete", "p00002", "--store", published.store]) == 0
    assert run(["store", "copy", published.store, str(tmp_path / "copy.db")]) == 0
    assert callers.keys() >= {"delete", "delete_tagged", "erase", "fold"}
    growing = publish(
        rows(N),
        id="id",
        budget=1.0,
        store=tmp_path / "growing.db",
        grows=Growing("manual", 9),
        a=count(),
        columns=[X],
    )
    growing.close()
    (tmp_path / "new.csv").write_text("id,x\nq1,3\n")
    for words in (["add", "new.csv"], ["correct", "new.csv"], ["tick"]):
        here = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
        assert run([*here, "--store", str(tmp_path / "growing.db")]) == 0
    assert callers.keys() >= {"add", "correct", "tick"}
    for name, found in callers.items():
        assert all("undeleted/curate/" in file for file in found), name


def _noted(method, name, callers):
    def noted(*args, **kwargs):
        callers.setdefault(name, set()).add(sys._getframe(1).f_code.co_filename)
        return method(*args, **kwargs)

    return noted
