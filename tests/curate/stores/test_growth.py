"""A table that grows, in every kind of store: its rows are those of who remains, whatever happened before.

Covers: curate/stores/_tick_rows.py
"""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from support import growing_kills
from support.growing import CITY, Model, X, mechanisms, opened, table
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.stores import Fold, Publishing, copy_store, create_store, open_store
from undeleted.curate.stores._tick_rows import TICKS, TickRows
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import AlreadyJoined, BadBudget, BadSetting, StoreError, TicksElsewhere
from undeleted.foundations.coins import NoNoise, seeded
from undeleted.foundations.privacy import Zcdp
from undeleted.foundations.schema import Schema

POSTGRES = pytest.param("postgres", marks=pytest.mark.services)
NOISE = Zcdp(0.1)
OLD = {f"p{i}": i % 10 for i in range(30)}


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    if request.param == "file":
        return lambda name="people": str(tmp_path / f"{name}.db")
    server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
    return lambda name="people": server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


def all_rows(store):
    """The rows of all publications side by side: of arrivals, and of departures."""
    releases = [store.release(name)[0].value for name in ("people", "table", "sum")]
    if not store.growth.hidden:
        return np.concatenate(releases, axis=1), None
    halves = [np.split(rows, 2, axis=1) for rows in releases]
    return tuple(np.concatenate([half[i] for half in halves], axis=1) for i in (0, 1))


def agrees(store, model):
    """Whether the store has the rows of the model, and knows it."""
    factors = store.growth.first.factors
    arrived, left = all_rows(store)
    expected, gone = model.rows(factors)
    if not (
        left is not None and store.growth.forgets_at_ticks
    ):  # else leavers are gone from the model's view
        assert np.array_equal(arrived, expected)
        assert left is None or np.array_equal(left, gone)
    assert store.check() == []


def machine_over(make, factors, hidden):
    class Life(RuleBasedStateMachine):
        """People join, leave, return and are corrected, in any order; ticks close with and without them."""

        @initialize()
        def start(self):
            first = {"p0": 3, "p1": 5}
            self.store = make(first, mechanisms(noise=factors, hidden=hidden))
            self.model, self.next = Model(hidden, ticks=0), 2
            self.model.add(first)
            self.model.ticks = 1

        @rule(values=st.lists(st.integers(0, 9), max_size=3))
        def join(self, values):
            people = {f"p{self.next + i}": value for i, value in enumerate(values)}
            self.next += len(people)
            assert self.store.add(table(people)).added == len(people)
            self.model.add(people)

        @rule(data=st.data())
        @precondition(lambda self: self.model.there)
        def leave(self, data):
            person = data.draw(st.sampled_from(sorted(self.model.there)))
            assert self.store.delete([person, "nobody"]).deleted == 1
            assert self.store.delete([person]).deleted == 0
            self.model.leave(person)

        @rule(data=st.data(), value=st.integers(0, 9))
        @precondition(lambda self: self.model.there)
        def correct(self, data, value):
            person = data.draw(st.sampled_from(sorted(self.model.there)))
            versions = self.model.there[person].versions
            same = versions[-1][2] == value
            spent = versions[-1][0] < self.model.ticks and len(versions) > 2
            back = len(versions) > 1 and versions[-1][0] == self.model.ticks and versions[-2][2] == value
            if spent and not same:
                with pytest.raises(BadSetting, match="no correction left of 2; nothing was corrected"):
                    self.store.correct(table({person: value}))
                return
            done = self.store.correct(table({person: value, "nobody": 1}))
            assert (done.corrected, done.unchanged, done.unknown) == (not same, same, 1)
            if back:
                versions.pop()
                versions[-1][1] = None
            elif not same:
                self.model.correct(person, value)

        @rule()
        def tick(self):
            assert self.store.tick(self.model.ticks, seeded(1), 1.0)
            assert not self.store.tick(self.model.ticks, seeded(1), 1.0), "another process has closed it"
            self.model.ticks += 1

        @invariant()
        def rows_are_those_of_who_remains(self):
            agrees(self.store, self.model)

        def teardown(self):
            if hasattr(self, "store"):
                self.store.close()

    return Life


