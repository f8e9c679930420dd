"""The service under load: people who leave one by one, and readers while a million deletions stream in.

64 connections ask with a fresh receipt each time.  The rival is the server that one would write over the
library (`servers/straightforward.py`): FastAPI, a plain function a request, the same receipts, and a
transaction of its own for each, durable and erased before it answers.  Ours must do three times as many in
the same run.  Of three that promise less or do more, it must do half as many again: the same without ever
erasing, that in the event loop, and our own service with one deletion a transaction.

Readers ask at a fixed rate, first while nothing happens, then while a list of a million ids streams in.
"""

import argparse
import asyncio
import http.client
import json
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
from undeleted.curator import Curator
from undeleted.http.keys import Keys, keys_at
from undeleted.spec.example import SPEC, write_people

SERVERS = Path(__file__).parent / "servers"
CONNECTIONS, SECONDS, LEAVERS = 64, 4.0, 32_000
RATE = 50  # readers' requests a second
RIVALS = {
    "ours": ("ours.py", "512"),
    "straightforward": ("straightforward.py", "erase"),
    "never erases": ("straightforward.py", "commit"),
    "never erases, blocks its loop": ("straightforward.py", "block"),
    "ours, one at a time": ("ours.py", "1"),
}


class Caller(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, requests: list[bytes], times: list[float], end: float) -> None:
        self._requests, self._times, self._end = requests, times, end
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._data, self._need = b"", 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        if not self._requests or time.perf_counter() > self._end:
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(self._requests.pop())

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._need:
            head, found, _ = self._data.partition(b"\r\n\r\n")
            if not found:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(head.decode())
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            self._need = len(head) + 4 + int(length)
        if len(self._data) >= self._need:
            self._times.append(time.perf_counter() - self._began)
            self._data, self._need = b"", 0
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set_result(None)


async def load(port: int, requests: list[bytes]) -> list[float]:
    """The times of all answers."""
    times: list[float] = []
    loop, end = asyncio.get_running_loop(), time.perf_counter() + SECONDS
    made = [
        await loop.create_connection(lambda: Caller(requests, times, end), "127.0.0.1", port)
        for _ in range(CONNECTIONS)
    ]
    await asyncio.gather(*(caller.closed for _, caller in made))
    return times


@contextmanager
def served(script: str, store: str, option: str) -> Iterator[int]:
    command = [sys.executable, str(SERVERS / script), store, option]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def requests_of(receipts: list[str]) -> list[bytes]:
    found = []
    for receipt in receipts:
        body = json.dumps({"receipt": receipt}).encode()
        head = "POST /v1/deletions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        found.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return found


def share(times: list[float], q: float) -> float:
    return 1000 * sorted(times)[int(q * (len(times) - 1))]


def people_leave(bench: Bench, folder: Path) -> None:
    """Deletions a second, each server in its turn, several times."""
    write_people(folder / "people.csv", 7, LEAVERS)
    spec = folder / "spec.toml"
    spec.write_text(SPEC, encoding="utf-8")
    rates: dict[str, list[float]] = {name: [] for name in RIVALS}
    slow: dict[str, list[float]] = {name: [] for name in RIVALS}
    for run in range(bench.seeds):
        for name, (script, option) in RIVALS.items():
            store = str(folder / f"{run}-{list(RIVALS).index(name)}.db")
            with Curator.from_spec(spec, store) as curator:
                receipts = [json.loads(line)["receipt"] for line in curator.receipts(spec)]
            with served(script, store, option) as port:
                times = uvloop.run(load(port, requests_of(receipts)))
            with Curator.open(store) as curator:
                assert len(curator.store.tags()) == LEAVERS - len(times), "each was deleted once"
            rates[name].append(len(times) / SECONDS)
            slow[name].append(share(times, 0.99))
            bench.row(
                run=run,
                server=name,
                deletions_per_second=rates[name][-1],
                p50_ms=share(times, 0.5),
                p99_ms=slow[name][-1],
            )
    ours = statistics.median(rates["ours"])
    for name in RIVALS:
        if name == "ours":
            continue
        bar = 3.0 if name == "straightforward" else 1.5
        ratio = ours / statistics.median(rates[name])
        bench.claim(
            f"at {CONNECTIONS} connections at least {bar:g} times the deletions of: {name}",
            ratio >= bar,
            ratio=ratio,
            p99_ms=statistics.median(slow["ours"]),
            its_p99_ms=statistics.median(slow[name]),
        )


def read(port: int, key: str, until: threading.Event, times: list[float]) -> None:
    """Ask at a fixed rate; a request that is late does not delay when the next is due."""
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


def readers_keep_their_latency(bench: Bench, folder: Path, people: int) -> None:
    """Readers while nothing happens, and while everybody is deleted."""
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

    with served("ours.py", store, "512") as port:
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
    bench.claim("everybody on the list is gone, and the store is whole", whole and said["deleted"] == people)
    bench.claim(
        "while it streams in, readers wait at most twice as long in the median, and 99 % at most 20 ms",
        share(busy, 0.5) <= 2 * share(quiet, 0.5) and share(busy, 0.99) <= 20,
        p50_ms=share(busy, 0.5),
        p99_ms=share(busy, 0.99),
    )


def main() -> None:
    def options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=1_000_000, help="on the list that streams in")

    bench = Bench("serve", __doc__ or "", seeds=5, options=options)
    with tempfile.TemporaryDirectory() as name:
        people_leave(bench, Path(name))
    with tempfile.TemporaryDirectory() as name:
        readers_keep_their_latency(bench, Path(name), bench.options.people)
    bench.finish()


if __name__ == "__main__":
    main()
