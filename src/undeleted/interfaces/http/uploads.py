"""Tables that operators send: one at a time, in a folder beside the store that goes away when it was read."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from undeleted.curate.curator import Curator
from undeleted.curate.spec import Spec
from undeleted.curate.stores import key_file_of
from undeleted.errors import AlreadyPublished, BadQuestion, Busy, UndeletedError

LINES = 500  # receipts that are written before others have their turn


class Uploads:
    """For one store."""

    def __init__(self, store: str) -> None:
        self._store, self._busy = store, False
        self._folder = Path(f"{key_file_of(store)}.upload")
        shutil.rmtree(self._folder, ignore_errors=True)  # of a service that was killed

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Nobody else's turn."""
        if self._busy:
            raise Busy("a table is being read already")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def check_is_published(self, curator: Curator, text: str) -> None:
        if curator.store.facts.get("spec") != text:
            raise AlreadyPublished

    def publish(self, text: str, table: str) -> None:
        """Publish a table."""
        with self._sent(text, table) as spec, _named_as_sent(spec, text):
            Curator.from_spec(spec, self._store).close()

    async def receipts(self, text: str, table: str) -> AsyncIterator[str]:
        """A receipt for everybody of a table who is in the store, a few at a time."""
        with self.taken(), self._sent(text, table) as spec, _named_as_sent(spec, text):
            curator = await asyncio.to_thread(Curator.open, self._store)
            try:
                lines = curator.receipts(spec)
                while part := await asyncio.to_thread(lambda: list(islice(lines, LINES))):
                    yield "".join(f"{line}\n" for line in part)
            finally:
                await asyncio.to_thread(curator.close)

    @contextlib.contextmanager
    def _sent(self, text: str, table: str) -> Iterator[Spec]:
        """A spec whose source is the table."""
        spec = Spec.parse(text)
        if spec.connection is not None or not spec.source.endswith(".csv") or "/" in spec.source:
            remedy = 'Say source = "people.csv" and send the table; databases are for the command line.'
            raise BadQuestion("the source of this spec is no table that could be sent.", remedy)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(0o700)
        try:
            file = self._folder / "table.csv"  # whatever its sender calls it
            file.write_text(table, encoding="utf-8")
            yield replace(spec, source=str(file))
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _named_as_sent(spec: Spec, text: str) -> Iterator[None]:
    """Errors with the name that the sender knows."""
    path, name = spec.source, Spec.parse(text).source
    try:
        yield
    except UndeletedError as error:
        error.what, error.remedy = error.what.replace(path, name), error.remedy.replace(path, name)
        raise
