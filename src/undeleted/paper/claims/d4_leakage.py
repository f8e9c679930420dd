"""Safety with leakage: what a simulator must be told besides, for the rest to be safe."""

from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import Leakage
from undeleted.paper.claim import ClaimResult, Setting, exactly, more_than
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum
from undeleted.verify.exact import FiniteWorld, verify

SAYS = (
    "An algorithm is (k, g)-undeleted-safe if the simulator, handed g(D) besides, can write the rest. With "
    "g = ⊥ this is the dynamic definition; with g(D) = D every algorithm is safe. In between, g quantifies "
    "what is needed, and a g that is differentially private may be considered reasonable."
)
WHERE = "Definition 4.2"
NOTE = (
    "Two readings. As the definition is written the simulator gets a *fresh* draw of g(D), from coins of "
    "its own; it is then perfect only by replacing the z0 that it was given by one of its own making. If g "
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
    told, bottom = (
        verify(FiniteWorld.of(lambda: Retrain(median), [0, 1], 3, 1, by_value=True, leakage=g), "dynamic")
        for g in (everything, nothing)
    )
    figures = (
        exactly("retrained median, g(D) = D: least δ", optimum(told), "0"),
        exactly(
            "retrained median, g = ⊥: least δ, and the same without leakage",
            f"{optimum(bottom)} and {optimum(retrained)}",
            "1/2 and 1/2",
            without,
        ),
        more_than(
            "medians from hidden range counts, nothing told: least δ",
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
    x, y = "least δ of a simulator that keeps z0", "what it is told"
    rows = [
        {x: float(found.keep_z0.lower), y: text}
        for text, found in (
            ("nothing", hidden),
            ("a fresh draw of the counts", fresh),
            ("the counts", shared),
        )
    ]
    caption = "Medians from hidden range counts: what a simulator is told, and how close it comes."
    alt = "A long bar for nothing, a very short one for a fresh draw, none for the counts themselves."
    return ClaimResult(figures, (bars(rows, x, y, caption=caption, alt=alt),), note=NOTE)
