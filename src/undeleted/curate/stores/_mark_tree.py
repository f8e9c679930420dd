"""Marks of all chunks of a store under one root, so that a change renews only what it touched.

    leaf      the keyed mark of a chunk: of cells, of what is held back, of spent bits
    page      the marks of 60 chunks, or of 60 pages below it
    head      of each tree: how many leaves it has, and the mark of its top page
    used      a head without leaves: how many receipts were used; it only increases
    root      all heads; the mark of the state covers it, together with the version and the seal

An altered chunk does not fit its mark.  A chunk of an earlier version does, but its mark does not fit the
page; a page does not fit the root.  A change checks what it replaces, so it never confirms an alteration.
Pages that were checked or written under the root that is stored now are not read and checked again.
Somebody who puts back a copy of the whole store cannot be noticed from the store alone.
"""

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from undeleted.curate.stores._sealed import MARK, chunk_mark
from undeleted.errors import StoreError

FAN = 60  # marks on a page: the pages of a small store share one page of 4096 bytes
TREES = ("cells", "held", "spent", "people", "used")
COUNT = 8
HEADS = 0  # the number under which all heads are stored, as one row
Pages: TypeAlias = Mapping[int, bytes]


def page_number(tree: int, level: int, page: int) -> int:
    """The number under which a page is stored; levels begin with 1."""
    return tree << 48 | level << 40 | page


