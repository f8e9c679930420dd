"""Algorithms for exact worlds: random ones, and ones that misbehave in a named way."""

import random
from dataclasses import dataclass
from itertools import count

from undeleted.games.baselines._points import without


class RandomTable:
    """Draws outputs from random tables: each step has its own small law, given the remaining points."""

    def __init__(self, seed, outputs=2, denominator=4):
        self.seed, self.outputs, self.denominator = seed, outputs, denominator
        self._left, self._coins = (), None

    def start(self, data, coins):
        self._left, self._coins = tuple(sorted(data)), coins
        return self._say("first")

    def delete(self, points):
        self._left = without(self._left, points)
        return self._say("next")

    def _say(self, what):
        # depends only on the remaining points: this generator makes the table, not the coins
        rng = random.Random(f"{self.seed} {what} {self._left}")
        cuts = sorted(rng.randrange(self.denominator + 1) for _ in range(self.outputs - 1))
        drawn = int(self._coins.integers(0, self.denominator, 1)[0])
        return sum(drawn >= cut for cut in cuts)


class Position:
    """Outputs the sum, then the deleted point's index: safe if the simulator knows the index, else not."""

    def start(self, data, coins):
        self._data = tuple(data)
        return sum(data)

    def delete(self, points):
        return [self._data.index(point) for point in points]


class OwnDice:
    """Uses its own randomness instead of the coins."""

    def start(self, data, coins):
        return random.random()

    def delete(self, points):
        return 0


class SecretDice:
    """Draws a secret with its own randomness at the start and outputs it later."""

    def start(self, data, coins):
        self._secret = random.random()
        return 0

    def delete(self, points):
        return self._secret


class Remembering:
    """Keeps state across runs, outside of the object."""

    calls = count()

    def start(self, data, coins):
        return next(self.calls)

    def delete(self, points):
        return 0


class Endless:
    """Tosses until a coin shows 1, which may never happen."""

    def start(self, data, coins):
        while coins.bits(1)[0] == 0:
            pass
        return 0

    def delete(self, points):
        return 0


class RareDice:
    """Uses its own randomness, but only for one request on some data sets."""

    def start(self, data, coins):
        self._left = list(data)
        return 0

    def delete(self, points):
        for point in points:
            self._left.remove(point)
        return random.getrandbits(32) if points == [0] and 1 in self._left else 0


class RareOrder:
    """Depends on the order of its data, for one order and one request only."""

    def start(self, data, coins):
        self._data = tuple(data)
        return 0

    def delete(self, points):
        return int(self._data == (0, 1, 0, 1) and points == [0])


class LateGenerator:
    """Can be pickled at first, but not after a deletion."""

    def start(self, data, coins):
        self.left = list(data)
        return 0

    def delete(self, points):
        for point in points:
            self.left.remove(point)
        self.later = (point for point in self.left)
        return sorted(self.left)[0] if self.left else None


@dataclass(frozen=True)
class Ok:
    value: int


@dataclass(frozen=True)
class Refused:
    value: int


class LeaksByType:
    """Outputs the same value in two types: the outputs differ, although they are written the same."""

    def __init__(self, one, other):
        self.kinds = one, other

    def start(self, data, coins):
        self._left = list(data)
        return 0

    def delete(self, points):
        for point in points:
            self._left.remove(point)
        return self.kinds[sum(self._left) % 2]


class WithClosure:
    """Cannot be pickled: keeps its data in a function."""

    def start(self, data, coins):
        left = list(data)

        def delete(points):
            for point in points:
                left.remove(point)
            return sorted(left)[(len(left) - 1) // 2] if left else None

        self._delete = delete
        return sorted(left)[(len(left) - 1) // 2]

    def delete(self, points):
        return self._delete(points)
