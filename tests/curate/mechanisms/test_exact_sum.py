"""The exact sum, maintained by subtraction, is the exact sum of those who remain."""

from hypothesis import given
from hypothesis import strategies as st

from support.worlds import SmallWorld
from undeleted.curate.mechanisms import ExactSum
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.games.release_once import ReleaseOnce

X = Number("x", min=0, max=2)
WORLD = SmallWorld(ExactSum(X), Schema([X]), points=(0, 1, 2), others=(2, 2, 0))


@given(st.lists(st.decimals(-1, 1, places=1), min_size=1, max_size=10))
def test_what_is_left_is_the_sum_of_those_who_remain(values):
    column = Number("x", min=-1, max=1, step="0.1")
    curator = ReleaseOnce(ExactSum(column), Schema([column]))
    release = curator.start(values, seeded(7))
    for gone, value in enumerate(values):
        estimate = ExactSum(column).estimate(release)
        assert round(estimate.value, 9) == float(sum(values[gone:]))
        assert estimate.low == estimate.high == estimate.value
        release = curator.delete([value])