@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize("factors", ["factorization", "cohorts", "tree"])
def test_rows_are_those_of_who_remains_whatever_happened(factors, hidden):
    life = machine_over(lambda people, published: opened(MEMORY, people, published), factors, hidden)
    run_state_machine_as_test(life, settings=settings(max_examples=15, stateful_step_count=14, deadline=None))


@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
def test_the_same_in_stores_that_others_may_open(place, hidden):
    """A life in one sequence, across blocks of ticks; a second process sees all of it."""
    published = mechanisms(hidden=hidden)
    with opened(place(), OLD, published) as store, open_store(place()) as other:
        model = Model(hidden, ticks=0)
        model.add(OLD)
        model.ticks = 1
        for tick in range(1, TICKS + 5):
            people = {f"q{tick}": tick % 10}
            (store if tick % 2 else other).add(table(people))
            model.add(people)
            assert (other if tick % 2 else store).tick(tick, seeded(tick), float(tick))
            model.ticks += 1
            if tick % 20 == 0:
                leavers = [f"q{tick - 3}", f"p{tick // 20}", f"q{tick - 1}"]
                assert store.delete(leavers).deleted == 3
                for person in leavers:
                    model.leave(person)
            if tick in (20, 40):
                other.correct(table({"p9": tick % 7, "q5": 2}))
                model.correct("p9", tick % 7)
                if tick == 20:
                    model.correct("q5", 2)
            if tick % 20 == 3:
                agrees(store, model)
        agrees(other, model)
        assert store.check() == []
    with open_store(place()) as again:
        agrees(again, model)


@pytest.mark.parametrize("factors", ["factorization", "cohorts"])
def test_after_somebody_left_the_store_is_that_of_a_table_in_which_they_never_were(factors):
    """With noise, and the same coins: row by row, also those that come later."""
    published = mechanisms(NOISE, noise=factors)
    stores = [opened(MEMORY, people, published, seeded("same")) for people in (OLD, OLD)]
    for store, joins in zip(stores, (True, False), strict=True):
        store.add(table({"x1": 4, "x2": 5} if joins else {"x2": 5}))
        store.tick(1, seeded("one"), 1.0)
        if joins:
            store.correct(table({"x1": 9}))
        store.tick(2, seeded("two"), 2.0)
        if joins:
            assert store.delete(["x1"]).deleted == 1
        store.tick(3, seeded("three"), 3.0)
        assert store.check() == []
    for name in published:
        one, other = (store.release(name)[0].value for store in stores)
        assert np.array_equal(one, other)


def test_somebody_who_leaves_before_their_tick_leaves_no_trace():
    """Not even a version."""
    for hidden in (False, True):
        store = opened(MEMORY, OLD, mechanisms(hidden=hidden))
        before, version = all_rows(store), store.version
        store.add(table({"new": 3}))
        done = store.delete(["new"])
        assert (done.deleted, done.version) == (1, version)
        store.tick(1, seeded(1), 1.0)
        arrived, left = all_rows(store)
        expected = Model(hidden, ticks=0)
        expected.add(OLD)
        expected.ticks = 2
        assert np.array_equal(arrived, expected.rows(store.growth.first.factors)[0])
        assert left is None or not left.any()
        assert np.array_equal(arrived[:1], before[0])


