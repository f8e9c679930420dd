"""Files that survive a crash: fsync, and atomic writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


def sync(path: Path) -> None:
    """fsync a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """Write a file atomically: it appears under its name, complete and durable, when the block ends.

    If the block fails, the file is as it was before.  Only its owner can read a private file.
    """
    scratch = path.with_name(f"{path.name}.unfinished")
    scratch.unlink(missing_ok=True)
    mode = 0o600 if private else 0o644
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(scratch, path)
        sync(path.absolute().parent)
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
