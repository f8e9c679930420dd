"""Undeleted-safety with leakage, dynamic (D4): the simulator also gets g(D).

Sim(g(D), z0, the corrupted)  ≈  everything that was published;   g = ⊥ is D3, g(D) = D makes everything safe
"""

from dataclasses import replace

from undeleted.games.dynamic import Leakage
from undeleted.paper.answers import Answer
from undeleted.paper.definitions._ours import ours
from undeleted.paper.specimens import Specimen
from undeleted.verifying.exact import verify

KIND = "ours"
SOURCE = (
    "Cohen, Kohen, Nissim, Stemmer, Protecting the undeleted in machine unlearning, FORC 2026, Definition 4.2"
)
SIMPLIFIED = (
    "The two ends of the scale: it holds here if g = ⊥ suffices; g(D) = D, which always does, is run too. "
    "For leakages in between there is `undeleted verify NAME --leakage`."
)
CLAIMS = {
    "retrain-sum": True,
    "exact-sum": True,
    "bulletin-board": True,
    "noisy-sum": True,
    "frozen-median": True,
    "ignore": True,
}


def undeleted_with_leakage(specimen: Specimen) -> Answer:
    """Verify without leakage, then with all of the data as leakage."""
    nothing = ours(specimen, "dynamic")
    everything = Leakage(lambda data, coins: data, shares_coins=False)
    leaked = verify(replace(specimen.world, leakage=everything), "dynamic")
    note = f"g = ⊥ {'suffices' if nothing.holds else 'does not suffice'}; with g(D) = D the least δ is "
    return replace(nothing, note=note + str(leaked.literal.lower))
