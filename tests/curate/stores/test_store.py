"""What every kind of store must do: forget exactly, answer alike, notice what was altered, be copied.

PostgreSQL runs on a server that the tests start; `make test-all` asks for it.

Covers: curate/stores/_cells.py, curate/stores/_held_back.py, curate/stores/_migrations.py
"""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from support import kills
from support.old_formats import older
from support.people import AGE, NOTE, PEOPLE, N, made, mechanisms, only, rows
from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import BulletinBoard, NoisyCount, NoisyMean
from undeleted.curate.stores import Fold, _store, copy_store, open_store
from undeleted.curate.stores._bucket_table import BucketTable
from undeleted.curate.stores._contents import FORMAT
from undeleted.curate.stores._json_descriptions import build, describe
from undeleted.curate.stores._pieces import pieces_of
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import AlreadyExists, Misuse, StoreError, UndeletedError
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

POSTGRES = pytest.param("postgres", marks=pytest.mark.services)


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    """Where a store of a name lies, for each kind of store that outlives its process."""
    if request.param == "file":
        return lambda name: str(tmp_path / f"{name}.db")
    server = request.getfixturevalue("server")
    mark = request.getfixturevalue("mark")
    return lambda name: server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


@pytest.fixture(params=["memory", "file", POSTGRES])
def store(request, tmp_path):
    if request.param == "postgres":
        server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
        where = server.url(mark, tmp_path / "people.key")
    else:
        where = MEMORY if request.param == "memory" else tmp_path / "people.db"
    opened = made(where, rows())
    yield opened
    opened.close()


LEAVERS = [f"p{i}" for i in range(0, N, 3)]


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_after_deletions_the_state_is_that_of_a_store_without_the_leavers(store, batch):
    """Cell by cell, with the same coins; a grown tree keeps its shape and is compared below."""
    for start in range(0, len(LEAVERS), batch):
        store.delete(LEAVERS[start : start + batch])
    without = made(MEMORY, only(rows(), lambda person: person not in LEAVERS))
    for name in ("people", "age", "ages", "table", "both", "forest", "pairs"):
        assert store.release(name)[0] == without.release(name)[0], name
    assert store.release("notes")[0] == without.release("notes")[0]
    assert store.check() == []


@pytest.mark.parametrize("name", ["incomes", "boxes"])
@pytest.mark.parametrize("batch", [1, 1000])
def test_a_grown_tree_keeps_its_shape_and_its_noise(store, name, batch):
    before, _ = store.release(name)
    for start in range(0, len(LEAVERS), batch):
        store.delete(LEAVERS[start : start + batch])
    after, _ = store.release(name)
    mechanism = mechanisms()[name]
    gone = PEOPLE.table(only(rows(), lambda person: person in LEAVERS))
    assert after == mechanism.forget(before, mechanism.contribution(gone))


def test_a_replay_and_a_stranger_are_answered_alike_and_change_nothing(store):
    store.delete(["p1"])
    before = store.release("table")
    assert store.delete(["p1"]) == store.delete(["nobody"])
    assert store.release("table")[1] == before[1]
    assert store.delete(["p2", "p2", "p1"]).deleted == 1


@pytest.mark.parametrize("fold", [None, Fold(people=9, after=3600)], ids=["at-once", "held-back"])
@pytest.mark.parametrize("alike", [False, True])
def test_a_leaver_who_moves_no_cell_is_a_leaver(place, fold, alike):
    """A board alone, and somebody of whom nothing counts: there is a new version, and something to erase."""
    income = Number("income", min=0, max=9, missing="drop")
    people = Schema([income, NOTE], id="id")
    data = {"id": ["a", "b", "c"], "income": [None, None, 5], "note": ["x", "y", "z"]}
    mechanisms = {"mean": NoisyMean(income, Budget(1.0)), "notes": BulletinBoard(NOTE)}
    where = place("people")
    with Curator(people, Budget(1.0), where) as curator:
        curator.publish(data, mechanisms)
    with open_store(where) as store:
        done = store.delete_tagged([tag_of(store.key, "a")], fold, dummy_work=alike)
        assert (done.deleted, done.version, done.held) == ((1, 2, 0) if fold is None else (1, 1, 1))
        assert list(store.release("notes")[0]) == ["y", "z"]
        assert store.check() == []
        if not store.erases_by_itself:
            assert store.erasure_pending


