"""Can whoever has a clock tell receipts that name nobody here from each other, or from a fresh one?

One connection asks with fresh, spent and unknown receipts in a random order, and ranks the times; that a
receipt is not genuine is public, and told.  The statistic is the AUC of each kind against the spent ones: ½
if they cannot be told apart.  With N times a kind its standard error is √((2N + 1)/12N²), 0.018 for N = 500;
the bar is 5 of them, 0.091, and for two pairs the false-alarm rate is 2·10⁻⁶.

Its power, at the same size: a service that does less for spent receipts than for fresh ones (0.4 ms of
work) and answers as soon as it is done is noticed; and one that keeps to its ticks, but answers unknown
receipts 1 ms late, is noticed too.  A tick may come up to 2 ms later than another, which leaves of 1 ms an
AUC of 0.88: that it stays below two bars has a chance below 10⁻⁶.
"""

import json
import math
import random
import socket
import statistics
import subprocess
import sys
import time

import pytest
from scipy.stats import rankdata

from support.services import Published
from undeleted.curate.receipts import issuer_of
from undeleted.curate.stores import open_store

pytestmark = pytest.mark.slow
N = 500
BAR = 5 * math.sqrt((2 * N + 1) / (12 * N * N))
LONGER = 1.25
KINDS = ("fresh", "spent", "unknown")
HONEST = ""
AT_ONCE = """
from undeleted.interfaces.http import ticks
ticks.Ticks.after = lambda self, done: done
"""
LESS_AND_AT_ONCE = (
    AT_ONCE
    + """
from undeleted.curate.stores import Store
whole = Store.delete_tagged
Store.delete_tagged = lambda self, tags, fold=None, *, dummy_work=False: whole(self, tags, fold)
"""
)
LATE = """
import time
from undeleted.interfaces.http import leaving, service
known, issued, told = set(), {}, leaving.success
first, checked = service.Service.start, service.Service._checked
async def start(self):
    known.update(self.store.tags())
    await first(self)
def check(self, sent):
    found = checked(self, sent)
    issued.update({certificate: tag for tag, certificate in found})
    return found
def late(service, certificate):
    end = time.perf_counter() + (0 if issued[certificate] in known else 1e-3)
    while time.perf_counter() < end:
        pass
    return told(service, certificate)
service.Service.start, service.Service._checked, leaving.success = start, check, late
"""
START = """
import sys
from undeleted.interfaces.http import server
from undeleted.interfaces.http.keys import keys_at
from undeleted.interfaces.http.service import Settings
store = sys.argv[1]
sock = server.listen("127.0.0.1", 0)
server.serve(Settings(store=store, keys=keys_at(store)), sock, log_level="error",
             ready=lambda: print(sock.getsockname()[1], flush=True))
"""


def request_of(receipt):
    body = json.dumps({"receipt": receipt}).encode()
    head = "POST /v1/deletions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def asked(sock, request):
    """The time of an answer, and the answer."""
    began = time.perf_counter()
    sock.sendall(request)
    data = sock.recv(65536)
    while b"\r\n\r\n" not in data or len(data) < _length(data):
        data += sock.recv(65536)
    return time.perf_counter() - began, data


def _length(data):
    head, _, _ = data.partition(b"\r\n\r\n")
    return len(head) + 4 + int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])


def times(tmp_path, planted, wanted=KINDS):
    """Times by kind; fresh receipts are used once, the others again and again."""
    published = Published(tmp_path, people=N + 200)
    with open_store(published.store) as store:
        issuer = issuer_of(store)
    kinds = {
        "fresh": [published.receipt(i) for i in range(200, 200 + N)],
        "spent": [published.receipt(i) for i in range(20)],
        "unknown": [issuer.receipt(f"nobody{i}")[0].token for i in range(20)],
    }
    process = subprocess.Popen(
        [sys.executable, "-c", planted + START, published.store], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(process.stdout.readline())
        found = {kind: [] for kind in wanted}
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for receipt in kinds["spent"]:
                asked(sock, request_of(receipt))
            plan = [kind for kind in wanted for _ in range(N)]
            pauses = random.Random(7)
            pauses.shuffle(plan)
            requests = {kind: [request_of(r) for r in receipts] for kind, receipts in kinds.items()}
            for i, kind in enumerate(plan):
                mine = requests[kind]
                time.sleep(pauses.uniform(0, 0.002))  # else a late answer makes the next one early
                took, answer = asked(sock, mine.pop() if kind == "fresh" else mine[i % 20])
                assert answer.startswith(b"HTTP/1.1 200"), answer
                found[kind].append(took)
        return found
    finally:
        process.terminate()
        process.communicate()


def auc(one, other):
    """The chance that a time of the one is longer than a time of the other."""
    ranks = rankdata([*one, *other])[: len(one)]
    return (ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(other))


def ratio(found):
    """How much longer a fresh receipt takes than a spent one."""
    return statistics.median(found["fresh"]) / statistics.median(found["spent"])


def test_times_do_not_tell_kinds_apart(tmp_path):
    found = times(tmp_path, HONEST)
    apart = {kind: auc(found[kind], found["spent"]) - 0.5 for kind in found}
    assert all(abs(shift) < BAR for shift in apart.values()), apart


def test_even_at_once_a_fresh_receipt_takes_hardly_longer_than_a_spent_one(tmp_path):
    """The store works as much for both: half of either take a time that differs by less than a quarter.

    Of 500 times the median has an error of about 1%; a few hundredths of a millisecond remain, which whoever
    measures often would see, and which the ticks hide.
    """
    found = times(tmp_path, AT_ONCE, ("fresh", "spent"))
    assert 1 / LONGER < ratio(found) < LONGER


def test_a_service_that_is_late_for_one_kind_is_noticed(tmp_path):
    found = times(tmp_path, LATE, ("unknown", "spent"))
    assert auc(found["unknown"], found["spent"]) - 0.5 > 2 * BAR


def test_a_service_that_does_less_for_some_and_answers_at_once_is_noticed(tmp_path):
    found = times(tmp_path, LESS_AND_AT_ONCE, ("fresh", "spent"))
    assert auc(found["fresh"], found["spent"]) - 0.5 > 2 * BAR
    assert ratio(found) > LONGER
