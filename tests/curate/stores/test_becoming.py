"""A store that was published once becomes one that grows: nothing is drawn again; newcomers pay the same."""

import numpy as np
import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import (
    BulletinBoard,
    GrownRangeCounts,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
)
from undeleted.curate.stores import Fold, store_exists
from undeleted.errors import BadSetting, StoreError, TicksElsewhere
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Category, Number, Schema, Text
from undeleted.interfaces.cli import run

POSTGRES = pytest.param("postgres", marks=pytest.mark.services)
AGE, CITY, NOTE = Number("age", min=0, max=9), Category("city", values=("a", "b")), Text("note")
PEOPLE = Schema([AGE, CITY], id="id", rows_per_person=2)


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    if request.param == "file":
        return lambda name: str(tmp_path / f"{name}.db")
    server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
    return lambda name: server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


def table(people):
    """Every third has two rows."""
    rows = [(p, i, k) for i, p in enumerate(people) for k in range(1 + (i % 3 == 0))]
    return {
        "id": [p for p, _, _ in rows],
        "age": [(i + k) % 10 for _, i, k in rows],
        "city": ["ab"[(i + k) % 2] for _, i, k in rows],
    }


PURE = Budget(3.0)


def published(place, budget=PURE):
    share = Budget(1.0) if budget.delta == 0 else Budget(1.0, 1e-7)
    mechanisms = {
        "people": NoisyCount(share, rows_per_person=2),
        "table": NoisyHistogram((AGE, CITY), share, rows_per_person=2),
        "age": NoisyMean(AGE, share, rows_per_person=2),
    }
    curator = Curator(PEOPLE, budget, place)
    curator.publish(table([f"p{i}" for i in range(60)]), mechanisms)
    return curator


def totals(curator):
    """The current totals of all publications, of those that grow at the last tick."""
    shown = curator.show()
    if curator.store.growth is None:
        return {name: each.release.value for name, each in shown.items()}
    return {name: each.mechanism.total(each.release) for name, each in shown.items()}


@pytest.mark.parametrize("budget", [PURE, Budget(3.0, 1e-6)], ids=["pure", "gaussian"])
def test_tick_0_is_the_publication_and_newcomers_pay_what_the_first_paid(place, budget):
    with published(place("once"), budget) as curator:
        curator.delete("p3", "p4")
        before, paid = totals(curator), account(curator.events, budget.delta)
        with curator.grow_into(place("grown"), 12) as grown:
            assert grown.check() == []
            assert all(np.array_equal(before[name], after) for name, after in totals(grown).items())
            assert account(grown.events, budget.delta).epsilon == pytest.approx(paid.epsilon)
            assert (grown.status().ticks, grown.left) == (1, 0.0)
            grown.add(table([f"q{i}" for i in range(30)]))
            grown.tick()
            row = grown.show("people").release.value[1]
            assert abs(row[0] - 40) < 200, "a batch has noise of its own"
            assert grown.check() == []
            assert grown.show("people").mechanism.laws == curator.show("people").mechanism.laws


def test_everybody_leaves_as_if_they_had_never_come(place):
    """Those of tick 0 and those who joined: what is left of the rows is the noise, to the last cell."""
    with published(place("once")) as curator:
        noise = curator.store._noise()
        with curator.grow_into(place("grown"), 12) as grown:
            grown.add(table(["q0", "q1", "q2"]))
            grown.tick()
            second = {name: grown.show(name).release.value[1].copy() for name in grown.publications}
            assert grown.delete([f"p{i}" for i in range(60)]).deleted == 60
            for name, cells in zip(grown.publications, noise, strict=True):
                rows = grown.show(name).release.value
                assert np.array_equal(rows[0], cells)
                assert np.array_equal(rows[1], second[name]), "a batch is in no row of another"
            assert grown.delete("q0", "p0").deleted == 1
            assert grown.check() == []


