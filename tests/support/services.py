"""A service for tests: in this process for most of them, in its own process for those that kill it."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from undeleted.curate.curator import Curator
from undeleted.interfaces.http.keys import ROLES, Keys, keys_at

SPEC = """[data]
source = "people.csv"
id = "person"

[budget]
epsilon = 4.0

[columns.age]
type = "number"
min = 0
max = 99

[columns.city]
type = "category"
values = ["Chicago", "Haifa", "Washington"]

[publish.people]
kind = "count"

[publish."mean age"]
kind = "mean"
column = "age"

[publish.ages]
kind = "quantiles"
column = "age"

[publish.cities]
kind = "histogram"
columns = ["city"]
"""
CITIES = ("Chicago", "Haifa", "Washington")


def table(people):
    return "person,age,city\n" + "".join(f"p{i:05d},{i % 100},{CITIES[i % 3]}\n" for i in range(people))


class Published:
    """A store with its receipts and a key for every role, in a folder."""

    def __init__(self, folder, people=300, name="people", spec=SPEC):
        self.folder = Path(folder)
        self.store = str(self.folder / f"{name}.db")
        file = self.folder / f"{name}.toml"
        (self.folder / "people.csv").write_text(table(people))
        file.write_text(spec)
        with Curator.from_spec(file, self.store) as curator:
            self.lines = [json.loads(line) for line in curator.receipts(file)]
        keys = Keys(keys_at(self.store))
        self.keys = {role: keys.create(role, role) for role in ROLES}

    def receipt(self, number):
        return self.lines[number]["receipt"]

    def header(self, role):
        return {"Authorization": f"Bearer {self.keys[role]}"} if role else {}

    def whole(self):
        with Curator.open(self.store) as curator:
            return curator.check() == []

    def is_there(self, number):
        """Return whether a deletion with this receipt would find the person."""
        from undeleted.curate.receipts import Receipt, issuer_of
        from undeleted.curate.stores import open_store

        with open_store(self.store) as store:
            return issuer_of(store).tag_in(Receipt.parse(self.receipt(number))) in store.tags()


class _Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        from undeleted.interfaces.http.guard import Lines

        self.lines.append(json.loads(Lines().format(record)))


@contextlib.contextmanager
def kept_log(level="INFO"):
    """Collect the service's log in a list instead of writing it."""
    log, kept = logging.getLogger("undeleted.http"), _Kept()
    before = log.handlers, log.level
    log.handlers = [kept]
    log.setLevel(level)
    try:
        yield kept.lines
    finally:
        log.handlers, level = before
        log.setLevel(level)


@contextlib.contextmanager
def client_of(store, **settings):
    """Yield a client of a service in this process."""
    from starlette.testclient import TestClient

    from undeleted.interfaces.http.app import build
    from undeleted.interfaces.http.service import Settings

    app = build(Settings(store=store, keys=keys_at(store), **settings))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@contextlib.contextmanager
def running(*arguments, env=None, before=()):
    """Run `undeleted serve` in its own process; end it with SIGTERM if it is still running."""
    command = [*before, sys.executable, "-m", "undeleted", "serve", "--port", "0", "--json", *arguments]
    log = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would fill up  # noqa: SIM115
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **(env or {})}
    )

    def errors():
        log.seek(0)
        return log.read()

    process.errors = errors
    said = ""
    while not said.endswith("}\n"):
        line = process.stdout.readline()
        if not line:
            raise AssertionError(errors())
        said += line
    process.told = json.loads(said)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        process.stdout.close()
        log.close()
