"""Every statistic: its sensitivity by brute force over neighbours, its sums by hand, its bound checked.

A new statistic is found by itself; it needs an example here.

Covers: curate/statistics/*.py, curate/kernels.py, foundations/arrays.py,
        foundations/schema/centred_codes.py
"""

from contextlib import ExitStack, nullcontext
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.statistics import (
    Boxes,
    ClassHistograms,
    ClassMoments,
    ClippedSum,
    Count,
    CrossProducts,
    ForestLeaves,
    GroupedCells,
    Histogram,
    ItemPairs,
    Marginals,
    Moments,
    People,
    Prefix,
    RangeTree,
    RangeTrees,
    SecondMoments,
    class_moments,
    forest_leaves,
    second_moments,
)
from undeleted.errors import BadColumns, Misuse, TooLarge
from undeleted.foundations import registry
from undeleted.foundations.schema import Boolean, Category, Number, Schema
from undeleted.foundations.schema.conditions import Condition

X = Number("x", min=-2, max=3)
HALVES = Number("h", min="0.5", max=2, step="0.5")
FAR = Number("f", min=-7, max=-1, step=3)
EVEN = Number("e", min=0, max=3)
EVEN2, EVEN3, EVEN4 = (Number(f"e{i}", min=0, max=3) for i in (2, 3, 4))
NEW, OLD, RICH = Boolean("n"), Boolean("o"), Boolean("r")
SICK, GRADE = Boolean("s"), Category("g", values=("a", "b", "c"))
COLUMNS = (X, HALVES, FAR, EVEN, SICK, GRADE)

EXAMPLES = {
    "count": [Count(), Count((X,))],
    "clipped-sum": [ClippedSum(X), ClippedSum(HALVES), ClippedSum(FAR)],
    "moments": [Moments(X, 1), Moments(X, 3), Moments(FAR, 2), Moments(EVEN, 2), Moments(SICK, 2)],
    "people": [People()],
    "prefix": [Prefix(X, 2), Prefix(FAR, 1)],
    "range-tree": [RangeTree(X, 2), RangeTree(EVEN, 4), RangeTree(GRADE, 2)],
    "grouped-cells": [
        GroupedCells(Moments(X, 2), (GRADE, SICK)),
        GroupedCells(ClippedSum(X), (SICK,), Condition("x >= 0 and not s", (X, SICK))),
        GroupedCells(RangeTree(X, 2), (GRADE,)),
        GroupedCells(Count(), (), Condition("s", (SICK,))),
    ],
    "histogram": [Histogram((X,)), Histogram((GRADE, SICK)), Histogram((SICK, FAR, GRADE))],
    "marginals": [
        Marginals((X, GRADE, SICK), ((0, 1), (0, 2), (1, 2)), ((2, 5), (), ())),
        Marginals((FAR, EVEN, SICK), ((0,), (2, 0, 1)), ((), (1, 3), ())),
    ],
    "class-moments": [ClassMoments((X, EVEN), GRADE), ClassMoments((FAR, SICK)), ClassMoments((X,), SICK)],
    "class-histograms": [ClassHistograms((X, SICK), GRADE), ClassHistograms((GRADE,), EVEN)],
    "second-moments": [
        SecondMoments((X, EVEN), target=FAR),
        SecondMoments((X, SICK), by=GRADE),
        SecondMoments((FAR, EVEN), by=SICK, products=False),
        SecondMoments((HALVES,)),
    ],
    "range-trees": [RangeTrees((X, EVEN), 2), RangeTrees((FAR, GRADE), 4)],
    "forest-leaves": [
        ForestLeaves((X, SICK), by=GRADE, trees=3, depth=3),
        ForestLeaves((EVEN, FAR), target=X, trees=2, depth=4),
        ForestLeaves((X,), target=SICK, trees=1, depth=1),
    ],
    "item-pairs": [ItemPairs((SICK, NEW, OLD, RICH), at_most=3), ItemPairs((SICK, NEW), at_most=2)],
    "boxes": [
        Boxes((X, EVEN), 3),
        Boxes((FAR,), 2),
        Boxes((X,), 1, offsets=True),
        Boxes((EVEN, EVEN2, EVEN3, EVEN4), 4, offsets=True),
        Boxes((X,), 2, offsets=True),
    ],
    "cross-products": [CrossProducts((X, FAR)), CrossProducts((X, SICK, EVEN)), CrossProducts((X,))],
}
ALL = [statistic for examples in EXAMPLES.values() for statistic in examples]


