"""Algorithms for exact worlds: random ones, and ones that misbehave in a named way."""

import random
from dataclasses import dataclass
from itertools import count

from undeleted.games.baselines._points import without


class RandomTable:
    """Outputs drawn from random tables: each step has its own small law, given what is left."""

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
        # a function of what is left alone: the table, not the coins, is made by this generator
        rng = random.Random(f"{self.seed} {what} {self._left}")
        cuts = sorted(rng.randrange(self.denominator + 1) for _ in range(self.outputs - 1))
        drawn = int(self._coins.integers(0, self.denominator, 1)[0])
        return sum(drawn >= cut for cut in cuts)


class Position:
    """The sum first; then where the deleted point stood: safe for who knows the index, not for others."""

    def start(self, data, coins):
        self._data = tuple(data)
        return sum(data)

    def delete(self, points):
        return [self._data.index(point) for point in points]


class OwnDice:
    """Has randomness of its own."""

    def start(self, data, coins):
        return random.random()

    def delete(self, points):
        return 0


class SecretDice:
    """Draws a secret of its own at the start and tells it later."""

    def start(self, data, coins):
        self._secret = random.random()
        return 0

    def delete(self, points):
        return self._secret


class Remembering:
    """Remembers across runs, outside of itself."""

    calls = count()

    def start(self, data, coins):
        return next(self.calls)

    def delete(self, points):
        return 0


class Endless:
    """Tosses until a coin says so, which may be never."""

    def start(self, data, coins):
        while coins.bits(1)[0] == 0:
            pass
        return 0

    def delete(self, points):
        return 0


class RareDice:
    """Has randomness of its own, in one corner of the world only."""

    def start(self, data, coins):
        self._left = list(data)
        return 0

    def delete(self, points):
        for point in points:
            self._left.remove(point)
        return random.getrandbits(32) if points == [0] and 1 in self._left else 0


class RareOrder:
    """Minds the order of its data for one order and one request only."""

    def start(self, data, coins):
        self._data = tuple(data)
        return 0

    def delete(self, points):
        return int(self._data == (0, 1, 0, 1) and points == [0])


class LateGenerator:
    """Can be pickled at first and no more after a deletion."""

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


class TellsByKind:
    """Says the same in two kinds: what is published differs though it is written alike."""

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