@pytest.mark.parametrize("factors", ["factorization", "cohorts"])
def test_hidden_leavers_change_nothing_before_the_tick_and_no_id_stays(factors, tmp_path):
    published = mechanisms(NOISE, noise=factors, hidden=True, horizon=3)
    store = opened(str(tmp_path / "h.db"), OLD, published)
    before, version = all_rows(store), store.version
    tags = store.tags()
    assert store.delete(["p3", "p4"]).deleted == 2
    assert all(np.array_equal(a, b) for a, b in zip(all_rows(store), before, strict=True))
    assert store.version == version, "nor does the version tell"
    assert len(store.tags() & tags) == len(OLD) - 2
    assert store.delete(["p3"]).deleted == 0
    store.tick(1, seeded(1), 1.0)
    kept = len(OLD) - (2 if factors == "cohorts" else 0)  # with cohorts nothing of them is needed any more
    assert len(store.tags()) == kept
    assert store.check() == []
    store.delete(["p5"])
    store.tick(2, seeded(2), 2.0)
    assert len(store.tags()) == len(OLD) - 3, "no row is to come, so nothing of them is needed"
    rows = all_rows(store)
    assert store.delete(["p6"]).deleted == 1
    assert len(store.tags()) == len(OLD) - 4
    assert all(np.array_equal(a, b) for a, b in zip(all_rows(store), rows, strict=True))
    assert store.check() == []
    store.close()


def test_people_who_are_there_are_not_counted_twice(place):
    with opened(place(), OLD, mechanisms()) as store:
        before = all_rows(store)[0]
        with pytest.raises(AlreadyJoined, match="2 people are in the store already; nobody was added"):
            store.add(table({"p1": 1, "p2": 2, "new": 3}))
        assert store.delete(["new"]).deleted == 0
        done = store.add(table({"p1": 1, "p2": 2, "new": 3}), skip=True)
        assert (done.added, done.there) == (1, 2)
        store.tick(1, seeded(1), 1.0)
        factors = store.growth.first.factors
        assert store.release("people")[0].value[1, 0] == factors.row(1) @ [len(OLD), 1]
        assert np.array_equal(all_rows(store)[0][:1], before)


def test_of_two_copies_one_goes_on_with_ticks(place):
    """A tick that both closed would be drawn twice, at twice the ε."""
    published = mechanisms(NOISE, hidden=False)
    with opened(place(), OLD, published) as store:
        for tick in range(1, TICKS + 2):
            store.tick(tick, seeded(tick), float(tick))
        with copy_store(store, place("backup")) as backup:
            for change in (
                lambda: backup.tick(TICKS + 2, seeded(1), 99.0),
                lambda: backup.add(table({"n": 1})),
            ):
                with pytest.raises(
                    TicksElsewhere, match="is a copy or a backup: its ticks would be drawn again"
                ):
                    change()
            assert backup.delete(["p3"]).deleted == 1
            assert backup.check() == []
        with copy_store(store, place("copy"), new_key=True, move_budget=True) as copied:
            with pytest.raises(TicksElsewhere, match="is a copy or a backup"):
                store.tick(TICKS + 2, seeded(1), 99.0)
            assert copied.check() == []
            assert np.array_equal(all_rows(copied)[0], all_rows(store)[0])
            copied.add(table({"new": 1}))
            assert copied.tick(TICKS + 2, seeded(1), 99.0)
            assert copied.delete(["p1", "new"]).deleted == 2
            assert copied.check() == []


def test_an_altered_row_or_span_is_noticed(tmp_path):
    """By somebody who has no key: a cell of a row, and from when a record counts."""
    for change in (
        "UPDATE cells SET data = zeroblob(8) || substr(data, 9)",
        "UPDATE meta SET value = '1' WHERE key = 'ticks'",
    ):
        place = tmp_path / f"{len(change)}.db"
        with opened(str(place), OLD, mechanisms(NOISE)) as store:
            store.add(table({"new": 1}))
            store.tick(1, seeded(1), 1.0)
            assert store.check() == []
        with sqlite3.connect(place) as db:
            db.execute(change)
        db.close()
        try:
            with open_store(str(place)) as again:
                assert again.check() != []
        except StoreError:
            pass


@pytest.mark.parametrize("tick", [0, 1])
def test_a_row_with_other_noise_would_be_noticed(tick):
    """`check` proves that the noise of every row is the one that was drawn: of the first as of the last."""
    store = opened(MEMORY, OLD, mechanisms(NOISE))
    store.tick(1, seeded(1), 1.0)
    tile = {0: np.eye(1, 480, 60 + tick, dtype=np.int64)[0]}  # a person more in cell 1
    with store._writing():
        store._subtract(tile)
    assert store.check() != []