def domain(statistic):
    """Every record that the statistic's columns allow, as values."""
    grids = []
    for column in statistic.columns:
        if isinstance(column, Number):
            grids.append([float(column.min + i * column.step) for i in range(column.cells)])
        else:
            grids.append(list(column.values) if isinstance(column, Category) else [False, True])
    return list(product(*grids))


def total_of(statistic, records):
    schema = Schema(statistic.columns or (X,))
    rows = records if statistic.columns else [(0,)] * len(records)
    return Arrays(schema.table(rows)).total(statistic)


def test_every_statistic_has_an_example():
    assert set(EXAMPLES) == set(registry.names("undeleted.curate.statistics"))


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_sensitivities_are_those_of_the_worst_neighbours(statistic):
    """Over every data set of one record and its neighbours with one more: exact, not only an upper bound."""
    records = domain(statistic)
    changes = [
        total_of(statistic, [base, record]) - total_of(statistic, [base])
        for base in (records[0], records[-1])
        for record in records
    ]

    assert max(np.abs(c).sum() for c in changes) == statistic.l1
    assert max(np.sqrt((c.astype(float) ** 2).sum()) for c in changes) == pytest.approx(statistic.l2)


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_no_block_moves_by_more_than_its_reach_nor_in_more_cells_than_it_says(statistic):
    """Exact: some record reaches what the noise is made for, in L1 and in L2."""
    worst = np.zeros((len(statistic.blocks), 2))
    for record in domain(statistic):
        change = total_of(statistic, [record])
        for i, (start, block) in enumerate(zip(statistic.starts, statistic.blocks, strict=True)):
            moved = change[start : start + block.width]
            assert np.count_nonzero(moved) <= block.moves
            worst[i] = np.maximum(worst[i], [np.abs(moved).sum(), np.sqrt((moved**2).sum())])
    assert worst == pytest.approx(np.array([[r.l1, r.l2] for r in statistic.sensitivity]))
    assert statistic.size == sum(block.width for block in statistic.blocks)


@pytest.mark.parametrize("statistic", ALL, ids=str)
@settings(max_examples=20)
@given(data=st.data())
def test_a_total_is_the_sum_of_its_records_contributions(statistic, data):
    records = data.draw(st.lists(st.sampled_from(domain(statistic)), max_size=12))
    total = total_of(statistic, records)
    added = np.zeros(statistic.size, dtype=np.int64)
    schema = Schema(statistic.columns or (X,))
    for record in records:
        contribution = statistic.of(schema.table([record if statistic.columns else (0,)]))
        added[contribution.cells] += contribution.values

    assert np.array_equal(total, added)
    together = statistic.of(schema.table(records if statistic.columns else [(0,)] * len(records)))
    dense = np.zeros(statistic.size, dtype=np.int64)
    dense[together.cells] = together.values
    assert np.array_equal(total, dense)


def without_numba():
    """As on a machine that has no compiled loops."""
    stack = ExitStack()
    for module in (class_moments, forest_leaves, second_moments):
        stack.enter_context(patch.object(module, "kernel", lambda name: None))
    return stack


@pytest.mark.parametrize("statistic", [s for s in ALL if s.columns], ids=str)
@settings(deadline=None, max_examples=20)  # the first call compiles
@given(data=st.data())
def test_a_matrix_of_codes_adds_what_the_rows_add(statistic, data):
    """The short way of one row, and that of several, to the integers of the expression."""
    records = data.draw(st.lists(st.sampled_from(domain(statistic)), min_size=1, max_size=6))
    table = Schema(statistic.columns).table(records)
    codes = np.column_stack([table.codes[name] for name in statistic.names])
    for part, compiled in ((codes, True), (codes[:1], True), (codes[:1], False), (codes, False)):
        with without_numba() if not compiled else nullcontext():
            gone = statistic.of_matrix(part)
        dense = np.zeros(statistic.size, dtype=np.int64)
        dense[gone.cells] += gone.values
        assert gone.values.size == len({cell for cell, _ in gone.pairs()}), (
            "a cell named twice would be moved once"
        )
        assert np.array_equal(dense, total_of(statistic, records[: len(part)]))


def test_squares_come_free_with_the_sum():
    """|2hc| + (h² − c²) and its L2 are both 2h² at most, at every code of grids small and large."""
    for most in (1, 2, 5, 100, 4096):
        column = Number("x", min=0, max=most)
        block = ClassMoments((column,)).blocks[1]
        h, c = most // 2 + most % 2, np.arange(most + 1) - most // 2
        moves = np.stack([2 * h * c, h * h - c * c])
        assert np.abs(moves).sum(axis=0).max() == block.reach == 2 * h * h
        assert np.sqrt((moves.astype(float) ** 2).sum(axis=0)).max() == pytest.approx(block.l2)


