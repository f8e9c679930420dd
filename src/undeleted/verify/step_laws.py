"""The exact law of one step of an algorithm: from data to z0, or from a state and a request to what follows.

Histories share their states: a curator that is in the same state after two histories is run once.  A
state is the algorithm pickled, with its coins left out; an algorithm that cannot be pickled is run again
from its start instead.  Either way the algorithm is the user's own code on enumerated coins.
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
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from undeleted.errors import BadWorld, NotReproducible, OutOfTime
from undeleted.foundations.coins import Enumerated, outcomes
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Leakage
from undeleted.games.transcript import plain

Data: TypeAlias = tuple[Point, ...]
Batch: TypeAlias = tuple[Point, ...]  # the points of one request
OVER = -1  # the state after the last request
ALL_COMPARED = (
    50_000  # up to so many runs every step is compared with a run from the start, then every eighth
)


class Step(NamedTuple):
    """One way a step can go."""

    output: int
    leaked: int
    state: int
    probability: Fraction


@dataclass(frozen=True)
class _History:
    """How a state came about: enough to come to it again from the start."""

    data: Data
    batches: tuple[Batch, ...]
    tosses: tuple[Any, ...]


@dataclass(frozen=True)
class _State:
    """A state between two steps: the algorithm pickled, if it can be, and one way to come to it."""

    pickled: bytes | None
    history: _History


def told_apart(output: Any) -> Any:
    """An output as an observer tells it from others: by value, kind and shape; numpy scalars as Python's."""
    if isinstance(output, np.generic):
        return told_apart(output.item())
    if isinstance(output, np.ndarray):
        return "array", output.dtype.kind, output.shape, told_apart(output.ravel().tolist())
    if isinstance(output, Mapping):
        return "map", tuple((told_apart(key), told_apart(value)) for key, value in output.items())
    if isinstance(output, Set):
        return "set", frozenset(told_apart(item) for item in output)
    if isinstance(output, list | tuple):
        return "sequence", tuple(told_apart(item) for item in output)
    if is_dataclass(output) and not isinstance(output, type):
        parts = tuple(told_apart(getattr(output, field.name)) for field in fields(output))
        return type(output).__qualname__, parts
    if output is None or isinstance(output, bool | int | float | str | bytes | Fraction):
        return type(output).__name__, repr(output)  # nan is written like itself, 0.0 unlike -0.0
    rule = "numbers, texts, None, and sequences, sets, maps, arrays and dataclasses of them"
    raise BadWorld("an output", type(output).__name__, rule)


