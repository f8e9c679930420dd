"""A table that grows, from Python, from a spec and from a database: one budget, every kind of total.

Covers: curate/joining.py
"""

from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pytest

from undeleted import (
    AlreadyJoined,
    BadBudget,
    BadColumns,
    BadSetting,
    BadSpec,
    Boolean,
    Budget,
    BudgetSpent,
    Category,
    Curator,
    Growing,
    GrownBoxes,
    GrownRangeCounts,
    NoisyCount,
    NoisyMean,
    NoisyPairs,
    Number,
    Schema,
    StoreError,
    WrongType,
    count,
    histogram,
    mean,
    publish,
    publish_more,
)
from undeleted.curate.growing import Growing as Same
from undeleted.curate.publications import build, kinds
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.releases.linear import Linear
from undeleted.curate.spec import Spec
from undeleted.curate.tick_clock import TickClock
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, NoNoise
from undeleted.foundations.privacy import Zcdp, account
from undeleted.foundations.privacy.binary_tree import BinaryTree
from undeleted.foundations.privacy.cohorts import Cohorts
from undeleted.foundations.privacy.square_root import SquareRoot

X, SICK, TALL = Number("x", min=0, max=9), Boolean("sick"), Boolean("tall")
AGE, CITY = Number("age", min=0, max=119), Category("city", values=("Rome", "Oslo"))
WIDE = Budget(200.0, 1e-6)  # so that noise hides nothing that these tests look for
pytestmark = pytest.mark.filterwarnings("ignore::undeleted.errors.WeakPrivacyWarning")


