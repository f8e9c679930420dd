"""A bulletin board: everybody sees all posts; a deleted post comes down, and the others stay (M2).

release   the posts, as a multiset
forget    take the deleted ones down
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.errors import NotThere
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table, Text


@dataclass(frozen=True)
class BulletinBoard:
    """All posts in public; nothing private is claimed of them.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> post = Text("post")
    >>> board, people = BulletinBoard(post), Schema([post])
    >>> first = board.release(Arrays(people.table(["hello", "bye"])), seeded(7))
    >>> board.forget(first, board.contribution(people.table(["bye"])))
    ('hello',)
    """

    column: Text

    def release(self, totals: Totals, coins: Coins) -> tuple[str, ...]:
        return totals.posts(self.column)

    def contribution(self, deleted: Table) -> tuple[str, ...]:
        rows = np.flatnonzero(deleted.complete([self.column]))
        return tuple(sorted(deleted.texts[self.column.name][i] for i in rows))

    def forget(self, release: tuple[str, ...], contribution: tuple[str, ...]) -> tuple[str, ...]:
        left, gone = Counter(release), Counter(contribution)
        if gone - left:
            raise NotThere((gone - left).total())
        return tuple(sorted((left - gone).elements()))
