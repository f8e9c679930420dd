"""What stands around everything: limits, names, headers, time, and what becomes of a bug."""

import json
import sqlite3
import time

import pytest

from support.services import client_of
from undeleted.interfaces.http.guard import HEADERS


@pytest.mark.parametrize(
    "path", ["/", "/leave", "/v1/status", "/nowhere", "/static/page.css", "/health/live"]
)
def test_every_answer_carries_the_security_headers(client, path):
    answer = client.get(path, follow_redirects=False)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "server" not in answer.headers


def test_transport_security_is_promised_only_behind_a_proxy_that_has_it(published):
    with client_of(published.store, https=True) as client:
        assert "max-age" in client.get("/leave").headers["strict-transport-security"]
        answer = client.post("/login", data={"key": published.keys["reader"]}, follow_redirects=False)
        assert "Secure" in answer.headers["set-cookie"]
    with client_of(published.store) as client:
        assert "strict-transport-security" not in client.get("/leave").headers


def test_the_service_answers_to_its_own_names_only(published):
    with client_of(published.store, hosts=("localhost", "127.0.0.1", "[::1]")) as client:
        for host, status in (
            ("localhost", 200),
            ("LOCALHOST:8000", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:80", 200),
            ("evil.example", 421),
            ("localhost.evil.example", 421),
            ("", 421),
            ("[::2]", 421),
        ):
            assert client.get("/health/live", headers={"Host": host}).status_code == status, host


def test_a_body_that_grows_beyond_the_limit_is_refused(client):
    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    answer = client.post("/v1/deletions", content=endless(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["status"]) == (413, 413)
    answer = client.post("/leave", content=b"receipt=" + b"x" * 100_000)
    assert answer.status_code == 413


def test_a_request_that_takes_too_long_is_told(published, monkeypatch):
    import asyncio

    from undeleted.interfaces.http.service import Service

    async def slow(self):
        await asyncio.sleep(5)

    monkeypatch.setattr(Service, "status", slow)
    with client_of(published.store, timeout=0.1) as client:
        answer = client.get("/v1/status", headers=published.header("operator"))
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")


def test_a_bug_is_a_problem_whose_message_goes_nowhere(published, monkeypatch, capfd):
    from undeleted.interfaces.http.guard import log_to_stderr
    from undeleted.interfaces.http.service import Service

    log_to_stderr("info")

    async def broken(self):
        raise RuntimeError("the value of p00017 is 41")

    monkeypatch.setattr(Service, "status", broken)
    with client_of(published.store) as client:
        answer = client.get("/v1/status", headers=published.header("operator"))
    assert answer.status_code == 500
    assert "bug in undeleted" in answer.json()["detail"]
    said = capfd.readouterr().err
    assert "41" not in answer.text + "".join(line for line in said.splitlines() if '"bug"' in line).replace(
        ":41", ""
    )
    assert "p00017" not in answer.text + said
    assert any(json.loads(line)["event"] == "bug" for line in said.splitlines())


def test_a_store_that_fails_tells_strangers_nothing_and_the_operator_all(published, monkeypatch):
    from undeleted.curate.stores.sqlite import SqliteStore

    def full(self, *arguments, **more):
        from undeleted.curate.stores._sqlite_place import wrong

        raise wrong(self.path, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(SqliteStore, "delete_tagged", full)
    with client_of(published.store) as client:
        answer = client.post("/v1/deletions", json={"receipt": published.receipt(3)})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert published.store not in answer.text
        assert "disk" not in answer.text
        headers = {**published.header("operator"), "Content-Type": "application/x-ndjson"}
        told = client.post("/v1/deletions/bulk", content=b'{"id": "p00003"}', headers=headers)
        assert told.status_code == 503
        assert "full disk" in told.json()["detail"]


def test_what_was_deleted_is_erased_within_the_stated_time(published):
    from pathlib import Path

    log = Path(f"{published.store}-wal")
    with client_of(published.store, erase_within=0.4) as client:
        client.post("/v1/deletions", json={"receipt": published.receipt(3)})
        began, stood_still = time.monotonic(), 0.0
        while log.stat().st_size and time.monotonic() - began < 120:
            slept = time.monotonic()
            time.sleep(0.01)
            stood_still += time.monotonic() - slept - 0.01
        assert log.stat().st_size == 0
        assert time.monotonic() - began < 2.0 + 10 * stood_still, "0.4 s were promised"


def test_a_reader_who_holds_erasure_up_is_waited_for(published):
    from pathlib import Path

    log = Path(f"{published.store}-wal")
    with client_of(published.store, erase_within=0.1) as client:
        reader = sqlite3.connect(published.store)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM state").fetchall()
        assert client.post("/v1/deletions", json={"receipt": published.receipt(3)}).status_code == 200
        time.sleep(0.5)
        told = client.get("/v1/status", headers=published.header("operator")).json()
        assert told["erasure_pending"] is True
        reader.close()
    assert not log.exists() or log.stat().st_size == 0, "closing erases"


def test_deletions_are_folded_when_it_is_due(published):
    from undeleted.curate.stores import Fold

    def people(client):
        told = client.get("/v1/publications/people", headers=published.header("reader")).json()
        return told["answers"][0]["estimate"], told["version"]

    with client_of(published.store, fold=Fold(3, 3600.0)) as client:
        before = people(client)
        for number in (1, 2):
            client.post("/v1/deletions", json={"receipt": published.receipt(number)})
        assert people(client) == before, "held back"
        client.post("/v1/deletions", json={"receipt": published.receipt(3)})
        assert people(client) == (before[0] - 3, before[1] + 1)
    assert published.whole()


def test_a_reader_who_holds_erasure_up_holds_nobody_else_up(published):
    def seconds(client, numbers):
        began = time.monotonic()
        for number in numbers:
            answer = client.post("/v1/deletions", json={"receipt": published.receipt(number)})
            assert answer.status_code == 200
        return time.monotonic() - began

    with client_of(published.store, erase_within=0.1) as client:
        calm = seconds(client, range(24, 44))
        reader = sqlite3.connect(published.store)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM state").fetchall()
        client.post("/v1/deletions", json={"receipt": published.receipt(3)})
        time.sleep(0.3)  # erasure has been tried meanwhile, and is tried again
        assert seconds(client, range(4, 24)) < max(5.0, 20 * calm), "nobody is held up"
        assert client.app.state.service.erasure_late > 0
        reader.close()


def test_erasure_goes_on_after_a_failure(published, monkeypatch):
    from pathlib import Path

    from undeleted.curate.stores.sqlite import SqliteStore

    whole, failures = SqliteStore.erase, []

    def failing(self, timeout=30.0):
        if len(failures) < 2:
            failures.append(timeout)
            raise sqlite3.DatabaseError("database disk image is malformed")
        return whole(self, timeout)

    log = Path(f"{published.store}-wal")
    with client_of(published.store, erase_within=0.1) as client:
        monkeypatch.setattr(SqliteStore, "erase", failing)
        client.post("/v1/deletions", json={"receipt": published.receipt(3)})
        until = time.monotonic() + 120
        while log.stat().st_size and time.monotonic() < until:
            time.sleep(0.02)
        assert log.stat().st_size == 0
    assert len(failures) == 2


def test_only_an_operator_may_send_much(published):
    """A large table, without a key: it is refused before it is read."""
    with client_of(published.store) as client:
        body = b'{"spec": "' + b"x" * 200_000 + b'"}'
        for path in ("/v1/publications", "/v1/receipts", "/v1/deletions/bulk"):
            for role in (None, "reader", "person"):
                headers = {**published.header(role), "Content-Type": "application/json"}
                assert client.post(path, content=body, headers=headers).status_code == 413
        headers = {**published.header("operator"), "Content-Type": "application/json"}
        assert client.post("/v1/publications", content=body, headers=headers).status_code == 409


def test_a_file_of_keys_that_breaks_lets_nobody_in_and_tells_nothing(client, published):
    from pathlib import Path

    Path(f"{published.store}.keys").write_text("oops")
    for answer in (
        client.get("/v1/publications", headers=published.header("reader")),
        client.post("/v1/deletions", json={"receipt": "x"}, headers=published.header("person")),
        client.post("/login", data={"key": "x"}),
    ):
        assert answer.status_code == 503
        assert published.store not in answer.text


def test_metrics_are_not_public(published):
    with client_of(published.store, public=True) as client:
        assert client.get("/v1/publications").status_code == 200
        assert client.get("/metrics").status_code == 401


def test_too_many_fields_are_a_bad_request(client):
    body = "&".join(f"f{i}=1" for i in range(40))
    answer = client.post(
        "/leave", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code == 400
