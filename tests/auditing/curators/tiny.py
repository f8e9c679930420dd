"""Curators of a few lines, for the auditor's tests; each is an adapter as a user would write it."""

import json
import os
import random
import sys
import time


class Line:
    """Keeps values; `said` is what is published."""

    columns = {"x": (0, 1000)}

    def start(self, records, seed):
        self.left = {r["id"]: r["x"] for r in records}
        self.random = random.Random(seed)
        return self.said()

    def delete(self, ids):
        for name in ids:
            del self.left[name]
        return self.said()

    def said(self):
        return sum(self.left.values())


class Median(Line):
    def said(self):
        return sorted(self.left.values())[(len(self.left) - 1) // 2]


class Slow(Median):
    def said(self):
        time.sleep(0.04)
        return super().said()


class Keyed(Line):
    """A safe part and a leaky one, by key."""

    def said(self):
        return {"sum": sum(self.left.values()), "largest": max(self.left.values())}


class FreshNoise(Line):
    """A count of large values with fresh noise of known law each time."""

    columns = {"x": (0, 1)}

    def said(self):
        return sum(self.left.values()) + self.random.choice([-1, 0, 0, 1])


class NoiseOnce(FreshNoise):
    """The same noise, drawn once; fresh coins are tossed besides, and shown."""

    def start(self, records, seed):
        self.noise = None
        return super().start(records, seed)

    def said(self):
        self.noise = self.random.choice([-1, 0, 0, 1]) if self.noise is None else self.noise
        return [sum(self.left.values()) + self.noise, self.random.randrange(4)]


class FreshGauss(FreshNoise):
    """Continuous noise, drawn again each time: the first outputs of neighbours are 0.383 apart."""

    def said(self):
        return sum(self.left.values()) + self.random.gauss(0, 1)


class Stubborn(Line):
    """Forgets nobody: subtracts nothing from its sum."""

    def start(self, records, seed):
        self.total = sum(r["x"] for r in records)
        return super().start(records, seed)

    def said(self):
        return self.total


class RarelyRandom(Line):
    """A sum that one seed in fifty turns into something else after a deletion: no leak of anybody."""

    def start(self, records, seed):
        self.odd = seed % 50 == 0
        self.deleted = 0
        return super().start(records, seed)

    def delete(self, ids):
        said = super().delete(ids)
        return said + (self.random.randrange(5) if self.odd else 0)


class Accidents(Line):
    """Says 0, and 1 with a small probability after a deletion, whoever is there: perfectly safe."""

    def start(self, records, seed):
        super().start(records, seed)
        self.random = random.Random(f"{seed} {records}")
        return 0

    def said(self):
        return int(self.random.random() < 3e-4)


class Coin(Line):
    """One output in ten is 1, whatever happened: forgets, in distribution, exactly."""

    def said(self):
        return int(self.random.random() < 0.1)


class Pad(Line):
    """z0 says nothing; an update is a parity of those who stay under a one-time pad: perfectly safe."""

    def start(self, records, seed):
        self.first = True
        return super().start(records, seed)

    def said(self):
        pad = self.random.randrange(2)
        if self.first:
            self.first = False
            return 0
        return pad ^ (sum(self.left.values()) & 1)


class HeavyTails(Line):
    """Fresh noise that is now and then beyond all measure, and nothing else."""

    def said(self):
        return 1e160 if self.random.random() < 1e-3 else self.random.gauss(0, 1)


class Signs(Line):
    """z0 is 0.0 or −0.0 by the parity of the values; the next output repeats it: nothing is added."""

    def start(self, records, seed):
        self.sign = -1 if sum(r["x"] for r in records) & 1 else 1
        super().start(records, seed)
        return 0.0 * self.sign

    def delete(self, ids):
        return super().delete(ids) if ids else 0.0 * self.sign

    def said(self):
        return self.sign


class Rounded(Line):
    """Forgets up to rounding, and tosses a coin besides."""

    def start(self, records, seed):
        self.error = 0.0
        return super().start(records, seed)

    def delete(self, ids):
        self.error = 1e-13 * sum(self.left.values())
        return super().delete(ids)

    def said(self):
        return [sum(self.left.values()) / 7 + self.error, self.random.randrange(2)]


class Shifted(Line):
    """A vector of noise that a deletion moves far away."""

    def start(self, records, seed):
        self.shift = 0.0
        return super().start(records, seed)

    def delete(self, ids):
        self.shift = 10.0
        return super().delete(ids)

    def said(self):
        return [self.random.gauss(self.shift, 1), self.random.gauss(0, 1)]


class Unseeded(NoiseOnce):
    def start(self, records, seed):
        return super().start(records, os.urandom(8))


class Refuses(Median):
    """An error in one world of four, as a model has that sees one class only."""

    def start(self, records, seed):
        if sum(r["x"] for r in records) % 4 == 0:
            raise ValueError("this world has one class")
        return super().start(records, seed)


class NeedsMany(Median):
    """An error where fewer than ten are left, as a model has that wants neighbours."""

    def said(self):
        if len(self.left) < 10:
            raise ValueError("too few are left")
        return super().said()


class Refusing(Line):
    """Publishes how many there are, and refuses to let the largest go: that tells of those who stay."""

    def delete(self, ids):
        if any(self.left[name] == max(self.left.values()) for name in ids):
            raise ValueError("you are needed")
        return super().delete(ids)

    def said(self):
        return len(self.left)


class Stamps(Line):
    """The latest of whole seconds: never forgets, and is far from rounding."""

    columns = {"x": (1_700_000_000, 1_700_001_500)}

    def start(self, records, seed):
        self.latest = max(r["x"] for r in records)
        return super().start(records, seed)

    def said(self):
        return self.latest


class Alarm(Line):
    """Which of sixty diseases five people have; names only."""

    columns = {"x": [f"d{i}" for i in range(60)]}

    def said(self):
        values = list(self.left.values())
        return sorted({v for v in values if values.count(v) >= 5})


class Trimmed(Line):
    """A mean of numbers between 0 and 1 without the tenth at either end."""

    columns = {"x": (0.0, 1.0)}

    def said(self):
        values = sorted(self.left.values())
        cut = len(values) // 10
        kept = values[cut : len(values) - cut]
        return sum(kept) / len(kept)


class Injective(Line):
    """Another first output for every world: a hash of everybody as a number, and the median in its digits."""

    def said(self):
        return sorted(self.left.values())[len(self.left) // 2] + 1e-4 * random.Random(str(self.left)).random()


class Prints(Median):
    def said(self):
        print("debugging", flush=True)
        import numpy as np  # a program that starts need not wait for it

        return np.int64(super().said())


class Crash(Line):
    def delete(self, ids):
        os._exit(9)


class Segfault(Line):
    def start(self, records, seed):
        os.kill(os.getpid(), 11)


class Hang(Line):
    def delete(self, ids):
        time.sleep(600)


class NotANumber(Line):
    def delete(self, ids):
        return float("nan")


class FittedNotANumber:
    """A model whose fitted attribute is no number."""

    def fit(self, X):
        import numpy as np

        self.mean_ = np.full(1, np.nan)


class Fails(Line):
    def delete(self, ids):
        raise RuntimeError("the deletion failed")


class Drifts(Line):
    """Another output every time, though the seed is the same."""

    count = 0

    def said(self):
        Drifts.count += 1
        return Drifts.count


class DriftsOnLooking(Line):
    def start(self, records, seed):
        self.looks = 0
        return super().start(records, seed)

    def look(self):
        self.looks += 1
        return self.looks


class DriftsOnNothing(Line):
    """A deletion of nobody changes it."""

    def delete(self, ids):
        return super().delete(ids) + (0 if ids else 1)


class Unwritable(Line):
    def said(self):
        return object()


class ForestLike:
    """`fit` and `delete(i)`: a nearest neighbour that keeps its rows."""

    def fit(self, X, y):
        self.rows = dict(enumerate(zip(X[:, 0].tolist(), y.tolist(), strict=True)))

    def delete(self, i):
        del self.rows[i]

    def predict(self, X):
        import numpy as np

        return np.array([min(self.rows.values(), key=lambda row: abs(row[0] - x))[1] for [x] in X])


class Nothing:
    """Neither deletes nor fits."""


def once():
    """A program that serves one start, publishes a median, and wants no other."""
    curator = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["op"] == "start":
            if curator is not None:
                sys.exit("there is only one start")
            curator = Median()
            print(json.dumps({"output": curator.start(asked["records"], asked["seed"])}), flush=True)
        else:
            print(json.dumps({"output": curator.delete(asked["ids"])}), flush=True)


if __name__ == "__main__":
    mode = sys.argv[1]
    if mode == "once":
        once()
    for _ in sys.stdin:
        if mode == "garbage":
            print("Traceback: not JSON", flush=True)
        elif mode == "list":
            print("[1]", flush=True)
        elif mode == "empty":
            print("{}", flush=True)
        elif mode == "silent":
            time.sleep(600)
        elif mode == "nan":
            print('{"output": NaN}', flush=True)
        elif mode == "misuse":
            print('{"misuse": ["hello", "do this"]}', flush=True)
        elif mode == "twice":
            print('{"output": 1}\n{"output": 1}', flush=True)
        elif mode == "unended":
            print('{"output": 1}', end="", flush=True)
        elif mode == "escapes":
            print('{"error": "\\u001b[31mred"}', flush=True)
        elif mode == "quits":
            sys.exit("out of order")
