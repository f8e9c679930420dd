"""The array engine adds up in blocks, and gives what it is asked for by name."""

import numpy as np
import pytest

from undeleted.curate.engines.arrays import _ROWS, Arrays
from undeleted.curate.statistics import CrossProducts, Histogram, Moments
from undeleted.errors import NoRecords
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Category, Number, Schema, Text

X = Number("x", min=0, max=999)
GROUP = Category("g", values=tuple("abc"))


@pytest.mark.parametrize("rows", [0, 1, _ROWS - 1, _ROWS, _ROWS + 1, 2 * _ROWS + 5])
def test_blocks_add_up_to_the_whole(rows):
    values = seeded("values").integers(0, 1000, rows)
    groups = np.array(list("abc"))[seeded("groups").integers(0, 3, rows)] if rows else []
    totals = Arrays(Schema([X, GROUP]).table({"x": values, "g": groups}))
    centred = [int(v) - 499 for v in values]

    assert totals.total(Moments(X, 2)).tolist() == [rows, sum(centred), sum(c * c for c in centred)]
    assert totals.total(Histogram((GROUP, X))).sum() == rows
    assert totals.total(CrossProducts((X,))).tolist() == totals.total(Moments(X, 2)).tolist()


def test_medians_and_posts_leave_out_what_was_dropped():
    gap = Number("x", min=0, max=9, missing="drop")
    posts = Text("post", missing="drop")
    totals = Arrays(Schema([gap, posts]).table([(9, "b"), (None, "a"), (1, None), (5, "c")]))

    assert totals.lower_median(gap) == 5
    assert totals.posts(posts) == ("a", "b", "c")
    with pytest.raises(NoRecords):
        Arrays(Schema([gap]).table([None])).lower_median(gap)
