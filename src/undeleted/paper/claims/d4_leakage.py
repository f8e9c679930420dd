"""Safety with leakage: what a simulator must get in addition, so that the rest is safe."""

from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import Leakage
from undeleted.paper.claim import ClaimResult, Setting, exactly, more_than
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum
from undeleted.verifying.exact import FiniteWorld, verify

SAYS = (
    "An algorithm is (k, g)-undeleted-safe if the simulator, given also g(D), can write the rest. With "
    "g = ⊥ this is the dynamic definition; with g(D) = D every algorithm is safe. In between, g quantifies "
    "what is needed, and a g that is differentially private may be considered reasonable."
)
WHERE = "Definition 4.2"
NOTE = (
    "There are two readings. As the definition is written, the simulator gets a *fresh* draw of g(D), from "
    "separate coins; it is then perfect only if it replaces the z0 that it was given by its own. If g "
    "shares the algorithm's coins, so that the counts are those from which z0 was computed, a simulator "
    "that keeps z0 is perfect too: the useful reading for range counts."
)


def d4_leakage(setting: Setting) -> ClaimResult:
    hidden, of_hidden = least("hidden-range-median")
    shared, of_shared = least("hidden-range-median", leakage="shared")
    fresh, of_fresh = least("hidden-range-median", leakage="fresh")
    retrained, without = least("retrain-median")
    everything = Leakage(lambda data, coins: data, shares_coins=False)
    nothing = Leakage(lambda data, coins: None, shares_coins=False)
    full, bottom = (
        verify(FiniteWorld.of(lambda: Retrain(median), [0, 1], 3, 1, by_value=True, leakage=g), "dynamic")
        for g in (everything, nothing)
    )
    figures = (
        exactly("retrained median, g(D) = D: least δ", optimum(full), "0"),
        exactly(
            "retrained median, g = ⊥: least δ, and the same without leakage",
            f"{optimum(bottom)} and {optimum(retrained)}",
            "1/2 and 1/2",
            without,
        ),
        more_than(
            "medians from hidden range counts, no leakage: least δ",
            float(hidden.literal.lower),
            0.0,
            of_hidden,
        ),
        exactly(
            "the same, g the counts themselves: least δ of a simulator that keeps z0",
            str(shared.keep_z0.upper),
            "0",
            of_shared,
        ),
        exactly(
            "the same, g a fresh draw: least δ of a simulator that may replace z0",
            optimum(fresh),
            "0",
            of_fresh,
        ),
        more_than(
            "the same, g a fresh draw: least δ of a simulator that keeps z0",
            float(fresh.keep_z0.lower),
            0.0,
            of_fresh,
        ),
    )
    x, y = "least δ of a simulator that keeps z0", "what it gets in addition"
    rows = [
        {x: float(result.keep_z0.lower), y: text}
        for text, result in (
            ("nothing", hidden),
            ("a fresh draw of the counts", fresh),
            ("the counts", shared),
        )
    ]
    caption = "Medians from hidden range counts: what a simulator gets in addition, and how close it comes."
    alt = "A long bar for nothing, a very short one for a fresh draw, none for the counts themselves."
    return ClaimResult(figures, (bars(rows, x, y, caption=caption, alt=alt),), note=NOTE)
