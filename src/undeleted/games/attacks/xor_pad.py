"""A pad and pad ⊕ deleted point: each is uniform, together they reveal the point (P7, first part).

    z0 ⊕ z1 = x

Definitions about one release at a time miss this.  The pad is undeleted-safe nevertheless.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from undeleted.errors import BadSetting
from undeleted.foundations.coins import Coins, seeded
from undeleted.foundations.types import Json
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.baselines.xor_pad import XorPad
from undeleted.games.baselines.xor_undeleted import XorUndeleted
from undeleted.games.dynamic import dynamic_game
from undeleted.games.worlds import World

FACTS = {
    "claim": "P7",
    "controls": "one record, or nothing: watching one person leave is enough",
    "learns": "the deleted point",
    "predicts": "the deleted point, although every release alone is uniform",
}


def xor_pad(world: World) -> int:
    """The XOR of the first and the second release.

    >>> dynamic_game(XorPad(bits=8), xor_pad, [200, 3], 1, seeded(7))
    ((0,), 200)
    """
    world.corrupt(0)
    return int(world.look()) ^ int(world.delete(0))


def run(
    *,
    n: Annotated[int, "how many people"] = 16,
    bits: Annotated[int, "how many bits a point has, at most 62"] = 32,
    trials: Annotated[int, "how many data sets"] = 1000,
    against: Annotated[
        Literal["xor-pad", "xor-pad-cumulative", "two-pads"], "the curator under attack"
    ] = "xor-pad",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play many data sets and count how often the deleted point was recovered."""
    return play("xor-pad", n, bits, trials, against, seed, wanted=lambda people: people[:1])


def play(
    attack: str,
    n: int,
    bits: int,
    trials: int,
    against: str,
    seed: int,
    *,
    wanted: Callable[[list[int]], list[int]],
) -> Json:
    """The same game for both pads; `wanted` gives the points that count as a hit."""
    if n < 2 or not 1 <= bits <= 62 or trials < 1:
        raise BadSetting(
            f"n = {n}, bits = {bits}, trials = {trials} is out of range.", "Use n ≥ 2, bits 1…62, trials ≥ 1."
        )
    hits = 0
    for trial in range(trials):
        people = [int(v) for v in seeded(f"people {seed} {trial}").integers(0, 2**bits, n)]
        _, claim = dynamic_game(curator_of(against, bits), xor_pad, people, 1, seeded(f"{seed} {trial}"))
        hits += claim in wanted(people)
    guess = 1 - (1 - 2.0**-bits) ** (1 if attack == "xor-pad" else n - 1)
    predicted = 1.0 if against.startswith(attack) else guess
    return {
        "attack": attack,
        "against": against,
        "n": n,
        "bits": bits,
        "controlled": 1,
        "deletions": 1,
        "trials": trials,
        "hits": hits,
        "recovered": hits / trials,
        "predicted": predicted,
        "guessing": guess,
        "seed": seed,
    }


def curator_of(against: str, bits: int) -> Algorithm:
    cumulative = against.endswith("cumulative")
    if against == "two-pads":
        return TwoPads(bits)
    if against.startswith("xor-undeleted"):
        return XorUndeleted(bits, cumulative=cumulative)
    return XorPad(bits, cumulative=cumulative)


class TwoPads(XorPad):
    """Release once: a pad, and after a deletion another pad that depends on nobody's data."""

    def start(self, data: Sequence[Point], coins: Coins) -> int:
        self._fresh = int(coins.integers(0, 2**self.bits, 1)[0])
        return super().start(data, coins)

    def delete(self, points: Sequence[Point]) -> int:
        super().delete(points)
        return self._fresh
