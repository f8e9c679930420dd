"""The paper's own definition, checked by the exact verifier."""

from undeleted.paper.answers import Answer
from undeleted.paper.specimens import Specimen
from undeleted.verifying.exact import GameName, verify


def ours(specimen: Specimen, game: GameName) -> Answer:
    """The least δ of any simulator in a game; the lower bound, if the two bounds differ."""
    proof = verify(specimen.world, game, time_limit=60.0)
    distance = proof.literal.lower
    open_ = proof.safe is None
    note = "" if proof.literal.exact else f"the least δ is between {distance} and {proof.literal.upper}"
    witness = proof.witness or {"simulator": (proof.simulator or [])[:6]}
    return Answer(bool(proof.safe) and not open_, distance, "least δ of a simulator", witness, note=note)
