"""The spec: what it says, and errors that point at the line.

Covers: curate/spec/*.py
"""

from fractions import Fraction
from pathlib import Path

import pytest

from undeleted.curate.mechanisms import GrownRangeCounts, NoisyHistogram, NoisyProducts, RangeCounts
from undeleted.curate.spec import Spec
from undeleted.curate.spec._lines import line_of
from undeleted.curate.spec.draft import DECIDE, draft
from undeleted.errors import BadFile, BadSpec, NotFound
from undeleted.foundations.privacy import Budget, account

GOOD = """[data]
source = "people.csv"
id = "person"

[budget]
epsilon = 1.5

[columns.age]
type = "number"
min = 0
max = 120

[columns.income]
type = "number"
min = 0
max = 4294967295

[columns.city]
type = "category"
values = ["Haifa", "Chicago"]

[columns.note]
type = "text"

[publish.people]
kind = "count"

[publish."mean age"]
kind = "mean"
column = "age"
weight = 3

[publish.ages]
kind = "quantiles"
column = "age"

[publish.incomes]
kind = "quantiles"
column = "income"

[publish.table]
kind = "histogram"
columns = ["city", "age"]

[publish.both]
kind = "products"
columns = ["age"]

[publish.board]
kind = "board"
column = "note"
"""


def test_a_spec_says_what_is_published():
    spec = Spec.parse(GOOD)
    made = spec.mechanisms
    assert list(made) == ["people", "mean age", "ages", "incomes", "table", "both", "board"]
    kinds = {"ages": RangeCounts, "incomes": GrownRangeCounts, "table": NoisyHistogram, "both": NoisyProducts}
    assert all(isinstance(made[name], kind) for name, kind in kinds.items())
    assert spec.schema.id == "person"
    assert spec.schema.columns[0].max == 120


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_publications_together_cost_no_more_than_the_budget(delta):
    spec = Spec.parse(GOOD.replace("epsilon = 1.5", f"epsilon = 1.5\ndelta = {delta}"))
    events = [event for m in spec.mechanisms.values() for event in getattr(m, "events", None) or []]
    spent = account(events, delta).epsilon
    assert 0.9 * 1.5 < spent <= 1.5 * (1 + 1e-9)


def test_a_weight_is_a_share():
    light = Spec.parse(GOOD).mechanisms
    assert light["mean age"].budget == Budget(1.5 * 3 / 8, 0.0)
    assert light["people"].budget == Budget(1.5 / 8, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("max = 120", "maximum = 120", 11, "needs `max`"),
        ("min = 0\nmax = 120", "min = 120\nmax = 0", 8, "not below max"),
        ('type = "text"', 'type = "texts"', 23, "no column type 'texts'"),
        ('kind = "count"', 'kind = "counts"', 26, "no kind of publication 'counts'"),
        ('column = "age"\nweight', 'column = "aeg"\nweight', 30, "no column 'aeg'"),
        ("weight = 3", "weight = -3", 31, "must be positive"),
        ("weight = 3", 'weight = "3"', 31, "`weight` must be a number"),
        ("weight = 3", "wieght = 3", 31, "Did you mean `weight`"),
        ("epsilon = 1.5", "epsilon = 0", 6, "epsilon must be positive"),
        ("epsilon = 1.5", "epsilon = 1.5\ndelta = 2", 7, "delta must be"),
        ("epsilon = 1.5", "epsilon = true", 6, "must be a number"),
        ('id = "person"', 'id = "person"\nmax_rows_per_person = 0', 4, "is impossible"),
        ('column = "note"', 'column = "age"', 51, "board takes a column of texts"),
        ('kind = "mean"\ncolumn = "age"', 'kind = "mean"\ncolumn = "city"', 30, "mean takes numbers"),
        ("epsilon = 1.5", "epsilon = DECIDE", 6, "still says DECIDE"),
        ("epsilon = 1.5", "epsilon = a b", 6, "is not TOML"),
        ('columns = ["city", "age"]', 'columns = "city"', 43, "`columns` must be a list"),
        ("[budget]", "[budgets]", 5, "needs `budget`"),
        ("epsilon = 1.5", f"epsilon = {'9' * 400}", 1, "too large"),
        ('columns = ["age"]', 'columns = [["age"]]', 47, "no column ['age']"),
        ('columns = ["age"]', "columns = []", 47, "at least one column"),
        ('id = "person"', 'id = "person"\nexcess = "some"', 4, "is not a rule"),
        ('columns = ["age"]', 'columns = ["age", "income"]', 45, "the noise would not fit"),
        ('source = "people.csv"', 'source = "people.csv"\nsalt = 1', 3, "has no key `salt`"),
    ],
)
def test_an_error_points_at_its_line(old, new, line, message):
    assert old in GOOD
    with pytest.raises(BadSpec) as caught:
        Spec.parse(GOOD.replace(old, new, 1), Path("my.toml"))
    assert f"my.toml, line {line}:" in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        Spec.load(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadFile, match="not UTF-8"):
        Spec.load(tmp_path / "bytes.toml")