@pytest.mark.parametrize("fold", [None, Fold(people=3, after=3600)], ids=["at-once", "held-back"])
def test_what_is_written_for_strangers_moves_nothing(store, fold):
    """Those who are not there cost the same work; the store is to the last cell what it was."""
    tags = {who: tag_of(store.key, who) for who in ("p1", "p2", *(f"nobody{i}" for i in range(100)))}

    def stands():
        releases = {name: store.release(name)[0] for name in mechanisms()}
        return releases, store.version, store.held, sorted(store.tags())

    before = stands()
    strangers = [tag for who, tag in tags.items() if who.startswith("nobody")]
    for some in (strangers[:1], strangers):
        assert store.delete_tagged(some, fold, dummy_work=True).deleted == 0
        assert stands() == before
        assert store.check() == []
    assert store.delete_tagged([tags["p1"], *strangers[:70], tags["p2"]], fold, dummy_work=True).deleted == 2
    assert len(store.tags()) == len(before[3]) - 2
    assert (store.version, store.held) == ((2, 0) if fold is None else (1, 2))
    assert store.check() == []


def test_what_is_held_back_is_folded_in_when_enough_have_left_or_it_is_time(store, monkeypatch):
    before = {name: store.release(name)[0] for name in ("people", "table", "incomes")}
    assert store.delete(["p1", "p2"], Fold(people=4, after=3600)).held == 2
    assert {name: store.release(name)[0] for name in before} == before
    assert store.check() == []
    store.fold()
    assert store.held == 2, "it is not time yet"
    assert store.delete(["p3", "p4"], Fold(people=4, after=3600)).held == 0
    without = made(MEMORY, only(rows(), lambda person: person not in ("p1", "p2", "p3", "p4")))
    assert np.array_equal(store.release("table")[0].value, without.release("table")[0].value)
    assert store.check() == []
    store.delete(["p5"], Fold(people=100, after=3600))
    store.delete(["p6"])
    assert store.held == 1, "a deletion that is not to be held back leaves the others alone"
    monkeypatch.setattr(_store.time, "time", lambda: 2**40)
    store.fold()
    assert store.held == 0
    assert store.check() == []


def test_a_store_is_opened_again_as_it_was(place):
    path = place("people")
    first = made(path, rows())
    first.delete(["p5"])
    state = {name: first.release(name) for name in mechanisms()}
    first.close()
    again = open_store(path)
    assert {name: again.release(name) for name in mechanisms()} == state
    assert again.mechanisms == mechanisms()
    assert again.schema == PEOPLE
    assert again.check() == []
    again.close()


def test_threads_that_share_a_store_take_turns(place):
    store = made(place("people"), rows())
    before = store.release("people")[0].value[0]
    groups = [[f"p{i}" for i in range(1, 200) if i % 10 == part] for part in range(1, 7)]

    def leave(group):
        return sum(store.delete([person]).deleted for person in group)

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(leave, groups)) == sum(map(len, groups))
    assert before - store.release("people")[0].value[0] == sum(map(len, groups))
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("thing", [PEOPLE, *mechanisms().values()], ids=lambda thing: type(thing).__name__)
def test_what_is_described_is_built_again(thing):
    assert build(json.loads(json.dumps(describe(thing)))) == thing


def test_a_count_alone_needs_no_column_and_still_forgets():
    curator = Curator(Schema([AGE], id="id"), Budget(1.0))
    curator.publish({"id": ["a", "b", "c"], "age": [1, 2, 3]}, {"people": NoisyCount(Budget(1.0))})
    before = curator.show("people").release.value[0]
    assert curator.delete("a", "b").deleted == 2
    assert curator.show("people").release.value[0] == before - 2
    assert curator.check() == []


