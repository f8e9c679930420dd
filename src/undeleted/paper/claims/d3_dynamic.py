"""The dynamic definition: the attacker corrupts as it goes; stateless algorithms satisfy it."""

from fractions import Fraction
from functools import partial

from undeleted.foundations.coins import exact_law
from undeleted.foundations.types import Output
from undeleted.games.dynamic import dynamic_game, ideal_game
from undeleted.games.similarity import total_variation
from undeleted.games.simulator import simulate
from undeleted.games.worlds import World
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum
from undeleted.verifying.small_worlds import WorldNoise, build

SAYS = (
    "The attacker decides as it goes which points to corrupt and which of those to delete. Output stateless "
    "algorithm, whose releases are determined by the first one and the deleted points, is safe: the "
    "simulator just computes them. The dynamic definition implies the static one."
)
WHERE = "Definition 3.4, and the beginning of Section 4"
STATELESS = (
    "exact-sum",
    "bulletin-board",
    "frozen-median",
    "noisy-count",
    "noisy-sum",
    "noisy-histogram",
    "noisy-mean",
    "range-counts",
    "recipe",
)
STATEFUL = ("retrain-median", "threshold", "recompute-sum", "renoised-tree", "hidden-range-median")


def d3_dynamic(setting: Setting) -> ClaimResult:
    figures, rows = [], []
    x, y, by = "least δ of any simulator", "curator", "kind"
    for name in setting.pick(STATELESS[:6], STATELESS):
        proof, command = least(name, "dynamic", k=setting.pick(1, 2) if name != "range-counts" else 1)
        figures.append(exactly(f"least δ of {name}", optimum(proof), "0", command))
        rows.append({x: float(proof.literal.upper), y: name, by: "stateless"})
    for name in STATEFUL:
        (strong, command), (weak, _) = (least(name, game) for game in ("dynamic", "static"))
        what = (
            f"{name}: dynamic least δ ({optimum(strong)}) is positive and at least the static one "
            f"({optimum(weak)})"
        )
        holds = strong.literal.lower > 0 and strong.literal.upper >= weak.literal.lower
        figures.append(exactly(what, holds, True, command))
        rows.append({x: float(strong.literal.lower), y: name, by: "reads the data again"})
    for name in ("noisy-sum", "noisy-count"):
        what = (
            f"total variation between the real game and the simulator that only calls `forget` ({name}, an "
            "attacker that adapts)"
        )
        figures.append(exactly(what, str(between_worlds(name)), "0"))
    caption = (
        "A curator that uses only its release and the deleted points is perfectly safe; one that reads the "
        "data again is not."
    )
    alt = "No bars for stateless curators; bars for the five that read the data again."
    return ClaimResult(tuple(figures), (bars(rows, x, y, caption=caption, alt=alt),))


def between_worlds(name: str) -> Output:
    """The largest distance between the two worlds over data sets, for an attacker that depends on z0."""
    built = build(name, domain=3, n=3, k=2, noise=WorldNoise(Fraction(1, 2)))

    def attacker(world: World) -> None:
        first = world.look().value[0] % 3
        world.corrupt(int(first))
        world.delete(int(first))
        second = (int(first) + 1 + int(world.look().value[0]) % 2) % 3
        world.corrupt(second)
        world.delete(second)

    worst = Fraction(0)
    for data in ((0, 1, 2), (2, 2, 0), (1, 1, 1)):
        curator: Output = built.make()
        simulator = simulate(curator.mechanism, curator.schema, attacker)
        real = exact_law(partial(_real, built.make, attacker, data))
        ideal = exact_law(partial(_ideal, built.make, simulator, data))
        worst = max(worst, Fraction(total_variation()(real, ideal)))
    return worst


def _real(make: Output, attacker: Output, data: tuple[int, ...], coins: Output) -> Output:
    return dynamic_game(make(), attacker, data, 2, coins)


def _ideal(make: Output, simulator: Output, data: tuple[int, ...], coins: Output) -> Output:
    return ideal_game(make(), simulator, data, 2, coins)
