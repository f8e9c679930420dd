"""A proxy between a store and its server that closes the connection in the middle of a deletion.

    python -m support.drops --drops 60       in the folder tests; starts its own PostgreSQL

It forwards the client's messages one by one, and closes the connection before or after one of them: a
statement, or a COMMIT, never arrives; or it arrives, and its answer never comes back.
"""

import argparse
import json
import random
import socket
import struct
import sys
import tempfile
import threading
from contextlib import suppress

from support import kills
from undeleted.curate.curator import Curator

PLANS = ("a statement is lost", "an answer is lost", "the COMMIT is lost", "the answer to COMMIT is lost")


class Proxy:
    """Forwards one port to another; `plan` says where the next connection breaks."""

    def __init__(self, port: int) -> None:
        self.target, self.plan, self.broken = port, None, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _back(self, server, client) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        _hang_up(client, server)

    def _forward(self, client, server) -> None:
        """The first message has no type; all others are a type, a length and a body."""
        with suppress(OSError):
            size = 8
            while size == 8:  # encryption requests come before it
                first = client.recv(8, socket.MSG_WAITALL)
                [size] = struct.unpack(">i", first[:4])
                server.sendall(first + (client.recv(size - 8, socket.MSG_WAITALL) if size > 8 else b""))
            while head := client.recv(5, socket.MSG_WAITALL):
                [size] = struct.unpack(">i", head[1:])
                body = client.recv(size - 4, socket.MSG_WAITALL) if size > 4 else b""
                if self._breaks(head, body):
                    kind, self.plan = self.plan[0], None
                    self.broken += 1
                    if "answer" in kind:  # it arrives, and the client never gets the answer
                        client.shutdown(socket.SHUT_RDWR)
                        server.sendall(head + body)
                        if "COMMIT" in kind:
                            server.recv(1 << 16)
                    break
                server.sendall(head + body)
        _hang_up(client, server)

    def _breaks(self, head: bytes, body: bytes) -> bool:
        if self.plan is None or head[:1] not in (b"Q", b"P", b"E", b"S"):
            return False
        if "COMMIT" in self.plan[0]:
            return body.startswith(b"COMMIT\0")  # but not the isolation level READ COMMITTED
        self.plan[1] -= 1
        return self.plan[1] < 0


def _hang_up(*ends) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def run(server, folder, drops, seed=7):
    """Delete people one request at a time, breaking the connection in each; return the facts."""
    rng = random.Random(seed)
    place = server.url("dropped", f"{folder}/dropped.key")
    kills.publish(place, 5000)
    proxy = Proxy(server.port)
    through = place.replace(f":{server.port}/", f":{proxy.port}/")
    facts = {"drops": 0, "requests": 0, "deleted": 0, "by_plan": dict.fromkeys(PLANS, 0), "problems": []}
    with Curator.open(place) as direct, Curator.open(through) as curator:
        before = direct.show("people").release.value[0]
        number = 0
        while facts["drops"] < drops:
            size = rng.choice((1, 1, 5, 100))
            names = [f"p{number + i}" for i in range(size)]
            number += size
            plan = PLANS[facts["requests"] % 4]
            proxy.plan, broken = [plan, rng.randrange(8)], proxy.broken
            done = curator.delete(names)
            proxy.plan = None
            facts["requests"] += 1
            facts["deleted"] += size
            facts["drops"] += proxy.broken - broken
            facts["by_plan"][plan] += proxy.broken - broken
            if (done.deleted, done.unknown) != (size, 0):
                facts["problems"].append(f"{plan}: reported {done.deleted} of {size} as deleted")
            gone = before - direct.show("people").release.value[0]
            if gone != facts["deleted"]:
                facts["problems"].append(f"{plan}: {gone} are gone, and {facts['deleted']} were deleted")
                break
            if curator.delete(names).deleted:
                facts["problems"].append(f"{plan}: somebody was still there")
        facts["problems"] += direct.check()
    proxy.close()
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drops", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    from support.servers import Server

    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            facts = run(server, folder, options.drops, options.seed)
    finally:
        server.remove()
    print(json.dumps(facts, indent=2))
    return int(bool(facts["problems"]) or not all(facts["by_plan"].values()))


if __name__ == "__main__":
    sys.exit(main())
