"""A pad and pad ⊕ a remaining point: each is uniform, together they reveal the point (P7, second part).

z0 ⊕ z1 = y        for a y drawn from those who remain
"""

from typing import Annotated, Literal

from undeleted.foundations.types import Json
from undeleted.games.attacks.xor_pad import play, xor_pad
from undeleted.games.worlds import World

FACTS = {
    "claim": "P7",
    "controls": "one record",
    "learns": "a point of somebody who stayed",
    "predicts": "an undeleted point, although every release alone is uniform",
}


def xor_undeleted(world: World) -> int:
    """The XOR of the first and the second release.

    >>> from undeleted.games.baselines.xor_undeleted import XorUndeleted
    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.games.dynamic import dynamic_game
    >>> dynamic_game(XorUndeleted(bits=8), xor_undeleted, [200, 3], 1, seeded(7))
    ((0,), 3)
    """
    return xor_pad(world)


def run(
    *,
    n: Annotated[int, "how many people"] = 16,
    bits: Annotated[int, "how many bits a point has, at most 62"] = 32,
    trials: Annotated[int, "how many data sets"] = 1000,
    against: Annotated[
        Literal["xor-undeleted", "xor-undeleted-cumulative", "xor-pad", "two-pads"],
        "the curator under attack",
    ] = "xor-undeleted",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play many data sets and count how often a remaining point was recovered."""
    return play("xor-undeleted", n, bits, trials, against, seed, wanted=lambda people: people[1:])
