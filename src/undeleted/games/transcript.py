"""A transcript (z0, y1, z1, …, yk, zk): what was published and deleted, saved and replayed.

The file is JSON with a format version.  `replay` runs the algorithm again with the same coins and compares.
"""

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from undeleted.errors import BadFile
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point

FORMAT = "undeleted-transcript"
VERSION = 1


@dataclass(frozen=True)
class Transcript:
    """z0, then the deleted points and the output of every round, in plain values."""

    first: Output
    rounds: tuple[tuple[tuple[Point, ...], Output], ...] = ()

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (self.first, *(output for _, output in self.rounds))

    @property
    def deleted(self) -> tuple[tuple[Point, ...], ...]:
        return tuple(points for points, _ in self.rounds)

    def save(self, path: str | Path) -> None:
        rounds = [{"deleted": points, "output": output} for points, output in self.rounds]
        body = {"format": FORMAT, "version": VERSION, "first": self.first, "rounds": rounds}
        Path(path).write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Transcript":
        try:
            body = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
        except ValueError:
            raise BadFile(str(path), "is not JSON.", "Give a file written by Transcript.save.") from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise BadFile(str(path), "is not a transcript.", "Give a file written by Transcript.save.")
        if body.get("version") != VERSION:
            problem = f"has format version {body.get('version')!r}; this program reads version {VERSION}."
            raise BadFile(
                str(path), problem, "Read it with the version of undeleted that wrote it, or a newer one."
            )
        try:
            rounds = tuple((plain(r["deleted"]), plain(r["output"])) for r in body["rounds"])
            return cls(plain(body["first"]), rounds)
        except (KeyError, TypeError):
            raise BadFile(
                str(path), "lacks a part of a transcript.", "It was altered; save it again."
            ) from None


def record(
    algorithm: Algorithm, data: Sequence[Point], batches: Sequence[Sequence[Point]], coins: Coins
) -> Transcript:
    """Start an algorithm, delete the batches in order, and record everything that was published."""
    first = plain(algorithm.start(data, coins))
    return Transcript(
        first, tuple((plain(tuple(batch)), plain(algorithm.delete(batch))) for batch in batches)
    )


def replay(transcript: Transcript, algorithm: Algorithm, data: Sequence[Point], coins: Coins) -> bool:
    """Whether the algorithm, run again on the data with these coins, publishes the same outputs."""
    return record(algorithm, data, transcript.deleted, coins) == transcript


def plain(output: Output, nan: Output = "nan") -> Output:
    """An output as nested tuples of numbers, strings and None: hashable, comparable, serialisable as JSON.

    A float NaN is replaced by `nan`, by default a string: a string is equal to itself, a float NaN is not.
    """
    match output:
        case float() if math.isnan(output):
            return nan
        case None | bool() | int() | float() | str():
            return output
        case np.generic():
            return plain(output.item(), nan)
        case np.ndarray():
            return plain(output.tolist(), nan)
        case Fraction():
            return f"{output.numerator}/{output.denominator}"
        case Mapping():
            return tuple((plain(key, nan), plain(output[key], nan)) for key in sorted(output, key=repr))
        case Set():
            return tuple(sorted((plain(item, nan) for item in output), key=repr))
        case list() | tuple():
            return tuple(plain(item, nan) for item in output)
    if is_dataclass(output):
        return tuple(plain(getattr(output, field.name), nan) for field in fields(output))
    raise TypeError(f"an output of type {type(output).__name__} cannot be serialised")
