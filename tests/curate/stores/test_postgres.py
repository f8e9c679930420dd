"""The store in PostgreSQL: kills, dropped connections, crowds, erasure, and servers that do not answer.

Covers: curate/stores/_postgres_*.py
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from support import crowd, drops, kills
from support.people import made, rows
from support.servers import PASSWORD, QUOTED, Server
from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyMean
from undeleted.curate.stores import Fold, Publishing, open_store, postgres
from undeleted.curate.stores._contents import Published
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores.postgres import Place, PostgresStore
from undeleted.errors import StoreError, UndeletedError
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.interfaces.cli import run

pytestmark = pytest.mark.services


@pytest.fixture
def place(server, mark, tmp_path):
    return lambda name="people": server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


def test_killed_processes_lose_nothing_and_subtract_nothing_twice(tmp_path, place):
    """Some of what `make faults` does many times."""
    facts = kills.run(tmp_path, 18, place=place)
    assert facts["problems"] == []
    assert facts["inside_a_transaction"] > 0
    assert facts["acknowledged"] > 0
    assert facts["publications_killed"] > 0


@pytest.mark.parametrize("step", [*kills.PUBLISH_STEPS])
def test_a_publication_that_is_killed_is_not_in_the_way_of_the_next(place, step):
    done, reached = kills.kill_at(kills.start("publish", place(), step), step)
    assert reached
    assert done == []
    assert PostgresStore.there(place()) == (step == "moved")
    if step != "moved":
        kills.publish(place(), 100)
    with Curator.open(place()) as curator:
        assert curator.check() == []


def test_dropped_connections_are_asked_about_and_tried_again(server, tmp_path):
    facts = drops.run(server, tmp_path, 16)
    assert facts["problems"] == []
    assert min(facts["by_plan"].values()) >= 2, "every way to drop a connection was met"


def test_processes_that_delete_the_same_people_end_with_the_right_total(place):
    facts = crowd.run(place(), 8, 5.0)
    assert facts["problems"] == []
    assert facts["deleted"] < facts["asked"], "ids overlap"
    assert facts["views"] > 0


def test_a_server_that_crashes_keeps_what_was_acknowledged_and_the_deleter_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "PAUSES", (*postgres.PAUSES, 5, 10, 20))  # a slow disk recovers slowly
    server = Server()
    try:
        place = server.url("people", tmp_path / "key")
        kills.publish(place, 2000)
        with Curator.open(place) as curator:
            before = curator.show("people").release.value[0]
            done = [curator.delete(f"p{i}").deleted for i in range(40)]
            server.stop("immediate")
            with ThreadPoolExecutor() as pool:
                later = pool.submit(curator.delete, "p40", "p41")
                server.start()
                assert later.result().deleted == 2
            assert sum(done) + 2 == before - curator.show("people").release.value[0]
            assert curator.check() == []
    finally:
        server.remove()


def files_with(server, *needles):
    """Which files of the server hold some of these bytes; the write-ahead log is looked at apart."""
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute("CHECKPOINT")
    found = set()
    for file in server.data.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            found |= {("wal" if "pg_wal" in file.parts else "tables", n) for n in needles if n in data}
    return found


def test_no_table_holds_what_was_deleted_once_it_is_vacuumed_whoever_is_looking(server, place):
    """An old transaction keeps VACUUM FULL from dropping dead rows; it does not keep ours."""
    data = rows(2000)
    data["note"][777], data["id"][777] = "a most unmistakable note", "an-unmistakable-id"
    data["income"][777] = 0xABCDEF1234
    needles = (b"a most unmistakable note", (0xABCDEF1234).to_bytes(8, "little"))
    store = made(place(), data)
    assert files_with(server, *needles) >= {("tables", n) for n in needles}, "there to be missed"
    with psycopg.connect(server.url()) as old:
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT count(*) FROM pg_class")
        leavers = [p for i, p in enumerate(dict.fromkeys(data["id"])) if i % 5]
        assert store.delete([*leavers, "an-unmistakable-id"]).deleted > 1000
        assert not store.erase()
        assert store.erasure_pending
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute("ANALYZE")
            for table in ("records", "posts", "cells"):
                db.execute(f"VACUUM FULL {store._place.schema}.{table}")
        assert {("tables", n) for n in needles} <= files_with(server, *needles), "a vacuum alone leaves them"
        assert store.vacuum()
    assert not store.erasure_pending
    assert not {where for where, _ in files_with(server, *needles)} - {"wal"}
    assert files_with(server, b"an-unmistakable-id") == set(), "an id never reaches the server at all"
    assert store.check() == []
    store.close()


def test_a_reader_holds_up_the_vacuum_and_nothing_is_lost(server, place, monkeypatch):
    store = made(place(), rows())
    store.delete(["p3"])
    store._db.execute("SET lock_timeout = '200ms'")
    with psycopg.connect(server.url()) as reader:
        reader.execute(f"SELECT count(*) FROM {store._place.schema}.cells")
        assert not store.vacuum()
        assert store.erasure_pending
    assert store.vacuum()
    assert not store.erasure_pending
    store.delete(["p4"])
    assert store.erasure_pending
    assert store.check() == []
    store.close()


def test_the_catalogue_keeps_no_sample_of_values(server, place):
    store = made(place(), rows())
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute("ANALYZE")
        found = db.execute(
            "SELECT count(*) FROM pg_stats WHERE schemaname = %s", (store._place.schema,)
        ).fetchone()
    assert found == (0,)
    store.close()


def test_the_order_of_the_records_tells_nothing_of_the_source(place):
    store = made(place(), rows(5_000))  # many pages: a short record could fill the room that a long one left
    tags = [tag for (tag,) in store._run("SELECT tag FROM {}.records ORDER BY ctid")]
    assert len(tags) == 5_000
    assert tags == sorted(tags)
    store.close()
    kills.publish(place("single"), 200)
    with open_store(place("single")) as store:
        tags = [tag for (tag,) in store._run("SELECT tag FROM {}.records ORDER BY ctid")]
        assert tags == sorted(tags), "people with a row each"


def test_people_are_found_by_the_index_and_not_by_looking_at_everybody(place):
    kills.publish(place(), 50_000)
    with open_store(place()) as store:
        store._run("ANALYZE {}.records")
        tags = [postgres.tag_of(store.key, f"p{i}") for i in range(20)]
        plan = "\n".join(
            row[0]
            for row in store._run(
                "EXPLAIN SELECT ctid FROM {}.records WHERE tag = ANY (%s) FOR UPDATE", (tags,)
            )
        )
    assert "Index Scan" in plan
    assert "rows=20" in plan, "a tag is known to be one person's"


def test_deletions_are_durable_even_where_the_server_would_not_wait(server, place):
    kills.publish(place(), 50)
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute("ALTER SYSTEM SET synchronous_commit = off")
        db.execute("SELECT pg_reload_conf()")
        try:
            with open_store(place()) as store:
                assert store._one("SELECT current_setting('synchronous_commit')") == "on"
        finally:
            db.execute("ALTER SYSTEM RESET synchronous_commit")
            db.execute("SELECT pg_reload_conf()")


def test_a_second_publisher_is_told(server, mark, place, tmp_path):
    first = kills.start("publish", place(), "filled")
    assert first.stdout.readline().strip() == "at filled"
    with pytest.raises(StoreError, match="being published by another process"):
        kills.publish(server.url(f"{mark}_people", tmp_path / "other.key"), 10)
    assert not (tmp_path / "other.key").exists()
    first.kill()
    first.wait()
    first.stdout.close()


# -- the key is never lost while its store may be there


def dying(server):
    """A server that commits, and dies before it says so."""
    whole = postgres.psycopg.Connection.execute

    def execute(self, query, *arguments, **more):
        done = whole(self, query, *arguments, **more)
        if query == "COMMIT":
            server.stop("immediate")
            raise psycopg.OperationalError("the server closed the connection")
        return done

    return execute


def test_a_key_stays_while_nobody_can_tell_whether_its_store_came_to_be(tmp_path, monkeypatch):
    """The server commits, and dies before it says so; or somebody interrupts just then."""
    server = Server()
    try:
        place, key = server.url("people", tmp_path / "key"), tmp_path / "key"
        monkeypatch.setattr(postgres.psycopg.Connection, "execute", dying(server))
        monkeypatch.setattr(postgres, "PAUSES", (0.01, 0.01))
        with pytest.raises(StoreError, match="may or may not have happened"):
            kills.publish(place, 50)
        monkeypatch.undo()
        assert key.exists()
        server.start()
        with pytest.raises(StoreError, match="may be the key of another store"):
            kills.publish(server.url("elsewhere", key), 50)
        with Curator.open(place) as curator:
            assert curator.check() == []
            assert curator.delete("p1").deleted == 1
        assert not Path(f"{key}.unfinished").exists()

        def interrupted(place, db, number):
            db.execute("COMMIT")
            raise KeyboardInterrupt

        monkeypatch.setattr(postgres, "_commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kills.publish(server.url("other", tmp_path / "other"), 50)
        monkeypatch.undo()
        with Curator.open(server.url("other", tmp_path / "other")) as curator:
            assert curator.check() == []
    finally:
        server.remove()


def test_two_publications_do_not_share_a_key(server, mark, tmp_path):
    first = kills.start("publish", server.url(f"{mark}_a", tmp_path / "key"), "filled")
    assert first.stdout.readline().strip() == "at filled"
    with pytest.raises(StoreError, match="is being written by another publication"):
        kills.publish(server.url(f"{mark}_b", tmp_path / "key"), 10)
    first.kill()
    first.wait()
    first.stdout.close()
    kills.publish(server.url(f"{mark}_a", tmp_path / "key"), 10)
    with Curator.open(server.url(f"{mark}_a", tmp_path / "key")) as curator:
        assert curator.check() == []


def test_a_request_that_nobody_can_tell_the_end_of_says_so_and_leaves_the_next_alone(tmp_path, monkeypatch):
    server = Server()
    try:
        place = server.url("people", tmp_path / "key")
        kills.publish(place, 50)
        with open_store(place) as store:
            before = store.release("people")[0].value[0]
            monkeypatch.setattr(postgres, "PAUSES", (0.01, 0.01))
            monkeypatch.setattr(postgres.psycopg.Connection, "execute", dying(server))
            with pytest.raises(StoreError, match="may or may not have happened"):
                store.delete(["p1"])
            monkeypatch.undo()
            server.start()
            assert store.delete(["p2"]).deleted == 1
            assert store.delete(["p1"]).unknown == 1
            assert before - store.release("people")[0].value[0] == 2
            assert store.check() == []
    finally:
        server.remove()


@pytest.mark.parametrize("when", ["slots", "meta"])
def test_a_copy_whose_source_goes_away_leaves_nothing_behind(
    server, place, tmp_path, capfd, when, monkeypatch
):
    kills.publish(place(), 500)
    whole = getattr(PostgresStore, "_slots" if when == "slots" else "_read_posts")

    def going(self, *arguments):
        with psycopg.connect(server.url(), autocommit=True) as db:
            found = self._db.info.backend_pid
            yield from whole(self, *arguments)
            db.execute("SELECT pg_terminate_backend(%s)", (found,))
            db.execute("SELECT pg_sleep(0.2)")

    with open_store(place()) as source:
        assert source.check() == []
    opened = open_store(place())
    monkeypatch.setattr(PostgresStore, whole.__name__, going)
    from undeleted.curate.stores import copy_store

    with pytest.raises(UndeletedError):
        copy_store(opened, str(tmp_path / "copy.db"))
    opened.close()
    left = {file.name for file in tmp_path.iterdir() if file.name.startswith("copy")}
    assert left == {"copy.db.lock"}


# -- bad input: a clear message, exit code 2, and nothing written


def said(capfd, *arguments):
    code = run([*arguments])
    out, err = capfd.readouterr()
    assert PASSWORD not in out + err
    assert QUOTED not in out + err
    assert "wrong-word" not in out + err
    return code, out + err


def test_a_wrong_password_is_refused_and_never_echoed(server, mark, tmp_path, capfd):
    place = server.url(mark, tmp_path / "key", password="wrong-word")
    for command in (["status"], ["delete", "p1"], ["check"]):
        code, text = said(capfd, *command, "--store", place)
        assert code == 2
        assert "refuses the password" in text
        assert "PGPASSWORD" in text
    code, text = said(capfd, "store", "copy", str(tmp_path / "none.db"), place)
    assert code == 2


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("postgresql://curator:wrong-word@127.0.0.1:1/postgres", "cannot be reached"),
        ("postgresql://curator:wrong-word@nowhere.invalid/postgres", "cannot be reached"),
        ("postgresql://curator:wrong-word/@@127.0.0.1:x/postgres", "not a PostgreSQL address"),
        ("postgresql://curator:wrong-word@127.0.0.1:99999/postgres", "not a PostgreSQL address"),
        (
            "postgresql://curator:wrong-word@127.0.0.1/postgres?schema=No;Way",
            "an invalid schema name",
        ),
    ],
)
def test_a_server_that_is_not_there_or_an_address_that_is_none(place, told, capfd, monkeypatch):
    monkeypatch.setattr(postgres, "PAUSES", (0.01,))
    code, text = said(capfd, "status", "--store", place)
    assert code == 2
    assert told in text


def test_a_database_or_a_store_that_is_not_there(server, mark, tmp_path, capfd):
    code, text = said(capfd, "status", "--store", server.url(mark, database="nowhere"))
    assert (code, "no such database" in text) == (2, True)
    code, text = said(capfd, "status", "--store", server.url(mark))
    assert (code, "there is no store" in text) == (2, True)


def test_keys_that_are_missing_wrong_or_of_another_store(server, mark, place, tmp_path):
    kills.publish(place(), 20)
    key = tmp_path / "people.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert not Path(f"{key}.unfinished").exists()
    whole = key.read_text()
    for text, message in ((None, "missing"), ("00" * 32, "is not the key of"), ("zz", "not a key file")):
        key.unlink(missing_ok=True)
        if text is not None:
            key.write_text(text)
        with pytest.raises(StoreError, match=message):
            open_store(place())
    key.write_text(whole)
    with pytest.raises(StoreError, match="the key of another store"):
        kills.publish(server.url(f"{mark}_other", key), 20)
    assert key.read_text() == whole
    with open_store(place()) as store:
        assert store.check() == []


def test_tables_of_another_type_or_of_other_people(server, mark, place, tmp_path):
    kills.publish(place(), 20)
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f"ALTER TABLE {mark}_people.cells ALTER COLUMN value TYPE text")
        with pytest.raises(StoreError, match=r"cells.value is text, but was created as bigint"):
            open_store(place())
        db.execute(f"CREATE SCHEMA {mark}_busy; CREATE TABLE {mark}_busy.records (x int)")
    with pytest.raises(StoreError, match="already contains other tables"):
        kills.publish(place("busy"), 20)
    assert not (tmp_path / "busy.key").exists()
    assert not (tmp_path / "busy.key.unfinished").exists()


def test_a_program_that_is_older_than_the_store_stops_deleting(server, mark, place):
    """Another process, of a newer version, brings the store to its format while this one is running."""
    kills.publish(place(), 20)
    with Curator.open(place()) as curator:
        before = curator.show("people").release.value[0]
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute(f"UPDATE {mark}_people.state SET format = 99")
        with pytest.raises(StoreError, match="migrated to format 99"):
            curator.delete("p1")
        assert curator.show("people").release.value[0] == before


def test_a_user_who_may_only_look_is_told_so(server, mark, place, tmp_path):
    kills.publish(place(), 20)
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f"CREATE ROLE {mark}_looker LOGIN PASSWORD 'looker'")
        db.execute(f"GRANT USAGE ON SCHEMA {mark}_people TO {mark}_looker")
        read = ", ".join(f"{mark}_people.{table}" for table in ("meta", "shapes", "state", "posts"))
        db.execute(f"GRANT SELECT ON {read} TO {mark}_looker")
        db.execute(f"GRANT EXECUTE ON FUNCTION {mark}_people.published TO {mark}_looker")
    looking = place().replace(f"curator:{QUOTED}", f"{mark}_looker:looker")
    with Curator.open(looking) as curator:
        assert curator.show("people").version == 1
        with pytest.raises(StoreError, match="denies this user a permission"):
            curator.delete("p1")
    with pytest.raises(StoreError, match="denies this user a permission"):
        kills.publish(
            server.url(f"{mark}_new", tmp_path / "new.key").replace(
                f"curator:{QUOTED}", f"{mark}_looker:looker"
            ),
            20,
        )


def test_what_is_shown_of_a_place_has_no_password(server, place):
    shown = Place.of(place()).shown
    assert shown.startswith("postgresql://curator@127.0.0.1")
    kills.publish(place(), 20)
    with Curator.open(place()) as curator:
        assert PASSWORD not in repr(curator) + curator.store.path + repr(curator.status())
        assert QUOTED not in repr(curator) + curator.store.path


# -- the command line, from SQLite to PostgreSQL and on


def test_a_store_moves_to_postgres_in_the_middle_of_its_life(server, mark, tmp_path, capfd):
    file, target = tmp_path / "people.db", server.url(mark, tmp_path / "moved.key")
    kills.publish(file, 300)
    with Curator.open(file) as curator:
        curator.delete([f"p{i}" for i in range(50)])
        curator.delete("p60", fold=Fold(people=3, after=3600))
        before = {name: curator.show(name) for name in curator.publications}
    code, text = said(capfd, "store", "copy", str(file), target)
    assert (code, "both sides were checked" in text) == (0, True)
    for name, publication in before.items():
        with Curator.open(target) as curator:
            shown = curator.show(name)
        assert (shown.release, shown.version) == (publication.release, publication.version)
    code, text = said(capfd, "check", "--store", target)
    assert (code, "yes" in text) == (0, True)
    code, text = said(capfd, "delete", "p61", "p10", "--store", target)
    assert code == 0
    assert "undeleted store vacuum" in text
    assert said(capfd, "store", "vacuum", "--store", target)[0] == 0
    code, text = said(capfd, "status", "--store", target, "--json")
    assert '"erasure_pending": false' in text
    code, text = said(capfd, "store", "copy", str(file), target)
    assert (code, "a store at" in text) == (2, True)


def test_a_spec_is_published_from_a_table_of_postgres_into_postgres(server, mark, tmp_path, capfd):
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f"CREATE TABLE {mark}_source (person text, age int)")
        db.execute(f"INSERT INTO {mark}_source SELECT 'p' || i, i % 100 FROM generate_series(1, 3000) AS i")
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f"""[data]
connection = "postgresql://curator@127.0.0.1:{server.port}/postgres"
table = "public.{mark}_source"
id = "person"
[budget]
epsilon = 1.0
[columns.age]
type = "number"
min = 0
max = 120
[publish.people]
kind = "count"
[publish.ages]
kind = "quantiles"
column = "age"
"""
    )
    place = server.url(mark, tmp_path / "key")
    environment = {"PGPASSWORD": PASSWORD, "PATH": "/usr/bin"}
    command = [sys.executable, "-m", "undeleted", "publish", str(spec), "--store", place]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    refused = subprocess.run(
        [*command[:-1], server.url(f"{mark}_b", tmp_path / "b")],
        capture_output=True,
        text=True,
        env=environment | {"PGPASSWORD": "wrong-word"},
    )
    assert refused.returncode == 2
    assert "refuses the password" in refused.stderr
    assert "wrong-word" not in refused.stderr
    with Curator.open(place) as curator:
        assert curator.delete("p1", "p2", "p3").deleted == 3
        assert curator.check() == []
        assert abs(curator.show("people").release.value[0] - 2997) < 200
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f"ALTER TABLE {mark}_source ALTER COLUMN age TYPE text USING 'aged ' || age")
    refused = subprocess.run(
        [*command[:-1], server.url(f"{mark}_c", tmp_path / "c")],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert refused.returncode == 2
    assert "'age': values must be numbers" in refused.stderr
    assert not (tmp_path / "c").exists()


def test_readers_are_not_told_what_left_together(server, mark, place):
    """Rows carry the transaction that wrote them: `published()` leaves that out, and `check` names who reads
    the table itself; a vacuum makes one transaction of all."""
    role = f"{mark}_analyst"
    with made(place(), rows()) as store, psycopg.connect(server.url(), autocommit=True) as db:
        store.delete(["p3"])
        grouped = f"SELECT xmin, count(*) FROM {mark}_people.cells GROUP BY xmin"
        assert len(db.execute(grouped).fetchall()) == 2, "what p3 moved stands out in the table itself"
        db.execute(f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA {mark}_people TO {role}")
        db.execute(f"GRANT EXECUTE ON FUNCTION {mark}_people.published TO {role}; SET ROLE {role}")
        cells = db.execute(f"SELECT cell, value FROM {mark}_people.published()").fetchall()
        with pytest.raises(psycopg.Error, match="permission denied"):
            db.execute(f"SELECT xmin FROM {mark}_people.cells")
        with pytest.raises(psycopg.Error, match="does not exist"):
            db.execute(f"SELECT xmin FROM {mark}_people.published()")
        db.execute("RESET ROLE")
        assert len(cells) == sum(store._sizes)
        assert store.check() == []
        db.execute(f"GRANT SELECT ON {mark}_people.cells TO {role}")
        assert [role in problem for problem in store.check()] == [True]
        db.execute(f"REVOKE SELECT ON {mark}_people.cells FROM {role}")
        assert store.vacuum()
        assert len(db.execute(grouped).fetchall()) == 1
        assert len(db.execute(f"SELECT xmin FROM {mark}_people.records GROUP BY xmin").fetchall()) == 1
        assert store.check() == []


@pytest.mark.parametrize("column", ["tag", "data"])
def test_a_record_altered_by_one_byte_is_noticed(server, mark, place, column):
    with made(place(), rows()) as store, psycopg.connect(server.url(), autocommit=True) as db:
        where = f"WHERE tag = (SELECT tag FROM {mark}_people.records ORDER BY tag LIMIT 1)"
        altered = f"set_byte({column}, 3, get_byte({column}, 3) # 1)"
        db.execute(f"UPDATE {mark}_people.records SET {column} = {altered} {where}")
        assert any("a record was altered" in problem for problem in store.check())
        person = (
            next(p for p in dict.fromkeys(rows()["id"]) if _is_first(db, mark, store, p))
            if column == "data"
            else ""
        )
        if person:
            with pytest.raises(StoreError, match="a record was altered; nothing was changed"):
                store.delete([person])


def _is_first(db, mark, store, person):
    [first] = db.execute(f"SELECT tag FROM {mark}_people.records ORDER BY tag LIMIT 1").fetchone()
    return first == tag_of(store.key, person)


def test_what_was_held_back_leaves_no_chunk_behind_that_tells(server, mark, place):
    """All chunks are there from the first time on; when they are folded in, all are zeros."""
    with made(place(), rows()) as store, psycopg.connect(server.url(), autocommit=True) as db:
        store.delete(["p3"], Fold(people=2, after=3600))
        full = "count(*) FILTER (WHERE length(replace(data::text, '0', '')) > 2)"
        chunks = f"SELECT count(*), {full} FROM {mark}_people.held"
        count, full = db.execute(chunks).fetchone()
        assert count == store._chunks[-1]
        assert full > 0
        store.delete(["p4"], Fold(people=2, after=3600))
        assert db.execute(chunks).fetchone() == (count, 0)
        assert store.check() == []


def test_a_store_that_somebody_left_is_the_one_they_never_came_to_once_it_is_vacuumed(server, mark, tmp_path):
    """Rows, places and transactions, for somebody who holds the tables and the key."""
    x, key = Number("x", min=0, max=99), bytes(range(32))
    found = []
    for name, people in (
        ("left", ["ann", *(f"p{i}" for i in range(300))]),
        ("never", [f"p{i}" for i in range(300)]),
    ):
        schema = Schema([x], id="id")
        table = schema.table({"id": people, "x": [len(p) for p in people]})
        mechanisms = {"mean": NoisyMean(x, Budget(1.0))}
        releases = {n: m.release(Arrays(table), seeded("same")) for n, m in mechanisms.items()}
        publishing = Publishing(schema, mechanisms, releases, table, {})
        place = server.url(f"{mark}_{name}", tmp_path / f"{name}.key")
        with PostgresStore.filled(place, lambda k, p=publishing: Published(p, k), key) as store:
            assert store.delete(["ann"]).deleted == (name == "left")
            assert store.vacuum()
            tables = ("records", "cells", "posts", "held", "meta", "shapes")
            rows = {
                t: store._run(f"SELECT ctid::text, * FROM {{}}.{t} ORDER BY ctid").fetchall() for t in tables
            }
            apart = [
                store._one(f"SELECT count(DISTINCT xmin::text) FROM {{}}.{t}") for t in ("records", "cells")
            ]
            found.append((rows, apart))
    assert found[0] == found[1]
    assert found[0][1] == [1, 1]
