"""The exact law of one step of an algorithm: from data to z0, or from a state and a request to what follows.

Histories share their states: a curator that is in the same state after two histories is run once.  A
state is the pickled algorithm without its coins; an algorithm that cannot be pickled is run again from its
start instead.  Either way the algorithm is the user's own code on enumerated coins.
"""

import io
import math
import pickle
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from itertools import islice
from time import monotonic
from types import FunctionType
from typing import NamedTuple, TypeAlias

import numpy as np

from undeleted.errors import BadWorld, NotReproducible, OutOfTime
from undeleted.foundations.coins import Enumerated, outcomes
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Leakage
from undeleted.games.transcript import plain

Data: TypeAlias = tuple[Point, ...]
Batch: TypeAlias = tuple[Point, ...]  # the points of one request
OVER = -1  # the state after the last request
# Up to this many runs every step is compared with a run from the start; after that, every eighth step is.
ALL_COMPARED = 50_000


class Step(NamedTuple):
    """One possible outcome of a step."""

    output: int
    leaked: int
    state: int
    probability: Fraction


@dataclass(frozen=True)
class _History:
    """How a state was reached: enough to reach it again from the start."""

    data: Data
    batches: tuple[Batch, ...]
    tosses: tuple[Output, ...]


@dataclass(frozen=True)
class _State:
    """A state between two steps: the pickled algorithm, if possible, and one history that leads to it."""

    pickled: bytes | None
    history: _History


def distinguishing_key(output: Output) -> Output:
    """An output's key as an observer distinguishes it: value, kind and shape; numpy scalars as Python's."""
    if isinstance(output, np.generic):
        return distinguishing_key(output.item())
    if isinstance(output, np.ndarray):
        return "array", output.dtype.kind, output.shape, distinguishing_key(output.ravel().tolist())
    if isinstance(output, Mapping):
        return "map", tuple(
            (distinguishing_key(key), distinguishing_key(value)) for key, value in output.items()
        )
    if isinstance(output, Set):
        return "set", frozenset(distinguishing_key(item) for item in output)
    if isinstance(output, list | tuple):
        return "sequence", tuple(distinguishing_key(item) for item in output)
    if is_dataclass(output) and not isinstance(output, type):
        parts = tuple(distinguishing_key(getattr(output, field.name)) for field in fields(output))
        return type(output).__qualname__, parts
    if output is None or isinstance(output, bool | int | float | str | bytes | Fraction):
        return type(output).__name__, repr(output)  # nan equals itself, and 0.0 differs from -0.0
    rule = "numbers, texts, None, and sequences, sets, maps, arrays and dataclasses of them"
    raise BadWorld("an output", type(output).__name__, rule)


class Names:
    """Numbers the outputs; two get the same number only if no observer can distinguish them."""

    def __init__(self) -> None:
        self._numbers: dict[Output, int] = {}
        self.values: list[Output] = []

    def number(self, output: Output) -> int:
        key = distinguishing_key(output)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(repr(output) if isinstance(output, bytes) else plain(output))
        return self._numbers[key]

    def shown(self, number: int) -> Output:
        """An output in the form shown to a reader: a single cell without its brackets."""
        value = self.values[number]
        while isinstance(value, tuple) and len(value) == 1:
            [value] = value
        return list(value) if isinstance(value, tuple) else value


class _StatePickler(pickle.Pickler):
    """A pickler with its own `persistent_id`: Python 3.13.0 ignores one that is set on an instance."""

    def __init__(self, file: io.BytesIO, outside: Callable[[Output], Output]) -> None:
        super().__init__(file, protocol=5)
        self._outside = outside

    def persistent_id(self, obj: Output) -> Output:
        return self._outside(obj)


class _StateUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: Callable[[Output], Output]) -> None:
        super().__init__(file)
        self._outside = outside

    def persistent_load(self, name: Output) -> Output:
        return self._outside(name)


