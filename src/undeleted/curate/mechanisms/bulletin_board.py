"""A bulletin board: everybody sees all posts; a deleted post is removed, and the others stay (M2).

release   the posts, as a multiset
forget    remove the deleted posts
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.publishable import Answers, Foreseen, Publishable, Rows, Takes
from undeleted.curate.releases.subtracting import Shape, Shaped
from undeleted.errors import RecordNotFound
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Leaving, Record, Text
from undeleted.foundations.types import Given


class Posts(tuple[str, ...]):
    """The current posts, sorted."""

    shape: Shape = ()

    def less(self, gone: Sequence[str], shaped: Shaped | None = None) -> "Posts":
        """The board without these posts."""
        left, taken = Counter(self), Counter(gone)
        if taken - left:
            raise RecordNotFound((taken - left).total())
        return Posts(sorted((left - taken).elements()))


@dataclass(frozen=True)
class BulletinBoard(Publishable):
    """All posts are public; no privacy is claimed for them.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> post = Text("post")
    >>> board, people = BulletinBoard(post), Schema([post])
    >>> first = board.release(Arrays(people.table(["hello", "bye"])), seeded(7))
    >>> board.forget(first, board.contribution(people.table(["bye"])))
    ('hello',)
    """

    kinds: ClassVar = {"board": (Takes(of=(Text,), called="a column of texts", noisy=False),)}

    column: Text

    def foreseen(self, rows: float) -> Foreseen:
        return Foreseen(None, "posts, without noise")

    @property
    def columns(self) -> tuple[Text, ...]:
        return (self.column,)

    def release(self, totals: Totals, coins: Coins) -> Posts:
        return Posts(totals.posts(self.column))

    def contribution(self, deleted: Leaving) -> tuple[str, ...]:
        name = self.column.name
        if isinstance(deleted, Record):
            return (deleted.texts[name],) if name in deleted.kept else ()
        rows = np.flatnonzero(deleted.complete([self.column]))
        return tuple(sorted(deleted.texts[name][i] for i in rows))

    def answers(self, release: Posts, asked: Mapping[str, Given], confidence: float) -> Answers:
        yield from (("", post) for post in release)

    def rows(self, release: Posts) -> Rows:
        return [{"post": post} for post in release]

    def forget(self, release: Posts, contribution: tuple[str, ...]) -> Posts:
        return release.less(contribution)