def test_what_cannot_grow_is_refused_and_nothing_is_there(tmp_path):
    place = str(tmp_path / "grown.db")
    schema = Schema([Number("wide", min=0, max=2**40), NOTE], id="id")
    data = {"id": ["a", "b"], "wide": [1, 2], "note": ["x", "y"]}
    wide = schema.columns[0]
    for name, mechanism in (("deep", GrownRangeCounts(wide, Budget(1.0))), ("notes", BulletinBoard(NOTE))):
        with Curator(schema, Budget(1.0)) as curator:
            curator.publish(data, {name: mechanism})
            with pytest.raises(BadSetting, match=f"'{name}' is not a total"):
                curator.grow_into(place, 12)
    with published(str(tmp_path / "once.db")) as curator:
        curator.delete("p1", fold=Fold(people=2, after=3600.0))
        with pytest.raises(BadSetting, match="held back"):
            curator.grow_into(place, 12)
        curator.delete("p2", fold=Fold(people=2, after=3600.0))
        grown = curator.grow_into(str(tmp_path / "first.db"), 12)  # what was refused has cost nothing
        with grown, pytest.raises(BadSetting, match="grows already"):
            grown.grow_into(place, 12)
    with Curator(PEOPLE, Budget(1.0), retain="receipts", capacity=9) as curator:
        curator.publish(table(["a"]), {"n": NoisyCount(Budget(1.0), rows_per_person=2)}, receipts=str)
        with pytest.raises(BadSetting, match="keeps no records, so it cannot be made to grow"):
            curator.grow_into(place, 12)
    assert not store_exists(place)


def test_of_one_publication_one_store_grows(place, tmp_path):
    """Newcomers would pay once in each of two; what was left of the budget is given up."""
    with published(place("once"), Budget(9.0)) as curator:
        with curator.copy_to(place("copy")) as copied:
            with pytest.raises(BadSetting, match="is a copy or a backup"):
                copied.grow_into(place("grown"), 12)
            with copied.copy_to(place("second")) as second, pytest.raises(BadSetting, match="is a copy"):
                second.grow_into(place("grown"), 12)
        assert curator.left > 5
        with curator.grow_into(place("grown"), 12) as grown:
            grown.tick()
            with grown.copy_to(place("backup")) as backup, pytest.raises(TicksElsewhere):
                backup.tick()
        assert curator.left == 0
        with pytest.raises(BadSetting, match="was copied to a store that grows"):
            curator.grow_into(place("again"), 12)
        with pytest.raises(BadSetting, match="not this store's to spend"):
            curator.publish_more({"more": NoisyCount(Budget(0.1), rows_per_person=2)})
        assert curator.check() == []
    with Curator.open(place("once")) as curator, pytest.raises(BadSetting):
        curator.grow_into(place("again"), 12)
    with (
        published(place("moved"), Budget(9.0)) as curator,
        curator.copy_to(place("to"), move_budget=True) as to,
    ):
        with pytest.raises(BadSetting, match="is a copy"):
            curator.grow_into(place("again"), 12)
        with to.grow_into(place("again"), 12) as grown:
            assert grown.status().ticks == 1


def test_another_process_publishes_more_meanwhile(place):
    with published(place("once"), Budget(9.0)) as curator, Curator.open(place("once")) as other:
        other.publish_more({"more": NoisyCount(Budget(1.0), rows_per_person=2)})
        with curator.grow_into(place("grown"), 12) as grown:
            assert "more" in grown.publications
            assert grown.check() == []


def test_an_altered_store_is_not_taken_for_tick_0(tmp_path):
    import sqlite3

    published(str(tmp_path / "once.db")).close()
    with sqlite3.connect(tmp_path / "once.db") as db:
        db.execute("UPDATE state SET version = 9")
    db.close()
    with Curator.open(tmp_path / "once.db") as curator, pytest.raises(StoreError, match="is not intact"):
        curator.grow_into(str(tmp_path / "grown.db"), 12)
    assert not store_exists(str(tmp_path / "grown.db"))


def test_the_command_says_what_the_budget_means_now(tmp_path, capsys):
    published(str(tmp_path / "once.db")).close()
    words = ["store", "grow", str(tmp_path / "once.db"), str(tmp_path / "grown.db"), "--every", "day"]
    assert run([*words, "--horizon", "365"]) == 0
    said = capsys.readouterr().out
    assert "1 of 365 have closed" in said
    assert "newcomers pay once" in said
    assert run([*words, "--horizon", "365"]) == 2, "something is there now"
    assert run(["check", "--store", str(tmp_path / "grown.db")]) == 0