@dataclass(frozen=True)
class Head:
    """The head of a tree: how many leaves it has, and the mark of its top page."""

    count: int = 0
    top: bytes = bytes(MARK)

    def as_bytes(self) -> bytes:
        return self.count.to_bytes(COUNT, "little") + self.top


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
        self._root = b""  # the heads under which these pages were checked or written, with their marks
        self._known: dict[int, tuple[bytes, bytes]] = {}
        self.begin()

    def begin(self) -> None:
        """A transaction begins; forget the changes of one that was rolled back."""
        self._changes: dict[str, dict[int, tuple[bytes, bytes]]] = {}
        self._wholes: dict[str, list[bytes]] = {}
        self._more_used = 0
        self._heads: dict[str, Head] | None = None
        self._before: bytes | None = None

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
        """Note that chunks were added at the end of a tree; what was noted of it before is written first."""
        if tree in self._changes or tree in self._wholes:
            self.flush()
        self.replaced(tree, [*self.leaves(tree), *marks])

    def use(self, receipts: int) -> None:
        """Note that so many receipts were used."""
        self._more_used += receipts

    @property
    def used(self) -> int:
        """How many receipts were ever used."""
        return self._head("used").count + self._more_used

    def count(self, tree: str) -> int:
        """How many leaves a tree has."""
        return len(self._wholes[tree]) if tree in self._wholes else self._head(tree).count

    def leaves(self, tree: str) -> list[bytes]:
        """The marks of all chunks, as the pages have them; the pages must fit the head."""
        head, number = self._head(tree), TREES.index(tree)
        pages = [page_number(number, 1, page) for page in range(-(-head.count // FAN))]
        there = self._read(pages)
        data = b"".join(there.get(page, b"") for page in pages)
        marks = [data[MARK * leaf : MARK * (leaf + 1)] for leaf in range(head.count)]
        if not hmac.compare_digest(built(self._key, tree, marks)[0].as_bytes(), head.as_bytes()):
            raise self._altered()
        return marks

    def flush(self) -> tuple[bytes, bytes]:
        """Write the pages of all changes; return the root that the state has a mark of, and the root now."""
        heads = dict(self._all_heads())
        if self._before is None:
            self._before = self._root
        if not (self._wholes or self._changes or self._more_used):
            return self._before, self._root
        written: dict[int, bytes] = {}
        known: dict[int, tuple[bytes, bytes]] = {}
        for tree, marks in self._wholes.items():
            heads[tree], pages = built(self._key, tree, marks)
            written |= pages
        for tree, changes in self._changes.items():
            heads[tree] = self._renewed(tree, heads[tree], changes, written, known)
        heads["used"] = Head(heads["used"].count + self._more_used)
        root = root_of(heads)
        self._write(written | {HEADS: root})
        if self._wholes:
            self._known.clear()
        self._known |= known
        self._changes, self._wholes, self._more_used, self._heads, self._root = {}, {}, 0, heads, root
        return self._before, root

    def marked(self, root: bytes) -> None:
        """Note that the state has a mark of this root now."""
        self._before = root

    def fits(self, tree: str, marks: Sequence[bytes]) -> bool:
        """Whether these are the marks of the chunks that are stored, on every page."""
        self.flush()
        head, expected = built(self._key, tree, marks)
        there = self._read(list(expected))
        same = hmac.compare_digest(self._head(tree).as_bytes(), head.as_bytes())
        return same and all(hmac.compare_digest(there.get(n, b""), page) for n, page in expected.items())

    def numbers(self) -> set[int]:
        """The numbers of all rows that there must be."""
        heads = {tree: head for tree, head in self._all_heads().items() if tree != "used"}
        return {HEADS}.union(*(built(self._key, tree, [b""] * h.count)[1] for tree, h in heads.items()))

    def _head(self, tree: str) -> Head:
        return self._all_heads()[tree]

    def _all_heads(self) -> Mapping[str, Head]:
        """The heads as they are stored; they are read once in a transaction."""
        if self._heads is None:
            size = COUNT + MARK
            data = self._read([HEADS]).get(HEADS, b"").ljust(size * len(TREES), b"\0")
            if data != self._root:  # another process has written, or what this one wrote was rolled back
                self._root = data
                self._known.clear()
            parts = (data[size * i : size * (i + 1)] for i in range(len(TREES)))
            self._heads = {
                tree: Head(int.from_bytes(part[:COUNT], "little"), part[COUNT:])
                for tree, part in zip(TREES, parts, strict=True)
            }
        return self._heads

    def _renewed(
        self,
        tree: str,
        head: Head,
        changes: Mapping[int, tuple[bytes, bytes]],
        written: dict[int, bytes],
        known: dict[int, tuple[bytes, bytes]],
    ) -> Head:
        """Renew the marks on the way from these chunks to the head; what is replaced must fit.

        The pages that were renewed are added to `written`, and with their marks to `known`.
        """
        waiting, width, level, number = changes, head.count, 1, TREES.index(tree)
        if min(waiting) < 0 or max(waiting) >= width:
            raise self._altered()
        while True:
            by_page: dict[int, list[tuple[int, bytes, bytes]]] = {}
            for place, (old, new) in waiting.items():
                by_page.setdefault(place // FAN, []).append((MARK * (place % FAN), old, new))
            above: dict[int, tuple[bytes, bytes]] = {}
            for page, renewed in by_page.items():
                at_page = page_number(number, level, page)
                stored, before = self._stored(tree, level, page, at_page, written)
                data = bytearray(stored)
                for at, old, new in renewed:
                    if not hmac.compare_digest(stored[at : at + MARK], old):
                        raise self._altered()
                    data[at : at + MARK] = new
                written[at_page] = bytes(data)
                after = _page_mark(self._key, tree, level, page, written[at_page])
                known[at_page] = written[at_page], after
                above[page] = before, after
            width, waiting, level = -(-width // FAN), above, level + 1
            if width <= 1:
                break
        [(before, after)] = waiting.values()
        if not hmac.compare_digest(before, head.top):
            raise self._altered()
        return Head(head.count, after)

    def _stored(
        self, tree: str, level: int, page: int, number: int, written: Mapping[int, bytes]
    ) -> tuple[bytes, bytes]:
        """A page before a change, and its mark."""
        if number not in written and number in self._known:
            return self._known[number]
        stored = written[number] if number in written else self._read([number]).get(number, b"")
        return stored, _page_mark(self._key, tree, level, page, stored)

    def _altered(self) -> StoreError:
        problem = f"{self._path} is damaged: a part of it is of another version; nothing was changed."
        return StoreError(problem, "Restore the store and its key from the same backup.")


def filled(key: bytes, trees: Mapping[str, Sequence[bytes]], used: int) -> dict[int, bytes]:
    """All rows of a new store, from the marks of its chunks."""
    heads, rows = {"used": Head(used)}, dict[int, bytes]()
    for tree in TREES[:-1]:
        heads[tree], pages = built(key, tree, trees.get(tree, []))
        rows |= pages
    return rows | {HEADS: root_of(heads)}


def root_of(heads: Mapping[str, Head]) -> bytes:
    """All heads, as they are stored."""
    return b"".join(heads[tree].as_bytes() for tree in TREES)


def built(key: bytes, tree: str, marks: Sequence[bytes]) -> tuple[Head, dict[int, bytes]]:
    """The head and all pages of a tree with these leaves."""
    pages: dict[int, bytes] = {}
    level, below = 0, list(marks)
    while below and (level == 0 or len(below) > 1):
        level += 1
        above = []
        for page in range(-(-len(below) // FAN)):
            data = b"".join(below[FAN * page : FAN * (page + 1)]).ljust(MARK * FAN, b"\0")
            pages[page_number(TREES.index(tree), level, page)] = data
            above.append(_page_mark(key, tree, level, page, data))
        below = above
    return Head(len(marks), below[0] if below else bytes(MARK)), pages


def _page_mark(key: bytes, tree: str, level: int, page: int, data: bytes) -> bytes:
    return chunk_mark(key, f"marks {tree} {level} ", page, data)
