"""Two means on the line: people are read off exactly, never wrongly, and not from a release-once curator."""

import numpy as np
import pytest

from undeleted.errors import BadFile, Misuse, RecordNotFound
from undeleted.foundations.coins import seeded
from undeleted.games.attacks._event_search import event_search
from undeleted.games.attacks._two_means import TwoMeans, lloyd
from undeleted.games.attacks.kmeans_line import people, run


@pytest.mark.parametrize("distribution", ["uniform", "bimodal"])
def test_people_are_read_off_exactly_and_never_wrongly(distribution):
    """20 seeds at the same size at which a release-once curator then gives nobody away."""
    runs = [run(n=4000, distribution=distribution, seed=seed) for seed in range(20)]
    assert sum(r["false_positives"] for r in runs) == 0
    assert np.mean([r["recovered_points"] for r in runs]) >= (8 if distribution == "uniform" else 3)

    safe = [run(n=4000, distribution=distribution, seed=seed, against="release-once") for seed in range(20)]
    assert sum(r["recovered_points"] + r["false_positives"] for r in safe) == 0


def test_at_ten_thousand_dozens_are_read_off():
    runs = [run(seed=seed) for seed in range(6)]
    assert np.mean([r["recovered_points"] for r in runs]) >= 30
    assert all(r["false_positives"] == 0 for r in runs)
    assert all(r["deletions"] == r["own_points"] == 1000 for r in runs)


def test_coarse_centres_give_nobody_away():
    fine = run(n=4000, digits=10)
    assert fine["recovered_points"] > 0
    for digits in range(6):
        coarse = run(n=4000, digits=digits)
        assert coarse["false_positives"] == 0
        assert coarse["recovered_points"] <= fine["recovered_points"]
    assert run(n=4000, digits=0)["recovered_points"] == 0
    assert 2 <= fine["fewest_digits"] <= 10


def test_lloyd_stops_at_a_fixed_point():
    values = np.sort(people(500, "uniform", 3))
    c1, c2 = lloyd(values, (float(values[0]), float(values[-1])))
    left = values[values <= (c1 + c2) / 2]
    right = values[values > (c1 + c2) / 2]
    assert (c1, c2) == (left.sum() / left.size, right.sum() / right.size)


def test_the_search_of_the_paper_finds_the_sizes():
    found = 0
    for seed in range(50):
        values = np.sort(people(500, "uniform", seed) // 100)
        start = (float(values[0]), float(values[-1]))
        before = lloyd(values, start)
        after = lloyd(values[:-20], start)
        m = int((values <= sum(before) / 2).sum())
        p = m - int((values[:-20] <= sum(after) / 2).sum())
        found += event_search(before, after, 500, values[-20:]) == [(m, p)]
    assert found >= 45


def test_only_values_that_are_there_are_deleted():
    world = TwoMeans(np.array([1, 2, 9]), np.array([9]), "lloyd", seeded(7))
    with pytest.raises(RecordNotFound):
        world.delete(5)


def test_coarse_centres_of_few_people_are_not_guessed_at():
    for n in (20, 50, 100):
        for digits in (0, 1, 3, -1):
            runs = [run(n=n, alpha=0.4, digits=digits, seed=seed) for seed in range(30)]
            assert sum(r["false_positives"] for r in runs) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"n": 3},
        {"n": 5, "alpha": 0.8},
        {"n": 10, "alpha": 0.95},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"n": 10, "alpha": 0.01},
    ],
)
def test_games_that_cannot_be_are_refused(options):
    with pytest.raises(Misuse):
        run(**options)


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_the_line_is_drawn(tmp_path, ending):
    path = tmp_path / f"line.{ending}"
    run(n=2000, picture=str(path))
    assert path.stat().st_size > 1000
    if ending == "html":
        assert "<script src=" not in path.read_text(), "no request leaves the machine"
    with pytest.raises(BadFile):
        run(n=2000, picture=str(tmp_path / "nowhere" / "line.svg"))
