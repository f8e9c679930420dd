"""Rows of a fitted model, as a table with the schema's own types.

A seed decides the rows; it has nothing to do with the noise, which is in the release already.  Within a bin
the values of a number are equally likely.
"""

from typing import TYPE_CHECKING

import numpy as np

from undeleted.curate.mechanisms.noisy_marginals import NoisyMarginals
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic.fitting import (
    MEGABYTES,
    SECONDS,
    Advance,
    FittedModel,
    Model,
    ask,
    fitted,
)
from undeleted.errors import BadQuestion, BadSetting
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.schema import Boolean, Category, Date, GridColumn
from undeleted.foundations.types import Given

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 10_000_000


def sample(
    mechanism: Given, release: Given, rows: int, seed: int = 0, model: Model = "mixture", **limits: Given
) -> "pa.Table":
    """So many rows of the model of a release; of a table that grows, as it is after its last tick."""
    if isinstance(mechanism, Arrivals):
        mechanism, release = mechanism.read(release, None, 0.95)
    if not isinstance(mechanism, NoisyMarginals):
        problem = "rows are drawn from publications of kind synthetic, without groups."
        raise BadQuestion(problem, 'Publish kind = "synthetic"; or ask `undeleted show`.')
    codes = sampled_codes(mechanism, release, rows, seed, model, **limits)
    return as_table(mechanism, codes)


def sampled_codes(
    mechanism: NoisyMarginals,
    release: Cells,
    rows: int,
    seed: int = 0,
    model: Model = "mixture",
    *,
    megabytes: float = MEGABYTES,
    seconds: float = SECONDS,
    advance: Advance = lambda done: None,
) -> IntArray:
    """The same as codes, a column for each of `over`; the limits are those of a fit."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows <= MOST_ROWS:
        raise BadSetting(f"{rows!r} rows cannot be drawn.", f"Choose from 1 to {MOST_ROWS:,}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise BadSetting(f"{seed!r} is not a seed.", "Choose a whole number from 0 to 4,294,967,295.")
    fit = fitted(mechanism, release, model, megabytes=megabytes, seconds=seconds, advance=advance)
    bins = binned_rows(mechanism, fit, int(rows), int(seed), seconds)
    coins = np.random.default_rng([int(seed), 1])
    columns = [_within(mechanism, i, bins[:, i], coins) for i in range(bins.shape[1])]
    return np.column_stack(columns)


def binned_rows(
    mechanism: NoisyMarginals, fit: FittedModel, rows: int, seed: int, seconds: float
) -> IntArray:
    """Rows as bins, in random order."""
    bins = mechanism.statistic.bins
    coins = np.random.default_rng([seed, 0])
    if fit.model == "mixture":
        drawn = _of_mixture(fit.arrays["products"], bins, rows, coins)
    else:
        asked = {"do": "rows", "bins": bins, "cliques": fit.facts["cliques"], "rows": rows, "seed": seed}
        drawn = ask(asked, fit.arrays, seconds, lambda done: None)[0]["rows"]
    return drawn[coins.permutation(rows)]


def _of_mixture(
    products: FloatArray, bins: tuple[int, ...], rows: int, coins: np.random.Generator
) -> IntArray:
    """Rows of a mixture: every component gets its share, and in it every value gets its own, rounded.

    So the counts of single columns, and mostly those of pairs, vary less than those of independent draws.
    """
    components, starts = len(products), np.cumsum([0, *bins])
    sizes = np.full(components, rows // components)
    sizes[coins.permutation(components)[: rows % components]] += 1
    drawn = np.empty((rows, len(bins)), dtype=np.int64)
    first = 0
    for component, size in enumerate(sizes.tolist()):
        for i in range(len(bins)):
            shares = products[component, starts[i] : starts[i + 1]]
            values = _rounded(shares / shares.sum(), size, coins)
            drawn[first : first + size, i] = coins.permutation(values)
        first += size
    return drawn


def _rounded(shares: FloatArray, size: int, coins: np.random.Generator) -> IntArray:
    """Values in proportion to their shares: each as often as expected, rounded up or down at random."""
    places = np.cumsum(shares) * size + coins.random()
    places[-1] = size + 1  # floating point may end a little below
    ends = np.minimum(np.floor(places).astype(np.int64), size)
    return np.repeat(np.arange(shares.size), np.diff(ends, prepend=0))


def _within(mechanism: NoisyMarginals, column: int, bins: IntArray, coins: np.random.Generator) -> IntArray:
    """A code in each of these bins, all codes of a bin equally likely."""
    edges = mechanism.statistic.edges[column]
    if not edges:
        return bins
    ends = np.array([0, *edges, mechanism.over[column].cells], dtype=np.int64)
    return coins.integers(ends[bins], ends[bins + 1])


def as_table(mechanism: NoisyMarginals, codes: IntArray) -> "pa.Table":
    """Rows of codes as an Arrow table: whole numbers, decimals, dates, texts and booleans, as declared."""
    import pyarrow as pa

    columns = zip(mechanism.over, codes.T, strict=True)
    return pa.table({column.name: _values(column, of) for column, of in columns})


def _values(column: GridColumn, codes: IntArray) -> "pa.Array":
    import pyarrow as pa

    if isinstance(column, Boolean):
        return pa.array(codes.astype(bool))
    there, places = np.unique(codes, return_inverse=True)
    if isinstance(column, Category):
        return pa.array([column.values[code] for code in there], type=pa.string()).take(pa.array(places))
    number: Given = column
    values = [number.value(int(code)) for code in there]
    if not isinstance(column, Date):  # the type is the column's, whichever values were drawn
        whole = number.min.denominator == number.step.denominator == 1
        kind = pa.int64() if whole and -(2**63) <= number.min <= number.max < 2**63 else pa.float64()
        return pa.array(map(int if kind == pa.int64() else float, values), type=kind).take(pa.array(places))
    return pa.array(values).take(pa.array(places))
