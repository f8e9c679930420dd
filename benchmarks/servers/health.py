"""Request /health/live every 50 ms until stdin closes, and print how long each answer took.

python health.py PORT
"""

import json
import select
import socket
import sys
import time

if __name__ == "__main__":
    port, times = int(sys.argv[1]), []
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
            sock.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            said = sock.recv(4096)
        if not said.startswith(b"HTTP/1.1 200"):
            raise SystemExit(said.decode())
        times.append(time.perf_counter() - began)
    print(json.dumps(times))
