"""Deterministic attackers of the dynamic game, enough of them to detect a difference if there is one."""

from itertools import permutations
from zlib import crc32


def all_orders(n, k):
    """Attackers that corrupt and delete k of n points in every order, one by one; and all at once."""
    for order in permutations(range(n), k):
        yield lambda world, order=order: _one_by_one(world, order)
        yield lambda world, order=order: _at_once(world, order)


def adaptive(n, k):
    """Attackers that choose whom they corrupt next by the last output."""
    for shift in range(n):
        yield lambda world, shift=shift: _follow(world, shift, k)


def _one_by_one(world, order):
    for i in order:
        world.corrupt(i)
        world.delete(i)


def _at_once(world, order):
    world.corrupt(*order)
    world.delete(*order)


def _follow(world, shift, k):
    for _ in range(k):
        free = [i for i in range(world.n) if i not in world.controlled]
        i = free[(shift + crc32(repr(world.view().outputs[-1]).encode())) % len(free)]
        world.corrupt(i)
        world.delete(i)