def test_the_source_is_beside_the_spec(tmp_path):
    (tmp_path / "spec.toml").write_text(GOOD, encoding="utf-8")
    assert Spec.load(tmp_path / "spec.toml").source == str(tmp_path / "people.csv")


def test_lines_are_found_in_tables_with_dots_and_quotes():
    text = '[a."b c".d]\nx = 1\n[[e]]\n"y z" = 2\n'
    assert line_of(text, ("a", "b c", "d", "x")) == 2
    assert line_of(text, ("e", "y z")) == 4
    assert line_of(text, ("a", "b c", "missing")) == 1


def test_a_draft_leaves_every_bound_to_a_person(tmp_path):
    columns = {"id": "VARCHAR", "age": "BIGINT", "height": "DOUBLE", "sick": "BOOLEAN", "my city": "VARCHAR"}
    text = draft("people.csv", columns, tmp_path / "spec.toml", person="id")
    with pytest.raises(BadSpec, match="still says DECIDE"):
        Spec.parse(text)
    filled = text
    for field, value in (("epsilon", "1.0"), ("min", "0"), ("max", "100"), ("step", "0.5")):
        filled = filled.replace(f"{field} = {DECIDE}", f"{field} = {value}")
    spec = Spec.parse(filled.replace(f"[{DECIDE}]", '["x"]'))
    assert spec.schema.names == ("age", "height", "sick", "my city")
    assert spec.schema.columns[1].step == Fraction(1, 2)


def test_a_draft_never_guesses_whose_a_record_is(tmp_path):
    """The first column is often an age, and sometimes a column is called id that numbers households."""
    columns = {"id": "BIGINT", "age": "BIGINT", "person": "VARCHAR"}
    text = draft("people.csv", columns, tmp_path / "spec.toml")
    assert f"id = {DECIDE}" in text
    assert all(f"[columns.{name}]" in text for name in columns)
    named = draft("people.csv", columns, tmp_path / "spec.toml", person="person")
    assert 'id = "person"' in named
    assert "[columns.person]" not in named
    with pytest.raises(NotFound, match="there is no column 'pid'"):
        draft("people.csv", columns, tmp_path / "spec.toml", person="pid")


SPEC_BY = """
[data]
source = "people.csv"
id = "id"
[columns.age]
type = "number"
min = 0
max = 100
[columns.city]
type = "category"
values = ["a", "b"]
[columns.note]
type = "text"
[budget]
epsilon = 1.0
[publish.ages]
kind = "mean"
column = "age"
by = ["city"]
where = "age >= 18"
"""


def test_a_publication_by_group_and_with_a_condition():
    [mechanism] = Spec.parse(SPEC_BY).mechanisms.values()
    assert (mechanism.kind, [c.name for c in mechanism.by], mechanism.where.text) == (
        "mean",
        ["city"],
        "age >= 18",
    )


@pytest.mark.parametrize(
    ("line", "instead", "number", "says"),
    [
        ('by = ["city"]', 'by = ["town"]', 19, "there is no column 'town'"),
        ('by = ["city"]', 'by = ["note"]', 19, "Grouped takes"),
        ('by = ["city"]', 'by = ["city", "city"]', 19, "grouped by twice"),
        ('by = ["city"]', 'by = "city"', 19, "must be a list"),
        ('where = "age >= 18"', 'where = "age >= "', 20, "it ends too early"),
        ('where = "age >= 18"', "where = \"note = 'x'\"", 20, "names 'note'"),
        (
            'kind = "mean"\ncolumn = "age"',
            'kind = "board"\ncolumn = "note"',
            19,
            "cannot be published by group",
        ),
    ],
)
def test_groups_and_conditions_that_cannot_be_point_at_their_line(line, instead, number, says):
    with pytest.raises(BadSpec) as refused:
        Spec.parse(SPEC_BY.replace(line, instead))
    assert refused.value.line == number
    assert says in refused.value.what
