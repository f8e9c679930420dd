"""Pairs of worlds that agree on everything the attacker controls, and differ in people who stay.

Each family changes the people who stay in a way that some first outputs cannot show:

    move-one       one person has another value: order statistics, trees and labels may not show it
    same-sum       two people move by the same amount in opposite directions
    same-moments   three people change and keep their sum and their sum of squares
    flat-label     everybody who stays has the same number as label, and the attacker's rows cancel in pairs:
                   the model is flat for any features
    both-labels    every point has both labels equally often: at first nothing is learned
    mirror         the attacker's rows are symmetric about the middle, and those who stay are reflected in it:
                   spreads, ranges and correlations cannot show it
    clones         some of the attacker's rows and some who stay are identical, more of them in one world:
                   thresholds, heavy hitters and suppressed cells cannot show it at first
    skewed         nearly everybody has the same value, one person moves: trimming and modes cannot show it
    exchange       two people exchange values
    redraw         everybody who stays is drawn again

No family looks at the target.  Numbers of people are powers of two and values are on grids, so that equal
sums are equal to the last bit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.foundations.coins import Coins

SIZES = (8, 16, 32)
FEW = 7  # values of a column in a crowd


@dataclass(frozen=True)
class Pair:
    """Two data sets with the same ids; `own` are the attacker's rows, in the order of their deletion."""

    family: str
    one: tuple[Row, ...]
    other: tuple[Row, ...]
    own: tuple[str, ...]

    @property
    def batches(self) -> tuple[tuple[str, ...], ...]:
        return tuple((name,) for name in self.own)

    @property
    def staying(self) -> tuple[str, ...]:
        """The ids of the people whose records differ."""
        return tuple(a["id"] for a, b in zip(self.one, self.other, strict=True) if a != b)

    def as_json(self) -> dict[str, object]:
        return {
            "family": self.family,
            "one": list(self.one),
            "other": list(self.other),
            "own": list(self.own),
        }


def deletions(batches: Sequence[object]) -> str:
    """The number of deletions, as text."""
    return f"{len(batches)} deletion{'s' if len(batches) > 1 else ''}"


@dataclass(frozen=True)
class Space:
    """Where records come from: columns, or real rows."""

    columns: tuple[TargetColumn, ...]
    label: str | None = None
    most: int = 32
    rows: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def features(self) -> tuple[TargetColumn, ...]:
        return tuple(c for c in self.columns if c.name != self.label)

    @property
    def labels(self) -> TargetColumn | None:
        return next((c for c in self.columns if c.name == self.label), None)

    def draw(self, coins: Coins, count: int) -> list[Row]:
        """Draw `count` records, without ids."""
        if self.rows:
            chosen = coins.integers(0, len(self.rows), count)
            return [{k: v for k, v in self.rows[int(i)].items() if k != "id"} for i in chosen]
        drawn = [(c.name, c.draw(coins, count)) for c in self.columns]
        return [{name: values[i] for name, values in drawn} for i in range(count)]

    def size(self, coins: Coins) -> int:
        fitting = [s for s in SIZES if s <= self.most] or [self.most]
        return fitting[int(coins.integers(0, len(fitting), 1)[0])]


def pairs(space: Space, coins: Coins, only: Sequence[str] = ()) -> Iterator[Pair]:
    """Generate pairs endlessly, one family after the other."""
    while True:
        for name, family in FAMILIES.items():
            if only and name not in only:
                continue
            size = space.size(coins)
            own, staying = size // 2, size - size // 2
            made = family(space, coins, own, staying)
            if made is not None:
                yield _assembled(name, *made, space, coins)


def crowd(space: Space, coins: Coins, count: int) -> tuple[list[tuple[Row, ...]], tuple[str, ...]]:
    """Many worlds that agree on the attacker's rows; few values, so that some first outputs are equal."""
    own, staying = 3, 5
    few = tuple(_narrowed(c, coins) for c in space.columns)
    narrow = space if space.rows else replace(space, columns=few)
    mine = narrow.draw(coins, own)
    places = [int(p) for p in coins.choose(own + staying, own + staying)]
    names = [f"r{p:02}" for p in places]
    worlds = []
    for _ in range(count):
        rows = [*mine, *narrow.draw(coins, staying)]
        named: list[Row] = [{"id": name, **row} for name, row in zip(names, rows, strict=True)]
        worlds.append(tuple(sorted(named, key=lambda r: str(r["id"]))))
    return worlds, tuple(names[:own])


