"""The lint of words finds what it should, and no more."""

from support import retired_words

WORDS = retired_words.retired()


def test_the_words_come_from_the_glossary():
    assert WORDS["patience"] == "timeout"
    assert len(WORDS) > 10


def test_prose_messages_and_names_are_looked_at_and_parts_of_words_are_not():
    text = 'def f(patience):\n    """Told."""\n    return untold, "pleased", _told\n'
    assert retired_words.uses(text, WORDS) == [(1, "patience"), (2, "told")]


def test_nothing_that_people_read_uses_them():
    assert retired_words.main() == 0
