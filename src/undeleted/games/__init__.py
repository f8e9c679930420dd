"""The paper's definitions of undeleted-safety as games that run (D1–D4), and what is played in them.

algorithm      any curator: start(data, coins), then delete(points)
release_once   the adapter that turns a mechanism into an algorithm
worlds         what an attacker may do: look, corrupt, delete; moves against the rules are refused
non_adaptive   D1: a fixed sequence of deletions
static         D2: the attacker chooses the order among points that it controls from the start
dynamic        D3: the attacker corrupts as it goes, in the real or the ideal world; D4 with leakage
simulator      the one generic simulator for every release-once mechanism: it calls `forget`
with_leakage   leaky mechanisms: their adapter, and the simulator that is told g
reductions     D3 ⇒ D2 ⇒ D1, with their condition
similarity     D5: when are two worlds alike?
transcript     (z0, y1, z1, …, yk, zk), saved and replayed
"""

from undeleted.games.algorithm import Algorithm
from undeleted.games.dynamic import Leakage, dynamic_game, ideal_game
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.reductions import non_adaptive_from_static, static_from_dynamic
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.simulator import simulate
from undeleted.games.static import static_game
from undeleted.games.transcript import Transcript, record, replay
from undeleted.games.with_leakage import SHARED, WithLeakage, simulate_with_leakage
from undeleted.games.worlds import View, World

__all__ = [
    "SHARED",
    "Algorithm",
    "Leakage",
    "ReleaseOnce",
    "Transcript",
    "View",
    "WithLeakage",
    "World",
    "dynamic_game",
    "ideal_game",
    "non_adaptive_from_static",
    "non_adaptive_game",
    "record",
    "replay",
    "simulate",
    "simulate_with_leakage",
    "static_from_dynamic",
    "static_game",
]
