"""A move against the rules is refused, names the rule, and leaves the game as it was."""

import pytest

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import seeded
from undeleted.games import worlds as rules
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import dynamic_game
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.static import static_game

PEOPLE = [0, 2, 5, 7, 9]


def dynamic(attacker, k=2):
    return dynamic_game(Retrain(median), attacker, PEOPLE, k, seeded(7))


def static(attacker, controlled=(3, 4)):
    return static_game(Retrain(median), PEOPLE, attacker, controlled, seeded(7))


DYNAMIC = {
    "an index beyond n": (lambda w: w.corrupt(5), rules.IN_RANGE),
    "a negative index": (lambda w: w.corrupt(-1), rules.IN_RANGE),
    "too many points at once": (lambda w: w.corrupt(0, 1, 2), rules.AT_MOST_K),
    "too many points in turn": (lambda w: [w.corrupt(i) for i in (0, 1, 2)], rules.AT_MOST_K),
    "a point not controlled": (lambda w: w.delete(3), rules.CONTROLLED),
    "an index twice": (lambda w: [w.corrupt(3), w.delete(3), w.delete(3)], rules.ONCE),
    "an index twice at once": (lambda w: [w.corrupt(3), w.delete(3, 3)], rules.ONCE),
}
STATIC = {
    "a corruption": (lambda w: w.corrupt(0), rules.FIXED),
    "a point not controlled": (lambda w: w.delete(0), rules.CONTROLLED),
    "an index twice": (lambda w: [w.delete(3), w.delete(3)], rules.ONCE),
    "two at once": (lambda w: w.delete(3, 4), rules.ONE_BY_ONE),
    "stopping early": (lambda w: w.delete(3), rules.ALL),
}


@pytest.mark.parametrize("move", DYNAMIC)
def test_the_dynamic_game_refuses(move):
    attacker, rule = DYNAMIC[move]
    with pytest.raises(RuleBroken) as caught:
        dynamic(attacker)
    assert caught.value.rule == rule
    assert rule in str(caught.value)


@pytest.mark.parametrize("move", STATIC)
def test_the_static_game_refuses(move):
    attacker, rule = STATIC[move]
    with pytest.raises(RuleBroken) as caught:
        static(attacker)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("sequence", "k", "rule"),
    [
        ([0, 1, 2], 2, rules.AT_MOST_K),
        ([5], None, rules.IN_RANGE),
        ([-1], None, rules.IN_RANGE),
        ([1, 1], None, rules.ONCE),
    ],
)
def test_the_non_adaptive_game_refuses(sequence, k, rule):
    with pytest.raises(RuleBroken) as caught:
        non_adaptive_game(Retrain(median), PEOPLE, sequence, seeded(7), k=k)
    assert caught.value.rule == rule


@pytest.mark.parametrize("k", [-1, 6])
def test_k_is_at_most_n(k):
    with pytest.raises(RuleBroken, match="k = "):
        dynamic(lambda w: None, k=k)


def test_a_refused_move_changes_nothing():
    def clumsy(world):
        world.corrupt(3, 4)
        world.delete(3)
        before = world.view()
        for move in (lambda: world.corrupt(0), lambda: world.delete(0), lambda: world.delete(4, 3)):
            with pytest.raises(RuleBroken):
                move()
        assert world.view() == before
        world.delete(4)

    assert dynamic(clumsy) == dynamic(lambda w: [w.corrupt(3, 4), w.delete(3), w.delete(4), None][-1])


def test_nothing_moves_after_the_game():
    kept = []
    dynamic(lambda w: kept.append(w))
    for move in (lambda: kept[0].corrupt(0), lambda: kept[0].delete(0)):
        with pytest.raises(RuleBroken) as caught:
            move()
        assert caught.value.rule == rules.OVER


def test_an_attacker_cannot_rewrite_the_rules():
    def cheat(world):
        for name, value in (("k", 99), ("n", 99), ("controlled", {}), ("deleted", ())):
            with pytest.raises(AttributeError):
                setattr(world, name, value)
        with pytest.raises(TypeError):
            world.controlled[0] = 0
        with pytest.raises(AttributeError):
            world.controlled.clear()

    dynamic(cheat)


@pytest.mark.parametrize("index", [1.0, "1", None])
def test_an_index_is_a_whole_number_in_every_world(index):
    for move in (lambda w: w.corrupt(index), lambda w: [w.corrupt(1), w.delete(index)]):
        with pytest.raises(RuleBroken):
            dynamic(move)


def test_deleting_nobody_shows_nothing_new():
    def idle(world):
        return world.delete() == world.look(), len(world.outputs)

    assert dynamic(idle) == ((), (True, 1))


def test_side_information_reaches_the_attacker():
    outcome = dynamic_game(
        Retrain(median), lambda w: w.side, PEOPLE, 0, seeded(7), side=lambda data: sum(data)
    )
    assert outcome == ((), 23)
