"""Whoever floods the service keeps nobody else out, and costs it little.

The floods: bodies that arrive a byte at a time, connections that say nothing, a crowd that all asks at once.
While each of them goes on, health, a person who leaves and a page are answered; that is a fact of order, not
of the clock: the flood has not been answered yet.  How soon health answers is compared with 100 ms, or with
twenty times what it takes when nothing happens, where the machine is busy.
"""

import asyncio
import contextlib
import json
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time

import pytest

from support.services import Published, kept_log, running
from undeleted.interfaces.http import guard as guarding
from undeleted.interfaces.http import protocol
from undeleted.interfaces.http.app import build
from undeleted.interfaces.http.keys import keys_at
from undeleted.interfaces.http.service import Settings

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"


def told(published, number):
    body = json.dumps({"receipt": published.receipt(number)}).encode()
    return b"POST /v1/deletions HTTP/1.1\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Asker:
    """Somebody who asks over a connection of their own."""

    def __init__(self, address):
        name, port = address.removeprefix("http://").split(":")
        self._at = (name, int(port))

    def connected(self):
        return socket.create_connection(self._at, timeout=60)

    def ask(self, data):
        with self.connected() as sock:
            sock.sendall(data)
            return sock.recv(65536)

    def get(self, path):
        return self.ask(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())

    def health(self):
        """The median time in milliseconds of nine answers."""
        times = []
        for _ in range(9):
            began = time.perf_counter()
            assert self.get("/health/live").startswith(b"HTTP/1.1 200")
            times.append(1000 * (time.perf_counter() - began))
        return statistics.median(times)


def nobody_is_kept_out(asker, published, number, calm):
    took = asker.health()
    assert took <= max(100, 20 * calm), (took, calm)
    assert asker.get("/health/ready").startswith(b"HTTP/1.1 200")
    assert asker.ask(told(published, number)).startswith(b"HTTP/1.1 200")
    assert asker.get("/leave").startswith(b"HTTP/1.1 200")


def unanswered(flood):
    """How many of these connections have heard nothing, and are open."""
    found = 0
    for sock in flood:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.recv(1)
            continue
        found += 1
    return found


@pytest.mark.parametrize("path", ["/v1/deletions", "/leave"])
def test_bodies_that_arrive_a_byte_at_a_time(tmp_path, many_files, path):
    published = Published(tmp_path, people=20)
    with (
        running("--store", published.store, "--log-level", "error") as service,
        contextlib.ExitStack() as held,
    ):
        asker = Asker(service.told["address"])
        calm = asker.health()
        flood = [held.enter_context(asker.connected()) for _ in range(guarding.AT_ONCE + 100)]
        for sock in flood:
            sock.sendall(b"POST %s HTTP/1.1\r\n" % path.encode() + HEAD + b"Content-Length: 500\r\n\r\n{")
        nobody_is_kept_out(asker, published, 3, calm)
        assert unanswered(flood) == len(flood), "the flood was still there"
    assert not published.is_there(3)


def test_connections_that_say_nothing_make_room(tmp_path, many_files):
    """More than the process may hold open: those who have waited longest go."""
    published = Published(tmp_path, people=20)
    few = ("sh", "-c", f'ulimit -n {protocol.SPARE + 200}; exec "$0" "$@"')
    with (
        running("--store", published.store, "--log-level", "error", before=few) as service,
        contextlib.ExitStack() as held,
    ):
        asker = Asker(service.told["address"])
        calm = asker.health()
        flood = [held.enter_context(asker.connected()) for _ in range(600)]
        nobody_is_kept_out(asker, published, 3, calm)
        left = unanswered(flood)
        assert 0 < left <= 200, "the process holds so many"
        assert unanswered(flood[-100:]) == 100, "the latest"
    assert not published.is_there(3)


