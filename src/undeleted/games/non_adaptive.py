"""D1, the non-adaptive game: the sequence of deletions is fixed before anything is seen (Definition 3.1).

A is k-undeleted-safe if some Sim(A(D), y1, …, yk') ≈ (A(D), A(D, y1), …, A(D, y1, …, yk')), for all D,
all k' ≤ k and all sequences of distinct points of D.
"""

from collections.abc import Sequence

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import Coins
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.transcript import Transcript, record
from undeleted.games.worlds import AT_MOST_K, IN_RANGE, ONCE


def non_adaptive_game(
    algorithm: Algorithm,
    data: Sequence[Point],
    sequence: Sequence[int],
    coins: Coins,
    *,
    k: int | None = None,
) -> Transcript:
    """Delete the points at these indices, one by one.

    >>> from undeleted.games.baselines.retrain import Retrain, median
    >>> from undeleted.foundations.coins import seeded
    >>> non_adaptive_game(Retrain(median), [0, 4, 9, 9, 9], [4, 3], seeded(7)).outputs
    (9, 4, 4)
    """
    if k is not None and len(sequence) > k:
        raise RuleBroken(AT_MOST_K, f"{len(sequence)} deletions were requested (k = {k})")
    for position, i in enumerate(sequence):
        if not 0 <= i < len(data):
            raise RuleBroken(IN_RANGE, f"a deletion of index {i} was requested (n = {len(data)})")
        if i in sequence[:position]:
            raise RuleBroken(ONCE, f"a second deletion of index {i} was requested")
    return record(algorithm, data, [[data[i]] for i in sequence], coins)