def test_what_is_impossible_is_refused():
    store = opened(MEMORY, OLD, mechanisms(horizon=2))
    with pytest.raises(BadSetting, match="does not hold deletions back"):
        store.delete(["p1"], Fold(people=2, after=60.0))
    store.tick(1, seeded(1), 1.0)
    for change in (lambda: store.add(table({"new": 1})), lambda: store.correct(table({"p1": 1}))):
        with pytest.raises(BadSetting, match="all 2 ticks have closed: n"):
            change()
    with pytest.raises(BadSetting, match="all 2 ticks have closed"):
        store.tick(2, seeded(1), 2.0)
    assert store.delete(["p1"]).deleted == 1, "people can leave for ever"
    assert store.check() == []


@pytest.mark.parametrize("widths", [(1,), (1, 10, 1), (8,), (480, 3), (7, 9)])
def test_tiles_hold_every_cell_of_every_tick(widths):
    layout, rng = TickRows(widths), np.random.default_rng(1)
    ticks = 2 * TICKS + 7
    rows = rng.integers(-100, 100, (ticks, layout.width))
    chunks = {c: np.zeros(480, dtype=np.int64) for c in range(layout.tiles * layout.blocks(ticks))}
    for tick, row in enumerate(rows):
        for chunk, moved in layout.row_added(tick, row).items():
            chunks[chunk] -= moved
    for publication, (start, end) in enumerate(zip(layout.offsets, layout.offsets[1:], strict=False)):
        parts = [
            layout.rows_in(publication, np.concatenate([chunks[c] for c in layout.chunks_of(publication, b)]))
            for b in range(layout.blocks(ticks))
        ]
        assert np.array_equal(np.concatenate(parts)[:ticks], rows[:, start:end])


def test_a_person_with_several_rows_leaves_with_all_of_them():
    schema = Schema([X, CITY], id="id", rows_per_person=2)

    def rows(*people):
        return schema.table(
            {"id": [p for p, _ in people], "x": [x for _, x in people], "city": ["a"] * len(people)}
        )

    published = {"table": Arrivals(NoisyHistogram((X,), NoNoise(), rows_per_person=2), 9, max_corrections=1)}
    first = Arrays(rows(("a", 1), ("a", 1), ("b", 2)))
    exact = {"table": first.total(published["table"].statistic)}
    releases = {"table": published["table"].release(first, seeded(1))}
    facts = {"epsilon": 1.0, "delta": 0.0, "left": 0.0}
    store = create_store(MEMORY, Publishing(schema, published, releases, first, facts, (), exact, at=0.0))
    store.add(rows(("c", 3), ("c", 4)))
    store.tick(1, seeded(1), 1.0)
    assert store.correct(rows(("c", 4), ("c", 3))).unchanged == 1, "the order of rows is not a change"
    assert store.correct(rows(("c", 5))).corrected == 1
    store.tick(2, seeded(1), 2.0)
    totals = published["table"].total(store.release("table")[0]).round(6)
    assert totals[:6].tolist() == [0, 2, 1, 0, 0, 1]
    assert store.delete(["a", "c"]).deleted == 2
    totals = published["table"].total(store.release("table")[0]).round(6)
    assert totals[:6].tolist() == [0, 0, 1, 0, 0, 0]
    assert store.check() == []


