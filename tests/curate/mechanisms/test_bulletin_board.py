"""A bulletin board takes down what is deleted, once, and nothing else."""

import pytest

from support.worlds import SmallWorld
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard, Posts
from undeleted.errors import RecordNotFound
from undeleted.foundations.schema import Schema, Text

POST = Text("post")
BOARD, PEOPLE = BulletinBoard(POST), Schema([POST])
WORLD = SmallWorld(BOARD, PEOPLE, points=("hello", "hello", "bye"), others=("a", "b", "c"))


def test_one_copy_comes_down_for_each_deletion():
    assert BOARD.forget(Posts(("bye", "hello", "hello")), ("hello",)) == ("bye", "hello")


def test_a_post_that_is_not_there_is_not_taken_down():
    with pytest.raises(RecordNotFound, match="1 record is not in the data"):
        BOARD.forget(Posts(("bye",)), ("bye", "bye"))
