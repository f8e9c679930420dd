"""Attackers of the batch-queries task: they delete stars, and see one block of answers after another.

single    delete 3k stars a round and take one release per block: the theorem's attacker
average   read a release after every star, and average the releases with only one valid block
all       read a release after every star; one with several valid blocks goes to the block it resembles
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from undeleted.foundations.arrays import Array
from undeleted.games.reconstruction.tasks import BatchQueries

Progress: TypeAlias = Callable[[Array, int], None] | None  # called with the answers so far, and the block
BlockAttacker: TypeAlias = Callable[[BatchQueries, Progress], Array]


def single(world: BatchQueries, progress: Progress = None) -> Array:
    """One release per block, from the last block to the first."""
    answers = np.empty(world.n)
    for block in range(world.blocks, 0, -1):
        answers[(block - 1) * world.t : block * world.t] = world.look()
        if progress is not None:
            progress(answers, block)
        if block > 1:
            world.delete(3 * world.k)
    return answers


def average(world: BatchQueries, progress: Progress = None) -> Array:
    """The mean of the releases with only one valid block."""
    sums, counts = np.zeros(world.n), np.zeros(world.blocks, dtype=np.int64)
    for _ in range(world.controlled):
        low, high = world.valid()
        released = world.look()
        if low == high:
            sums[(low - 1) * world.t : low * world.t] += released
            counts[low - 1] += 1
        world.delete(1)
    return (sums.reshape(world.blocks, -1) / np.maximum(counts, 1)[:, None]).ravel()


def everything(world: BatchQueries, progress: Progress = None) -> Array:
    """All releases: first those with one valid block; the others go to the nearest of their valid blocks."""
    sums, counts = np.zeros((world.blocks, world.t)), np.zeros(world.blocks, dtype=np.int64)
    doubtful: list[tuple[int, int, Array]] = []
    for _ in range(world.controlled):
        low, high = world.valid()
        released = world.look()
        if low == high:
            sums[low - 1] += released
            counts[low - 1] += 1
        else:
            doubtful.append((low, high, released))
        world.delete(1)
        if len(doubtful) > 4 * world.k:
            _assign_doubtful(doubtful[: 2 * world.k], sums, counts)
            del doubtful[: 2 * world.k]
    _assign_doubtful(doubtful, sums, counts)
    return (sums / np.maximum(counts, 1)[:, None]).ravel()


def _assign_doubtful(doubtful: list[tuple[int, int, Array]], sums: Array, counts: Array) -> None:
    for low, high, released in doubtful:
        candidates = [b for b in range(low, high + 1) if counts[b - 1]]
        if not candidates:
            continue
        known = [np.sum((sums[b - 1] / counts[b - 1] - released) ** 2) for b in candidates]
        nearest = candidates[int(np.argmin(known))]
        sums[nearest - 1] += released
        counts[nearest - 1] += 1


def settle(answers: Array, world: BatchQueries) -> Array:
    """Correct the answers by what is public: half of the n are members, and an honest answer is near n/4.

    Without this, a release that answers another block could put |D| itself in place of a query's answer.
    """
    answers[0] = world.n / 2
    spread = 6 * np.sqrt(world.spread**2 + world.n / 16)
    np.clip(answers[1:], world.n / 4 - spread, world.n / 4 + spread, out=answers[1:])
    return answers


ATTACKERS = {"single": single, "average": average, "all": everything}
