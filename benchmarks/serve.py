"""The service under load: many people leaving, floods, and readers while a million deletions stream in.

64 to 4,000 connections send a fresh receipt with each request, and retry at once when they are refused.  The
other servers are what one would write on top of the library (`servers/straightforward.py`), with the same
receipts and one transaction per request: FastAPI with erasure within a second, like ours; the same without
erasure; Starlette alone, without erasure.  At every load ours must reach the best of them, within 5%; at 64
connections it must reach three times the one that promises the same.  Medians of five runs, in turns.

During this, and under floods of incomplete bodies and idle connections, 99% of health checks must be
answered within 100 ms.  After three crowds in a row the memory must be the same as after one.

Readers ask at a fixed rate, first while nothing else happens, then while a list of a million ids streams in.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench import Bench
from undeleted.curate.curator import Curator
from undeleted.curate.spec.example import SPEC, write_people
from undeleted.interfaces.http.keys import Keys, keys_at

SERVERS = Path(__file__).parent / "servers"
LOADS = (64, 1000, 2000, 4000)  # connections
PARTS = ("crowds", "floods", "readers")
FLOOD = 4000  # connections that are held open
SECONDS, LEAVERS = 6.0, 40_000
RATE = 50  # readers' requests a second
SAME = "erases as ours does"
RIVALS = {
    "ours": ("ours.py", "512"),
    SAME: ("straightforward.py", "fastapi", "within-a-second"),
    "never erases": ("straightforward.py", "fastapi", "never"),
    "Starlette alone, never erases": ("straightforward.py", "starlette", "never"),
}


class Crowd:
    """Many connections with one request at a time each; a refused request is sent again at once."""

    def __init__(self, port: int, requests: list[bytes]) -> None:
        self.port, self.requests = port, requests
        self.times, self.deleted, self.refused, self.lost = list[float](), 0, 0, 0
        self.asking, self.end, self.open = False, float("inf"), 0
        self.ended, self.tasks = asyncio.Event(), set[Any]()

    async def ask(self, connections: int, seconds: float = SECONDS) -> None:
        """Open all connections, then send requests on all of them for some seconds."""
        loop = asyncio.get_running_loop()
        made = [
            (await loop.create_connection(lambda: Caller(self), "127.0.0.1", self.port))[1]
            for _ in range(connections)
        ]
        self.asking, self.end = True, time.perf_counter() + seconds
        for caller in made:
            caller.ask()
        await self.ended.wait()

    async def again(self) -> None:
        """Reopen a connection that was closed."""
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().create_connection(lambda: Caller(self), "127.0.0.1", self.port)
        self.is_over()

    def is_over(self) -> None:
        if not self.open and (not self.requests or time.perf_counter() > self.end):
            self.ended.set()


class Caller(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._data, self._need, self._mine = b"", 0, b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._crowd.open += 1
        if self._crowd.asking:
            self.ask()

    def ask(self) -> None:
        if not self._crowd.requests or time.perf_counter() > self._crowd.end:
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._mine = self._crowd.requests.pop()
        self._transport.write(self._mine)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._need:
            head, found, _ = self._data.partition(b"\r\n\r\n")
            if not found:
                return
            self._fine = head.startswith(b"HTTP/1.1 200")
            if not self._fine and not head.startswith(b"HTTP/1.1 503"):
                raise SystemExit(head.decode())
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            self._need = len(head) + 4 + int(length)
        if len(self._data) >= self._need:
            now = time.perf_counter()
            if not self._fine:
                self._crowd.refused += 1
                self._crowd.requests.append(self._mine)
            else:
                self._crowd.deleted += 1
                if now <= self._crowd.end:
                    self._crowd.times.append(now - self._began)
            self._data, self._need, self._mine = b"", 0, b""
            self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        crowd = self._crowd
        crowd.open -= 1
        if self._mine:
            crowd.lost += 1
        if crowd.requests and time.perf_counter() < crowd.end:
            crowd.tasks.add(task := asyncio.ensure_future(crowd.again()))
            task.add_done_callback(crowd.tasks.discard)
        else:
            crowd.is_over()


@contextmanager
def served(script: str, store: str, *options: str) -> Iterator[tuple[int, int]]:
    """Start a server; yield its port and process id."""
    command = [sys.executable, str(SERVERS / script), store, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def requests_of(receipts: list[str]) -> list[bytes]:
    requests = []
    for receipt in receipts:
        body = json.dumps({"receipt": receipt}).encode()
        head = "POST /v1/deletions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        requests.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return requests


def share(times: list[float], q: float) -> float:
    return 1000 * sorted(times)[int(q * (len(times) - 1))]


def memory(process: int) -> float:
    """Return the resident memory of a process, in megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


