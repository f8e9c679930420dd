"""What a thief learns from a store that keeps no records: exactly in small worlds, and from real files.

The game at size: a table is published, in which one person has or has not a bit, by a coin; others leave.
The thief holds every file, the key, everybody's id, everybody's record but that bit, and knows who left.
z is the same in both worlds: noise that leads to it may be drawn in both.
"""

import random
import sqlite3
from fractions import Fraction

import numpy as np
import pytest

from support.without_records import by_person, claims, publishing
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyHistogram, NoisySum
from undeleted.curate.releases.linear import Cells
from undeleted.curate.stores import _serials
from undeleted.curate.stores._contents import Published
from undeleted.curate.stores._sealed import digest
from undeleted.curate.stores._spent_bits import is_set
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.errors import BadSetting, NotStarted
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Number, Schema
from undeleted.games.breach import StolenStore, told_beyond
from undeleted.verifying.exact import FiniteWorld, verify

X = Number("x", min=0, max=1)
SMALL = NoisySum(X, ClampedGeometric(Fraction(1, 2), 0, 3))
WORLDS = [(0, 0, 1), (0, 1, 1)]  # one bit about one person; rows are in the order of the values


def stolen(keeps, mechanism=SMALL, capacity=4):
    return StolenStore(mechanism, Schema([X]), capacity, keeps)


@pytest.mark.parametrize("leavers", [(), (0,), (1,), (0, 1)])
def test_beyond_what_is_published_nothing_depends_on_the_bit(leavers):
    assert told_beyond(stolen("receipts"), WORLDS, leavers) == 0


def test_leaky_twins_tell_it():
    assert told_beyond(stolen("row-order"), WORLDS, (1,)) == 1
    assert told_beyond(stolen("digest"), WORLDS) == 1
    counted = NoisySum(X, ClampedGeometric(Fraction(1, 2), 0, 3))
    somebody_came = [(0, 1), (0, 0, 1)]
    assert told_beyond(stolen("bits-of-everybody", counted), somebody_came) == 1
    assert told_beyond(stolen("receipts", counted), somebody_came) == 0


@pytest.mark.parametrize("game", ["non-adaptive", "dynamic"])
def test_a_thief_who_watches_every_deletion_is_simulated_from_the_leavers(game):
    """The whole store as the output of the game: who stays is as safe as with z alone."""
    world = FiniteWorld.of(lambda: stolen("receipts", NoisySum(X, NoNoise()), 3), [0, 1], 3, 1)
    assert verify(world, game).safe
    ordered = FiniteWorld.of(lambda: stolen("row-order", NoisySum(X, NoNoise()), 3), [0, 1], 3, 1)
    assert not verify(ordered, game).safe, "a place in the table tells how many came before"


class Redrawn(StolenStore):
    """A twin that publishes again, with new noise, when somebody leaves."""

    def start(self, data, coins):
        self._data, self._coins = list(data), coins
        return super().start(data, coins)

    def delete(self, points):
        for point in points:
            self._data.remove(point)
        return super().start(self._data, self._coins)


def test_what_is_published_later_is_not_given():
    mechanism = NoisySum(X, ClampedGeometric(Fraction(1, 2), 0, 2))
    assert told_beyond(Redrawn(mechanism, Schema([X]), 4), WORLDS, (1,)) > 0
    with pytest.raises(BadSetting, match="no z can come of both"):
        told_beyond(stolen("receipts", NoisySum(X, NoNoise())), WORLDS)


def test_more_people_than_there_is_room_for_and_leaving_before_anybody_came():
    with pytest.raises(BadSetting, match="room for 4"):
        stolen("receipts").start([0] * 5, seeded(1))
    with pytest.raises(NotStarted):
        stolen("receipts").delete([0])


# -- real files

TRIALS = 100
ALARM = 27  # an honest coin is as far from the half in 100 trials once in 20 million
SICK, AGE = Boolean("sick"), Number("age", min=0, max=9)
PEOPLE = Schema([SICK, AGE], id="id")
KEY = bytes(range(32))
TARGET, LEAVERS = "p30", ["p3", "p17", "p31", "p44", "p59"]