def test_the_groups_of_second_moments_share_the_budget_equally():
    weights = [block.weight for block in SecondMoments((X, EVEN, SICK), target=FAR).blocks]
    assert sum(weights[:5]) == pytest.approx(sum(weights[5:8])) == pytest.approx(sum(weights[8:]))
    with pytest.raises(BadColumns, match="named twice"):
        SecondMoments((X, EVEN), target=X)


def test_sums_are_the_sums_that_a_person_would_compute():
    people = [(-2,), (3,), (3,)]
    assert total_of(ClippedSum(X), people).tolist() == [4]
    assert total_of(ClippedSum(HALVES), [(0.5,), (2,)]).tolist() == [5]  # in units of one half
    assert total_of(Histogram((X,)), people).tolist() == [1, 0, 0, 0, 0, 2]
    assert total_of(Count(), people).tolist() == [3]
    # centred at the grid point 0: −2, 3, 3
    assert total_of(Moments(X, 2), people).tolist() == [3, 4, 22]
    pairs = [(-2, False), (3, True)]
    assert total_of(CrossProducts((X, SICK)), pairs).tolist() == [2, 1, 1, 13, 3, 1]


def test_dropped_values_count_for_no_statistic_of_their_column():
    gap = Number("x", min=0, max=9, missing="drop", out_of_range="drop")
    schema = Schema([gap, SICK])
    table = schema.table([(3, True), (None, True), (99, False)])

    assert Arrays(table).total(ClippedSum(gap)).tolist() == [3]
    assert Arrays(table).total(Count()).tolist() == [3]
    assert Arrays(table).total(Count((gap,))).tolist() == [1]
    assert Arrays(table).total(Histogram((SICK,))).tolist() == [1, 2]
    assert Histogram((gap, SICK)).of(table).cells.tolist() == [7]


def test_large_sums_are_exact_or_refused():
    wide = Number("w", min=0, max=2**40)
    schema = Schema([wide])
    table = schema.table([2**40 - 1] * 70_000)
    assert int(Arrays(table).total(ClippedSum(wide))[0]) == (2**40 - 1) * 70_000
    for add in (Arrays(table).total, lambda statistic: statistic.of(table)):
        with pytest.raises(TooLarge, match="may exceed the limit") as caught:
            add(Moments(wide, 2))
        assert caught.value.size is None, "it would tell how many people there are"


def test_nonsense_is_refused():
    with pytest.raises(BadColumns, match="categories cannot be added"):
        Moments(GRADE)
    with pytest.raises(BadColumns, match="categories cannot be added"):
        CrossProducts((X, GRADE))
    for wrong in ("x", 3):
        with pytest.raises(BadColumns, match="not a column with a grid"):
            ClippedSum(wrong)
    with pytest.raises(BadColumns, match="not a number"):
        ClippedSum(SICK)
    with pytest.raises(BadColumns, match="not a column with a grid"):
        Histogram(("x",))
    with pytest.raises(BadColumns, match="declared differently"):
        Count((Number("x", min=0, max=1),)).of(Schema([X]).table([1]))
    with pytest.raises(Misuse, match="degree = 0"):
        Moments(X, 0)
    with pytest.raises(Misuse, match="needs a column"):
        Histogram(())
    with pytest.raises(TooLarge, match="histogram over a × b"):
        Histogram((Number("a", min=0, max=2**14), Number("b", min=0, max=2**14)))


@pytest.mark.parametrize("most", [1, 99, 65_535, 2**31])
def test_products_by_matrix_are_those_one_by_one(most):
    """Wide columns fall back to adding one by one; both ways give the same integers."""
    columns = (Number("a", min=-5, max=most - 5), Number("b", min=0, max=7))
    statistic = CrossProducts(columns)
    rng = np.random.default_rng(most)
    code = {"a": rng.integers(0, most + 1, 5000), "b": rng.integers(0, 8, 5000)}
    one_by_one = super(CrossProducts, statistic).block_total(code, 5000)
    assert statistic.block_total(code, 5000).tolist() == one_by_one.tolist()
    moments = SecondMoments(columns[:1], by=columns[1])
    one_by_one = super(SecondMoments, moments).block_total(code, 5000)
    assert moments.block_total(code, 5000).tolist() == one_by_one.tolist()