class Health:
    """A process that polls /health/live, over a new connection each time."""

    def __init__(self, port: int) -> None:
        command = [sys.executable, str(SERVERS / "health.py"), str(port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def finish(self) -> list[float]:
        """Stop it and return the seconds that each answer took."""
        out, _ = self._process.communicate("")
        times: list[float] = json.loads(out)
        return times


def crowds_leave(bench: Bench, folder: Path) -> None:
    """Measure the deletions per second of each server in turn, several times, at every load."""
    spec = folder / "spec.toml"
    spec.write_text(SPEC, encoding="utf-8")
    write_people(folder / "people.csv", 7, LEAVERS)
    with Curator.from_spec(spec, folder / "whole.db") as curator:
        receipts = [json.loads(line)["receipt"] for line in curator.receipts(spec)]
    loads = bench.options.loads
    rates: dict[tuple[str, int], list[float]] = {(name, n): [] for name in RIVALS for n in loads}
    health: dict[int, list[float]] = {n: [] for n in loads}
    for run in range(bench.seeds):
        for name, (script, *options) in RIVALS.items():
            store = str(folder / "a.db")
            for n in loads:
                for end in (".key", ""):
                    shutil.copy(folder / f"whole.db{end}", f"{store}{end}")
                with served(script, store, *options) as (port, process):
                    crowd = Crowd(port, requests_of(receipts))
                    asks = Health(port) if name == "ours" else None
                    uvloop.run(crowd.ask(n))
                    health[n] += asks.finish() if asks else []
                    held = memory(process)
                with Curator.open(store) as curator:
                    gone = LEAVERS - len(curator.store.tags())
                    assert crowd.deleted <= gone <= crowd.deleted + crowd.lost, "each was deleted once"
                rates[name, n].append(len(crowd.times) / SECONDS)
                bench.row(
                    run=run,
                    server=name,
                    connections=n,
                    deletions_per_second=rates[name, n][-1],
                    p50_ms=share(crowd.times, 0.5),
                    p99_ms=share(crowd.times, 0.99),
                    refused=crowd.refused,
                    lost=crowd.lost,
                    megabytes=held,
                )
    middle = {key: statistics.median(found) for key, found in rates.items()}
    for n in loads:
        best = max((name for name in RIVALS if name != "ours"), key=lambda name: middle[name, n])
        bench.claim(
            f"at {n:,} connections no fewer deletions than the best of the others (within 5%)",
            middle["ours", n] >= 0.95 * middle[best, n],
            ours=middle["ours", n],
            best=best,
            its=middle[best, n],
        )
        late = share(health[n], 0.99)
        bench.claim(f"at {n:,} connections health answers within 100 ms (p99)", late <= 100, ms=late)
    first = loads[0]
    ratio = middle["ours", first] / middle[SAME, first]
    bench.claim(f"at {first} connections 3 times the deletions of: {SAME}", ratio >= 3, ratio=ratio)


def floods(bench: Bench, folder: Path) -> None:
    """Measure health checks while others hold connections open, and memory while crowds come and go."""
    spec = folder / "spec.toml"
    spec.write_text(SPEC, encoding="utf-8")
    write_people(folder / "people.csv", 7, LEAVERS)
    with Curator.from_spec(spec, folder / "a.db") as curator:
        requests = requests_of([json.loads(line)["receipt"] for line in curator.receipts(spec)])
    head = b"POST /v1/deletions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with served("ours.py", str(folder / "a.db"), "512") as (port, process):
        for name, said in (
            ("bodies of one byte", head + b"Content-Length: 500\r\n\r\n{"),
            ("connections that say nothing", b""),
        ):
            with contextlib.ExitStack() as held:
                asks = Health(port)
                for _ in range(FLOOD):
                    sock = held.enter_context(socket.create_connection(("127.0.0.1", port)))
                    sock.sendall(said)
                time.sleep(3)
                late = share(asks.finish(), 0.99)
            bench.row(flood=name, connections=FLOOD, health_p99_ms=late, megabytes=memory(process))
            bench.claim(f"under {FLOOD:,} {name} health answers within 100 ms (p99)", late <= 100, ms=late)
        sizes = []
        for _ in range(3):
            crowd = Crowd(port, requests)
            uvloop.run(crowd.ask(2000, 2.0))
            sizes.append(memory(process))
            bench.row(crowd=len(sizes), connections=2000, deletions=crowd.deleted, megabytes=sizes[-1])
    growth = sizes[-1] / sizes[0]
    bench.claim("three crowds leave no more memory in use than one (within 10%)", growth <= 1.1, ratio=growth)


def read(port: int, key: str, until: threading.Event, times: list[float]) -> None:
    """Send requests at a fixed rate; a late request does not postpone the next one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    due = time.perf_counter()
    while not until.is_set():
        due += 1 / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        connection.request("GET", "/v1/publications/people", headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"a reader got {answer.status}")
        times.append(time.perf_counter() - due)
    connection.close()


def readers_keep_their_latency(bench: Bench, folder: Path) -> None:
    """Measure readers while nothing else happens, and while everybody is deleted."""
    people = bench.options.people
    write_people(folder / "people.csv", 7, people)
    spec, store = folder / "spec.toml", str(folder / "million.db")
    spec.write_text(SPEC, encoding="utf-8")
    Curator.from_spec(spec, store).close()
    keys = Keys(keys_at(store))
    reader, operator = keys.create("reader", "reader"), keys.create("operator", "operator")
    body = folder / "ids.jsonl"
    with body.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": "p{i:05d}"}}\n' for i in range(people))

    def measured(port: int, work: Any) -> list[float]:
        end, times = threading.Event(), list[float]()
        thread = threading.Thread(target=read, args=(port, reader, end, times))
        thread.start()
        work()
        end.set()
        thread.join()
        return times

    with served("ours.py", store, "512") as (port, _):
        quiet = measured(port, lambda: time.sleep(10))
        said: dict[str, Any] = {}

        def stream() -> None:
            command = ["curl", "-sS", "-N", "-T", str(body), "-X", "POST"]
            command += ["-H", f"Authorization: Bearer {operator}", "-H", "Content-Type: application/x-ndjson"]
            began = time.perf_counter()
            out = subprocess.check_output([*command, f"http://127.0.0.1:{port}/v1/deletions/bulk"])
            said.update(json.loads(out.splitlines()[-1]), seconds=time.perf_counter() - began)

        busy = measured(port, stream)
    with Curator.open(store) as curator:
        whole = not curator.check() and not curator.store.tags()
    for name, times in (("nothing happens", quiet), ("a list streams in", busy)):
        bench.row(
            readers_while=name, requests=len(times), p50_ms=share(times, 0.5), p99_ms=share(times, 0.99)
        )
    bench.row(streamed=said["deleted"], seconds=said["seconds"], per_second=people / said["seconds"])
    bench.claim("everybody on the list is gone, and the store is intact", whole and said["deleted"] == people)
    bench.claim(
        "while it streams in, readers wait at most twice as long in the median, and 99% at most 20 ms",
        share(busy, 0.5) <= 2 * share(quiet, 0.5) and share(busy, 0.99) <= 20,
        p50_ms=share(busy, 0.5),
        p99_ms=share(busy, 0.99),
    )


def main() -> None:
    def options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=1_000_000, help="on the list that streams in")
        parser.add_argument(
            "--parts",
            nargs="+",
            choices=PARTS,
            default=PARTS,
            help="parts to run; the results of the others are kept from the last output",
        )
        parser.add_argument("--loads", type=int, nargs="+", default=LOADS, help="connections")

    bench = Bench("serve", __doc__ or "", seeds=5, options=options)
    last = bench.out / "serve.json"
    kept = (
        json.loads(last.read_text()) if set(bench.options.parts) != set(PARTS) else {"rows": [], "claims": []}
    )
    bench.rows = [row for row in kept["rows"] if part_of(row) not in bench.options.parts]
    bench.claims = [claim for claim in kept["claims"] if part_of(claim) not in bench.options.parts]
    for part, work in (("crowds", crowds_leave), ("floods", floods), ("readers", readers_keep_their_latency)):
        if part in bench.options.parts:
            with tempfile.TemporaryDirectory() as name:
                work(bench, Path(name))
    bench.finish()


def part_of(entry: dict[str, Any]) -> str:
    """Return the part to which a row or a claim belongs."""
    claim = str(entry.get("claim", ""))
    if "server" in entry or claim.startswith("at "):
        return "crowds"
    flood = "flood" in entry or "crowd" in entry or claim.startswith(("under ", "three "))
    return "floods" if flood else "readers"


if __name__ == "__main__":
    main()
