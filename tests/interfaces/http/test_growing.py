"""A table that grows, over HTTP: people join, are corrected and leave; ticks close on the service's clock."""

import json
import re
from datetime import UTC, datetime
from html import unescape

import pytest

from support.services import SPEC, Published, client_of, kept_log
from undeleted.curate.curator import Curator
from undeleted.errors import BadSetting
from undeleted.interfaces.http import pages
from undeleted.interfaces.http import service as services

MANUAL = """
[arrivals]
every = "manual"
horizon = 40
max_corrections = 1
"""
GROWS = SPEC.replace("epsilon = 4.0", "epsilon = 4.0\ndelta = 1e-6") + MANUAL
NEW = "person,age,city\n" + "".join(f"q{i},40,Haifa\n" for i in range(50))


@pytest.fixture
def published(tmp_path):
    return Published(tmp_path, spec=GROWS)


@pytest.fixture
def client(published):
    with client_of(published.store) as client:
        client.headers |= published.header("operator")
        yield client


def people(client, **asked):
    return client.get("/v1/publications/people", params=asked).json()["answers"]


def test_people_join_are_corrected_and_leave(client, published):
    done = client.post("/v1/arrivals", json={"table": NEW})
    assert done.status_code == 200
    assert done.json() == {"added": 50, "there": 0, "tick": 1, "closes": None}
    again = client.post("/v1/arrivals", json={"table": NEW})
    assert again.status_code == 409 or again.status_code == 422
    assert again.json()["detail"].startswith("50 people are in the store already; nobody was added.")
    assert client.post("/v1/arrivals", json={"table": NEW, "skip_existing": True}).json()["there"] == 50
    before = people(client)[0]["estimate"]
    assert client.post("/v1/ticks").json() == {"closed": 1, "ticks": 2, "version": 2, "next": None}
    [first, second] = people(client, tick="all")
    assert (first["labels"], second["labels"], first["estimate"]) == ({"tick": 0}, {"tick": 1}, before)
    changed = client.post("/v1/corrections", json={"table": "person,age,city\nq1,41,Haifa\nzz,1,Haifa\n"})
    assert (changed.json()["corrected"], changed.json()["unknown"]) == (1, 1)
    gone = client.post("/v1/deletions", json={"receipt": published.receipt(3)}, headers={"Authorization": ""})
    assert gone.status_code == 200
    status = client.get("/v1/status").json()
    assert (status["ticks"]["closed"], status["ticks"]["horizon"]) == (2, 40)
    assert client.get("/v1/check").json()["intact"]
    assert not published.is_there(3)


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/arrivals", {"table": "person,age\nq1,3\n"}, "column 'city': not in the table."),
        ("/v1/arrivals", {"table": "person,age,city\nq1,300,Haifa\n"}, "column 'age': values must lie in"),
        ("/v1/corrections", {"table": "what"}, "not in the table."),
        ("/v1/arrivals", {"table": ""}, ""),
        ("/v1/arrivals", {"people": "x"}, ""),
    ],
)
def test_wrong_tables_are_refused_without_a_path_and_change_nothing(client, published, path, body, says):
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert says in json.dumps(answer.json(), ensure_ascii=False)
    assert str(published.folder) not in answer.text
    assert client.get("/v1/check").json()["intact"]


def test_ticks_are_closed_when_they_are_due_without_a_request(tmp_path, monkeypatch):
    """The service's time is moved on; nothing waits for a real clock."""
    daily = Published(tmp_path, spec=GROWS.replace('"manual"', '"day"'))
    with Curator.open(daily.store) as curator:
        due = curator.clock.closes(3)
    with client_of(daily.store) as client:
        service = client.app.state.service
        assert client.get("/v1/status", headers=daily.header("operator")).json()["ticks"]["closed"] == 1
        writer = service._writing
        with kept_log():
            service._close_due(writer)
            assert writer.status().ticks == 1, "nothing is due yet"
            monkeypatch.setattr(services.time, "time", lambda: due.timestamp())
            tick = type(writer).tick
            monkeypatch.setattr(
                type(writer), "tick", lambda self: tick(self, datetime.fromtimestamp(due.timestamp(), UTC))
            )
            service._close_due(writer)
        assert writer.status().ticks == 4
        assert client.get("/v1/status", headers=daily.header("operator")).json()["ticks"]["closed"] == 4


def test_the_dashboard_shows_ticks(published):
    with client_of(published.store, public=True) as client:
        client.post("/v1/ticks", headers=published.header("operator"))
        page = client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "2 of 40 ticks have closed" in page.text
    assert page.text.count("<h3>By tick</h3>") >= 2


def test_a_table_that_does_not_grow_refuses(tmp_path):
    still = Published(tmp_path)
    with client_of(still.store) as client:
        client.headers |= still.header("operator")
        for path, body in (
            ("/v1/arrivals", {"table": NEW}),
            ("/v1/corrections", {"table": NEW}),
            ("/v1/ticks", None),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 422
            assert "does not grow" in answer.json()["detail"]
        assert client.get("/v1/status").json()["ticks"] is None


def test_a_service_that_would_hold_deletions_back_does_not_start(published):
    from undeleted.curate.stores import Fold

    with (
        pytest.raises(BadSetting, match="does not hold deletions back"),
        client_of(published.store, fold=Fold(2, 60)),
    ):
        pass


def test_hidden_leavers_promise_no_erasure(tmp_path):
    hides = 'leavers = "hidden"\nleavers_epsilon = 4\nleavers_delta = 1e-6\n'
    hidden = Published(tmp_path, spec=GROWS + hides)
    with client_of(hidden.store) as client:
        gone = client.post("/v1/deletions", json={"receipt": hidden.receipt(3)})
        assert gone.status_code == 200
        assert gone.json()["erased_within_seconds"] is None
        status = client.get("/v1/status", headers=hidden.header("operator")).json()
        assert (status["version"], status["ticks"]["leavers"]) == (1, "hidden")
    assert not hidden.is_there(3)


def test_the_dashboard_draws_every_year_of_a_long_history(published, monkeypatch):
    """However many ticks have closed: at most so many evenly spaced ones are drawn, the last among them."""
    monkeypatch.setattr(pages, "MOST_TICKS", 5)
    with Curator.open(published.store) as curator:
        for _ in range(12):
            curator.tick()
    with client_of(published.store) as client:
        client.post("/login", data={"key": published.keys["reader"]})
        drawn = [
            json.loads(unescape(chart)) for chart in re.findall(r'data-chart="([^"]*)"', client.get("/").text)
        ]
    by_tick = [chart["data"]["values"] for chart in drawn if "tick" in chart["data"]["values"][0]]
    ticks = [sorted({row["tick"] for row in rows}) for rows in by_tick]
    assert ticks
    assert all(shown == [0, 3, 6, 9, 12] for shown in ticks)
