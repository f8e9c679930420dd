"""The proxy whose configuration we print: followed literally it works, and its limits are by address.

Where nginx is not installed only the text is looked at.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.services import Published
from undeleted.interfaces.cli import run

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
NAME = "people.example.org"
PAGE = Path(__file__).parents[3] / "docs" / "howto" / "serve.md"


def configuration(capsys, port):
    assert run(["serve", "--hostname", NAME, "--port", str(port), "--nginx"]) == 0
    return capsys.readouterr().out


def test_the_page_names_one_port_for_the_service_and_its_proxy(capsys):
    section = PAGE.read_text(encoding="utf-8").partition("## Behind a proxy")[2].partition("\n## ")[0]
    ports = set(re.findall(r"--port (\d+)|localhost:(\d+)", section))
    assert len({one or other for one, other in ports}) == 1
    text = configuration(capsys, 8322)
    assert "server 127.0.0.1:8322 " in text
    assert "--port 8322" in text
    assert text.count(f"server_name {NAME};") == 1
    assert "$NAME" not in text
    assert "$PORT" not in text


@pytest.mark.parametrize(
    "names", [[], [""], ["x y;}"], ["a.b:443"], ["http://a.b/"], ["../../etc"], ["a.b", "c.d"]]
)
def test_a_proxy_needs_one_name(capsys, names):
    assert run(["serve", "--nginx", *(part for name in names for part in ("--hostname", name))]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 2


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Client:
    """Somebody at an address of this machine."""

    def __init__(self, port, address):
        self._port, self._address = port, address
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE

    def connected(self):
        sock = socket.create_connection(("127.0.0.1", self._port), 60, source_address=(self._address, 0))
        return self._context.wrap_socket(sock, server_hostname=NAME)

    def ask(self, head, body=b""):
        with self.connected() as sock:
            sock.sendall(f"{head} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n".encode())
            sock.sendall(
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            return int(sock.recv(65536).split()[1])


@contextlib.contextmanager
def proxied(tmp_path, published, text, port, outer):
    """The service and nginx before it."""
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    made += ["-keyout", f"{tmp_path}/{NAME}.key", "-out", f"{tmp_path}/{NAME}.pem"]
    subprocess.run(made, check=True, capture_output=True)
    site = text.replace("/etc/ssl/", f"{tmp_path}/").replace("443 ssl", f"{outer} ssl")
    site = site.replace("/var/log/nginx/", f"{tmp_path}/")
    (tmp_path / "site.conf").write_text(site)
    paths = " ".join(
        f"{kind}_temp_path {tmp_path}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        "worker_rlimit_nofile 8000; events { worker_connections 3000; }\n"
        f"http {{ {paths} include {tmp_path}/site.conf; }}\n"
    )
    command = [sys.executable, "-m", "undeleted", "serve", "--store", published.store, "--port", str(port)]
    command += ["--hostname", NAME, "--behind-proxy", "127.0.0.1", "--log-level", "error"]
    proxy = [NGINX, "-e", f"{tmp_path}/error.log", "-c", f"{tmp_path}/nginx.conf"]
    with open(os.devnull, "w") as nowhere:
        processes = [subprocess.Popen(c, stdout=nowhere, stderr=nowhere) for c in (command, proxy)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait(60)


@pytest.mark.services
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_followed_literally_it_works_and_limits_by_address(tmp_path, capsys):
    published, port, outer = Published(tmp_path, people=20), free_port(), free_port()
    text = configuration(capsys, port)
    with proxied(tmp_path, published, text, port, outer):
        one, other = Client(outer, "127.0.0.1"), Client(outer, "127.0.0.2")
        deadline = time.monotonic() + 60
        status = 0
        while status != 200:
            assert time.monotonic() < deadline, (tmp_path / "error.log").read_text()
            with contextlib.suppress(OSError):
                status = one.ask("GET /health/ready")
            time.sleep(0.1)
        assert one.ask("GET /leave") == 200
        receipt = json.dumps({"receipt": published.receipt(3)}).encode()
        assert one.ask("POST /v1/deletions", receipt) == 200
        with contextlib.ExitStack() as held:
            for _ in range(1100):
                sock = held.enter_context(one.connected())
                head = f"POST /v1/deletions HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\n"
                sock.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
            assert one.ask("GET /leave") == 429, "whoever floods is told so"
            for path in ("/v1/receipts", "/v1/publications", "/v1/deletions/bulk"):
                assert one.ask(f"POST {path}") == 429, "everywhere"
            assert one.ask("GET /health/live") == 200
            assert other.ask("GET /health/ready") == 200
            assert other.ask("GET /leave") == 200
            receipt = json.dumps({"receipt": published.receipt(4)}).encode()
            assert other.ask("POST /v1/deletions", receipt) == 200
        assert (tmp_path / "undeleted.log").read_text() == "", "nobody is written down"
    assert not published.is_there(4)
