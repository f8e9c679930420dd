"""The paper's own definition, by the exact verifier."""

from undeleted.paper.answers import Answer
from undeleted.paper.specimens import Specimen
from undeleted.verify.exact import Game, verify


def ours(specimen: Specimen, game: Game) -> Answer:
    """The least δ of any simulator in a game; where the bounds do not meet, the lower one."""
    found = verify(specimen.world, game, time_limit=60.0)
    distance = found.literal.lower
    open_ = found.safe is None
    note = "" if found.literal.exact else f"the least δ lies between {distance} and {found.literal.upper}"
    witness = found.witness or {"simulator": (found.simulator or [])[:6]}
    return Answer(bool(found.safe) and not open_, distance, "least δ of a simulator", witness, note=note)
