"""`undeleted serve --demo`: people that never were, with receipts and keys, and two audits on their way."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from undeleted.curate.curator import Curator
from undeleted.curate.spec.example import SPEC, write_people
from undeleted.interfaces.http.keys import Keys, keys_at

PEOPLE = 5_000
AUDITED = ("retrain:statistics:median", "mechanism:noisy-histogram")


def make(folder: Path, seed: int = 7) -> dict[str, Any]:
    """A store with its keys and receipts in a folder; what the page and the terminal show of it."""
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
    """Two audits in the background; the page shows them when they are done."""
    command = [sys.executable, "-m", "undeleted", "audit", "--budget", "15s", "--out", str(folder / "audit")]
    nowhere = subprocess.DEVNULL
    running = [subprocess.Popen([*command, target], stdout=nowhere, stderr=nowhere) for target in AUDITED]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
            process.wait()