def table(bit):
    """Sorted by the bit, as a table of a database may be."""
    rows = [(f"p{i}", bit if f"p{i}" == TARGET else i % 2 == 0, i % 10) for i in range(60)]
    rows.sort(key=lambda row: (row[1], row[0]))
    return {name: [row[at] for row in rows] for at, name in enumerate(("id", "sick", "age"))}


class WithDigest(Published):
    """A leaky twin that keeps the digest of the noise."""

    def meta(self):
        noise = [cells - exact for cells, exact in zip(self.cells, self._exact, strict=True)]
        return super().meta() | {"digest": digest(self._key, noise)}


def theft(path, bit, number, twin, patch):
    """The bytes of a store's files after people left, where the coin was this bit."""
    published = {"table": NoisyHistogram((SICK, AGE), Budget(1.0))}
    lines = []
    given = publishing(table(bit), lines.append, schema=PEOPLE, published=published, capacity=100)
    given.releases["table"] = Cells(np.random.default_rng(7).integers(0, 20, 20))
    with patch.context() as patched:
        if twin == "row-order":
            patched.setattr(_serials.Serials, "take", lambda _, first, count: np.arange(first, first + count))
        contents = WithDigest if twin == "digest" else Published
        store = SqliteStore.filled(str(path / f"{number}.db"), lambda key: contents(given, key), KEY)
        with store:
            store.delete_tagged(claims(store, by_person(lines), LEAVERS))
    return path / f"{number}.db"


def by_order(path):
    """The bit, if serials are in the order of rows: which of the two predictions fits the spent-bits?"""
    with sqlite3.connect(path) as db:
        [(data,)] = db.execute("SELECT data FROM spent")
    db.close()
    spent = {serial for serial in range(100) if is_set(data, serial)}
    fits = [len(spent & {table(bit)["id"].index(person) for person in LEAVERS}) for bit in (False, True)]
    return None if fits[0] == fits[1] else fits[1] > fits[0]


def by_digest(path):
    """The bit, if there is a digest of the noise: with the key, both totals can be tried."""
    with sqlite3.connect(path) as db:
        [(kept,)] = db.execute("SELECT max(value) FROM meta WHERE key = 'digest'")
    db.close()
    statistic = NoisyHistogram((SICK, AGE), Budget(1.0)).statistic
    for bit in (False, True):
        exact = Arrays(PEOPLE.table(table(bit))).total(statistic)
        if kept == digest(KEY, [np.random.default_rng(7).integers(0, 20, 20) - exact]):
            return bit
    return None


def wins(examine, thefts, rng):
    """How often an examiner is right, who throws a coin where nothing is found."""
    guesses = [(bit, examine(path)) for bit, path in thefts]
    return sum(bit == (rng.random() < 0.5 if guess is None else guess) for bit, guess in guesses)


def learned(thefts):
    """An examiner that has seen other thefts with the same key and z: the mean of every bit of the file."""
    bits = {bit: np.mean([_bits(path) for b, path in thefts if b == bit], axis=0) for bit in (False, True)}
    direction, middle = bits[True] - bits[False], (bits[True] + bits[False]) / 2
    return lambda path: bool((_bits(path) - middle) @ direction > 0)


def _bits(path):
    return np.unpackbits(np.frombuffer(path.read_bytes(), dtype=np.uint8)).astype(float)


def test_a_thief_of_real_files_does_no_better_than_a_coin_and_wins_against_leaky_twins(tmp_path, monkeypatch):
    rng, thefts = random.Random(3), {}
    for twin, count in (("receipts", 2 * TRIALS), ("row-order", TRIALS // 2), ("digest", TRIALS // 2)):
        (tmp_path / twin).mkdir()
        bits = [rng.random() < 0.5 for _ in range(count)]
        thefts[twin] = [(b, theft(tmp_path / twin, b, i, twin, monkeypatch)) for i, b in enumerate(bits)]
    seen, judged = thefts["receipts"][:TRIALS], thefts["receipts"][TRIALS:]
    for examine in (by_order, by_digest, learned(seen)):
        assert abs(wins(examine, judged, rng) - TRIALS / 2) < ALARM
    assert wins(by_order, thefts["row-order"], rng) == TRIALS // 2
    assert wins(by_digest, thefts["digest"], rng) == TRIALS // 2
    half = thefts["row-order"]
    assert wins(learned(half[: TRIALS // 4]), half[TRIALS // 4 :], rng) == TRIALS // 4, (
        "it learns what there is"
    )