class Steps:
    """The laws of an algorithm's steps, each computed once."""

    def __init__(self, make: Callable[[], Algorithm], leakage: Leakage | None = None) -> None:
        self._make, self._leakage = make, leakage
        self.outputs, self.leaks = Names(), Names()
        self._states: dict[Output, int] = {}
        self._kept: list[_State] = []
        self._laws: dict[tuple[int, Batch, bool], tuple[Step, ...]] = {}
        self._starts: dict[Data, tuple[Step, ...]] = {}
        self._atoms: list[Output] = []
        self._numbers_of_atoms: dict[int, int | None] = {}
        self._pickles = True
        self.runs = 0
        self.until = math.inf  # when to give up, on the monotonic clock

    @property
    def deterministic(self) -> bool:
        """Whether every step computed so far has only one outcome."""
        return all(len(law) == 1 for law in (*self._starts.values(), *self._laws.values()))

    def start(self, data: Data) -> tuple[Step, ...]:
        """z0, what leaks with it, and the state after it."""
        if data not in self._starts:

            def run(coins: Enumerated) -> tuple[int, int, int]:
                algorithm = self._make()
                output = algorithm.start(data, coins)
                leaked = None if self._leakage is None else self._leakage.draw(data, algorithm, coins)
                state = self._state(algorithm, _History(data, (), tuple(coins.path[: coins.tossed])))
                return self.outputs.number(output), self.leaks.number(leaked), state

            self._starts[data] = self._law(run, ())
            self._compare(self._starts[data], self._law(run, ()))
        return self._starts[data]

    def delete(self, state: int, batch: Batch, *, last: bool = False) -> tuple[Step, ...]:
        """The next output, and the state after it; after the last request the state is not computed."""
        if (state, batch, last) not in self._laws:
            kept, history = self._kept[state], self._kept[state].history

            def run(coins: Enumerated) -> tuple[int, int, int]:
                algorithm = self._restore(kept, coins)
                output = self.outputs.number(algorithm.delete(list(batch)))
                if last:
                    return output, 0, OVER
                tossed = tuple(coins.path[: coins.tossed])
                if kept.pickled is not None:  # these coins begin where the state was pickled
                    tossed = (*history.tosses, *tossed)
                return (
                    output,
                    0,
                    self._state(
                        algorithm, replace(history, batches=(*history.batches, batch), tosses=tossed)
                    ),
                )

            law = self._law(run, () if kept.pickled is not None else history.tosses)
            self._laws[state, batch, last] = law
            if self.runs < ALL_COMPARED or len(self._laws) % 8 == 0:
                self._compare(law, self._again(history, batch))
        return self._laws[state, batch, last]

    def _again(self, history: _History, batch: Batch) -> tuple[Step, ...]:
        """The same step again, by an algorithm that reached its state from the start."""

        def run(coins: Enumerated) -> tuple[int, int, int]:
            algorithm = self._restore(_State(None, history), coins)
            return self.outputs.number(algorithm.delete(list(batch))), 0, OVER

        return self._law(run, history.tosses)

    def _compare(self, one: tuple[Step, ...], other: tuple[Step, ...]) -> None:
        """Both laws must be equal, or the algorithm is not a function of its coins."""
        laws: list[dict[tuple[int, int], Fraction]] = [{}, {}]
        for law, steps in zip(laws, (one, other), strict=True):
            for step in steps:
                seen = step.output, step.leaked
                law[seen] = law.get(seen, Fraction(0)) + step.probability
        if laws[0] != laws[1]:
            raise NotReproducible

    def _law(
        self, run: Callable[[Enumerated], tuple[int, int, int]], after: Sequence[Output]
    ) -> tuple[Step, ...]:
        law: dict[tuple[int, int, int], Fraction] = {}
        for went, probability in outcomes(run, after):
            self.runs += 1
            if monotonic() > self.until:
                raise OutOfTime
            law[went] = law.get(went, Fraction(0)) + probability
        return tuple(Step(*went, probability) for went, probability in law.items())

    def check(self, data: Data, batches: Sequence[Batch], at_most: int = 32) -> None:
        """Run the algorithm in one piece on some of its coins; it must do what the steps say.

        This detects an algorithm with its own randomness or memory, which single steps would not detect.
        """
        law = self.law(data, batches)

        def run(coins: Enumerated) -> tuple[int, ...]:
            algorithm = self._make()
            first = self.outputs.number(algorithm.start(data, coins))
            if self._leakage is not None:
                self._leakage.draw(data, algorithm, coins)
            return (first, *(self.outputs.number(algorithm.delete(list(batch))) for batch in batches))

        seen: dict[tuple[int, ...], Fraction] = {}
        for went, probability in islice(outcomes(run), at_most):
            seen[went] = seen.get(went, Fraction(0)) + probability
        if any(probability > law.get(went, 0) for went, probability in seen.items()):
            raise NotReproducible

    def law(self, data: Data, batches: Sequence[Batch]) -> dict[tuple[int, ...], Fraction]:
        """The law of the outputs of a whole run."""
        law: dict[tuple[tuple[int, ...], int], Fraction] = {}
        for step in self.start(data):
            begun = ((step.output,), step.state)
            law[begun] = law.get(begun, Fraction(0)) + step.probability
        for number, batch in enumerate(batches, start=1):
            further: dict[tuple[tuple[int, ...], int], Fraction] = {}
            for (outputs, state), probability in law.items():
                for step in self.delete(state, batch, last=number == len(batches)):
                    key = ((*outputs, step.output), step.state)
                    further[key] = further.get(key, Fraction(0)) + probability * step.probability
            law = further
        whole: dict[tuple[int, ...], Fraction] = {}
        for (outputs, _), probability in law.items():
            whole[outputs] = whole.get(outputs, Fraction(0)) + probability
        return whole

    def _state(self, algorithm: Algorithm, history: _History) -> int:
        pickled = None
        if self._pickles:
            try:
                pickled = self._pickle(algorithm)
            except (TypeError, AttributeError, pickle.PicklingError):
                self._pickles = False
        key = history if pickled is None else pickled
        if key not in self._states:
            self._states[key] = len(self._kept)
            self._kept.append(_State(pickled, history))
        return self._states[key]

    def _pickle(self, algorithm: Algorithm) -> bytes:
        written = io.BytesIO()
        _StatePickler(written, self._outside).dump(algorithm)
        return written.getvalue()

    def _outside(self, obj: Output) -> Output:
        """The id of what a state refers to but does not contain: its coins, functions and constants."""
        if isinstance(obj, Enumerated):
            return "coins"
        if isinstance(obj, FunctionType):
            if obj.__closure__:
                raise TypeError("a closure may have its own state")
        elif not is_dataclass(obj) or isinstance(obj, type):
            return None
        if id(obj) not in self._numbers_of_atoms:
            constant = isinstance(obj, FunctionType) or _constant(obj)
            self._numbers_of_atoms[id(obj)] = len(self._atoms) if constant else None
            self._atoms.append(obj)  # kept alive, so that nothing else gets its id
        return self._numbers_of_atoms[id(obj)]

    def _restore(self, kept: _State, coins: Enumerated) -> Algorithm:
        if kept.pickled is None:
            algorithm = self._make()
            algorithm.start(kept.history.data, coins)
            if self._leakage is not None:
                self._leakage.draw(kept.history.data, algorithm, coins)
            for batch in kept.history.batches:
                algorithm.delete(list(batch))
            return algorithm
        outside = _StateUnpickler(
            io.BytesIO(kept.pickled), lambda name: coins if name == "coins" else self._atoms[name]
        )
        thawed: Algorithm = outside.load()
        return thawed


def _constant(obj: Output) -> bool:
    """Whether a value can never change."""
    if isinstance(obj, tuple | frozenset):
        return all(map(_constant, obj))
    if is_dataclass(obj) and not isinstance(obj, type):
        frozen = type(obj).__dataclass_params__.frozen  # type: ignore[attr-defined]
        return bool(frozen) and all(_constant(getattr(obj, field.name)) for field in fields(obj))
    return obj is None or isinstance(obj, int | float | str | bytes | Fraction | type)