def test_many_people_make_room(tmp_path):
    """Buckets are laid out again as people come; everybody is found, and nothing of the old layout stays."""
    with opened(str(tmp_path / "p.db"), OLD, mechanisms()) as store:
        count = store._people.buckets.count
        for tick in range(1, 5):
            people = {f"n{tick}.{i}": i % 10 for i in range(600)}
            store.add(table(people))
            store.tick(tick, seeded(1), float(tick))
        assert store._people.buckets.count > count
        assert len(store.tags()) == len(OLD) + 2400
        assert store.delete([*OLD, *(f"n3.{i}" for i in range(600))]).deleted == len(OLD) + 600
        assert store.check() == []


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
def test_killed_processes_lose_nothing_and_count_nothing_twice(tmp_path, hidden):
    """Some of what `make faults` does many times: `kill -9` in add, tick, correct and delete."""
    facts = growing_kills.run(tmp_path, 8, seed=3 + hidden, hidden=hidden)
    assert facts["problems"] == []
    assert facts["inside_a_transaction"] > 0
    assert facts["acknowledged"] > 0


def test_a_change_that_fails_leaves_the_open_store_as_the_file_is(tmp_path, monkeypatch):
    """Whatever was taken over inside the transaction: layout, ticks, how far it had come."""
    with opened(str(tmp_path / "p.db"), OLD, mechanisms()) as store:
        many = table({f"n{i}": i % 10 for i in range(3000)})

        def full(*_):
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:  # after the buckets were laid out again
            patch.setattr(type(store), "_reseal", full)
            with pytest.raises(StoreError, match="full disk"):
                store.add(many)
            with pytest.raises(StoreError, match="full disk"):
                store.tick(1, seeded(1), 1.0)
        assert store.delete(["p3"]).deleted == 1
        store.look()
        assert store.add(many).added == 3000
        store.look()
        assert store.tick(1, seeded(1), 1.0)
        assert store.delete([f"n{i}" for i in range(3000)]).deleted == 3000
        assert store.check() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.tick(1, seeded(1), 1.0),
        lambda store: store.add(table({f"n{i}": 1 for i in range(3000)})),
    ],
)
def test_an_altered_description_is_not_sealed_again(tmp_path, change):
    """Somebody who writes to the file, without the key, asks for less noise: nothing is published with it."""
    place = tmp_path / "p.db"
    opened(str(place), OLD, mechanisms(NOISE)).close()
    with sqlite3.connect(place) as db:
        [(described,)] = db.execute("SELECT value FROM meta WHERE key = 'mechanisms'")
        assert '"rho": 0.1' in described
        db.execute("UPDATE meta SET value = ? WHERE key = 'mechanisms'", (described.replace("0.1", "99.9"),))
    db.close()
    with open_store(str(place)) as store:
        for what in (change, all_rows):
            with pytest.raises(StoreError, match="the description of the publications was altered"):
                what(store)
        assert store.check() != []
    with open_store(str(place)) as store:
        assert store.growth.ticks == 1


def test_an_altered_state_stops_the_next_tick(tmp_path):
    place = tmp_path / "p.db"
    opened(str(place), OLD, mechanisms(NOISE)).close()
    with sqlite3.connect(place) as db:
        db.execute("UPDATE state SET version = 77")
    db.close()
    with open_store(str(place)) as store, pytest.raises(StoreError, match="the state was altered"):
        store.tick(1, seeded(1), 1.0)


def test_a_person_with_more_rows_than_the_noise_was_made_for_is_refused():
    store = opened(MEMORY, OLD, mechanisms())
    twice = Schema([X, CITY], id="id", rows_per_person=2).table(
        {"id": ["a", "a"], "x": [1, 2], "city": ["a", "a"]}
    )
    for change in (store.add, store.correct):
        with pytest.raises(BadBudget, match="rows_per_person must be at least the rows that 1 people have"):
            change(twice)
    assert store.check() == []


def test_every_record_that_is_removed_waits_to_be_erased(place):
    """Also of people who were never published: their bytes are there all the same."""
    for hidden in (False, True):
        with opened(place(f"h{hidden}".lower()), OLD, mechanisms(hidden=hidden)) as store:
            store.vacuum()
            for change in (
                lambda: store.delete(["waiting"]),
                lambda: store.delete(["p1"]),
                lambda: store.correct(table({"p2": 9})),
                lambda: store.correct(table({"p2": 8})),
            ):
                store.add(table({"waiting": 1}), skip=True)
                store.vacuum()
                assert not store.erasure_pending
                change()
                assert store.erasure_pending
                assert store.vacuum()


