"""A number of people: each counts once, at the price of one row, and leaves with all rows.

Covers: curate/statistics/people.py, foundations/schema/first_row.py
"""

from fractions import Fraction
from itertools import product

import ibis
import pytest

from support.worlds import SmallWorld
from undeleted import count, people, publish
from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.ibis import Ibis
from undeleted.curate.mechanisms import Grouped, NoisyCount, NoisyPeople
from undeleted.curate.statistics import People
from undeleted.errors import BadColumns, BadSetting
from undeleted.foundations.coins import ClampedGeometric
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Number, Schema
from undeleted.foundations.schema.first_row import FIRST
from undeleted.interfaces.cli import run

X = Number("x", min=0, max=1)
WORLD = SmallWorld(
    NoisyPeople(ClampedGeometric(Fraction(1, 3), low=0, high=4)),
    Schema([X, FIRST]),
    points=(0, 1, 1),
    others=(0, 0, 0),
)
MANY = Schema([X, FIRST], id="id", rows_per_person=3)


def test_one_person_with_any_rows_moves_the_total_by_one():
    """Over all small tables: people in any order, each with up to three rows, and one of them left out."""
    for ids in product("abc", repeat=4):
        if max(map(ids.count, "abc")) > 3:
            continue
        rows = {"id": list(ids), "x": [0] * 4}
        total = Arrays(MANY.table(rows)).total(People())[0]
        assert total == len(set(ids))
        for person in set(ids):
            rest = [i for i in ids if i != person]
            without = Arrays(MANY.table({"id": rest, "x": [0] * len(rest)})).total(People())[0]
            assert total - without == 1
        assert Ibis(MANY, ibis.memtable(rows)).total(People())[0] == total


def test_the_price_is_that_of_one_row():
    [law] = NoisyPeople(Budget(0.5), rows_per_person=3).laws
    assert law == NoisyCount(Budget(0.5)).laws[0]
    [event] = NoisyPeople(Budget(0.5), rows_per_person=3).events
    assert (event.rows, event.epsilon) == (1, pytest.approx(0.5))
    assert NoisyCount(Budget(0.5), rows_per_person=3).laws[0].scale == pytest.approx(6.0)


def test_people_and_rows_stand_beside_each_other_and_a_person_leaves_with_all_rows():
    rows = {"pid": [f"p{i // 3}" for i in range(300)], "x": [0, 1, 1] * 100}
    curator = publish(
        rows, id="pid", budget=10.0, rows_per_person=3, columns=[X], people=people(), rows=count()
    )
    before = {name: int(curator.show(name).release.value[0]) for name in ("people", "rows")}
    assert abs(before["people"] - 100) < 12
    assert abs(before["rows"] - 300) < 36
    assert curator.delete("p7", "p9", "nobody").deleted == 2
    after = {name: int(curator.show(name).release.value[0]) for name in before}
    assert (before["people"] - after["people"], before["rows"] - after["rows"]) == (2, 6)
    assert curator.check() == []


def test_a_curator_derives_the_first_rows_by_itself():
    curator = Curator(Schema([X], id="id", rows_per_person=3), Budget(8.0))
    curator.publish({"id": ["a", "b", "a"], "x": [0, 0, 1]}, {"n": NoisyPeople(8.0, rows_per_person=3)})
    assert abs(int(curator.show("n").release.value[0]) - 2) < 4
    with pytest.raises(BadColumns):
        Curator(Schema([Boolean("(first row)")], id="id"), Budget(1.0)).publish(
            {"id": ["a"], "(first row)": [True]}, {"n": NoisyPeople(1.0)}
        )


def test_people_are_not_counted_by_group():
    with pytest.raises(BadSetting, match="one person may have rows in several"):
        Grouped(NoisyPeople(1.0), (X,))


@pytest.mark.parametrize("source", ["people.csv", "people.parquet", "duckdb"])
def test_every_source_counts_a_person_once_across_blocks(tmp_path, monkeypatch, source):
    """More rows than fit into one block, each person's far apart."""
    import duckdb

    from undeleted.curate import files

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "ROWS", 50)
    query = "SELECT 'p' || (i % 100) AS pid, i % 2 AS x FROM range(300) AS t(i)"
    where = f'source = "{source}"'
    if source == "duckdb":
        duckdb.connect("t.duckdb").execute(f"CREATE TABLE t AS {query}").close()
        where = 'connection = "duckdb://t.duckdb"\ntable = "t"'
    else:
        duckdb.sql(f"COPY ({query}) TO '{source}'")
    (tmp_path / "spec.toml").write_text(
        f'[data]\n{where}\nid = "pid"\nmax_rows_per_person = 3\n[budget]\nepsilon = 9.0\n[columns.x]\n'
        'type = "number"\nmin = 0\nmax = 1\n[publish.n]\nkind = "people"\n'
    )
    assert run(["publish", "spec.toml"]) == 0
    with Curator.open("undeleted.db") as curator:
        before = int(curator.show("n").release.value[0])
        assert abs(before - 100) < 5
        curator.delete(*(f"p{i}" for i in range(99)))
        assert int(curator.show("n").release.value[0]) == before - 99
        assert curator.check() == []
