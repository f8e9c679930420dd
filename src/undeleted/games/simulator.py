"""The one generic simulator for every release-once mechanism.

It runs the attacker in a simulated world.  When the attacker corrupts, it corrupts.  When the attacker
deletes, it deletes, sees no output, and computes the answer itself: `forget` of the release it has and the
deleted points that it knows.  For a release-once mechanism this is exact, whatever the attacker does.
"""

from collections.abc import Callable, Sequence

from undeleted.curate.mechanisms import Mechanism
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Point
from undeleted.games.dynamic import Attacker, Simulator
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.worlds import World


def simulate(mechanism: Mechanism[Output, Output], schema: Schema, attacker: Attacker) -> Simulator:
    """Return the simulator of an attacker against a release-once mechanism.  It has never seen the data."""
    forget = ReleaseOnce(mechanism, schema).forget

    def simulator(ideal: World) -> Output:
        world = SimulatedWorld(ideal, forget)
        said = attacker(world)
        return world.view() if said is None else said

    return simulator


class SimulatedWorld(World):
    """What the attacker sees when a simulator plays the curator."""

    def __init__(self, ideal: World, forget: Callable[[Output, Sequence[Point]], Output]) -> None:
        super().__init__(ideal.n, ideal.k, ideal.side, ideal.look())
        self._ideal, self._forget = ideal, forget
        self._controlled = dict(ideal.controlled)

    def _reveal(self, index: int) -> Point:
        return self._ideal.corrupt(index)[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        answer = self._forget(self.look(), [self._controlled[i] for i in indices])
        self._ideal.delete(*indices)
        return answer