@pytest.mark.services
def test_a_lost_connection_is_asked_about_and_no_change_is_made_twice(server, mark, tmp_path):
    place = server.url(f"{mark}_lost", tmp_path / "lost.key")
    with opened(place, OLD, mechanisms(NOISE)) as store:
        changes = (
            lambda: store.add(table({"new": 3})).added,
            lambda: store.tick(1, seeded(1), 1.0),
            lambda: store.correct(table({"p2": 9})).corrected,
            lambda: store.ticks,
        )
        for change, expected in zip(changes, (1, True, 1, 2), strict=True):
            with psycopg.connect(server.url(), autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s)", (store._db.info.backend_pid,))
            assert change() == expected
        assert store.check() == []
        assert len(store.tags()) == len(OLD) + 1


def test_a_store_that_was_written_before_still_opens_and_goes_on(tmp_path):
    """A table that grew in format 4: three ticks, a correction, a leaver, and somebody who waits."""
    kept = Path(__file__).parents[2] / "fixtures" / "store-v4-growing.db"
    for suffix in ("", ".key"):
        shutil.copy(f"{kept}{suffix}", f"{tmp_path}/store.db{suffix}")
    with open_store(str(tmp_path / "store.db")) as store:
        assert store.check() == []
        assert (store.growth.ticks, len(store.tags())) == (3, 31)
        assert store.delete(["p7", "q2"]).deleted == 0
        assert store.tick(3, seeded(3), 3.0)
        assert store.correct(table({"q1": 9, "p3": 1, "waiting": 2})).unchanged == 3
        assert store.delete(["waiting", "p3"]).deleted == 2
        assert store.check() == []


def test_a_stored_deletion_runs_the_forget_of_the_proof(place, monkeypatch):
    with opened(place(), OLD, mechanisms(NOISE)) as store:
        called = []
        forget = Arrivals.forget

        def counting(self, release, contribution, **when):
            called.append(when["joined"])
            return forget(self, release, contribution, **when)

        with monkeypatch.context() as patch:
            patch.setattr(Arrivals, "forget", counting)
            assert store.delete(["p1"]).deleted == 1
        assert called == [0, 0, 0], "once for each publication"

        def broken(*_, **__):
            raise ZeroDivisionError

        before = all_rows(store)[0]
        with monkeypatch.context() as patch:
            patch.setattr(Arrivals, "forget", broken)
            with pytest.raises(ZeroDivisionError):
                store.delete(["p2"])
        assert np.array_equal(all_rows(store)[0], before)
        assert store.delete(["p2"]).deleted == 1
        assert store.check() == []


@pytest.mark.parametrize("factors", ["factorization", "cohorts", "tree"])
def test_a_life_step_by_step(factors):
    """Ticks at which nobody comes, every correction that is allowed and one more, and leaving after them."""
    people = {"a": 1, "b": 2, "c": 3}
    store, model = opened(MEMORY, people, mechanisms(noise=factors)), Model(hidden=False, ticks=0)
    model.add(people)
    model.ticks = 1
    for value in (4, 5):
        assert store.correct(table({"a": value})).corrected == 1
        model.correct("a", value)
        agrees(store, model)
        assert store.tick(model.ticks, seeded(1), 1.0)
        model.ticks += 1
        agrees(store, model)
    with pytest.raises(BadSetting, match="no correction left of 2; nothing was corrected"):
        store.correct(table({"a": 6}))
    store.correct(table({"b": 9}))
    model.correct("b", 9)
    for _ in range(2):  # nobody comes
        assert store.tick(model.ticks, seeded(1), 1.0)
        assert not store.tick(model.ticks, seeded(1), 1.0), "another process has closed it"
        model.ticks += 1
        agrees(store, model)
    for person in ("a", "b"):
        assert store.delete([person]).deleted == 1
        model.leave(person)
        agrees(store, model)
