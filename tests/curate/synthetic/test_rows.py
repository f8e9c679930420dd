"""Rows of a model: as declared, as often as they should be, and the same from the same seed.

The models themselves need Private-PGM: `test_fitting.py`.
"""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import NoisyHistogram, NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic import fitting
from undeleted.curate.synthetic.fitting import FittedModel
from undeleted.curate.synthetic.rows import as_table, binned_rows, sample
from undeleted.curate.synthetic.worker import projected
from undeleted.errors import BadQuestion, BadSetting, MissingExtra
from undeleted.foundations.coins import NoNoise
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Date, Number, Schema

AGE, HALF = Number("age", min=0, max=99), Number("half", min=0, max=2, step="0.5")
BORN, NEW = Date("born", min="2000-01-01", max="2000-12-31"), Boolean("new")
SEX = Category("sex", values=("f", "m"))
ONE = NoisyMarginals((AGE, HALF, BORN, NEW, SEX), NoNoise(), edges={"age": [18, 65], "born": ["2000-07-01"]})
BINS = ONE.statistic.bins  # 3, 5, 2, 2, 2


def mixture(components=4):
    """Products that differ: a component for every second bin of every column."""
    rng = np.random.default_rng(1)
    parts = [rng.dirichlet(np.ones(bins), components) for bins in BINS]
    return FittedModel("mixture", {"products": np.concatenate(parts, axis=1)}, {}, 100.0)


@pytest.fixture
def fitted(monkeypatch):
    model = mixture()
    monkeypatch.setattr("undeleted.curate.synthetic.rows.fitted", lambda *_, **__: model)
    return model


NOTHING = Cells(np.zeros(ONE.statistic.size, dtype=np.int64))


def test_rows_have_the_schemas_own_types_and_values(fitted):
    table = sample(ONE, NOTHING, 500, seed=3)
    assert table.schema == pa.schema(
        [
            ("age", pa.int64()),
            ("half", pa.float64()),
            ("born", pa.date32()),
            ("new", pa.bool_()),
            ("sex", pa.string()),
        ]
    )
    rows = table.to_pylist()
    assert {row["half"] for row in rows} <= {0, 0.5, 1, 1.5, 2}
    assert all(date(2000, 1, 1) <= row["born"] <= date(2000, 12, 31) for row in rows)
    assert {row["sex"] for row in rows} == {"f", "m"}
    Schema([AGE, HALF, BORN, NEW, SEX]).table(table)  # every row could have been published


def test_the_same_seed_gives_the_same_rows_and_another_gives_others(fitted):
    one = sample(ONE, NOTHING, 300, seed=3)
    assert sample(ONE, NOTHING, 300, seed=3).equals(one)
    assert not sample(ONE, NOTHING, 300, seed=4).equals(one)


def test_every_value_comes_as_often_as_it_should():
    """Rounded within each component: a column misses by less than one row a component; pairs by little."""
    model = mixture()
    drawn = binned_rows(ONE, model, 4001, 7, 60.0)
    for column, bins in enumerate(BINS):
        expected = 4001 * model.marginal((column,), BINS)
        found = np.bincount(drawn[:, column], minlength=bins)
        assert np.abs(found - expected).max() <= 2 * len(model.arrays["products"])
    pair = np.bincount(drawn[:, 0] * 5 + drawn[:, 1], minlength=15) / 4001
    assert np.abs(pair - model.marginal((0, 1), BINS).ravel()).sum() < 0.06  # 4001 rows; √ law gives 0.03
    few = np.mean([binned_rows(ONE, model, 3, seed, 60.0)[:, 0] for seed in range(2000)])
    assert few == pytest.approx(model.marginal((0,), BINS) @ np.arange(3), abs=0.06)


def test_all_values_of_a_bin_are_equally_likely(fitted):
    """A chi-square over the 47 values of a bin; a false alarm once in 10⁹."""
    from scipy import stats

    ages = sample(ONE, NOTHING, 100_000, seed=5)["age"].to_numpy()
    inside = np.bincount(ages[(ages >= 18) & (ages < 65)] - 18, minlength=47)
    assert stats.chisquare(inside).pvalue > 1e-9
    inside[:20] = (inside[:20] * 1.3).astype(int)
    assert stats.chisquare(inside).pvalue < 1e-9, "this test cannot see uneven bins"


