"""What can be audited: anything that publishes a first output and answers deletions.

    mechanism:noisy-sum            one of ours; also baseline:…, leaky:…, retrain:median, recompute:sum
    retrain:numpy:std              any function of the values, computed again after each deletion
    sklearn.cluster:KMeans         an estimator, retrained after each deletion
    package.module:factory         an object with a deletion of its own; file.py:factory works too
    exec:./my_curator              any program that speaks one JSON object per line

A target answers `start(records, seed)` and `delete(ids)` with what it publishes.  Each named target runs in
its own process, so that a crash or a hang ends a call and not the audit.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from undeleted.auditing.columns import Row, TargetColumn, columns_from
from undeleted.auditing.targets.process import Clock, TargetProcess, refused
from undeleted.errors import BadColumns, BadTarget, TargetFailed
from undeleted.foundations.types import Given, Json, Output

LINE = (TargetColumn("x", 0, 1000),)
LOADING = 20.0  # seconds that importing a library may take, if the budget allows


class Adapter(Protocol):
    """An adapter; if it has `columns` (and `label`), they say what its records look like."""

    def start(self, records: Sequence[Row], seed: int) -> Output:
        """Read the records and publish; all randomness comes from the seed."""

    def delete(self, ids: Sequence[str]) -> Output:
        """Honour the deletion and publish again."""


@dataclass(frozen=True)
class TargetSpec:
    """A target as the command line names it, with what the observer sees of it."""

    name: str
    settings: Mapping[str, Given] = field(default_factory=dict)
    see: tuple[str, ...] = ()
    at: tuple[tuple[float, ...], ...] = ()
    columns: tuple[TargetColumn, ...] = ()
    label: str | None = None
    features: int = 1

    def as_json(self) -> Json:
        return {
            "name": self.name,
            "settings": dict(self.settings),
            "see": list(self.see),
            "at": [list(point) for point in self.at],
            "columns": {c.name: c.as_json() for c in self.columns},
            "label": self.label,
            "features": self.features,
        }


class Target:
    """A running target; `play` gives whole transcripts."""

    def __init__(self, named: TargetSpec, clock: Clock, *, hide: bool = False) -> None:
        self.named, self.clock = named, clock
        self.is_program = named.name.startswith("exec:")
        command = _words(named.name[5:]) if self.is_program else [sys.executable, "-m", f"{__name__}._serve"]
        if not command:
            raise BadTarget("exec: lacks a program.", "Write exec:./my_curator, or exec:'perl curator.pl'.")
        self._launch = partial(TargetProcess, command, clock, hide=hide, ours=not self.is_program)
        self._program = self._launch()
        self._started = self._one_start = False
        self.calls = 0
        self.chunk = 1
        self.about: Json = {}
        try:
            if not self.is_program:
                hello = {"op": "hello", **named.as_json()}
                self.about = self._program.ask(hello, "loading the target", max(clock.timeout, LOADING))
            declared = columns_from(self.about.get("columns") or {})
            self.columns = named.columns or declared or LINE
            self.label = named.label or self.about.get("label")
            known = [c.name for c in self.columns]
            if self.label is not None and self.label not in known:
                remedy = f"The columns: {', '.join(known)}."
                raise BadColumns([self.label], "the label is not a column.", remedy)
        except BaseException:
            self.close()
            raise

    @property
    def has_density(self) -> bool:
        """Whether the target knows the density of its own first output."""
        return bool(self.about.get("density"))

    @property
    def can_look(self) -> bool:
        return bool(self.about.get("looks"))

    def start(self, records: Sequence[Row], seed: int) -> Output:
        message = {"op": "start", "records": list(records), "seed": seed}
        call = f"start with {len(records)} records"
        again, self._started = self._started and self.is_program, True
        if again and self._one_start:
            self._relaunch()
        try:
            return self._output(message, call)
        except TargetFailed:
            if not again or self._one_start:
                raise
        self._relaunch()  # perhaps a program that serves one start only
        output = self._output(message, call)
        self._one_start = True
        return output

    def _relaunch(self) -> None:
        self._program.close()
        self._program = self._launch()

    def delete(self, ids: Sequence[str]) -> Output:
        return self._output({"op": "delete", "ids": list(ids)}, f"delete {', '.join(ids) or 'nobody'}")

    def look(self) -> Output:
        """Return the current output again, if the target can show it."""
        return self._output({"op": "look"}, "looking again")

    def log_density(self, records: Sequence[Row], outputs: Sequence[Output]) -> list[float]:
        """The log density of each first output, given these records."""
        message = {"op": "density", "records": list(records), "outputs": list(outputs)}
        answer = self._program.ask(message, "asking for the density of the first output")
        return [float(v) for v in answer["output"]]

    def play(
        self, records: Sequence[Row], batches: Sequence[Sequence[str]], seeds: Sequence[int]
    ) -> list[list[Output]]:
        """One transcript of outputs for every seed."""
        if self.is_program:
            return [self._transcript(records, batches, seed) for seed in seeds]
        played: list[list[Output]] = []
        while len(played) < len(seeds):
            some = list(seeds[len(played) : len(played) + self.chunk])
            began = self.clock.seconds
            message = {
                "op": "play",
                "records": list(records),
                "batches": list(map(list, batches)),
                "seeds": some,
            }
            call = f"start with {len(records)} records and {len(batches)} deletions"
            played += self._output(message, call)
            self._count(len(some) * (1 + len(batches)) - 1)
            self.chunk = self.clock.chunk(len(some), self.chunk, self.clock.seconds - began)
        return played

    def _transcript(
        self, records: Sequence[Row], batches: Sequence[Sequence[str]], seed: int
    ) -> list[Output]:
        outputs = [self.start(records, seed)]
        try:
            for batch in batches:
                outputs.append(self.delete(batch))
        except TargetFailed as failure:
            if not failure.reported:
                raise
            return refused(outputs, batches)
        return outputs

    def close(self) -> None:
        self._program.close()

    def __enter__(self) -> "Target":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count(self, calls: int) -> None:
        self.calls += calls
        self.clock.count(calls)

    def _output(self, message: Json, call: str) -> Output:
        self._count(1)
        answer = self._program.ask(message, call)
        if "output" not in answer:
            raise TargetFailed(call, "its answer has neither an output nor an error")
        return answer["output"]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BadTarget(f"the command cannot be parsed ({error}).", "Quote it as in a shell.") from None
