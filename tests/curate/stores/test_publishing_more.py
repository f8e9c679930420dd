"""Further publications, from the records that are there, out of what is left; on both kinds of store.

Covers: curate/publications.py, foundations/privacy/ledger.py
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import (
    BulletinBoard,
    GrownRangeCounts,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
)
from undeleted.curate.publications import left_of
from undeleted.curate.stores import Fold
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.errors import (
    AlreadyExists,
    BadColumns,
    BadSetting,
    BudgetSpent,
    StoreError,
    UnknownName,
)
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace
from undeleted.foundations.privacy import Budget, Event, Ledger, account, filtered
from undeleted.foundations.privacy.accounting import zcdp_epsilon
from undeleted.foundations.schema import Category, Number, Schema, Text
from undeleted.interfaces.cli import run

AGE, CITY = Number("age", min=0, max=99), Category("city", values=("a", "b"))
WIDE, SHOE, NOTE = Number("wide", min=0, max=2**20), Number("shoe", min=30, max=50), Text("note")
PEOPLE = Schema([AGE, CITY, WIDE, SHOE, NOTE], id="pid")
N = 300
ROWS = {
    "pid": [f"p{i}" for i in range(N)],
    "age": [i % 100 for i in range(N)],
    "city": ["ab"[i % 2] for i in range(N)],
    "wide": [i * 3001 % 2**20 for i in range(N)],
    "shoe": [30 + i % 20 for i in range(N)],
    "note": ["hello"] * N,
}
PRECISE = 1e6  # so little noise that exact values can be compared
POSTGRES = pytest.param("postgres", marks=pytest.mark.services)


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    if request.param == "file":
        return str(tmp_path / "people.db")
    return request.getfixturevalue("server").url(request.getfixturevalue("mark"), tmp_path / "people.key")


def published(place, epsilon=2 * PRECISE):
    curator = Curator(PEOPLE, Budget(epsilon), place, keep=("city", "wide"), i_know=True)
    with pytest.warns(Warning, match="next to nothing"):
        curator.publish(ROWS, {"ages": NoisyHistogram((AGE,), PRECISE / 2)})
    return curator


def more():
    return {
        "table": NoisyHistogram((AGE, CITY), PRECISE / 4),
        "wide": GrownRangeCounts(WIDE, PRECISE / 4, threshold=5),
    }


def ages(curator, name="ages"):
    return curator.show(name).release.value


@pytest.mark.parametrize("fold", [None, Fold(people=1000, after=3600)], ids=["at-once", "held-back"])
def test_they_count_those_who_are_there_and_forget_like_the_first(place, fold):
    """Whoever left before was never in them; whoever leaves after is subtracted from the old and the new."""
    with published(place) as curator:
        curator.delete("p0", "p1", fold=fold)
        curator.publish_more(more())
        assert curator.publications == ("ages", "table", "wide")
        table = ages(curator, "table").reshape(100, 2)
        assert table.sum() == N - 2
        assert (table[0, 0], table[1, 1], table[2, 0]) == (N / 100 - 1, N / 100 - 1, N / 100)
        assert curator.show("wide").mechanism.total(curator.show("wide").release).value == N - 2
        assert curator.check() == []
        curator.delete("p2", fold=fold)
        assert curator.check() == []
        assert ages(curator, "table").sum() == (N - 3 if fold is None else N - 2)
        assert ages(curator).sum() == (N - 3 if fold is None else N)
    with Curator.open(place) as again:
        assert again.check() == []
        assert again.publications == ("ages", "table", "wide")
        again.delete("p4", "p5")
        assert again.check() == []


def test_a_process_that_had_opened_the_store_before_subtracts_from_the_new_ones_too(place):
    """It was opened when there was one publication; its deletion must reach the others all the same."""
    with published(place) as one, Curator.open(place) as other:
        one.publish_more(more())
        other.delete("p7")
        assert ages(one, "table").reshape(100, 2)[7, 1] == N / 100 - 1
        assert ages(other, "table").sum() == N - 1
        assert one.check() == other.check() == []
        with pytest.raises(UnknownName):
            other.show("nothing of that name")


def test_two_processes_that_publish_more_do_not_spend_the_same_budget_or_take_the_same_name(place):
    """Both had opened the store before either published: the second sees what the first did."""
    with published(place, epsilon=PRECISE) as one, Curator.open(place) as other:
        one.publish_more({"cities": NoisyHistogram((CITY,), PRECISE / 3)})
        with pytest.raises(AlreadyExists):
            other.publish_more({"cities": NoisyHistogram((CITY,), PRECISE / 100)})
        with pytest.raises(BudgetSpent):
            other.publish_more({"more cities": NoisyHistogram((CITY,), PRECISE / 3)})
        other.publish_more({"more cities": NoisyHistogram((CITY,), PRECISE / 7)})
        assert one.show("more cities").release.value.sum() == N
        assert one.check() == other.check() == []
        assert one.left == pytest.approx(PRECISE * (1 / 2 - 1 / 3 - 1 / 7), rel=1e-6)


def test_deletions_meanwhile_are_counted_once(place):
    """Two connections delete everybody, one by one, while a third publishes: nothing is left anywhere."""
    begun = threading.Semaphore(0)

    def delete_all(first):
        with Curator.open(place) as mine:
            for i in range(first, N, 2):
                mine.delete(f"p{i}")
                begun.release()

    with published(place) as curator, ThreadPoolExecutor(2) as workers:
        done = [workers.submit(delete_all, first) for first in range(2)]
        for _ in range(20):
            begun.acquire()
        curator.publish_more(more())
        for worker in done:
            worker.result()
        assert curator.check() == []
        assert not ages(curator).any()
        assert not ages(curator, "table").any()


def test_what_cannot_be_paid_or_is_not_kept_is_refused_and_nothing_changes(place):
    with published(place, epsilon=PRECISE) as curator:
        before = curator.status()
        for mechanisms, error in (
            ({"x": NoisyHistogram((CITY,), PRECISE)}, BudgetSpent),
            ({"x": NoisyCount(PRECISE / 4), "y": NoisyCount(PRECISE / 3)}, BudgetSpent),
            ({"ages": NoisyCount(1.0)}, AlreadyExists),
            ({"x": NoisyMean(SHOE, 1.0)}, BadColumns),  # declared, but its codes are not in the store
            ({"x": NoisyMean(Number("age", min=0, max=50), 1.0)}, BadColumns),
            ({"x": BulletinBoard(NOTE)}, BadSetting),
            ({}, BadSetting),
        ):
            with pytest.raises(error):
                curator.publish_more(mechanisms)
        assert curator.status() == before
        assert curator.check() == []
        curator.publish_more({"x": NoisyHistogram((CITY,), PRECISE / 2)})
        assert curator.left == 0
        with pytest.raises(BudgetSpent):
            curator.publish_more({"y": NoisyCount(1e-3 * PRECISE)})


def test_a_store_that_was_altered_publishes_nothing_more(tmp_path):
    """Else the new digest would make the alteration look genuine."""
    with published(str(tmp_path / "people.db")) as curator:
        with curator.store._writing():
            curator.store._subtract({0: {0: 1}})
        with pytest.raises(StoreError, match="is not intact"):
            curator.publish_more(more())


def test_without_columns_to_keep_a_record_holds_only_what_is_published(tmp_path):
    curator = Curator(PEOPLE, Budget(1.0))
    curator.publish(ROWS, {"ages": NoisyHistogram((AGE,), 0.5)})
    assert curator.store.kept == ("age",)
    with pytest.raises(BadColumns, match="Records keep age"):
        curator.publish_more({"x": NoisyHistogram((CITY,), 0.1)})


# -- what it costs


def test_what_was_chosen_later_is_counted_by_a_filter_and_not_by_a_loss_distribution():
    events = [Event(DiscreteLaplace(40.0), shift=1) for _ in range(60)]
    delta = 1e-6
    assert account(events, delta).by == "pld"
    assert filtered(events, delta).by != "pld"
    assert filtered(events, delta).epsilon > account(events, delta).epsilon
    total = Budget(account(events, delta).epsilon * 1.01, delta)
    Ledger(total).charge("at once", events)
    ledger = Ledger(total, events[:30], resumed=True)
    with pytest.raises(BudgetSpent):
        ledger.charge("later", events[30:])


def test_no_later_choice_lets_pure_noise_pay_beside_a_bound_from_rho():
    """An analyst who buys Gaussians until a lucky answer, and the rest as one Laplace, beats that sum.

    Its loss is then the Laplace's ε for certain, beside a Gaussian loss that is known to be large; with eight
    steps δ was exceeded by half, and with forty by three times.
    """
    gaussian, laplace = Event(DiscreteGaussian(2.0), shift=1), Event(DiscreteLaplace(1.0), shift=1)
    delta = 1e-3
    mixed, together = [gaussian, laplace], zcdp_epsilon(gaussian.rho + laplace.rho, delta)
    assert filtered(mixed, delta).epsilon == pytest.approx(together)
    assert filtered(mixed, delta).by == "zcdp"
    assert account(mixed, delta).epsilon < filtered(mixed, delta).epsilon
    assert filtered([laplace], delta).by == "basic", "pure choices alone add up"


def test_a_process_that_is_overtaken_right_after_its_commit_goes_on_deleting(tmp_path, monkeypatch):
    """Another one publishes between the commit of the first and its next step."""
    place = str(tmp_path / "people.db")
    with published(place) as one, Curator.open(place) as other:
        commit = SqliteStore._extending

        @contextmanager
        def overtaken(store):
            with commit(store):
                yield
            if store is one.store:
                other.publish_more({"second": NoisyHistogram((CITY,), PRECISE / 9)})

        monkeypatch.setattr(SqliteStore, "_extending", overtaken)
        one.publish_more({"first": NoisyHistogram((CITY,), PRECISE / 9)})
        assert one.delete("p3").deleted == 1
        assert ages(one, "second").sum() == ages(one, "first").sum() == N - 1
        assert one.check() == []


def test_a_filter_counts_every_answer_that_was_asked():
    """Whether the second was asked may depend on the first: then both are paid, not their average."""
    event = Event(DiscreteLaplace(1.0), shift=1)
    assert filtered([event, event], 1e-9).epsilon == pytest.approx(2.0)
    assert filtered([event], 1e-9).epsilon == pytest.approx(1.0)


def test_what_is_left_can_be_spent_to_the_last_digit():
    for budget in (Budget(0.7), Budget(1.0, 1e-6)):
        first = [Event(DiscreteLaplace(10.0), shift=1)] if not budget.delta else []
        first = first or [Event(DiscreteGaussian(30.0), shift=1)]
        left = left_of(budget, first)
        mechanism = NoisyCount(left)
        ledger = Ledger(budget, first, resumed=True)
        ledger.charge("rest", mechanism.events)
        assert ledger.left <= 1e-6
        assert left_of(budget, ledger.events) is None


# -- at the command line

SPEC = """[data]
source = "people.csv"
id = "pid"
keep = ["city"]
[budget]
epsilon = 2.0
reserve = 0.5
[columns.age]
type = "number"
min = 0
max = 99
[columns.city]
type = "category"
values = ["a", "b"]
[publish.people]
kind = "count"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"p{i},{i % 100},{'ab'[i % 2]}" for i in range(N))
    (tmp_path / "people.csv").write_text("pid,age,city\n" + rows + "\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def said(capsys, *command):
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_source_is_not_needed_and_the_same_file_again_spends_nothing(folder, capsys):
    assert said(capsys, "publish", "spec.toml")["left"] == 1.0
    (folder / "people.csv").unlink()
    assert run(["delete", "p3"]) == 0
    (folder / "more.toml").write_text(
        '[budget]\nshare = 0.25\n[publish.cities]\nkind = "histogram"\ncolumns = ["city"]\n'
    )
    capsys.readouterr()
    first = said(capsys, "publish", "more.toml", "--more")
    assert (first["spent"], first["left"], first["already"]) == (1.5, 0.5, False)
    shown = said(capsys, "show", "cities")
    again = said(capsys, "publish", "more.toml", "--more")
    assert (again["left"], again["already"]) == (0.5, True)
    assert said(capsys, "show", "cities") == shown, "nothing was drawn again"
    assert said(capsys, "publish", "spec.toml")["already"], "the first spec is still the published one"
    (folder / "rest.toml").write_text('[publish.cities2]\nkind = "histogram"\ncolumns = ["city"]\n')
    assert said(capsys, "publish", "rest.toml", "--more")["left"] == 0
    status = said(capsys, "status")["publications"]
    assert status["cities"] == {"kind": "histogram", "columns": ["city"], "epsilon": 0.5, "half_width": 5.5}
    assert run(["check"]) == 0
    (folder / "none.toml").write_text('[publish.last]\nkind = "count"\n')
    assert run(["publish", "none.toml", "--more"]) == 2
    assert "the budget of ε = 2 is spent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[publish.x]\nkind = "mean"\ncolumn = "age"\n', "not kept in the store"),
        ('[publish.x]\nkind = "mean"\ncolumn = "height"\n', "there is no column 'height'"),
        ('[publish.people]\nkind = "count"\n', "already exists"),
        ("", "nothing is published"),
        ('[budget]\nshare = 2\n[publish.x]\nkind = "count"\n', "`share` must be above 0"),
        ('[data]\nsource = "people.csv"\n[publish.x]\nkind = "count"\n', "has no key `data`"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(folder, capsys, text, says):
    assert run(["publish", "spec.toml"]) == 0
    (folder / "more.toml").write_text(text)
    capsys.readouterr()
    assert run(["publish", "more.toml", "--more"]) == 2
    assert says in capsys.readouterr().err
    assert run(["check"]) == 0
