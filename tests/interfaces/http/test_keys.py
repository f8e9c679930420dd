"""API keys: shown once, kept as digests, listed and revoked by name."""

import json
import stat
import time

import pytest

from undeleted.errors import AlreadyExists, BadFile, Misuse, UnknownName
from undeleted.interfaces.cli import run
from undeleted.interfaces.http.keys import Keys


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path / "people.db.keys")


def test_a_key_is_found_by_itself_and_kept_as_a_digest(keys):
    token = keys.create("ci", "operator")
    assert (keys.find(token).name, keys.find(token).role) == ("ci", "operator")
    assert keys.find(token[:-1]) is None
    assert keys.find(keys.all()[0].digest) is None, "the digest is no key"
    assert token not in keys.path.read_text()
    assert token.split("_", 2)[2] not in keys.path.read_text(), "the secret, which may hold another _"
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600


def test_revoking_is_heard_by_others_at_once(keys):
    token, other = keys.create("ci", "operator"), Keys(keys.path)
    assert other.find(token) is not None
    keys.revoke("ci")
    assert other.find(token) is None
    assert keys.create("ci", "operator") != token, "the name is free again, the key is another"


def test_an_expired_key_is_none(keys):
    late = keys.create("late", "reader", expires=int(time.time()) - 1)
    soon = keys.create("soon", "reader", expires=int(time.time()) + 60)
    assert keys.find(late) is None
    assert keys.find(soon) is not None


def test_names_are_taken_once_and_roles_are_known(keys):
    keys.create("ci", "operator")
    with pytest.raises(AlreadyExists):
        keys.create("ci", "reader")
    with pytest.raises(UnknownName, match="reader"):
        keys.create("x", "readers")
    with pytest.raises(UnknownName):
        keys.revoke("nobody")
    for name in ("", " x", "a\nb", "x" * 65):
        with pytest.raises(Misuse):
            keys.create(name, "reader")
    assert [key.name for key in keys.all()] == ["ci"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": 1, "keys": [1]}', '{"format": 99, "keys": []}', "\0"]
)
def test_a_file_that_is_not_one_is_told_and_kept(keys, text):
    keys.path.write_text(text)
    with pytest.raises(BadFile):
        keys.create("ci", "reader")
    assert keys.path.read_text() == text


def test_the_commands(tmp_path, capsys):
    store = ["--store", str(tmp_path / "people.db")]
    assert run(["key", "create", "ci", "--role", "reader", "--expires", "90d", *store, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["key"].startswith("undeleted_reader_")
    assert run(["key", "create", "--role", "person", *store]) == 0
    assert "not shown again" in capsys.readouterr().out
    assert run(["key", "list", *store]) == 0
    listed = capsys.readouterr().out
    assert "ci" in listed
    assert "never expires" in listed
    assert made["key"] not in listed
    assert run(["key", "revoke", "ci", *store]) == 0
    assert run(["key", "revoke", "ci", *store]) == 2
    assert run(["key", "create", "x", *store]) == 2
    assert "--role reader" in capsys.readouterr().err
    assert run(["key", "create", "x", "--role", "king", *store]) == 2
    assert run(["key", "create", "x", "--role", "reader", "--expires", "soon", *store]) == 2
