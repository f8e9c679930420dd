"""The process: how it starts, what it says when it cannot, and how it ends.

Covers: interfaces/cli/serving.py, interfaces/cli/access.py, interfaces/http/demo.py
"""

import http.client
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from support.services import Published, running
from undeleted.interfaces.cli import run


def refused(capsys, *arguments):
    code = run(["serve", "--port", "0", *arguments])
    said = capsys.readouterr()
    assert code == 2, said
    assert "Traceback" not in said.err
    assert len(said.err.strip().splitlines()) == 2
    return said.err


def test_a_store_that_is_not_there(tmp_path, capsys):
    assert "there is no store" in refused(capsys, "--store", str(tmp_path / "none.db"))


def test_a_store_that_is_none(tmp_path, capsys):
    (tmp_path / "text.db").write_text("hello")
    assert "is not a store" in refused(capsys, "--store", str(tmp_path / "text.db"))


def test_a_store_without_its_key(tmp_path, capsys):
    published = Published(tmp_path, people=5)
    (tmp_path / "people.db.key").unlink()
    assert "without it nobody's record" in refused(capsys, "--store", published.store)


def test_a_store_of_another_version(tmp_path, capsys):
    published = Published(tmp_path, people=5)
    db = sqlite3.connect(published.store)
    db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    db.commit()
    db.close()
    assert "has format 99" in refused(capsys, "--store", published.store)


def test_a_file_of_keys_that_is_none(tmp_path, capsys):
    published = Published(tmp_path, people=5)
    (tmp_path / "people.db.keys").write_text("oops")
    assert "is not a key file" in refused(capsys, "--store", published.store)