class Names:
    """Outputs as small numbers; two have the same number only if nobody can tell them apart."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.values: list[Any] = []

    def number(self, output: Any) -> int:
        key = told_apart(output)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(repr(output) if isinstance(output, bytes) else plain(output))
        return self._numbers[key]

    def shown(self, number: int) -> Any:
        """An output as a reader wants it: a single cell without its brackets."""
        value = self.values[number]
        while isinstance(value, tuple) and len(value) == 1:
            [value] = value
        return list(value) if isinstance(value, tuple) else value


class _Freezer(pickle.Pickler):
    """Python 3.13.0 ignores a `persistent_id` that is set on an instance."""

    def __init__(self, file: io.BytesIO, outside: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol=5)
        self._outside = outside

    def persistent_id(self, thing: Any) -> Any:
        return self._outside(thing)


class _Thawer(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._outside = outside

    def persistent_load(self, name: Any) -> Any:
        return self._outside(name)


class Steps:
    """The laws of an algorithm's steps, each worked out once."""

    def __init__(self, make: Callable[[], Algorithm], leakage: Leakage | None = None) -> None:
        self._make, self._leakage = make, leakage
        self.outputs, self.leaks = Names(), Names()
        self._states: dict[Any, int] = {}
        self._kept: list[_State] = []
        self._laws: dict[tuple[int, Batch, bool], tuple[Step, ...]] = {}
        self._starts: dict[Data, tuple[Step, ...]] = {}
        self._atoms: list[Any] = []
        self._numbers_of_atoms: dict[int, int | None] = {}
        self._pickles = True
        self.runs = 0
        self.until = math.inf  # when to give up, on the monotonic clock

    @property
    def deterministic(self) -> bool:
        """Whether every step that was worked out could go one way only."""
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
        """The next output, and the state after it; after the last request nobody asks for the state."""
        if (state, batch, last) not in self._laws:
            kept, history = self._kept[state], self._kept[state].history

            def run(coins: Enumerated) -> tuple[int, int, int]:
                algorithm = self._thaw(kept, coins)
                output = self.outputs.number(algorithm.delete(list(batch)))
                if last:
                    return output, 0, OVER
                tossed = tuple(coins.path[: coins.tossed])
                if kept.pickled is not None:  # these coins begin where the state was frozen
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
        """The same step once more, of an algorithm that came to its state from the start."""

        def run(coins: Enumerated) -> tuple[int, int, int]:
            algorithm = self._thaw(_State(None, history), coins)
            return self.outputs.number(algorithm.delete(list(batch))), 0, OVER

        return self._law(run, history.tosses)

    def _compare(self, one: tuple[Step, ...], other: tuple[Step, ...]) -> None:
        """Both must say the same as often, or the algorithm is not a function of its coins."""
        laws: list[dict[tuple[int, int], Fraction]] = [{}, {}]
        for law, steps in zip(laws, (one, other), strict=True):
            for step in steps:
                seen = step.output, step.leaked
                law[seen] = law.get(seen, Fraction(0)) + step.probability
        if laws[0] != laws[1]:
            raise NotReproducible

    def _law(
        self, run: Callable[[Enumerated], tuple[int, int, int]], after: Sequence[Any]
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

        This finds an algorithm with randomness or memory of its own, which steps would not notice.
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
                pickled = self._freeze(algorithm)
            except (TypeError, AttributeError, pickle.PicklingError):
                self._pickles = False
        key = history if pickled is None else pickled
        if key not in self._states:
            self._states[key] = len(self._kept)
            self._kept.append(_State(pickled, history))
        return self._states[key]

    def _freeze(self, algorithm: Algorithm) -> bytes:
        written = io.BytesIO()
        _Freezer(written, self._outside).dump(algorithm)
        return written.getvalue()

    def _outside(self, thing: Any) -> Any:
        """What a state refers to and does not hold: its coins, functions, and values that never change."""
        if isinstance(thing, Enumerated):
            return "coins"
        if isinstance(thing, FunctionType):
            if thing.__closure__:
                raise TypeError("a closure may hold a state of its own")
        elif not is_dataclass(thing) or isinstance(thing, type):
            return None
        if id(thing) not in self._numbers_of_atoms:
            constant = isinstance(thing, FunctionType) or _constant(thing)
            self._numbers_of_atoms[id(thing)] = len(self._atoms) if constant else None
            self._atoms.append(thing)  # kept alive, so that nothing else gets its id
        return self._numbers_of_atoms[id(thing)]

    def _thaw(self, kept: _State, coins: Enumerated) -> Algorithm:
        if kept.pickled is None:
            algorithm = self._make()
            algorithm.start(kept.history.data, coins)
            if self._leakage is not None:
                self._leakage.draw(kept.history.data, algorithm, coins)
            for batch in kept.history.batches:
                algorithm.delete(list(batch))
            return algorithm
        outside = _Thawer(
            io.BytesIO(kept.pickled), lambda name: coins if name == "coins" else self._atoms[name]
        )
        thawed: Algorithm = outside.load()
        return thawed


def _constant(thing: Any) -> bool:
    """Whether a value can never change."""
    if isinstance(thing, tuple | frozenset):
        return all(map(_constant, thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        frozen = type(thing).__dataclass_params__.frozen  # type: ignore[attr-defined]
        return bool(frozen) and all(_constant(getattr(thing, field.name)) for field in fields(thing))
    return thing is None or isinstance(thing, int | float | str | bytes | Fraction | type)