def test_a_crowd_that_asks_all_at_once(tmp_path, many_files):
    """Everybody of them is answered, and deleted once; the others are answered in between."""
    published = Published(tmp_path, people=1200)
    with running("--store", published.store, "--log-level", "error") as service:
        asker = Asker(service.told["address"])
        calm = asker.health()
        port = service.told["address"].rpartition(":")[2]
        crowd = subprocess.Popen(
            [sys.executable, "-c", CROWD, port],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        requests = [told(published, number) for number in range(100, 1200)]
        crowd.stdin.write(json.dumps([request.decode() for request in requests]).encode())
        crowd.stdin.close()
        assert crowd.stdout.readline() == b"all ask\n"
        nobody_is_kept_out(asker, published, 3, calm)
        answers = json.loads(crowd.stdout.read())
        crowd.stdout.close()
        assert crowd.wait() == 0
    assert answers == {"HTTP/1.1 200 OK": 1100}
    assert not any(published.is_there(number) for number in (3, 100, 700, 1199))
    assert published.whole()


CROWD = """
import asyncio, collections, json, sys
async def one(request, go):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    await go()
    writer.write(request.encode())
    answer = (await reader.readline()).decode().strip()
    writer.close()
    return answer
async def main(requests):
    arrived, start = 0, asyncio.Event()
    async def go():
        nonlocal arrived
        arrived += 1
        if arrived == len(requests):
            print("all ask", flush=True)
            start.set()
        await start.wait()
    answers = await asyncio.gather(*(one(request, go) for request in requests))
    print(json.dumps(collections.Counter(answers)))
asyncio.run(main(json.load(sys.stdin)))
"""


# -- the protocol alone


class Wire(asyncio.Transport):
    """A connection that is looked at."""

    def __init__(self):
        super().__init__()
        self.said, self.closed = b"", False

    def write(self, data):
        self.said += data

    def close(self):
        self.closed = True

    abort = close

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        pass

    resume_reading = pause_reading


@contextlib.asynccontextmanager
async def wires(published, **settings):
    """A service, and what makes connections to it."""
    import uvicorn
    from uvicorn.server import ServerState

    app = build(Settings(store=published.store, keys=keys_at(published.store), **settings))
    config = uvicorn.Config(app, log_level="critical", lifespan="off")
    config.load()
    kind, state = protocol.protocol_of(app), ServerState()

    def wire(data=b""):
        one = kind(config=config, server_state=state, app_state={}, _loop=asyncio.get_running_loop())
        one.connection_made(Wire())
        if data:
            one.data_received(data)
        return one

    await app.service.start()
    try:
        yield app, wire
    finally:
        await app.service.close()


GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_refusing_is_constant_bytes_and_the_end_and_not_a_line_of_log_each(published):
    async def main():
        async with wires(published) as (app, wire):
            app._slots = guarding.AT_ONCE
            refused = [wire(GET % path) for path in (b"/", b"/lab", b"/v1/status")]
            refused += [wire(told(published, number)) for number in range(20)]
            assert {one.transport.said for one in refused} == {refused[0].transport.said}
            assert refused[0].transport.said.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in refused[0].transport.said
            assert b"connection: close" in refused[0].transport.said
            assert all(one.transport.closed for one in refused)
            assert wire(GET % b"/health/live").transport.said.startswith(b"HTTP/1.1 200")
            app._slots = 0
            app.service.store_health.tell()

    with kept_log() as lines:
        asyncio.run(main())
    assert [line["requests"] for line in lines if line["event"] == "refused"] == [23]
    assert [line["route"] for line in lines if line["event"] == "request"] == ["/health/live"]


def test_what_arrives_and_is_not_whole_is_held_up_to_a_bound(published, monkeypatch):
    async def main():
        async with wires(published) as (app, wire):
            start = b"POST /v1/deletions HTTP/1.1\r\n" + HEAD + b"Content-Length: 60000\r\n\r\n"
            arriving = [wire(start + b"x" * 30_000) for _ in range(4)]
            assert app.held == 60_000, "two of them; the others were told that there is no room"
            assert [one.transport.said[:12] for one in arriving[:2]] == [b"", b""]
            assert {one.transport.said[:12] for one in arriving[2:]} == {b"HTTP/1.1 503"}
            for one in arriving:
                one.connection_lost(None)
            assert app.held == 0
            assert wire(GET % b"/health/live").transport.said.startswith(b"HTTP/1.1 200")

    monkeypatch.setattr(protocol, "HELD", 70_000)
    monkeypatch.setattr(guarding, "HELD", 70_000)
    asyncio.run(main())


def test_a_body_that_does_not_come_is_told_in_the_end(published):
    async def main():
        async with wires(published, timeout=0.1) as (_, wire):
            start = b"POST /v1/deletions HTTP/1.1\r\n" + HEAD + b"Content-Length: 500\r\n\r\n{"
            one = wire(start)
            while not one.transport.closed:
                await asyncio.sleep(0.01)
            assert one.transport.said.startswith(b"HTTP/1.1 408")

    asyncio.run(main())


def test_nobody_waits_for_a_store_that_is_stuck(published, monkeypatch):
    """A database that hangs: those who wait are told to ask again, and newcomers at once."""
    from undeleted.curate.stores.sqlite import SqliteStore
    from undeleted.interfaces.http import batches

    whole, go = SqliteStore.delete_tagged, threading.Event()

    def hangs(self, *arguments, **more):
        go.wait(60)
        return whole(self, *arguments, **more)

    async def answered(one):
        while not one.transport.said:
            await asyncio.sleep(0.01)
        return one.transport.said[:12]

    async def main():
        async with wires(published, timeout=0.5) as (_, wire):
            first, second = wire(told(published, 1)), wire(told(published, 2))
            assert [await answered(first), await answered(second)] == [b"HTTP/1.1 503"] * 2
            assert await answered(wire(told(published, 3))) == b"HTTP/1.1 503"
            assert not go.is_set(), "they were told while it hung"
            go.set()
            while await answered(wire(told(published, 3))) != b"HTTP/1.1 200":
                await asyncio.sleep(0.01)

    monkeypatch.setattr(SqliteStore, "delete_tagged", hangs)
    monkeypatch.setattr(batches, "STUCK", 0.2)
    asyncio.run(main())
    assert not published.is_there(3)


def test_a_crowd_is_heard_some_at_a_time_and_health_at_once(published):
    async def main():
        async with wires(published) as (_, wire):
            crowd = [wire() for _ in range(500)]
            for number, one in enumerate(crowd):
                one.data_received(GET % (b"/nowhere/%d" % number))
            waiting = [one for one in crowd if one.later]
            assert len(waiting) == 500 - protocol.TOGETHER
            assert wire(GET % b"/health/live").transport.said.startswith(b"HTTP/1.1 200")
            assert [one for one in crowd if one.later] == waiting, "it did not wait for them"
            while not all(one.transport.said.endswith(b"}") for one in crowd):
                await asyncio.sleep(0.01)
            assert {one.transport.said[:12] for one in crowd} == {b"HTTP/1.1 404"}

    asyncio.run(main())


def test_requests_that_come_together_are_answered_in_order(tmp_path):
    published = Published(tmp_path, people=20)
    with running("--store", published.store, "--log-level", "error") as service:
        with Asker(service.told["address"]).connected() as sock:
            sock.sendall(
                told(published, 1)
                + GET % b"/leave"
                + told(published, 2)
                + GET % b"/health/live"
                + told(published, 3)
            )
            said = b""
            while said.count(b"HTTP/1.1 200") < 5 or not said.endswith(b"}"):
                said += sock.recv(65536)
        kinds = [
            part.partition(b"content-type: ")[2].split(b"\r\n")[0] for part in said.split(b"HTTP/1.1 200")
        ]
    assert [kind.split(b";")[0] for kind in kinds[1:]] == [
        b"application/json",
        b"text/html",
        b"application/json",
        b"application/json",
        b"application/json",
    ]
    assert b'"live"' in said.split(b"HTTP/1.1 200")[4]
    assert not any(published.is_there(number) for number in (1, 2, 3))


def test_whoever_asks_and_does_not_listen_is_hung_up_on(published):
    """Answers that nobody takes are not kept for them without end."""

    async def main():
        async with wires(published) as (_, wire):
            one = wire(GET % b"/health/live")
            one.pause_writing()  # the transport holds as much as it may
            said = one.transport.said
            one.data_received(GET % b"/health/live")
            assert one.transport.closed
            assert one.transport.said == said

    asyncio.run(main())


def test_hundreds_of_requests_ahead_are_answered_in_turn_or_refused_in_turn(published):
    """The next turn begins inside the one before it, so what waits has a bound."""

    async def main():
        async with wires(published) as (_, wire):
            one = wire(told(published, 1) + (GET % b"/health/live") * protocol.AHEAD)
            two = wire(told(published, 2) + (GET % b"/health/live") * 300)
            for wanted, last in ((one, b'{"status":"live"}'), (two, b"}")):
                while wanted.transport.said.count(b"HTTP/1.1") <= protocol.AHEAD:
                    await asyncio.sleep(0.01)
                while not wanted.transport.said.endswith(last):
                    await asyncio.sleep(0.01)
            answers = two.transport.said.split(b"HTTP/1.1 ")[1:]
            assert [answer[:3] for answer in answers[:-1]] == [b"200"] * (protocol.AHEAD + 1)
            assert answers[-1][:3] == b"400"
            assert two.transport.closed
            assert b"certificate" in one.transport.said.split(b"HTTP/1.1 ")[1]

    asyncio.run(main())


def test_what_cannot_be_read_is_told_after_what_could(published):
    async def main():
        async with wires(published) as (_, wire):
            one = wire(told(published, 2) + b"garbage\x00\r\n\r\n")
            while not one.transport.closed:
                await asyncio.sleep(0.01)
            answers = one.transport.said.split(b"HTTP/1.1 ")[1:]
            assert [answer[:3] for answer in answers] == [b"200", b"400"]

    asyncio.run(main())


def test_trailers_have_the_length_of_a_head(published):
    async def main():
        async with wires(published) as (_, wire):
            start = (
                b"POST /v1/deletions HTTP/1.1\r\n"
                + HEAD
                + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
            )
            one = wire(start + b"x: " + b"y" * 20_000 + b"\r\n")
            assert not one.transport.closed
            one.data_received((b"x: " + b"y" * 20_000 + b"\r\n") * 2)
            assert one.transport.closed
            assert one.transport.said.startswith(b"HTTP/1.1 400")

    asyncio.run(main())


def test_whoever_has_been_answered_makes_room_and_is_not_kept_for_ever(published, monkeypatch):
    """Health answered, with and without a body that comes after the answer."""
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", 0.1)
    early = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"

    async def main():
        async with wires(published) as (_, wire):
            idle, late = wire(GET % b"/health/live"), wire(early)
            assert {idle, late} <= set(idle.all.waiting)
            late.data_received(b"x")
            assert {idle, late} <= set(idle.all.waiting)
            while not late.transport.closed:
                await asyncio.sleep(0.01)
            idle.all.most = 0
            wire()
            assert idle.transport.closed, "it made room"

    asyncio.run(main())


def test_a_request_that_fails_in_a_crowd_leaves_the_others_their_turn(published):
    """A bug of ours in one request must not make the service deaf."""

    async def main():
        async with wires(published) as (_, wire):
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            crowd = [wire() for _ in range(3 * protocol.TOGETHER)]
            for one in crowd:
                one.data_received(GET % b"/nowhere")
            broken = crowd[protocol.TOGETHER]
            broken.heard = None  # it is not to be called
            others = [one for one in crowd if one is not broken]
            while not all(one.transport.said.endswith(b"}") for one in others):
                await asyncio.sleep(0.01)
            assert {one.transport.said[:12] for one in others} == {b"HTTP/1.1 404"}

    asyncio.run(main())
