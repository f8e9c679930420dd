"""Marks of all chunks of a store under one root, so that a change renews only what it touched.

    leaf      the keyed mark of a chunk: of cells, of what is held back, of spent bits
    page      the marks of 250 chunks, or of 250 pages below it
    head      of each tree: how many leaves it has, and the mark of its top page
    used      a head without leaves: how many receipts were used; it only increases
    root      all heads; the mark of the state covers it, together with the version and the seal

An altered chunk does not fit its mark.  A chunk of an earlier version does, but its mark does not fit the
page; a page does not fit the root.  A change checks what it replaces, so it never confirms an alteration.
Somebody who puts back a copy of the whole store cannot be noticed from the store alone.
"""

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from undeleted.curate.stores._sealed import MARK, chunk_mark
from undeleted.errors import StoreError

FAN = 250  # marks on a page
TREES = ("cells", "held", "spent", "people", "used")
COUNT = 8
Pages: TypeAlias = Mapping[int, bytes]


def page_number(tree: int, level: int, page: int) -> int:
    """The number under which a page is stored; level 0 is the head."""
    return tree << 48 | level << 40 | page


class MarkTree:
    """The pages of an open store, and the changes of its current transaction."""

    def __init__(
        self,
        key: bytes,
        path: str,
        read: Callable[[Sequence[int]], Pages],
        write: Callable[[Pages], None],
    ) -> None:
        self._key, self._path, self._read, self._write = key, path, read, write
        self.begin()

    def begin(self) -> None:
        """A transaction begins; forget the changes of one that was rolled back."""
        self._changes: dict[str, dict[int, tuple[bytes, bytes]]] = {}
        self._wholes: dict[str, list[bytes]] = {}
        self._more_used = 0
        self._before: bytes | None = None

    def use(self, receipts: int) -> None:
        """Note that so many receipts were used."""
        self._more_used += receipts

    @property
    def used(self) -> int:
        """How many receipts were ever used."""
        return self._head(TREES.index("used"))[0] + self._more_used

    def changed(self, tree: str, leaf: int, before: bytes, after: bytes) -> None:
        """Note that a chunk was written: its mark before this transaction, and its mark now."""
        changes = self._changes.setdefault(tree, {})
        first, _ = changes.get(leaf, (before, b""))
        changes[leaf] = first, after

    def replaced(self, tree: str, marks: Iterable[bytes]) -> None:
        """Note that a tree has other leaves now."""
        self._wholes[tree] = list(marks)
        self._changes.pop(tree, None)

    def appended(self, tree: str, marks: Iterable[bytes]) -> None:
        """Note that chunks were added at the end of a tree."""
        self.replaced(tree, [*self.leaves(tree), *marks])

    def leaves(self, tree: str) -> list[bytes]:
        """The marks of all chunks, as the pages have them; the pages must fit the head."""
        number = TREES.index(tree)
        count, top = self._head(number)
        pages = [page_number(number, 1, page) for page in range(-(-count // FAN))]
        there = self._read(pages)
        data = b"".join(there.get(page, b"") for page in pages)
        marks = [data[MARK * leaf : MARK * (leaf + 1)] for leaf in range(count)]
        rebuilt = built(self._key, number, marks)[page_number(number, 0, 0)]
        if not hmac.compare_digest(rebuilt[COUNT:], top):
            raise self._altered()
        return marks

    def flush(self) -> tuple[bytes, bytes]:
        """Write the pages of all changes; return the root that the state has a mark of, and the root now."""
        if self._before is None:
            self._before = self.root()
        for tree, marks in self._wholes.items():
            self._write(built(self._key, TREES.index(tree), marks))
        for tree, changes in self._changes.items():
            self._renew(TREES.index(tree), changes)
        if self._more_used:
            number = TREES.index("used")
            head = page_number(number, 0, 0)
            self._write({head: head_of_used(self.used)})
        self._changes, self._wholes, self._more_used = {}, {}, 0
        return self._before, self.root()

    def marked(self, root: bytes) -> None:
        """Note that the state has a mark of this root now."""
        self._before = root

    def root(self) -> bytes:
        """All heads, as they are stored."""
        heads = [page_number(tree, 0, 0) for tree in range(len(TREES))]
        there = self._read(heads)
        return b"".join(there.get(head, bytes(COUNT + MARK)) for head in heads)

    def fits(self, tree: str, marks: Sequence[bytes]) -> bool:
        """Whether these are the marks of the chunks that are stored, on every page."""
        self.flush()
        expected = built(self._key, TREES.index(tree), marks)
        there = self._read(list(expected))
        empty = bytes(COUNT + MARK)
        return all(hmac.compare_digest(there.get(n, empty), page) for n, page in expected.items())

    def numbers(self) -> set[int]:
        """The numbers of all pages that there must be."""
        pages = set[int]()
        for tree in range(len(TREES)):
            width = 0 if TREES[tree] == "used" else self._head(tree)[0]
            pages |= built(self._key, tree, [b""] * width).keys()
        return pages

    def _head(self, tree: int) -> tuple[int, bytes]:
        number = page_number(tree, 0, 0)
        head = self._read([number]).get(number, bytes(COUNT + MARK))
        return int.from_bytes(head[:COUNT], "little"), head[COUNT:]

    def _renew(self, tree: int, changes: Mapping[int, tuple[bytes, bytes]]) -> None:
        """Renew the marks on the way from these chunks to the head; what is replaced must fit."""
        count, top = self._head(tree)
        written: dict[int, bytes] = {}
        waiting, width, level = dict(changes), count, 1
        if any(not 0 <= leaf < count for leaf in waiting):
            raise self._altered()
        while True:
            pages = sorted({place // FAN for place in waiting})
            there = self._read([page_number(tree, level, page) for page in pages])
            above: dict[int, tuple[bytes, bytes]] = {}
            for page in pages:
                number = page_number(tree, level, page)
                data = bytearray(there.get(number, b""))
                before = _page_mark(self._key, tree, level, page, bytes(data))
                for place, (old, new) in waiting.items():
                    if place // FAN == page:
                        at = MARK * (place % FAN)
                        if not hmac.compare_digest(bytes(data[at : at + MARK]), old):
                            raise self._altered()
                        data[at : at + MARK] = new
                written[number] = bytes(data)
                above[page] = before, _page_mark(self._key, tree, level, page, bytes(data))
            width, waiting, level = -(-width // FAN), above, level + 1
            if width == 1:
                break
        [(before, after)] = waiting.values()
        if not hmac.compare_digest(before, top):
            raise self._altered()
        written[page_number(tree, 0, 0)] = count.to_bytes(COUNT, "little") + after
        self._write(written)

    def _altered(self) -> StoreError:
        problem = f"{self._path} is damaged: a part of it is of another version; nothing was changed."
        return StoreError(problem, "Restore the store and its key from the same backup.")


def head_of_used(receipts: int) -> bytes:
    """The head that says how many receipts were used."""
    return receipts.to_bytes(COUNT, "little") + bytes(MARK)


def built(key: bytes, tree: int, marks: Sequence[bytes]) -> dict[int, bytes]:
    """All pages of a tree with these leaves, and its head."""
    pages: dict[int, bytes] = {}
    level, below = 0, list(marks)
    while below and (level == 0 or len(below) > 1):
        level += 1
        above = []
        for page in range(-(-len(below) // FAN)):
            data = b"".join(below[FAN * page : FAN * (page + 1)]).ljust(MARK * FAN, b"\0")
            pages[page_number(tree, level, page)] = data
            above.append(_page_mark(key, tree, level, page, data))
        below = above
    top = below[0] if below else bytes(MARK)
    return pages | {page_number(tree, 0, 0): len(marks).to_bytes(COUNT, "little") + top}


def _page_mark(key: bytes, tree: int, level: int, page: int, data: bytes) -> bytes:
    return chunk_mark(key, f"marks {TREES[tree]} {level} ", page, data)
