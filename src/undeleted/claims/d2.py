"""The static definition: the attacker chooses an order; and it implies the non-adaptive one."""

from collections.abc import Sequence
from typing import Any

from undeleted.audit.exact import FiniteWorld, verify
from undeleted.claims._claim import Found, Setting, exactly
from undeleted.claims._pictures import bars
from undeleted.claims._runs import least, optimum

SAYS = (
    "The attacker controls a fixed set of points and chooses their order as it goes; the simulator is "
    "given those points with their "
    "indices. Whatever satisfies this satisfies the non-adaptive definition."
)
WHERE = "Definition 3.3"
CORRECTION = (
    "The implication needs an algorithm that treats points by value, or a simulator that is told the "
    "indices: the non-adaptive "
    "simulator gets values only. An algorithm that publishes the *position* of who left is perfectly safe "
    "in the static game and "
    "not in the non-adaptive one. With either condition the implication holds."
)
CURATORS = (
    "exact-sum",
    "noisy-sum",
    "frozen-median",
    "retrain-median",
    "threshold",
    "recompute-sum",
    "renoised-tree",
)


class Position:
    """Says whether all points differ, and if so, at which place the one that left had stood."""

    def start(self, data: Sequence[Any], coins: Any) -> bool:
        self.line = list(data) if len(set(data)) == len(data) else []
        return bool(self.line)

    def delete(self, points: Sequence[Any]) -> tuple[int, ...]:
        return tuple(self.line.index(p) for p in points if p in self.line)


def d2(setting: Setting) -> Found:
    figures, rows = [], []
    x, y, by = "least δ of any simulator", "curator", "game"
    for name in CURATORS:
        (weak, _), (strong, command) = (least(name, game, k=1) for game in ("non-adaptive", "static"))
        what = (
            f"{name}: static least δ ({optimum(strong)}) is at least the non-adaptive one ({optimum(weak)})"
        )
        figures.append(exactly(what, strong.literal.upper >= weak.literal.lower, True, command))
        rows += [
            {x: float(found.literal.lower), y: name, by: game}
            for game, found in (("non-adaptive", weak), ("static", strong))
        ]
    for name in ("exact-sum", "noisy-sum", "frozen-median"):
        proof, command = least(name, "static", k=2)
        figures.append(
            exactly(f"static least δ of {name}, two deletions in any order", optimum(proof), "0", command)
        )
    world = FiniteWorld.of(Position, domain=[0, 1], n=2, k=1, by_value=False)
    static, fixed = (verify(world, game) for game in ("static", "non-adaptive"))
    figures.append(exactly("an algorithm that tells positions: static least δ", optimum(static), "0"))
    what = "the same: non-adaptive least δ, if the static definition implied the other as it stands"
    figures.append(exactly(what, optimum(fixed), "0", literal=True))
    caption = (
        "The best simulator in both games, for curators that treat points by value: the static one is "
        "never easier."
    )
    alt = "Pairs of bars of equal length for each curator."
    return Found(tuple(figures), (bars(rows, x, y, by, caption=caption, alt=alt),), CORRECTION)