def test_a_port_in_use(tmp_path, capsys):
    published = Published(tmp_path, people=5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run(["serve", "--store", published.store, "--port", port]) == 2
    assert "cannot listen on" in capsys.readouterr().err


def test_options_that_exclude_each_other(capsys):
    assert "creates its own store" in refused(capsys, "--demo", "--store", "x.db")


def test_a_store_that_is_locked_is_a_problem_and_not_a_crash(tmp_path):
    from support.services import client_of

    published = Published(tmp_path, people=20)
    with client_of(published.store) as client:
        for curator in (client.app.state.service.writer, client.app.state.service.curator):
            curator.store._db.execute("PRAGMA busy_timeout = 50")
        other = sqlite3.connect(published.store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = client.post("/v1/deletions", json={"receipt": published.receipt(1)})
        assert (answer.status_code, answer.json()["status"]) == (503, 503)
        other.execute("ROLLBACK")
        other.close()
        assert client.post("/v1/deletions", json={"receipt": published.receipt(1)}).status_code == 200
    assert not published.is_there(1)


def asked(address, path, body=None, headers=None, timeout=30):
    request = urllib.request.Request(address + path, body, headers or {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.status, answer.read()


def leave(address, receipt):
    body = json.dumps({"receipt": receipt}).encode()
    return asked(address, "/v1/deletions", body, {"Content-Type": "application/json"})


def test_it_says_where_it_is_and_ends_gently(tmp_path):
    published = Published(tmp_path, people=20)
    with running("--store", published.store) as service:
        address = service.told["address"]
        assert asked(address, "/health/ready")[0] == 200
        assert leave(address, published.receipt(3))[0] == 200
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=30) == 0
        assert {json.loads(line)["event"] for line in service.errors().splitlines()} == {"request"}
    assert not published.is_there(3)
    assert published.whole()


def test_the_end_loses_nothing_that_was_acknowledged(tmp_path):
    """Eight people after people leave, while the service is told to end."""
    published = Published(tmp_path, people=2000)
    acknowledged, asks = [], iter(range(2000))
    lock = threading.Lock()

    def leaver(address):
        while True:
            with lock:
                number = next(asks)
            try:
                if leave(address, published.receipt(number))[0] == 200:
                    acknowledged.append(number)
            except (OSError, urllib.error.URLError):
                return

    with running("--store", published.store, "--log-level", "error") as service:
        threads = [threading.Thread(target=leaver, args=(service.told["address"],)) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(0.7)
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=40) == 0
        for thread in threads:
            thread.join()
    assert len(acknowledged) > 20
    assert not any(published.is_there(number) for number in acknowledged[-5:])
    assert published.whole()


def test_a_list_that_takes_longer_than_the_first_answer_is_deleted_whole(tmp_path):
    """The answer begins a second after the list does; what arrives from then on counts as well."""
    published = Published(tmp_path, people=3000)
    headers = published.header("operator") | {"Content-Type": "application/x-ndjson"}

    def chunks():
        for start in range(0, 3000, 100):
            yield "".join(f'{{"id": "p{i:05d}"}}\n' for i in range(start, start + 100)).encode()
            time.sleep(0.1)

    with running("--store", published.store, "--log-level", "error") as service:
        connection = http.client.HTTPConnection(service.told["address"].removeprefix("http://"), timeout=60)
        connection.request("POST", "/v1/deletions/bulk", chunks(), headers, encode_chunked=True)
        lines = [json.loads(line) for line in connection.getresponse().read().splitlines()]
        connection.close()
    assert len(lines) >= 3, "a line a second"
    assert (lines[-1]["deleted"], lines[-1]["lines"], lines[-1]["done"]) == (3000, 3000, True)
    assert published.whole()


def test_a_list_that_is_cut_off_goes_on_after_the_end(tmp_path):
    """The operator's stream is broken by SIGTERM; what was durable stays, and the list is sent again."""
    published = Published(tmp_path, people=3000)
    lines = [json.dumps({"id": f"p{i:05d}"}).encode() + b"\n" for i in range(3000)]
    headers = published.header("operator") | {"Content-Type": "application/x-ndjson"}
    with running("--store", published.store, "--log-level", "error") as service:
        host = service.told["address"].removeprefix("http://")
        name, port = host.split(":")
        with socket.create_connection((name, int(port))) as sock:
            head = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
            sock.sendall(f"POST /v1/deletions/bulk?stream=x HTTP/1.1\r\nHost: {host}\r\n{head}".encode())
            sock.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
            for part in range(0, 1500, 100):
                data = b"".join(lines[part : part + 100])
                sock.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                told = json.loads(asked(service.told["address"], "/v1/deletions/bulk/x", headers=headers)[1])
                if told["lines"] >= 1500:
                    break
                time.sleep(0.05)
            assert told["lines"] == 1500
    with running("--store", published.store, "--log-level", "error") as service:
        told = asked(service.told["address"], "/v1/deletions/bulk", b"".join(lines), headers)[1]
        last = json.loads(told.splitlines()[-1])
        assert (last["deleted"], last["unknown"]) == (1500, 1500), "each exactly once"
    assert published.whole()


@pytest.mark.slow
def test_the_demo_serves_the_dashboard_and_leaves_nothing_behind(tmp_path):
    with running("--demo", env={"TMPDIR": str(tmp_path)}) as service:
        told = service.told
        page = asked(told["address"], "/")[1].decode()
        assert "with generated people" in page
        assert set(told["keys"]) == {"operator", "reader", "person"}
        deadline = time.monotonic() + 90
        while "mechanism:noisy-histogram" not in page and time.monotonic() < deadline:
            time.sleep(1)
            page = asked(told["address"], "/audits")[1].decode()
        assert "retrain:statistics:median" in page
        assert "mechanism:noisy-histogram" in page
    assert list(tmp_path.iterdir()) == []


def test_the_text_that_a_person_reads(tmp_path):
    published = Published(tmp_path, people=5)
    command = [sys.executable, "-m", "undeleted", "serve", "--store", published.store, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--host", "0.0.0.0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = [process.stdout.readline() for _ in range(6)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert lines[0].startswith(f"undeleted serves {published.store} at http://0.0.0.0:")
    assert "/leave" in lines[2]
    assert lines[-1] == "stop it with Ctrl-C\n"
    assert "are sent unencrypted" in err
    assert process.returncode == 0


def exchanged(address, data, wait=20):
    """What a service says to these bytes, until it hangs up or says a whole answer."""
    name, port = address.removeprefix("http://").split(":")
    with socket.create_connection((name, int(port)), timeout=wait) as sock:
        sock.sendall(data)
        return sock.recv(65536)


def test_heads_that_are_no_http_or_too_long_are_problems(tmp_path):
    published = Published(tmp_path, people=5)
    with running("--store", published.store) as service:
        address = service.told["address"]
        for head in (
            b"\x16\x03\x01 this is TLS\r\n\r\n",
            b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n",
            b"GET /" + b"x" * 70_000,
        ):
            answer = exchanged(address, head)
            assert answer.startswith(b"HTTP/1.1 400"), answer[:200]
            assert b"application/problem+json" in answer
        fine = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 4_000 + b"\r\n\r\n"
        assert exchanged(address, fine).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_head_that_never_ends_is_hung_up_on(tmp_path):
    published = Published(tmp_path, people=5)
    with running("--store", published.store) as service:
        name, port = service.told["address"].removeprefix("http://").split(":")
        began = time.monotonic()
        with socket.create_connection((name, int(port)), timeout=30) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            assert sock.recv(100) == b""
        assert 8 < time.monotonic() - began < 90


def test_a_table_that_was_being_read_when_the_service_was_killed_is_removed(tmp_path):
    published = Published(tmp_path, people=5)
    folder = tmp_path / "people.db.key.upload"
    folder.mkdir()
    (folder / "people.csv").write_text("person,age\n")
    with running("--store", published.store):
        assert not folder.exists()