def test_two_boards_of_one_column_are_refused():
    curator = Curator(Schema([NOTE], id="id"), Budget(1.0))
    with pytest.raises(Misuse, match="same column"):
        curator.publish(
            {"id": ["a"], "note": ["x"]}, {"one": BulletinBoard(NOTE), "two": BulletinBoard(NOTE)}
        )


def test_a_second_store_in_the_same_place_is_refused(place):
    made(place("people"), rows()).close()
    with pytest.raises(AlreadyExists, match="a store at"):
        made(place("people"), rows())
    with open_store(place("people")) as store:
        assert store.check() == []


def test_what_is_not_there_says_so(place):
    with pytest.raises(StoreError, match="there is no store"):
        open_store(place("people"))


@pytest.mark.parametrize("to", ["memory", "file", POSTGRES])
def test_a_store_that_is_copied_in_the_middle_of_its_life_goes_on_as_the_first_would(
    place, to, tmp_path, request
):
    """Same answers, version and records, from every kind of store to every kind; both then forget alike."""
    first = made(place("people"), rows())
    first.delete(LEAVERS[:40])
    first.delete(["p1", "p2"], Fold(people=10, after=3600))
    target = {"memory": lambda: MEMORY, "file": lambda: str(tmp_path / "copy.db")}.get(to)
    if target is None:
        server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
        target = lambda: server.url(f"{mark}_copy", tmp_path / "copy.key")  # noqa: E731
    with copy_store(first, target()) as second:
        assert (second.version, second.held) == (first.version, first.held) == (2, 2)
        for store in (first, second):
            assert store.check() == []
        for step in ([], LEAVERS[30:60], ["p1", "p4"], [f"p{i}" for i in range(200, 208)]):
            fold = Fold(people=10, after=3600) if len(step) == 8 else None
            assert first.delete(step, fold) == second.delete(step, fold)
            for name in mechanisms():
                assert first.release(name) == second.release(name), name
        assert second.held == 0
        assert first.check() == second.check() == []
        assert (second.schema, second.mechanisms, second.facts) == (
            first.schema,
            first.mechanisms,
            first.facts | {"left": 0.0, "closed": True},  # the two must not spend it twice
        )
    first.close()


def test_a_copy_does_not_go_over_what_is_there_and_the_source_stays_as_it_was(place):
    first, second = made(place("people"), rows()), made(place("other"), rows(50))
    before = second.release("table")
    with pytest.raises(AlreadyExists):
        copy_store(first, place("other"))
    assert second.release("table") == before
    assert first.delete(["p1"]).deleted == 1
    assert first.check() == second.check() == []
    first.close()
    second.close()


@pytest.mark.parametrize("form", [1, 2])
def test_a_store_of_an_older_format_is_brought_up_to_date_when_it_is_opened(place, form):
    store = made(place("people"), rows())
    store.delete(["p3"])
    state = {name: store.release(name) for name in mechanisms()}
    assert store.rule == 2
    older(store, form)
    store.close()
    with open_store(place("people")) as again:
        assert again._read_meta()[0]["format"] == str(FORMAT)
        assert again.rule == 1
        assert again.check() == []
        assert {name: again.release(name) for name in mechanisms()} == state
        assert again.delete(["p4", "p10"]).deleted == 2
        assert again.check() == []
    with open_store(place("people")) as again:
        assert again.check() == []
        assert again.delete(["p4", "p3", "p11"]).deleted == 1


def test_an_older_store_that_was_altered_is_not_made_to_look_genuine(place):
    store = made(place("people"), rows())
    older(store, 2)
    with store._writing():
        meta, _ = store._read_meta()
        store._rewrite(meta | {"facts": meta["facts"].replace("3.0", "0.5")})
    store.close()
    with pytest.raises(StoreError, match="was altered"):
        open_store(place("people"))


def test_a_newer_format_is_refused_and_left_alone(place):
    store = made(place("people"), rows())
    with store._writing():
        meta, _ = store._read_meta()
        store._rewrite(meta | {"format": "99"})
    store.close()
    with pytest.raises(UndeletedError, match="has format 99"):
        open_store(place("people"))


