"""Transcripts are saved, opened again years later, and replayed."""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.errors import BadFile
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.transcript import Transcript, plain, record, replay

X = Number("x", min=0, max=9)
PEOPLE = [3, 1, 4, 1, 5]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "transcript-v1.json"


def curator():
    return ReleaseOnce(NoisyHistogram((X,), Budget(1.0)), Schema([X]))


def test_a_saved_transcript_is_the_same_and_replays(tmp_path):
    transcript = record(curator(), PEOPLE, [[1], [4, 5]], seeded(7))
    transcript.save(tmp_path / "t.json")
    loaded = Transcript.load(tmp_path / "t.json")

    assert loaded == transcript
    assert replay(loaded, curator(), PEOPLE, seeded(7))
    assert not replay(loaded, curator(), PEOPLE, seeded(8))
    assert not replay(loaded, curator(), [3, 1, 4, 2, 5, 1], seeded(7))


def test_a_transcript_of_version_1_still_opens_and_replays():
    transcript = Transcript.load(FIXTURE)
    assert transcript.deleted == ((9,), (9,))
    assert replay(transcript, Retrain(median), [0, 2, 5, 9, 9], seeded(7))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("not json", "is not JSON"),
        ("[]", "is not a transcript"),
        ('{"format": "something"}', "is not a transcript"),
        ('{"format": "undeleted-transcript", "version": 2}', "format version 2"),
        ('{"format": "undeleted-transcript", "version": 1, "first": 0}', "lacks a part"),
        ('{"format": "undeleted-transcript", "version": 1, "first": 0, "rounds": [1]}', "lacks a part"),
    ],
)
def test_files_that_are_no_transcripts_are_refused(tmp_path, content, problem):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(BadFile, match=problem):
        Transcript.load(tmp_path / "t.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        Transcript.load(tmp_path / "nowhere.json")


def test_not_a_number_is_equal_to_itself():
    class Nan:
        def start(self, data, coins):
            return float("nan")

        def delete(self, points):
            return [float("nan")]

    assert replay(record(Nan(), [1], [[1]], seeded(7)), Nan(), [1], seeded(7))


@dataclass
class Pair:
    a: int
    b: np.ndarray


def test_outputs_of_all_kinds_become_plain():
    kinds = {
        "b": [1, (2.5, None)],
        "a": {3, 1},
        "c": Fraction(1, 2),
        "d": np.int64(4),
        "e": Pair(1, np.eye(2)),
    }
    written = plain(kinds)

    assert written == (
        ("a", (1, 3)),
        ("b", (1, (2.5, None))),
        ("c", "1/2"),
        ("d", 4),
        ("e", (1, ((1.0, 0.0), (0.0, 1.0)))),
    )
    assert json.dumps(written)
    with pytest.raises(TypeError, match="cannot be serialised"):
        plain(object())
