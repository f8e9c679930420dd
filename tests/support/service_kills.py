"""Kill the service under load with SIGKILL, restart it, and check the store that it leaves.

    python -m support.service_kills --kills 60   run it in the folder tests; exits 1 if a check fails

Sixteen clients delete people with receipts.  Every third time an operator's list streams in as well, and
every fourth time another process opens and closes the store; the service is killed at a random moment.
Afterwards everybody whose deletion was acknowledged must be gone, the published count must have decreased by
exactly those who are gone, and `check` must report an intact store.
"""

import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from support.services import Published, running
from undeleted.curate.curator import Curator
from undeleted.curate.stores import tag_of

PEOPLE, LEAVERS = 20_000, 16
QUIET = {"stdout": subprocess.DEVNULL, "check": True}


class Load:
    """Clients that delete people until the service is gone, and whom it acknowledged."""

    def __init__(self, published, address, numbers, listed):
        self._published, self._host = published, address.removeprefix("http://")
        self._numbers, self._lock = iter(numbers), threading.Lock()
        self.acknowledged = []
        threads = [threading.Thread(target=self._leave) for _ in range(LEAVERS)]
        if listed:
            threads.append(threading.Thread(target=self._send, args=(listed,)))
        self._threads = threads
        for thread in threads:
            thread.start()

    def wait(self):
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client hangs"
        return self.acknowledged

    def _leave(self):
        connection = http.client.HTTPConnection(self._host, timeout=30)
        try:
            while True:
                with self._lock:
                    number = next(self._numbers, None)
                if number is None:
                    return
                body = json.dumps({"receipt": self._published.receipt(number)})
                connection.request("POST", "/v1/deletions", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                if answer.status == 200 and json.loads(answer.read())["certificate"]:
                    self.acknowledged.append(number)
        except (OSError, http.client.HTTPException, ValueError):
            return
        finally:
            connection.close()

    def _send(self, listed):
        """Send a list in chunks; the last line of the answer says how many of it are acknowledged."""
        headers = self._published.header("operator") | {"Content-Type": "application/x-ndjson"}
        connection = http.client.HTTPConnection(self._host, timeout=30)

        def chunks():
            for start in range(0, len(listed), 200):
                part = listed[start : start + 200]
                yield "".join(f'{{"id": "p{number:05d}"}}\n' for number in part).encode()
                time.sleep(0.01)

        try:
            connection.request("POST", "/v1/deletions/bulk", chunks(), headers, encode_chunked=True)
            last = json.loads(connection.getresponse().read().splitlines()[-1])
            self.acknowledged += listed[: last["lines"]]
        except (OSError, http.client.HTTPException, ValueError, IndexError):
            return
        finally:
            connection.close()


def state(published):
    """Return who is in the store, the published count, and the problems that `check` reports."""
    with Curator.open(published.store) as curator:
        tags, key = curator.store.tags(), curator.store.key
        there = {number for number in range(PEOPLE) if tag_of(key, f"p{number:05d}") in tags}
        return there, int(curator.show("people").release.value[0]), curator.check()


def run(folder, kills, seed=7):
    """Kill the service `kills` times, or until half of the people have left; return the facts."""
    rng = random.Random(seed)
    published = Published(folder, people=PEOPLE)
    facts = {"kills": 0, "acknowledged": 0, "left_without_an_answer": 0, "problems": []}
    there, count, _ = state(published)
    while facts["kills"] < kills and len(there) > PEOPLE // 2:
        waiting = sorted(there)
        listed = waiting[-1000:] if facts["kills"] % 3 == 0 else []
        with running("--store", published.store, "--log-level", "error") as service:
            load = Load(published, service.told["address"], waiting[:-1000], listed)
            if facts["kills"] % 4 == 1:  # another process opens and closes the store meanwhile
                subprocess.run(
                    [sys.executable, "-m", "undeleted", "status", "--store", published.store], **QUIET
                )
            time.sleep(rng.uniform(0.02, 0.7))
            service.send_signal(signal.SIGKILL)
            done = set(load.wait())
        before, fell = there, count
        there, count, wrong = state(published)
        gone = before - there
        facts["problems"] += wrong
        if done & there:
            facts["problems"].append(f"{len(done & there)} whose deletion was acknowledged are still there")
        if fell - count != len(gone):
            facts["problems"].append(f"{len(gone)} are gone, but the published count fell by {fell - count}")
        facts["left_without_an_answer"] += len(gone - done)
        facts["acknowledged"] += len(done)
        facts["kills"] += 1
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    facts = {"kills": 0, "acknowledged": 0, "left_without_an_answer": 0, "problems": []}
    while facts["kills"] < options.kills:
        with tempfile.TemporaryDirectory() as folder:
            partial = run(folder, options.kills - facts["kills"], options.seed + facts["kills"])
        for name in facts:
            facts[name] += partial[name]
    print(json.dumps(facts, indent=2))
    return int(bool(facts["problems"]) or not facts["acknowledged"] or not facts["left_without_an_answer"])


if __name__ == "__main__":
    sys.exit(main())
