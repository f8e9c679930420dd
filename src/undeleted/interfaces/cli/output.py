"""How commands print: a result as text or, with --json, as JSON; progress on stderr, on a terminal only."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from undeleted.errors import BadFile
from undeleted.foundations.types import Given
from undeleted.interfaces.report.result import Result

if TYPE_CHECKING:
    from rich.progress import Progress

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def renders(command: Callable[..., Result], options: Sequence[inspect.Parameter] = ()) -> Callable[..., int]:
    """Give a command the option --json, print its result, and return its exit code.

    `options` are its parameters, if its signature does not have them.
    """

    @functools.wraps(command)
    def run(*arguments: Given, json: bool = False, **options: Given) -> int:
        result = command(*arguments, **options)
        print(result.as_json() if json else result.as_text())
        return result.code

    own = options or tuple(inspect.signature(command).parameters.values())
    as_json = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    parameters = [*own, as_json]
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def working(text: str) -> AbstractContextManager[Given]:
    """Show a spinner on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


class Bar:
    """A progress bar; without a terminal it shows nothing."""

    def __init__(
        self, progress: "Progress | None" = None, doing: str = "", total: float | None = None
    ) -> None:
        self._progress = progress
        self._task = progress.add_task(doing, total=total) if progress is not None else None

    def advance(self, done: float = 1, text: str | None = None) -> None:
        """So much more was done; `text` says what comes next."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=done, description=text)

    def set(self, completed: float, text: str) -> None:
        """So much is done in all."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=completed, description=f"{text:<32}")


@contextmanager
def bar(doing: str, total: float | None = None) -> Iterator[Bar]:
    """Show a progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress, doing, total)


def require_page(html: Path | None) -> None:
    """Refuse a page that cannot be written, before the work starts."""
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise BadFile(str(html), "cannot be written.", "Name a file in a folder that exists.")
