"""Our service, as `undeleted serve` runs it, with at most MOST deletions per transaction.

    python ours.py STORE MOST

The first line that it prints is the port.
"""

import sys

from undeleted.interfaces.http.keys import keys_at
from undeleted.interfaces.http.server import listen, serve
from undeleted.interfaces.http.service import Settings

if __name__ == "__main__":
    _, place, most = sys.argv
    sock = listen("127.0.0.1", 0)
    serve(
        Settings(store=place, keys=keys_at(place), most=int(most)),
        sock,
        log_level="warning",
        ready=lambda: print(sock.getsockname()[1], flush=True),
    )