def people(first, n, age=40):
    ids = [f"p{i}" for i in range(first, first + n)]
    return {"pid": ids, "age": [age] * n, "city": ["Rome", "Oslo"] * (n // 2)}


def grown(**settings):
    grows = Growing(**({"every": "manual", "horizon": 50} | settings))
    return publish(people(0, 1000), id="pid", budget=WIDE, grows=grows, n=count(), ages=mean(AGE, by=CITY))


def total(curator, **asked):
    return curator.show("n").to_arrow(**asked).to_pylist()[0]["estimate"]


def test_a_table_grows_in_six_lines():
    curator = grown()
    assert curator.add(people(1000, 400, age=60)).added == 400
    assert total(curator) == pytest.approx(1000, abs=30)
    assert curator.tick().ticks == 2
    assert total(curator) == pytest.approx(1400, abs=30)
    assert total(curator, tick=0) == pytest.approx(1000, abs=30)
    curator.delete(*(f"p{i}" for i in range(500)))
    assert total(curator) == pytest.approx(900, abs=30)
    assert total(curator, tick=0) == pytest.approx(500, abs=30), "they are gone from earlier ticks as well"
    history = curator.show("ages").to_pandas(tick="all")
    assert list(history.columns[:3]) == ["publication", "tick", "city"]
    assert history.groupby("tick").size().tolist() == [2, 2]
    assert curator.left == 0.0
    assert curator.check() == []
    assert Same is Growing


def test_the_budget_pays_for_all_ticks():
    curator = grown(max_corrections=1)
    mechanisms = curator.store.mechanisms.values()
    assert account(curator.events, WIDE.delta).epsilon <= WIDE.epsilon
    assert account([*curator.events, *curator.events], WIDE.delta).epsilon > 1.2 * WIDE.epsilon
    assert all(isinstance(m, Arrivals) for m in mechanisms)
    with pytest.raises(BadSetting, match="pays for all of its ticks"):
        curator.publish_more({"more": NoisyCount(Budget(0.1))})


def test_corrections_show_after_the_next_tick():
    curator = grown(max_corrections=1)
    older = {"pid": [f"p{i}" for i in range(0, 1000, 2)], "age": [100] * 500, "city": ["Rome"] * 500}
    before = curator.show("ages").to_arrow().to_pylist()
    assert curator.correct(older).corrected == 500
    assert curator.show("ages").to_arrow().to_pylist() == before
    curator.tick()
    [rome, oslo] = curator.show("ages").to_arrow().to_pylist()
    assert rome["estimate"] == pytest.approx(100, abs=5)
    assert oslo["estimate"] == pytest.approx(40, abs=5)
    assert total(curator) == pytest.approx(1000, abs=30)
    with pytest.raises(BadSetting, match="no correction left of 1"):
        curator.correct(people(0, 2, age=7))


def test_hidden_leavers_show_at_the_next_tick_and_erasure_is_not_claimed():
    curator = grown(leavers=WIDE)
    before = total(curator)
    done = curator.delete(*(f"p{i}" for i in range(400)))
    assert (done.deleted, done.version, done.erased) == (400, 1, False)
    assert total(curator) == before
    curator.tick()
    assert total(curator) == pytest.approx(600, abs=40)
    assert curator.check() == []


def test_ticks_that_were_missed_are_closed_late_one_by_one():
    curator = grown(every="day")
    start = curator.clock.start
    assert curator.tick(start + timedelta(hours=23)).closed == 0
    done = curator.tick(start + timedelta(days=3, hours=1))
    assert (done.closed, done.ticks, done.due) == (3, 4, start + timedelta(days=4))
    with pytest.raises(BadSetting, match="Ticks close in order"):
        curator.tick(start + timedelta(days=2))
    assert curator.status().ticks == 4
    assert curator.tick(start + timedelta(days=400)).ticks == 50, "no further than the horizon"
    over = curator.tick(start + timedelta(days=401))
    assert (over.closed, over.ticks, over.due) == (0, 50, None), "a clock that goes on is no error"
    with pytest.raises(BadSetting, match="nobody can join any more"):
        curator.add(people(5000, 2))
    assert curator.delete("p1").deleted == 1


def test_everything_that_is_a_total_grows():
    """Every kind of a spec over a small table: after a tick the answers are of all who are there."""
    x, y, flag, other = (
        Number("x", min=0, max=7),
        Number("y", min=0, max=3),
        Boolean("flag"),
        Boolean("other"),
    )
    schema = Schema([x, y, flag, other, CITY], id="id")

    def table(first, n):
        some = range(first, first + n)
        columns = {"x": [i % 8 for i in some], "y": [i % 4 for i in some]}
        flags = {"flag": [i % 2 == 0 for i in some], "other": [i % 3 == 0 for i in some]}
        return {"id": [str(i) for i in some]} | columns | flags | {"city": ["Rome", "Oslo"] * (n // 2)}

    grew = []
    for kind, ((takes, _), *_) in kinds().items():
        by_key = {"": (), "column": (x,), "columns": (x, y), "features": (x, y)}
        over = by_key[takes.columns]
        over = (flag, other)[: len(over)] if over and Number not in takes.of else over
        target = {True: y, False: CITY}[Number in takes.target] if takes.target else None
        over = tuple(column for column in over if column is not target)
        if not takes.noisy:
            continue
        mechanism = build(kind, over, target, dict(takes.options), budget=Zcdp(4.0), rows_per_person=1)
        if not isinstance(mechanism, Linear):
            continue  # in a test below
        statistic = mechanism.statistic
        assert mechanism.with_laws(mechanism.laws).statistic == statistic, kind
        used = [c for c in schema.columns if c in statistic.columns] or [x]
        curator = Curator(Schema(used, id="id") if kind != "people" else schema, WIDE)
        curator.publish(table(0, 400), {"it": Arrivals(mechanism, 9)}, TickClock("manual", datetime.now(UTC)))
        curator.add(table(400, 200))
        curator.tick()
        curator.delete(*(str(i) for i in range(0, 600, 5)))
        assert curator.check() == [], kind
        release = curator.show("it").release
        exact = mechanism.contribution(
            curator.schema.table(
                {k: [v for i, v in enumerate(column) if i % 5] for k, column in table(0, 600).items()}
            )
        )
        expected = np.zeros(statistic.size)
        exact.add_to(expected)
        arrivals = curator.store.mechanisms["it"]
        spread = max(getattr(law, "sigma", 0) or getattr(law, "scale", 0) for law in arrivals.laws)
        wrong = np.abs(arrivals.total(release) - expected).max()
        assert wrong < 12 * spread * arrivals.factors.spread(1), kind
        list(arrivals.answers(release, {}, 0.95))
        assert arrivals.rows(release)
        grew.append(kind)
    assert set(grew) >= {"count", "people", "sum", "mean", "variance", "histogram", "products", "forest"}
    assert set(grew) >= {"naive-bayes", "linear-regression", "logistic-regression", "pca", "quantiles"}


@pytest.mark.parametrize(
    ("budget", "horizon", "kind", "law"),
    [
        (Budget(1.0, 1e-6), 365, SquareRoot, DiscreteGaussian),
        (Budget(1.0), 365, Cohorts, DiscreteLaplace),
        (Budget(1.0), 3650, BinaryTree, DiscreteLaplace),
    ],
)
def test_the_noise_that_is_smallest_at_the_horizon_is_chosen(budget, horizon, kind, law):
    arrivals = Arrivals(NoisyCount(budget), horizon)
    assert isinstance(arrivals.factors, kind)
    assert isinstance(arrivals.laws[0], law)
    assert account(arrivals.events, budget.delta).epsilon == pytest.approx(budget.epsilon, rel=0.1)
    assert account(arrivals.events, budget.delta).epsilon <= budget.epsilon * (1 + 1e-9)


def test_publications_of_one_table_grow_alike():
    schema = Schema([AGE], id="pid")
    some = {"pid": ["a", "b"], "age": [1, 2]}
    for second in (
        Arrivals(NoisyCount(Budget(0.1, 1e-7)), 10),
        Arrivals(NoisyCount(Budget(0.1, 1e-7)), 9, max_corrections=1),
        Arrivals(NoisyCount(Budget(0.1, 1e-7)), 9, leavers=Budget(0.1, 1e-7)),
        NoisyCount(Budget(0.1, 1e-7)),
    ):
        first = Arrivals(NoisyMean(AGE, Budget(0.1, 1e-7)), 9)
        with pytest.raises(BadSetting, match="share its horizon, corrections and leavers"):
            Curator(schema, WIDE).publish(some, {"a": first, "b": second})
    clock = TickClock("day", datetime.now(UTC))
    with pytest.raises(BadSetting, match="a clock needs mechanisms that grow"):
        Curator(schema, WIDE).publish(some, {"b": NoisyCount(Budget(0.1))}, clock)
    for wrong, says in (
        ({"every": "fortnight"}, "is not a clock"),
        ({"leavers": "hidden"}, "is not a budget|must be|cannot be"),
    ):
        with pytest.raises((BadSetting, BadBudget), match=says):
            Growing(**wrong)


def test_a_table_that_does_not_grow_says_so():
    curator = publish(people(0, 10), id="pid", budget=1.0, n=count(), columns=[AGE])
    for change in (lambda: curator.add(people(10, 2)), lambda: curator.correct(people(0, 2)), curator.tick):
        with pytest.raises(BadSetting, match="does not grow"):
            change()
    with pytest.raises(BadSetting, match="reserve cannot be used"):
        publish(people(0, 10), id="pid", budget=1.0, reserve=0.5, grows=Growing(), n=count(), columns=[AGE])
    grows = grown()
    with pytest.raises(BadSetting):
        publish_more(grows, n2=count(), share=0.1)
    with pytest.raises(AlreadyJoined):
        grows.add(people(0, 2))


SPEC = """
[data]
source = "people.csv"
id = "pid"
[columns.age]
type = "number"
min = 0
max = 119
[budget]
epsilon = 1
delta = 1e-6
[publish.people]
kind = "count"
[publish.ages]
kind = "mean"
column = "age"
[arrivals]
every = "day"
horizon = 365
"""


def test_a_spec_names_the_clock():
    spec = Spec.parse(
        SPEC + 'max_corrections = 2\nleavers = "hidden"\nleavers_epsilon = 0.5\nleavers_delta = 1e-6'
    )
    assert (spec.growing.every, spec.growing.max_corrections, spec.growing.leavers.epsilon) == ("day", 2, 0.5)
    mechanisms = list(spec.mechanisms.values())
    cost = account([e for m in mechanisms for e in m.events], 1e-6).epsilon
    assert cost <= 1.0
    hidden = account([e for m in mechanisms for e in m.departure_events], 1e-6).epsilon
    assert hidden <= 0.5
    assert hidden > 0.4
    assert cost > 0.8


@pytest.mark.parametrize(
    ("wrong", "line", "says"),
    [
        ('leavers = "gone"', 20, "`leavers` is not a rule: 'gone'."),
        ("leavers_epsilon = 1", 20, '`leavers_epsilon` needs leavers = "hidden".'),
        ('leavers = "hidden"', 17, "[arrivals] needs `leavers_epsilon`, a number."),
        ('leavers = "hidden"\nleavers_epsilon = -1', 21, "epsilon must be positive and finite"),
        ("max_corrections = -1", 20, "max_corrections = -1 is not a number of corrections."),
        ('noise = "less"', 20, "noise = 'less' does not exist."),
        ("corrections = 1", 20, "[arrivals] has no key `corrections`."),
    ],
)
def test_a_wrong_clock_is_reported_with_its_line(wrong, line, says):
    with pytest.raises(BadSpec) as caught:
        Spec.parse(SPEC + wrong)
    assert says in str(caught.value)
    assert caught.value.line == line


def test_wrong_horizons_and_clocks_and_publications_are_reported_with_their_line():
    for old, new, line, says in (
        ("horizon = 365", "horizon = 0", 19, "a horizon of 0 ticks is not possible"),
        ('every = "day"', 'every = "fortnight"', 18, "every = 'fortnight' is not a clock"),
        ("delta = 1e-6", "delta = 1e-6\nreserve = 0.5", 12, "`reserve` cannot be used with [arrivals]"),
        ("max_corrections = 0", "max_corrections = 1", 14, "keeps the shape of the first release, without"),
    ):
        spec = SPEC + "max_corrections = 0\n"
        if "shape" in says:
            spec = spec.replace('kind = "mean"\ncolumn = "age"', 'kind = "k-means"\nfeatures = ["age"]')
        with pytest.raises(BadSpec) as caught:
            Spec.parse(spec.replace(old, new))
        assert says in str(caught.value)
        assert caught.value.line == line, str(caught.value)


def test_people_join_from_a_database_by_a_watermark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(tmp_path / "app.duckdb")) as db:
        db.execute("CREATE TABLE signups (pid TEXT, age INTEGER, city TEXT, load INTEGER)")
        db.execute("INSERT INTO signups SELECT 'd' || i, 30, 'Rome', i // 100 FROM range(300) AS t(i)")
    curator = grown()
    there = "duckdb://app.duckdb"
    assert curator.add_from(there, "signups", watermark="load").added == 300
    assert curator.add_from(there, "signups", watermark="load").added == 0
    with duckdb.connect(str(tmp_path / "app.duckdb")) as db:
        db.execute("INSERT INTO signups SELECT 'e' || i, 30, 'Oslo', 3 FROM range(50) AS t(i)")
    assert curator.add_from(there, "signups", watermark="load").added == 50
    with pytest.raises(AlreadyJoined, match="350 people"):
        curator.add_from(there, "signups")
    with pytest.raises(BadColumns, match="not in signups"):
        curator.add_from(there, "signups", watermark="when")
    for personal in ("pid", "age"):
        with pytest.raises(BadColumns, match="is kept in the store, and this column is about people"):
            curator.add_from(there, "signups", watermark=personal)
    curator.tick()
    assert total(curator) == pytest.approx(1350, abs=40)
    assert curator.check() == []


def test_watermarks_are_one_database_s_and_never_go_back(tmp_path, monkeypatch):
    """A process that read an older mark takes nobody in again who has left meanwhile."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as db:
            db.execute("CREATE TABLE signups (pid TEXT, age INTEGER, city TEXT, load INTEGER, note TEXT)")
            db.execute(f"INSERT INTO signups SELECT '{name}' || i, 30, 'Rome', 1, 'x' FROM range(5) AS t(i)")
    grows = Growing("manual", 9)
    first = publish(
        people(0, 10), id="pid", budget=WIDE, store="s.db", grows=grows, n=count(), ages=mean(AGE, by=CITY)
    )
    second = Curator.open("s.db")
    assert first.add_from("duckdb://a.duckdb", "signups", watermark="load").added == 5
    assert first.delete("a1", "a2").deleted == 2
    with pytest.raises(StoreError, match="another process has read this table meanwhile"):
        second.add_from("duckdb://a.duckdb", "signups", watermark="load", skip_existing=True)
    assert second.add_from("duckdb://b.duckdb", "signups", watermark="load").added == 5, "another database"
    with pytest.raises(BadColumns, match="a watermark cannot be of type string"):
        first.add_from("duckdb://a.duckdb", "signups", watermark="note")
    second.close()
    first.close()


def test_a_table_of_another_schema_is_refused():
    curator = grown()
    other = Schema([Number("age", min=0, max=10**6), CITY], id="pid").table(people(5000, 2, age=10**5))
    for change in (curator.add, curator.correct):
        with pytest.raises(WrongType, match="encoded with another schema"):
            change(other)


def test_what_hides_leavers_has_one_budget_and_is_charged_to_it():
    schema, some, law = Schema([AGE], id="pid"), {"pid": ["a", "b"], "age": [1, 2]}, Budget(0.5, 1e-7)

    def hides(**leavers):
        return {n: Arrivals(NoisyCount(Budget(0.1, 1e-7)), 9, leavers=law) for n, law in leavers.items()}

    with pytest.raises(BadSetting, match="leavers are hidden without a budget"):
        Curator(schema, WIDE).publish(some, hides(a=law))
    with pytest.raises(BadSetting, match="makes no promise of differential privacy to those who leave"):
        Curator(schema, WIDE).publish(some, hides(a=NoNoise()), leavers=Budget(1.0, 1e-6))
    with pytest.raises(BudgetSpent):
        Curator(schema, WIDE).publish(some, hides(a=law, b=law, c=law), leavers=Budget(0.6, 1e-6))
    curator = Curator(schema, WIDE)
    curator.publish(some, hides(a=law), leavers=Budget(1.0, 1e-6))
    assert 0.3 < curator.store.facts["leavers"]["epsilon"] <= 0.51
    assert curator.store.facts["leavers"]["delta"] == 1e-6


WIDE_PAY = Number("pay", min=0, max=2**32 - 1)
GREW = {
    "quantiles": (GrownRangeCounts(WIDE_PAY, Zcdp(50.0)), {"pay": 10**6}),
    "k-means": (GrownBoxes((AGE, X), Zcdp(50.0), clusters=2), {"age": 1, "x": 1}),
    "recommender": (NoisyPairs((SICK, TALL), Zcdp(50.0), at_most=2, threshold=-1000), {}),
}


def of_grown(first, n):
    some = range(first, first + n)
    pay = [10**9 + 10**6 * i for i in some]
    return {
        "pid": [f"p{i}" for i in some],
        "pay": pay,
        "age": [20 + 60 * (i % 2) + i % 7 for i in some],
        "x": [1 + 6 * (i % 2) for i in some],
        "sick": [i % 2 == 0 for i in some],
        "tall": [i % 3 == 0 for i in some],
    }


@pytest.mark.parametrize("noise", ["factorization", "cohorts"])
@pytest.mark.parametrize("name", GREW)
def test_what_grew_where_people_are_keeps_its_shape_and_counts_newcomers_into_it(name, noise):
    """The cells are those of all who are there, in the shape of the first: exactly, but for the noise."""
    mechanism, _ = GREW[name]
    schema = Schema([WIDE_PAY, AGE, X, SICK, TALL], id="pid")
    curator = Curator(schema, Budget(400.0, 1e-6))
    curator.publish(of_grown(0, 600), {"it": Arrivals(mechanism, 9, noise)})
    shape = curator.show("it").release.shape
    curator.add(of_grown(600, 300))
    curator.tick()
    curator.delete(*(f"p{i}" for i in range(0, 900, 3)))
    curator.tick()
    assert curator.check() == []
    publication = curator.show("it")
    assert all(map(np.array_equal, publication.release.shape, shape))
    left = {k: [v for i, v in enumerate(column) if i % 3] for k, column in of_grown(0, 900).items()}
    arrivals = curator.store.mechanisms["it"]
    expected = np.zeros(arrivals.cells(publication.release.shape))
    arrivals.added(publication.release.shape, schema.table(left)).add_to(expected)
    total = arrivals.total(publication.release)
    laws = [max(a.sigma, b.sigma * arrivals.factors.others.spread(1)) for a, b in pairs_of_laws(arrivals)]
    parts = arrivals.mechanism.noised_parts(publication.release.shape)
    spread = np.concatenate([[laws[number]] * width for width, number in parts])
    assert (np.abs(total - expected) < 12 * spread).all()
    assert list(arrivals.answers(publication.release, {}, 0.95))
    rho = sum(event.rho for event in arrivals.events)
    assert rho == pytest.approx(50.0, rel=1e-6), "newcomers pay what the first people paid"
    assert sum(event.rho for event in mechanism.events) == pytest.approx(50.0, rel=1e-6)


def pairs_of_laws(arrivals):
    return zip(arrivals.mechanism.laws, arrivals.laws, strict=True)


def test_quantiles_of_many_values_follow_the_newcomers():
    schema = Schema([WIDE_PAY], id="pid")
    curator = Curator(schema, WIDE)
    pays = Arrivals(GrownRangeCounts(WIDE_PAY, Budget(50.0, 1e-6)), 12)
    first = {"pid": [f"p{i}" for i in range(3000)], "pay": [10**9 + i for i in range(3000)]}
    curator.publish(first, {"pays": pays})
    newcomers = {"pid": [f"q{i}" for i in range(9000)], "pay": [3 * 10**9 + i for i in range(9000)]}
    curator.add(newcomers)
    [before] = curator.show("pays").to_arrow(quantile=0.5).to_pylist()
    curator.tick()
    [after] = curator.show("pays").to_arrow(quantile=0.5).to_pylist()
    [then] = curator.show("pays").to_arrow(quantile=0.5, tick=0).to_pylist()
    assert before["estimate"] == then["estimate"] == pytest.approx(10**9, rel=0.01)
    assert after["low"] <= 3 * 10**9 + 1500 <= after["high"]
    assert after["estimate"] > 2 * 10**9


@pytest.mark.parametrize("budget", [Budget(3.0), Budget(3.0, 1e-6), Zcdp(0.2)])
def test_nobody_pays_more_whenever_they_join_what_grew(budget):
    """By brute force over one person: row 0 alone for the first people, the other rows for newcomers."""
    small = Number("v", min=0, max=15)
    arrivals = Arrivals(GrownRangeCounts(small, budget, branching=4, threshold=10**6), 6)
    shape = (np.arange(4, dtype=np.uint64),)
    pure = isinstance(budget, Budget) and budget.delta == 0
    for joined in range(6):
        moved = np.zeros((6, 4))
        contribution = arrivals.added(shape, Schema([small]).table([9]))
        for tick in range(joined, 6):
            contribution.add_to(row := np.zeros(4))
            moved[tick] = row * arrivals.factors.column(joined, 6)[tick - joined]
        laws = [arrivals.mechanism.laws[0], *[arrivals.laws[0]] * 5]
        if pure:
            paid = sum(np.abs(moved[t]).sum() / law.scale for t, law in enumerate(laws))
            own = 1 / arrivals.mechanism.laws[0].scale
        else:
            paid = sum((moved[t] ** 2).sum() / (2 * law.sigma**2) for t, law in enumerate(laws))
            own = 1 / (2 * arrivals.mechanism.laws[0].sigma ** 2)
        assert paid <= own * (1 + 1e-9)
        assert joined > 1 or paid == pytest.approx(own)
    for refused in ({"max_corrections": 1}, {"leavers": Budget(1.0, 1e-6)}):
        with pytest.raises(BadSetting, match="keeps the shape of the first release, without"):
            Arrivals(GrownRangeCounts(small, budget, branching=4, threshold=10**6), 6, **refused)


def test_a_histogram_shows_its_cells_at_every_tick():
    some = people(0, 100)
    grows = Growing("manual", 5)
    curator = publish(some, id="pid", budget=WIDE, grows=grows, table=histogram(CITY), columns=[AGE])
    curator.add(people(100, 10))
    curator.tick()
    rows = curator.show("table").to_arrow(tick="all").to_pylist()
    assert [(row["tick"], row["city"]) for row in rows] == [
        (0, "Rome"),
        (0, "Oslo"),
        (1, "Rome"),
        (1, "Oslo"),
    ]
    assert sum(row["estimate"] for row in rows[2:]) == pytest.approx(110, abs=20)
