"""Models of published marginals, by Private-PGM in a process of its own: close, repeatable, from scratch.

Covers: curate/synthetic/worker.py
"""

import itertools
import os
import signal
import sys
import threading

import numpy as np
import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyMarginals
from undeleted.curate.synthetic import fitting
from undeleted.curate.synthetic.fitting import fitted
from undeleted.curate.synthetic.rows import sample
from undeleted.errors import BadQuestion, FitFailed
from undeleted.foundations.coins import DiscreteGaussian, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema

pytestmark = pytest.mark.services  # JAX compiles for seconds, and `make test` goes without it
AGE, CITY = Number("age", min=0, max=79), Category("city", values=("Bonn", "Haifa", "Lyon"))
RICH, NEW = Boolean("rich"), Boolean("new")
COLUMNS = (AGE, CITY, RICH, NEW)
SCHEMA = Schema(list(COLUMNS))
EDGES = {"age": [20, 40, 60]}
N = 4000


def people(n=N):
    """The city follows the age, and who is rich both."""
    rng = np.random.default_rng(3)
    age = rng.integers(0, 80, n)
    city = np.minimum(age // 27 + (rng.random(n) < 0.2), 2)
    rich = rng.random(n) < np.where((age > 40) & (city == 2), 0.8, 0.1)
    return [
        (int(a), CITY.values[c], bool(r), bool(i % 2))
        for i, (a, c, r) in enumerate(zip(age, city, rich, strict=True))
    ]


def mechanism(sigma=8.0):
    return NoisyMarginals(COLUMNS, DiscreteGaussian(sigma), edges=EDGES)


def released(rows, seed="noise", sigma=8.0):
    one = mechanism(sigma)
    return one, one.release(Arrays(SCHEMA.table(rows)), seeded(seed))


def apart(shares, one, rows):
    """The mean total variation of pairs from the exact ones."""
    exact = one.tables(
        type(one.release(Arrays(SCHEMA.table(rows)), seeded("x")))(
            Arrays(SCHEMA.table(rows)).total(one.statistic)
        )
    )
    return np.mean([np.abs(s - e / len(rows)).sum() / 2 for s, e in zip(shares, exact, strict=True)])


def pairs_of(table, one):
    total = Arrays(SCHEMA.table(table)).total(one.statistic)
    parts = np.split(total, one.statistic.starts[1:])
    return [p.reshape(s) / table.num_rows for p, s in zip(parts, one.statistic.shapes, strict=True)]


def test_a_mixture_keeps_the_pairs_better_than_the_noise_and_stops_where_noise_begins():
    rows = people()
    one, release = released(rows, sigma=60.0)
    model = fitted(one, release, "mixture")
    shares = [model.marginal(columns, one.statistic.bins) for columns in one.statistic.sets]
    raw = [np.maximum(table, 0) / np.maximum(table, 0).sum() for table in one.tables(release)]
    assert apart(shares, one, rows) < apart(raw, one, rows)
    assert shares[0].sum(axis=1) == pytest.approx(shares[1].sum(axis=1)), "pairs agree on their columns"
    assert 50 <= model.arrays["steps"][0] < 3000, "it stops when it misses by no more than noise"
    drawn = sample(one, release, N, seed=1)
    assert apart(pairs_of(drawn, one), one, rows) < apart(shares, one, rows) + 0.01


def test_a_junction_tree_takes_what_says_the_most_and_its_rows_are_the_same_again():
    rows = people()
    one, release = released(rows)
    model = fitted(one, release, "tree")
    used = {tuple(columns) for columns in model.facts["used"]}
    assert {(0, 1), (0, 2), (1, 2)} <= used
    small = fitted(one, release, "tree", megabytes=2e-4)
    assert len(small.facts["used"]) < len(used), "a smaller tree takes fewer"
    drawn = sample(one, release, N, seed=1, model="tree")
    assert drawn.equals(sample(one, release, N, seed=1, model="tree"))
    assert not drawn.equals(sample(one, release, N, seed=2, model="tree"))
    assert apart(pairs_of(drawn, one), one, rows) < 0.03
    with pytest.raises(BadQuestion, match="only a mixture"):
        model.marginal((0,), one.statistic.bins)


@pytest.mark.parametrize("model", ["mixture", "tree"])
def test_after_deletions_the_model_is_the_one_of_those_who_remain(model):
    """Bit by bit: the release after deletions is that of the others with that noise, and so is its fit."""
    rows = people(1200)
    one, release = released(rows)
    left = [row for row in rows if row[2]]
    before = fitted(one, release, model)
    after = one.forget(release, one.contribution(SCHEMA.table(left)))
    refitted = fitted(one, after, model)
    fitting._kept.clear()
    _, others = released([row for row in rows if not row[2]])
    assert np.array_equal(after.value, others.value)
    scratch = fitted(one, others, model)
    assert refitted.arrays.keys() == scratch.arrays.keys()
    assert all(np.array_equal(refitted.arrays[k], scratch.arrays[k]) for k in scratch.arrays)
    assert not all(np.array_equal(before.arrays[k], scratch.arrays[k]) for k in scratch.arrays)
    share = {  # of the rich, all of whom have left
        "after": sample(one, after, 1200, model=model)["rich"].to_numpy(zero_copy_only=False).mean(),
        "before": sum(row[2] for row in rows) / len(rows),
    }
    assert share["after"] < 0.25 * share["before"]


def test_a_fit_is_computed_once_for_a_release_and_dropped_with_it(monkeypatch):
    calls = itertools.count()
    original = fitting.ask
    monkeypatch.setattr(fitting, "ask", lambda *a: next(calls) is None or original(*a))
    one, release = released(people(300))
    fitted(one, release), fitted(one, release)
    assert next(calls) == 1
    after = one.forget(release, one.contribution(SCHEMA.table(people(300)[:1])))
    fitted(one, after)
    assert next(calls) == 3
    assert len(fitting._kept[one.statistic][1]) == 1, "nothing of the old release is kept"


def test_a_fit_that_takes_too_long_is_ended_and_nothing_is_lost():
    one, release = released(people(100), "late")
    with pytest.raises(FitFailed, match=r"was not ready after 0.2 s.*\n.*Allow more time"):
        sample(one, release, 10, seconds=0.2)
    assert sample(one, release, 10).num_rows == 10


def test_a_process_that_is_killed_is_an_error_in_two_lines(monkeypatch):
    """Out of memory, say: the system kills it."""
    kill = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    real = fitting.subprocess.Popen
    monkeypatch.setattr(
        fitting.subprocess, "Popen", lambda _, **more: real([sys.executable, "-c", kill], **more)
    )
    one, release = released(people(100), "killed")
    with pytest.raises(FitFailed, match="the process that fits the model ended") as failed:
        sample(one, release, 10)
    assert len(str(failed.value).splitlines()) == 2
    assert os.getpid()


def test_nothing_is_imported_from_the_folder_where_it_runs(tmp_path, monkeypatch):
    """A file called mbi.py in a shared folder would otherwise run with the rights of who draws rows."""
    (tmp_path / "mbi.py").write_text("open('taken over', 'w').close(); raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    one, release = released(people(100), "folder")
    assert sample(one, release, 5).num_rows == 5
    assert not (tmp_path / "taken over").exists()


def test_a_fit_can_be_stopped():
    one, release = released(people(100), "stopped")
    timer = threading.Timer(1.0, fitting.stop)
    timer.start()
    with pytest.raises(FitFailed, match="ended"):
        sample(one, release, 10)
    assert not fitting._running


def test_ticks_of_a_table_that_grows_leave_one_fit():
    one, release = released(people(100), "ticks")
    fitted(one, release)
    wider = one.with_laws((DiscreteGaussian(9.0),) * len(one.laws))
    fitted(wider, one.forget(release, one.contribution(SCHEMA.table(people(100)[:1]))))
    assert [len(fits) for _, fits in fitting._kept.values()].count(1) == len(fitting._kept)
    assert sum(statistic == one.statistic for statistic in fitting._kept) == 1


def test_progress_is_reported():
    one, release = released(people(100), "progress")
    seen = []
    sample(one, release, 10, advance=seen.append)
    assert seen == sorted(seen)
    assert 0 < seen[0] <= seen[-1] < 1


def test_people_leave_a_store_and_its_rows():
    with Curator(Schema(list(COLUMNS), id="id"), Budget(8.0)) as curator:
        rows = people(600)
        table = {"id": [f"p{i}" for i in range(600)]}
        table |= {c.name: [row[j] for row in rows] for j, c in enumerate(COLUMNS)}
        curator.publish(table, {"rows": NoisyMarginals(COLUMNS, budget=8.0, edges=EDGES)})
        before = curator.show("rows").sample(600)
        curator.delete([f"p{i}" for i, row in enumerate(rows) if row[1] == "Lyon"])
        after = curator.show("rows").sample(600)
        cities = [t["city"].to_pylist().count("Lyon") for t in (before, after)]
        assert cities[0] > 150
        assert cities[1] < 60
