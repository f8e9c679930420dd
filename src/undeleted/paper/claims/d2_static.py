"""The static definition: the attacker chooses an order; and it implies the non-adaptive one."""

from collections.abc import Sequence

from undeleted.foundations.types import Output
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum
from undeleted.verifying.exact import FiniteWorld, verify

SAYS = (
    "The attacker controls a fixed set of points and chooses their order as it goes; the simulator is "
    "given those points with their indices. Whatever satisfies this satisfies the non-adaptive definition."
)
WHERE = "Definition 3.3"
CORRECTION = (
    "The implication needs an algorithm that treats points by value, or a simulator that gets the "
    "indices: the non-adaptive simulator gets values only. An algorithm that publishes the *position* of "
    "a leaver is perfectly safe in the static game and not in the non-adaptive one. With either condition "
    "the implication holds."
)
NOTE = (
    "As the definition is written, the simulator gets the *function* of the side information, while "
    "the game outputs its value on D. We give the simulator the value; otherwise no algorithm would be "
    "safe if the side information is D itself."
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
    """Publishes whether all points differ, and if so, the position of each point that leaves."""

    def start(self, data: Sequence[Output], coins: Output) -> bool:
        self.line = list(data) if len(set(data)) == len(data) else []
        return bool(self.line)

    def delete(self, points: Sequence[Output]) -> tuple[int, ...]:
        return tuple(self.line.index(p) for p in points if p in self.line)


class Signal:
    """Publishes a coin after the first deletion, and everything if a point of that value leaves next."""

    def start(self, data: Sequence[Output], coins: Output) -> int:
        self.left, self.coin, self.gone = sorted(data), int(coins.bits(1)[0]), 0
        return len(self.left)

    def delete(self, points: Sequence[Output]) -> Output:
        for point in points:
            self.left.remove(point)
        self.gone += 1
        if self.gone == 1:
            return self.coin
        return tuple(self.left) if self.gone == 2 and list(points) == [self.coin] else "nothing"


def d2_static(setting: Setting) -> ClaimResult:
    figures, rows = [], []
    x, y, by = "least δ of any simulator", "curator", "game"
    for name in CURATORS:
        (weak, _), (strong, command) = (least(name, game, k=1) for game in ("non-adaptive", "static"))
        what = (
            f"{name}: static least δ ({optimum(strong)}) is at least the non-adaptive one ({optimum(weak)})"
        )
        figures.append(exactly(what, strong.literal.upper >= weak.literal.lower, True, command))
        rows += [
            {x: float(result.literal.lower), y: name, by: game}
            for game, result in (("non-adaptive", weak), ("static", strong))
        ]
    for name in ("exact-sum", "noisy-sum", "frozen-median"):
        proof, command = least(name, "static", k=2)
        figures.append(
            exactly(f"static least δ of {name}, two deletions in any order", optimum(proof), "0", command)
        )
    adaptive = FiniteWorld.of(Signal, domain=[0, 1], n=4, k=3, by_value=True)
    fixed, ordered = (verify(adaptive, game) for game in ("non-adaptive", "static"))
    what = (
        "a curator whose first answer says whom to delete next: least δ with a fixed order, and with a "
        "chosen one"
    )
    figures.append(exactly(what, f"{optimum(fixed)} and {optimum(ordered)}", "1/3 and 1/2"))
    world = FiniteWorld.of(Position, domain=[0, 1], n=2, k=1, by_value=False)
    static, fixed = (verify(world, game) for game in ("static", "non-adaptive"))
    figures.append(exactly("an algorithm that publishes positions: static least δ", optimum(static), "0"))
    what = "the same: non-adaptive least δ, if the static definition implied the other as written"
    figures.append(exactly(what, optimum(fixed), "0", literal=True))
    figures.append(exactly("the same, as the simulator must guess one of two indices", optimum(fixed), "1/2"))
    caption = (
        "The best simulator in both games, for curators that treat points by value: the static one is "
        "never easier."
    )
    alt = "Pairs of bars of equal length for each curator."
    return ClaimResult(tuple(figures), (bars(rows, x, y, by, caption=caption, alt=alt),), CORRECTION, NOTE)
