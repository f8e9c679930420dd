"""`undeleted serve --demo`: generated people with receipts and keys, and two audits in the background."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from undeleted.curate.curator import Curator
from undeleted.curate.spec.example import SPEC, write_people
from undeleted.foundations.types import Json
from undeleted.interfaces.http.keys import Keys, keys_at

PEOPLE = 5_000
AUDITED = ("retrain:statistics:median", "mechanism:noisy-histogram")


def make(folder: Path, seed: int = 7) -> Json:
    """Create a store with keys and receipts in a folder; return what the pages and the terminal show."""
    write_people(folder / "people.csv", seed, PEOPLE)
    spec, store, receipts = folder / "spec.toml", str(folder / "people.db"), folder / "receipts.jsonl"
    spec.write_text(SPEC, encoding="utf-8")
    with Curator.from_spec(spec, store) as curator:
        lines = list(curator.receipts(spec))
    receipts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    keys = Keys(keys_at(store))
    return {
        "store": store,
        "keys_file": str(keys.path),
        "keys": {role: keys.create(role, role) for role in ("operator", "reader", "person")},
        "receipts": str(receipts),
        "receipt": json.loads(lines[17])["receipt"],
    }


@contextmanager
def audits(folder: Path) -> Iterator[None]:
    """Run two audits in the background; the pages show them when they are done."""
    command = [sys.executable, "-m", "undeleted", "audit", "--budget", "15s", "--out", str(folder / "audit")]
    nowhere = subprocess.DEVNULL
    running = [subprocess.Popen([*command, target], stdout=nowhere, stderr=nowhere) for target in AUDITED]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
            process.wait()
