"""Differential privacy for those who stay, over whole transcripts."""

import math
from fractions import Fraction

import pytest

from undeleted.verifying.divergence import privacy_of_the_undeleted
from undeleted.verifying.exact import FiniteWorld
from undeleted.verifying.small_worlds import WorldNoise, named_world


def divergence(name, domain=2, n=3, k=2, epsilon=0.0, **more):
    return privacy_of_the_undeleted(named_world(name, domain=domain, n=n, k=k, **more).world, epsilon)


@pytest.mark.parametrize(
    ("name", "domain", "ratio"),
    [
        ("noisy-sum", 2, 2),
        ("noisy-sum", 3, 4),
        ("range-counts", 3, 4),
        ("noisy-mean", 2, 4),
        ("tree-counter", 2, 2),
    ],
)
def test_deletions_cost_those_who_stay_nothing(name, domain, ratio):
    found = divergence(name, domain, 3)
    assert found.first.ratio == found.transcript.ratio == ratio
    assert found.deletions_cost_nothing
    assert divergence(name, domain, 3, epsilon=math.log(ratio) + 1e-12).delta[1] == 0


@pytest.mark.parametrize(
    "name", ["noisy-sum", "noisy-mean", "noisy-variance", "noisy-histogram", "range-counts"]
)
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(2, 3)])
def test_the_noise_keeps_its_promise_and_not_more(name, ratio):
    chosen = named_world(name, domain=2, n=2, k=1, noise=WorldNoise(ratio))
    assert privacy_of_the_undeleted(chosen.world).transcript.ratio == chosen.promise


def test_recomputing_costs_them_every_time():
    found = [divergence("recompute-sum", k=k) for k in (1, 2)]
    assert [f.first.ratio for f in found] == [2, 2]
    assert [f.transcript.ratio for f in found] == [4, 8]
    assert divergence("recompute-sum", epsilon=math.log(2) + 1e-12).delta[0] > 0


@pytest.mark.parametrize("name", ["exact-sum", "retrain-median", "threshold", "xor-undeleted"])
def test_exact_answers_are_not_private_for_anybody(name):
    found = divergence(name)
    assert found.transcript.ratio is None
    assert found.delta[0] > 0


def test_safety_and_privacy_are_two_things():
    """An exact sum is undeleted-safe and not private; a pad on a deleted point tells nothing of others."""
    assert divergence("exact-sum").delta[0] == 1
    assert divergence("xor-pad").delta[1] == 0


class TellsWhoAsks:
    """After a 1 is deleted it tells whether somebody else has a 1; after a 0 it tells nothing."""

    def start(self, data, coins):
        self.left = list(data)
        return len(self.left) > 0

    def delete(self, points):
        for point in points:
            self.left.remove(point)
        return 1 in points and 1 in self.left


def test_the_best_attacker_chooses_whom_it_deletes():
    """Deleting the 1 shows the other 1; deleting the 0 would show nothing."""
    found = privacy_of_the_undeleted(FiniteWorld.of(TellsWhoAsks, (0, 1), 3, 1, by_value=True))
    assert found.delta[0] == 1
    assert found.delta_first[1] == 0


def test_the_witness_is_a_transcript_with_its_two_probabilities():
    witness = divergence("recompute-sum", epsilon=0.7).witness
    larger, smaller = witness["data"]
    assert len(larger) == len(smaller) + 1
    p, q = (Fraction(text) for text in witness["probabilities"])
    assert max(p, q) > Fraction(math.exp(0.7)) * min(p, q)
    assert "deleted" in witness["seen"][1]
