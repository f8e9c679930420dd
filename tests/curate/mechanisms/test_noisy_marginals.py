"""Noisy counts over pairs of columns: what they hold, what they answer, and what is refused.

Covers: curate/statistics/marginals.py, curate/releases/selecting.py
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.spec import Spec
from undeleted.errors import BadColumns, BadQuestion, BadSetting, BadSpec, Misuse, TooLarge
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, NoNoise, seeded
from undeleted.foundations.privacy import Budget, account, calibrate
from undeleted.foundations.schema import Boolean, Category, Date, Number, Schema

A, B = Boolean("a"), Boolean("b")
WORLD = SmallWorld(
    NoisyMarginals((A, B), ClampedGeometric(Fraction(1, 2), 0, 1), marginals=(("a",), ("b",))),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((False, False), (False, True), (True, True)),
)
AGE = Number("age", min=0, max=99)
SEX, CITY = Category("sex", values=("f", "m")), Category("city", values=("Bonn", "Haifa", "Lyon"))
BORN = Date("born", min="1950-01-01", max="2020-12-31")
COLUMNS = (AGE, SEX, CITY)
PEOPLE = Schema(list(COLUMNS))
ROWS = [(17, "f", "Bonn"), (18, "m", "Bonn"), (64, "f", "Lyon"), (65, "f", "Haifa"), (99, "m", "Haifa")]


def mechanism(**more):
    return NoisyMarginals(COLUMNS, more.pop("budget", NoNoise()), edges={"age": [18, 65]}, **more)


def counted(one=None):
    one = one or mechanism()
    return one, one.release(Arrays(PEOPLE.table(ROWS)), seeded(1))


def test_every_pair_is_counted_in_bins():
    one, release = counted()
    assert one.statistic.sets == ((0, 1), (0, 2), (1, 2))
    by_age_and_sex, by_age_and_city, by_sex_and_city = one.tables(release)
    assert by_age_and_sex.tolist() == [[1, 0], [1, 1], [1, 1]]
    assert by_age_and_city.tolist() == [[1, 0, 0], [1, 0, 1], [0, 2, 0]]
    assert by_sex_and_city.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert one.labels(0) == ["0..17", "18..64", "65..99"]


def test_a_person_moves_one_cell_of_each_marginal_by_one_and_no_more():
    """By brute force: every record of the schema, in L2 over all marginals, as the noise assumes."""
    one = mechanism(budget=Budget(1.0, 1e-6))
    every = product([0, 17, 18, 40, 64, 65, 99], SEX.values, CITY.values)
    for record in every:
        moved = np.zeros(one.statistic.size, dtype=np.int64)
        one.contribution(PEOPLE.table([record])).add_to(moved)
        assert [int(part.sum()) for part in one.tables(Cells(moved))] == [1, 1, 1]
        assert set(moved.tolist()) == {0, 1}
    assert one.statistic.l2 == math.sqrt(3)
    assert account(one.events, 1e-6).epsilon == pytest.approx(1.0, abs=2e-3)


def test_one_budget_pays_for_all_marginals():
    """78 pairs under (1, 10⁻⁶): σ as one Gaussian of sensitivity √78, and no pair is free."""
    columns = tuple(Boolean(f"c{i}") for i in range(13))
    one = NoisyMarginals(columns, Budget(1.0, 1e-6))
    assert len(one.laws) == 78
    [[single]] = calibrate([[1]], Budget(1.0, 1e-6), only="gaussian")
    assert isinstance(one.laws[0], DiscreteGaussian)
    assert one.laws[0].sigma / single.sigma == pytest.approx(math.sqrt(78), rel=0.01)
    assert account(one.events, 1e-6).epsilon == pytest.approx(1.0, abs=2e-3)


def test_noise_is_as_wide_as_the_budget_says_in_every_marginal(coins):
    """20,000 cells in two marginals of one release; a false alarm once in 10⁹."""
    wide = tuple(Number(name, min=0, max=99) for name in ("x", "y", "z"))
    one = NoisyMarginals(wide, Budget(1.0), marginals=(("x", "y"), ("y", "z")))
    release = one.release(Arrays(Schema(list(wide)).table([(1, 2, 3)])), coins)
    exact = Arrays(Schema(list(wide)).table([(1, 2, 3)])).total(one.statistic)
    law = DiscreteLaplace(2.0)  # two cells, ε = 1
    for noise in np.split(release.value - exact, 2):
        assert fit(noise, law) > ALARM
        assert fit(noise, with_scale(law, 0.85)) < ALARM, "this test cannot see too little noise"
        assert fit(noise, with_scale(law, 1.15)) < ALARM, "this test cannot see too much noise"


def test_the_list_of_marginals_may_be_ones_own():
    one = mechanism(marginals=(("city", "age"), ("sex",)))
    assert one.statistic.sets == ((2, 0), (1,))
    assert one.tables(counted(one)[1])[0].tolist() == [[1, 1, 0], [0, 0, 2], [0, 1, 0]]


def test_numbers_dates_and_single_rows_agree_with_numpy():
    schema = Schema([BORN, SEX, AGE])
    one = NoisyMarginals((BORN, SEX, AGE), NoNoise(), edges={"born": ["1980-01-01"], "age": [50]})
    rows = [(f"{1950 + i % 71}-03-01", "f" if i % 3 else "m", i % 100) for i in range(300)]
    table = schema.table(rows)
    total = Arrays(table).total(one.statistic)
    singly = np.zeros_like(total)
    for i in range(300):
        one.contribution(schema.table([rows[i]])).add_to(singly)
    assert np.array_equal(total, singly)
    codes = np.column_stack([table.codes[c.name] for c in one.over])
    matrix = np.zeros_like(total)
    one.contribution(codes).add_to(matrix)
    assert np.array_equal(total, matrix)
    born, _, _ = one.statistic.binned(codes).T
    assert born.sum() == sum(int(row[0][:4]) >= 1980 for row in rows)


# -- answers


def test_counts_come_from_a_marginal_that_has_the_columns():
    one, release = counted()

    def asked(**questions):
        return [(label, answer.value) for label, answer in one.answers(release, questions, 0.95)]

    assert asked(where=["sex=f", "age=18..99"]) == [("records that match", 2)]
    assert asked(where=["age=18..64"], by=["sex"]) == [({"sex": "f"}, 1), ({"sex": "m"}, 1)]
    assert asked(by=["city"]) == [({"city": "Bonn"}, 2), ({"city": "Haifa"}, 2), ({"city": "Lyon"}, 1)]
    assert len(asked()) == 3 + 2 + 3
    assert ({"age": "65..99"}, 2) in asked()


def test_what_was_not_measured_has_no_interval_and_no_answer():
    one, release = counted()
    with pytest.raises(BadQuestion, match=r"no published marginal has all.*\n.*sample.*no interval"):
        list(one.answers(release, {"where": ["sex=f", "age=18..64", "city=Bonn"]}, 0.95))
    with pytest.raises(BadQuestion, match=r"cuts a bin.*\nIts bins: 0..17, 18..64, 65..99"):
        list(one.answers(release, {"where": ["age=10..64"]}, 0.95))
    with pytest.raises(Misuse, match="there is no column height"):
        list(one.answers(release, {"by": ["height"]}, 0.95))


def test_intervals_cover(coins):
    """400 releases of one count at 90%: within 6 standard errors of 0.9, a false alarm in 10⁸."""
    one = mechanism(budget=Budget(1.0, 1e-6))
    covered = 0
    for _ in range(400):
        release = one.release(Arrays(PEOPLE.table(ROWS * 30)), coins)
        [(_, answer)] = one.answers(release, {"where": ["age=18..99"]}, 0.9)
        covered += answer.low <= 120 <= answer.high
    assert abs(covered / 400 - 0.9) < 6 * math.sqrt(0.09 / 400)


def test_the_release_holds_every_cell(coins):
    one, release = counted()
    listed = one.rows(release)
    assert len(listed) == one.statistic.size == 6 + 9 + 6
    assert listed[0] == {"marginal": "age × sex", "age": "0..17", "sex": "f", "count": 1}
    assert sum(row["count"] for row in listed) == 3 * len(ROWS)


# -- specs

SPEC = """
[data]
source = "people.csv"
id = "id"