def test_check_notices_a_post_whose_text_was_altered(place):
    """By somebody who has no key, and by somebody who has, but not the post's own mark."""
    store = made(place("people"), rows())
    [(number, board, data), *others] = sorted(store._read_posts())
    altered = (number, board, data[:4] + b"N" + data[5:])
    with store._writing():
        if hasattr(store, "_pieces"):
            store._db.execute("DROP TABLE pieces")
            store._pieces, _ = BucketTable.filled(
                store._db, "pieces", pieces_of(store.key, [altered, *others]), store.key
            )
        else:
            store._run("UPDATE {}.posts SET data = %s WHERE post = %s", (altered[2], number))
    assert store.check() == ["a post was altered since it was published"]
    store.close()


class Lifecycle(RuleBasedStateMachine):
    """Publish, delete in batches, look, close and open again, against a set of names."""

    where = None  # a function that gives a new place

    def __init__(self):
        super().__init__()
        self.path = type(self).where()

    @initialize(n=st.integers(1, 60))
    def publish(self, n):
        kills.publish(self.path, n)
        self.curator = Curator.open(self.path)
        self.left = {f"p{i}": i % 100 for i in range(n)}
        first = self.curator.show("table").release.value
        self.noise = first.copy()
        for age in self.left.values():
            self.noise[age] -= 1
        self.version, self.held, self.enough = 1, [], 0

    @rule(numbers=st.lists(st.integers(0, 70), max_size=12))
    def delete(self, numbers):
        names = [f"p{i}" for i in numbers]
        there = [name for name in dict.fromkeys(names) if name in self.left]
        done = self.curator.delete(names)
        assert done.deleted == len(there)
        assert done.unknown == len(names) - len(there)
        self.version += bool(there)
        self._fold_if_due()
        assert done.version == self.version
        for name in there:
            del self.left[name]

    @rule(numbers=st.lists(st.integers(0, 70), min_size=1, max_size=4), enough=st.integers(2, 6))
    def delete_and_fold(self, numbers, enough):
        names = [f"p{i}" for i in numbers]
        there = [name for name in dict.fromkeys(names) if name in self.left]
        done = self.curator.delete(names, fold=Fold(enough, 3600.0))
        assert done.deleted == len(there)
        for name in there:
            self.held.append(self.left.pop(name))
        self.enough = enough if there else self.enough
        self._fold_if_due()
        assert done.held == len(self.held)

    def _fold_if_due(self):
        if self.held and len(self.held) >= self.enough:
            self.held = []
            self.version += 1

    @rule()
    def close_and_open(self):
        self.curator.close()
        self.curator = Curator.open(self.path)

    @rule()
    def crash_and_open(self):
        """The connection is dropped without a word."""
        self.curator._store._db.close()
        self.curator = Curator.open(self.path)

    @rule(names=st.lists(st.integers(0, 70), min_size=1, max_size=5))
    def a_deletion_that_fails_in_the_middle(self, names):
        store = self.curator.store
        whole = store._forget
        store._forget = lambda rows, **few: (whole(rows, **few), 1 / 0)
        try:
            store.delete([f"p{i}" for i in names])
        except ZeroDivisionError:
            pass
        finally:
            del store._forget

    @invariant()
    def the_state_is_the_model(self):
        if not hasattr(self, "curator"):
            return
        expected = self.noise.copy()
        for age in [*self.left.values(), *self.held]:
            expected[age] += 1
        shown = self.curator.show("table")
        assert (shown.release.value == expected).all()
        assert shown.version == self.version
        assert self.curator.check() == []

    def teardown(self):
        if hasattr(self, "curator"):
            self.curator.close()


def test_a_life_of_deletions_folds_and_crashes_is_that_of_a_set_of_names(place):
    from itertools import count

    numbers = count()

    class Here(Lifecycle):
        where = staticmethod(lambda: place(f"life{next(numbers)}"))

    run_state_machine_as_test(Here, settings=settings(max_examples=15, stateful_step_count=12, deadline=None))