def _narrowed(column: TargetColumn, coins: Coins) -> TargetColumn:
    if column.size <= FEW:
        return column
    stride = 1 + int(coins.integers(0, (column.size - 1) // (FEW - 1), 1)[0])
    start = int(coins.integers(0, column.size - (FEW - 1) * stride, 1)[0])
    return replace(column, values=tuple(column.at(start + i * stride) for i in range(FEW)))


def _assembled(
    family: str, own: list[Row], one: list[Row], other: list[Row], space: Space, coins: Coins
) -> Pair:
    """Assign ids that reveal nothing, shuffle the rows, and choose in which order the attacker deletes."""
    size = len(own) + len(one)
    places = [int(p) for p in coins.choose(size, size)]
    names = [f"r{p:02}" for p in places]
    mine = list(range(len(own)))
    numeric = [c for c in space.columns if c.is_number]
    way = int(coins.integers(0, 3, 1)[0])
    if numeric and way < 2:
        by = numeric[int(coins.integers(0, len(numeric), 1)[0])].name
        mine.sort(key=lambda i: own[i][by], reverse=way == 0)
    first, second = (
        sorted(
            ({"id": name, **row} for name, row in zip(names, [*own, *rows], strict=True)),
            key=lambda r: str(r["id"]),
        )
        for rows in (one, other)
    )
    return Pair(family, tuple(first), tuple(second), tuple(names[i] for i in mine))


def _pick(coins: Coins, size: int, count: int = 1) -> list[int]:
    return [int(i) for i in coins.choose(size, count)]


def _changed(rows: list[Row], changes: dict[int, Row]) -> list[Row]:
    return [{**row, **changes.get(i, {})} for i, row in enumerate(rows)]


Made = tuple[list[Row], list[Row], list[Row]]


def _own(space: Space, coins: Coins, count: int) -> list[Row]:
    """The attacker's rows: spread out, or at one end of a column."""
    rows = space.draw(coins, count)
    numeric = [c for c in space.features if c.is_number]
    side = int(coins.integers(0, 3, 1)[0])
    if side == 2 or not numeric or space.rows:
        return rows
    column = numeric[_pick(coins, len(numeric))[0]]
    quarter = max(1, column.size // 4)
    start = 0 if side == 0 else column.size - quarter
    places = coins.integers(start, start + quarter, count)
    return [{**row, column.name: column.at(int(p))} for row, p in zip(rows, places, strict=True)]


def move_one(space: Space, coins: Coins, own: int, staying: int) -> Made:
    rows = space.draw(coins, staying)
    [who], column = _pick(coins, staying), space.columns[_pick(coins, len(space.columns))[0]]
    [value] = (r[column.name] for r in space.draw(coins, 1))
    return _own(space, coins, own), rows, _changed(rows, {who: {column.name: value}})


def same_sum(space: Space, coins: Coins, own: int, staying: int) -> Made | None:
    numeric = [c for c in space.features if c.is_number]
    if not numeric:
        return None
    rows, column = space.draw(coins, staying), numeric[_pick(coins, len(numeric))[0]]
    a, b = _pick(coins, staying, 2)
    room = min(column.high - rows[a][column.name], rows[b][column.name] - column.low)
    steps = int(room / column.step)
    if steps < 1:
        return None
    shift = int(coins.integers(1, steps + 1, 1)[0]) * (1 if column.step == 1 else column.step)
    moved = {a: {column.name: rows[a][column.name] + shift}, b: {column.name: rows[b][column.name] - shift}}
    if space.labels is not None:
        moved = {i: change | {space.labels.name: rows[a][space.labels.name]} for i, change in moved.items()}
        rows = _changed(rows, {b: {space.labels.name: rows[a][space.labels.name]}})
    return _own(space, coins, own), rows, _changed(rows, moved)


def same_moments(space: Space, coins: Coins, own: int, staying: int) -> Made | None:
    """0 + 4 + 5 = 1 + 2 + 6 and 0 + 16 + 25 = 1 + 4 + 36: scaled and moved anywhere."""
    numeric = [c for c in space.features if c.is_number and c.size >= 7]
    if not numeric or staying < 3:
        return None
    rows, column = space.draw(coins, staying), numeric[_pick(coins, len(numeric))[0]]
    who = _pick(coins, staying, 3)
    scale = int(coins.integers(1, (column.size - 1) // 6 + 1, 1)[0])
    base = int(coins.integers(0, column.size - 6 * scale, 1)[0])
    label = {} if space.labels is None else {space.labels.name: rows[who[0]][space.labels.name]}
    ones = {
        i: {column.name: column.at(base + scale * d), **label} for i, d in zip(who, (0, 4, 5), strict=True)
    }
    others = {
        i: {column.name: column.at(base + scale * d), **label} for i, d in zip(who, (1, 2, 6), strict=True)
    }
    return _own(space, coins, own), _changed(rows, ones), _changed(rows, others)


def flat_label(space: Space, coins: Coins, own: int, staying: int) -> Made | None:
    label = space.labels
    if label is None or not label.is_number or own < 2:
        return None
    middle, reach = label.size // 2, label.size // 4
    flat = {label.name: label.at(middle)}
    mine = []
    for row in space.draw(coins, own // 2):
        r = int(coins.integers(1, max(2, reach), 1)[0])
        mine += [{**row, label.name: label.at(middle + r)}, {**row, label.name: label.at(middle - r)}]
    one, other = ([{**row, **flat} for row in space.draw(coins, staying)] for _ in range(2))
    return mine, one, other


def both_labels(space: Space, coins: Coins, own: int, staying: int) -> Made | None:
    label = space.labels
    if label is None or label.values is None:
        return None
    values = label.values[:2]

    def doubled(rows: list[Row]) -> list[Row]:
        return [{**row, label.name: value} for row in rows for value in values]

    mine = doubled(space.draw(coins, max(1, own // 2)))
    one, other = (doubled(space.draw(coins, max(1, staying // 2))) for _ in range(2))
    return mine, one, other


def mirror(space: Space, coins: Coins, own: int, staying: int) -> Made | None:
    numeric = [c for c in space.columns if c.is_number]
    if not numeric or space.rows:
        return None
    if coins.bits(1)[0]:
        numeric = [numeric[_pick(coins, len(numeric))[0]]]

    def reflected(rows: list[Row]) -> list[Row]:
        return [{**row, **{c.name: c.low + c.high - row[c.name] for c in numeric}} for row in rows]

    half, rows = space.draw(coins, max(1, own // 2)), space.draw(coins, staying)
    return [*half, *reflected(half)], rows, reflected(rows)


def clones(space: Space, coins: Coins, own: int, staying: int) -> Made:
    [clone] = space.draw(coins, 1)
    many, few = (int(v) for v in coins.integers(0, staying + 1, 2))
    mine = int(coins.integers(1, own + 1, 1)[0])
    rest = space.draw(coins, staying)
    own_rows = [dict(clone)] * mine + space.draw(coins, own - mine)
    one, other = ([dict(clone)] * count + rest[count:] for count in (many, few))
    return own_rows, one, other


def skewed(space: Space, coins: Coins, own: int, staying: int) -> Made:
    [usual] = space.draw(coins, 1)

    def some(count: int) -> list[Row]:
        odd = coins.integers(0, 8, count)
        return [row if odd[i] == 0 else dict(usual) for i, row in enumerate(space.draw(coins, count))]

    rows, [who], [moved] = some(staying), _pick(coins, staying), space.draw(coins, 1)
    return some(own), rows, _changed(rows, {who: moved})


def exchange(space: Space, coins: Coins, own: int, staying: int) -> Made:
    rows = space.draw(coins, staying)
    a, b = _pick(coins, staying, 2)
    return _own(space, coins, own), rows, _changed(rows, {a: rows[b], b: rows[a]})


def redraw(space: Space, coins: Coins, own: int, staying: int) -> Made:
    return _own(space, coins, own), space.draw(coins, staying), space.draw(coins, staying)


FAMILIES: dict[str, Callable[[Space, Coins, int, int], Made | None]] = {
    "move-one": move_one,
    "same-sum": same_sum,
    "same-moments": same_moments,
    "flat-label": flat_label,
    "both-labels": both_labels,
    "mirror": mirror,
    "clones": clones,
    "skewed": skewed,
    "exchange": exchange,
    "redraw": redraw,
}