[columns.age]
type = "number"
min = 0
max = 99

[columns.born]
type = "date"
min = 1950-01-01
max = 2020-12-31

[columns.sex]
type = "category"
values = ["f", "m"]

[budget]
epsilon = 1.0
delta = 1e-6

[publish.rows]
kind = "synthetic"
columns = ["age", "born", "sex"]
"""


def test_a_spec_names_columns_edges_and_marginals():
    text = SPEC + 'marginals = [["age", "sex"], ["born"]]\nedges = {age = [18, 65], born = [1980-01-01]}\n'
    one = Spec.parse(text).mechanisms["rows"]
    assert one.statistic.sets == ((0, 2), (1,))
    assert one.statistic.bins == (3, 2, 2)
    assert one.edges == (("age", (18, 65)), ("born", ("1980-01-01",)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "born has 25,933 bins"),
        ("edges = {age = [65, 18], born = [1980-01-01]}", "not in order"),
        ("edges = {age = [0], born = [1980-01-01]}", "not in order"),
        ("edges = {age = ['old'], born = [1980-01-01]}", "not all values"),
        ("edges = {height = [1]}", "'height': not among the columns"),
        ("edges = {sex = [1], born = [1980-01-01]}", "not divided into bins"),
        (
            "edges = {born = [1980-01-01]}\nmarginals = [['age', 'hair'], ['born'], ['sex']]",
            "'hair': not among",
        ),
        ("edges = {born = [1980-01-01]}\nmarginals = [['age', 'born']]", "'sex': in no marginal"),
        ("edges = {born = [1980-01-01]}\nmarginals = ['age']", "not a list of columns"),
        ("edges = {born = [1980-01-01]}\nmarginals = [['age'], ['born'], ['sex'], ['sex']]", "named twice"),
        ("edges = {born = [1980-01-01]}\nmost_cells = 10", "exceeds the limit of 10."),
    ],
)
def test_a_spec_that_does_not_fit_is_refused_with_what_to_do(line, said):
    with pytest.raises(BadSpec) as refused:
        Spec.parse(SPEC + line + "\n")
    assert said in str(refused.value)


def test_too_many_cells_say_what_makes_them_many():
    wide = tuple(Number(f"n{i}", min=0, max=999) for i in range(3))
    with pytest.raises(TooLarge, match="n0 has 1,000 bins, n1 has 1,000 bins"):
        NoisyMarginals(wide, 1.0)
    with pytest.raises(BadColumns):
        NoisyMarginals(COLUMNS, 1.0, edges={"age": [50]}, marginals=(("age", "sex"),))
    with pytest.raises(BadSetting, match="does not list"):
        NoisyMarginals(COLUMNS, 1.0, edges={"age": 50})
    for wrong in ([["age", ["sex"]]], 5, None, [[]], [["age", {}]]):
        with pytest.raises(BadSetting, match="is not a list of columns"):
            NoisyMarginals(COLUMNS, 1.0, edges={"age": [50]}, marginals=wrong)
    with pytest.raises(BadSetting, match="is not a number"):
        NoisyMarginals(COLUMNS, 1.0, edges={"age": [50]}, most_cells=None)
    listed = NoisyMarginals(COLUMNS, 1.0, edges={"age": [50]}, marginals=[["age", "sex"], ["city"]])
    assert listed.marginals == (("age", "sex"), ("city",))
    assert hash(listed)


def test_groups_and_conditions_are_refused_before_anything_is_spent():
    """Their rows could not be drawn."""
    for line in ('where = "age >= 18"', 'by = ["sex"]'):
        with pytest.raises(BadSpec, match="'synthetic' is not published by group or with a condition"):
            Spec.parse(SPEC + f"edges = {{born = [1980-01-01]}}\n{line}\n")
