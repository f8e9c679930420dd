"""The service over a store in PostgreSQL: the same answers, and erasure that waits for `store vacuum`."""

import json

import pytest

from support.services import SPEC, client_of, table
from undeleted.curate.curator import Curator
from undeleted.interfaces.http.keys import Keys, keys_at

pytestmark = pytest.mark.services


def published(server, mark, folder):
    """A store of a hundred people: its address, their receipts, headers of a reader and of an operator."""
    url = server.url(mark, folder / "people.key")
    (folder / "people.csv").write_text(table(100))
    (folder / "spec.toml").write_text(SPEC)
    with Curator.from_spec(folder / "spec.toml", url) as curator:
        lines = [json.loads(line) for line in curator.receipts(folder / "spec.toml")]
    keys = Keys(keys_at(url))
    reader, operator = (
        {"Authorization": f"Bearer {keys.create(role, role)}"} for role in ("reader", "operator")
    )
    return url, lines, reader, operator


def test_people_leave_readers_read_operators_delete(server, mark, tmp_path):
    url, lines, reader, operator = published(server, mark, tmp_path)
    assert keys_at(url) == tmp_path / "people.keys"

    def people(client):
        told = client.get("/v1/publications/people", headers=reader).json()
        return told["answers"][0]["estimate"], told["version"]

    with client_of(url) as client:
        before = people(client)
        first = client.post("/v1/deletions", json={"receipt": lines[7]["receipt"]})
        assert first.status_code == 200
        assert first.json()["erased_within_seconds"] is None, "that waits for a vacuum, and is not promised"
        page = client.post("/leave", data={"receipt": lines[9]["receipt"]}).text
        assert "when the operator next cleans the database" in page
        assert people(client) == (before[0] - 1, before[1] + 1)
        assert client.post("/v1/deletions", json={"receipt": lines[7]["receipt"]}).json() == first.json()
        assert people(client) == (before[0] - 1, before[1] + 1)
        body = b'{"id": "p00008"}\n{"id": "p00007"}\n'
        headers = {**operator, "Content-Type": "application/x-ndjson"}
        told = json.loads(client.post("/v1/deletions/bulk", content=body, headers=headers).text)
        assert (told["deleted"], told["unknown"]) == (1, 1)
        assert client.get("/v1/check", headers=operator).json() == {
            "intact": True,
            "problems": [],
            "rule": 2,
            "unchecked": [],
        }
        assert client.get("/v1/status", headers=operator).json()["erasure_pending"] is True
    with Curator.open(url) as curator:
        assert curator.vacuum()
        assert not curator.status().erasure_pending
        assert len(curator.store.tags()) == 98


def test_a_server_that_is_down_is_503_for_strangers_soon_and_goes_on_when_it_is_back(server, mark, tmp_path):
    """Nobody waits for the tries of those who came before, and nobody reads the database's address."""
    import time

    url, lines, reader, operator = published(server, mark, tmp_path)

    def leave(number):
        return client.post("/v1/deletions", json={"receipt": lines[number]["receipt"]})

    with client_of(url) as client:
        assert leave(1).status_code == 200
        assert client.get("/health/ready").status_code == 200
        server.stop()
        try:
            answers = [leave(2), client.get("/v1/publications", headers=reader), leave(2)]
            asked = client.app.state.service._writer._work_queue.qsize()
            answers += [leave(2) for _ in range(20)]
            assert client.app.state.service._writer._work_queue.qsize() <= asked + 1, "refused at once"
            assert {answer.status_code for answer in answers} == {503}
            assert all(answer.headers["retry-after"] for answer in answers)
            assert "127.0.0.1" not in "".join(answer.text for answer in answers)
            assert client.get("/health/ready").status_code == 503
            assert "cannot be reached" in client.get("/v1/status", headers=operator).json()["detail"]
        finally:
            server.start()
        deadline = time.monotonic() + 60
        while client.get("/health/ready").status_code != 200:
            assert time.monotonic() < deadline, "it goes on"
            time.sleep(0.1)
        assert leave(2).status_code == 200
        assert client.get("/v1/check", headers=operator).json() == {
            "intact": True,
            "problems": [],
            "rule": 2,
            "unchecked": [],
        }
    with Curator.open(url) as curator:
        assert len(curator.store.tags()) == 98


def test_a_password_is_never_printed(capsys):
    from undeleted.interfaces.cli import run

    url = "postgresql://curator:secret-word@127.0.0.1:1/none?schema=people"
    assert run(["serve", "--store", url, "--port", "0"]) == 2
    said = capsys.readouterr()
    assert "secret-word" not in said.out + said.err