def test_the_type_of_a_column_is_its_own_whatever_was_drawn():
    """Two samples can be put together: whole values of a column of halves are not integers."""
    codes = np.zeros((2, 5), dtype=np.int64)
    assert as_table(ONE, codes).schema == as_table(ONE, codes + 1).schema
    huge = NoisyMarginals((Number("huge", min=0, max=10**20, step=10**19),), NoNoise())
    assert as_table(huge, np.array([[0], [10]])).schema.field("huge").type == pa.float64()


def test_a_marginal_of_many_columns_is_projected():
    products = [np.array([[0.25, 0.75]])] * 14
    assert projected(products).shape == (2,) * 14
    assert projected(products).sum() == pytest.approx(1.0)


def test_rows_are_in_no_order(fitted):
    """The components come one after another only before the rows are shuffled."""
    bins = binned_rows(ONE, fitted, 4000, 7, 60.0)
    first, second = np.bincount(bins[:2000, 0], minlength=3), np.bincount(bins[2000:, 0], minlength=3)
    assert np.abs(first - second).max() < 6 * np.sqrt(2000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rows": 0}, "0 rows cannot be drawn"),
        ({"rows": 10**9}, "cannot be drawn"),
        ({"rows": True}, "cannot be drawn"),
        ({"rows": 10, "seed": -1}, "is not a seed"),
        ({"rows": 10, "seed": 2**32}, "is not a seed"),
        ({"rows": 10, "model": "bayes"}, "there is no model 'bayes'"),
        ({"rows": 10, "seconds": float("inf")}, "a time limit of inf s is not possible"),
        ({"rows": 10, "seconds": 0}, "is not possible"),
        ({"rows": 10, "seconds": "long"}, "is not possible"),
        ({"rows": 10, "model": "tree", "megabytes": 0}, "is not possible"),
        ({"rows": 10, "model": "tree", "megabytes": 1e-6}, r"no marginal fits.*\n.*drop 'half'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, said):
    with pytest.raises(BadSetting, match=said):
        sample(ONE, NOTHING, **arguments)


def test_only_synthetic_publications_are_sampled():
    with pytest.raises(BadQuestion, match="of kind synthetic"):
        sample(NoisyHistogram((NEW,), 1.0), Cells(np.zeros(2, dtype=np.int64)), 10)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(fitting.importlib.util, "find_spec", lambda name: None)
    with Curator(Schema([NEW, SEX], id="id"), Budget(1.0)) as curator:
        people = {"id": [f"p{i}" for i in range(50)], "new": [True, False] * 25, "sex": ["f", "m"] * 25}
        curator.publish(people, {"rows": NoisyMarginals((NEW, SEX), budget=1.0)})
        with pytest.raises(MissingExtra, match=r"synthetic rows needs mbi.*\n.*undeleted\[synthetic\]"):
            curator.show("rows").sample(10)


def test_a_table_with_nothing_in_it_has_types_too():
    assert as_table(ONE, np.zeros((1, 5), dtype=np.int64)).num_columns == 5


def test_a_table_that_grows_is_sampled_as_it_is_after_its_last_tick(monkeypatch):
    seen = []
    even = FittedModel("mixture", {"products": np.full((2, 4), 0.5)}, {}, 100.0)
    monkeypatch.setattr(
        "undeleted.curate.synthetic.rows.fitted",
        lambda mechanism, release, *_, **__: seen.append(mechanism.tables(release)[0].sum()) or even,
    )
    grows = Growing("manual", 12)
    one = grows.of(NoisyMarginals((NEW, SEX), budget=Budget(8.0, 1e-6)))

    def table(first, last):
        people = range(first, last)
        return {"id": [f"p{i}" for i in people], "new": [True for _ in people], "sex": ["f" for _ in people]}

    with Curator(Schema([NEW, SEX], id="id"), Budget(8.0, 1e-6)) as curator:
        curator.publish(table(0, 1000), {"rows": one}, grows.clock())
        curator.add(table(1000, 3000))
        curator.tick()
        assert curator.show("rows").sample(10).num_rows == 10
        curator.delete([f"p{i}" for i in range(500, 1500)])
        curator.show("rows").sample(10)
    assert seen == pytest.approx([3000, 2000], abs=60)  # the noise of four cells after two ticks: σ about 4
