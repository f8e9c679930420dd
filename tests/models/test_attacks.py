"""The attacks that break clustering and forests that retrain get nothing from ours, at the same size."""

import numpy as np
import pytest

from undeleted.games.attacks.kmeans_line import run

pytest.importorskip("sklearn")
from sklearn import ensemble

from undeleted import models

pytestmark = pytest.mark.filterwarnings("ignore::undeleted.errors.SeededNoiseWarning")


def test_two_means_that_are_refitted_give_people_away_and_ours_do_not():
    """Appendix A: the same 2,000 people, the same 100 points of the attacker's."""
    game = {"n": 2000, "alpha": 0.05, "seed": 7}
    for original in ("lloyd", "sklearn"):
        theirs = run(**game, against=original)
        assert theirs["recovered_points"] >= 3
        assert theirs["false_positives"] == 0
    ours = run(**game, against="undeleted")
    assert ours["deletions"] == 100
    assert ours["recovered_points"] == ours["false_positives"] == 0
    assert ours["fewest_digits"] is None


PEOPLE, OWN, TRIALS = 300, 5, 160


def crowd(bit, seed):
    """People whose first feature decides; one more, far off, with a private label; five of the attacker's."""
    rng = np.random.default_rng([seed, PEOPLE])
    X = rng.uniform(0.0, 0.5, (PEOPLE, 3))
    y = (X[:, 0] > 0.25).astype(int)
    target = np.full((1, 3), 0.95)
    own = np.repeat(target, OWN, axis=0)
    return np.concatenate([own, X, target]), np.concatenate([np.ones(OWN, dtype=int), y, [bit]]), target


def guessed(play):
    """How often the label at the target's place, once the attacker's own are deleted, is the target's."""
    bits = np.random.default_rng(9).integers(0, 2, TRIALS)
    return np.mean([play(*crowd(bit, seed), seed) == bit for seed, bit in enumerate(bits)])


def test_a_refitted_forest_tells_a_label_that_stayed_and_ours_does_not():
    """Membership through hard labels: five deletions.  A coin is right 74% of 200 times once in 10¹¹ runs.

    The bound is what ε = 1 allows whoever sees everything; seen through labels it is far less.
    """

    def refitted(X, y, target, seed):
        forest = ensemble.RandomForestClassifier(10, bootstrap=False, random_state=seed)
        return forest.fit(X[OWN:], y[OWN:]).predict(target)[0]

    def before(X, y, target, seed):
        return (
            ensemble.RandomForestClassifier(10, bootstrap=False, random_state=seed)
            .fit(X, y)
            .predict(target)[0]
        )

    def ours(X, y, target, seed):
        forest = models.RandomForestClassifier(bounds=(0, 1), classes=[0, 1], random_state=seed).fit(X, y)
        return forest.forget(X[:OWN], y[:OWN]).predict(target)[0]

    assert guessed(refitted) > 0.95
    assert guessed(before) < 0.62, "the first output alone tells nothing: deletions do"
    assert guessed(ours) < 0.65


def test_whoever_deletes_from_a_forest_learns_nothing_that_they_could_not_compute():
    """The release after deletions, from the release before and the attacker's own rows."""
    X, y, _ = crowd(1, 3)
    forest = models.RandomForestClassifier(bounds=(0, 1), classes=[0, 1], budget=1.0).fit(X, y)
    before = forest.release_
    nobody = models.RandomForestClassifier(bounds=(0, 1), classes=[0, 1], budget=1.0).fit(X[:1], 1 - y[:1])
    nobody._state = nobody._kept_of(before)
    assert nobody.forget(X[:OWN], y[:OWN]).release_ == forest.forget(X[:OWN], y[:OWN]).release_
