"""Tables that operators upload: one at a time, in a folder beside the store that is removed after reading."""

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
from undeleted.errors import AlreadyPublished, BadUsage, Busy, UndeletedError

LINES = 500  # receipts written before other work runs


class Uploads:
    """The uploads of one store."""

    def __init__(self, store: str) -> None:
        self._store, self._busy = store, False
        self._folder = Path(f"{key_file_of(store)}.upload")
        shutil.rmtree(self._folder, ignore_errors=True)  # left by a killed service

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Allow one upload at a time; refuse a second one."""
        if self._busy:
            raise Busy("a table is already being read")
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
        with self._sent(text, table) as spec:
            if spec.retain != "records":
                problem = "its receipts are written once, and would be lost if this connection broke."
                raise BadUsage(
                    problem, "Publish it on the command line: `undeleted publish --receipts FILE`."
                )
            Curator.from_spec(spec, self._store).close()

    async def receipts(self, text: str, table: str) -> AsyncIterator[str]:
        """Yield receipts for the people of a table who are in the store, some hundreds at a time."""
        with self.taken(), self._sent(text, table) as spec:
            curator = await asyncio.to_thread(Curator.open, self._store)
            try:
                lines = curator.receipts(spec)
                while part := await asyncio.to_thread(lambda: list(islice(lines, LINES))):
                    yield "".join(f"{line}\n" for line in part)
            finally:
                await asyncio.to_thread(curator.close)

    @contextlib.contextmanager
    def file(self, table: str, name: str = "the table") -> Iterator[Path]:
        """Save a table in a file, which is removed afterwards; errors call it by the name that was sent."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(0o700)
        file = self._folder / "table.csv"
        try:
            file.write_text(table, encoding="utf-8")
            yield file
        except UndeletedError as error:
            error.what, error.remedy = (t.replace(str(file), name) for t in (error.what, error.remedy))
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _sent(self, text: str, table: str) -> Iterator[Spec]:
        """Save the table in a file; yield the spec with that file as its source."""
        spec = Spec.parse(text)
        if spec.connection is not None or not spec.source.endswith(".csv") or "/" in spec.source:
            remedy = 'Write source = "people.csv" and send the table; for databases use the command line.'
            raise BadUsage("the source of this spec is not a CSV file that can be sent.", remedy)
        with self.file(table, spec.source) as file:
            yield replace(spec, source=str(file))
