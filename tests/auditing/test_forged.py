"""A witness proves only what it shows: no file convicts a safe target, and none makes `replay` crash.

Whoever forges a witness chooses worlds, deletions, and everything else in the file.  The targets here are
safe: an exact sum, a noisy sum, a frozen release.  That the same file convicts what leaks is shown first.
"""

import copy
import json
import math
import random
from contextlib import contextmanager

import numpy as np
import pytest

from undeleted.auditing import replaying
from undeleted.auditing.replaying import ReplayTerms, replay
from undeleted.auditing.sequential_tests import FirstOutput
from undeleted.auditing.targets import TargetSpec
from undeleted.errors import BadFile, Misuse, TargetFailed, UndeletedError
from undeleted.foundations.coins import DiscreteLaplace, seeded
from undeleted.interfaces.cli import run


def exact_sum(records, batches, seed):
    yield sum(r["x"] for r in records)
    for end in range(1, 1 + len(batches)):
        gone = {name for batch in batches[:end] for name in batch}  # with all of their rows
        yield sum(r["x"] for r in records if r["id"] not in gone)


def noisy_sum(records, batches, seed):
    noise = int(seeded(f"noise {seed}").noisy(DiscreteLaplace(2.0), np.zeros(1, dtype=np.int64))[0])
    return (z + noise for z in exact_sum(records, batches, seed))


def frozen(records, batches, seed):
    values = sorted(r["x"] for r in records)
    return (values[len(values) // 2] for _ in range(1 + len(batches)))


def median(records, batches, seed):
    """The one that leaks."""
    for end in range(1 + len(batches)):
        gone = {name for batch in batches[:end] for name in batch}
        values = sorted(r["x"] for r in records if r["id"] not in gone)
        yield values[len(values) // 2]


RARELY = ReplayTerms(confidence=1 - 1e-6)  # how often a safe target may be convicted by a test in this file
SAFE = {"exact sum": exact_sum, "noisy sum": noisy_sum, "frozen": frozen}


@pytest.fixture
def played(monkeypatch):
    """Targets in this process: thousands of calls a second."""

    def use(says):
        class Target:
            has_density = False

            def __init__(self, named):
                self.named = named

            def play(self, records, batches, seeds):
                try:
                    return [list(says(records, batches, seed)) for seed in seeds]
                except (KeyError, TypeError, OverflowError) as error:  # as a program reports it
                    raise TargetFailed("start", "it reported an error", reported=True) from error

        @contextmanager
        def opened(named, clock, *, hide):
            yield Target(named)

        monkeypatch.setattr(replaying, "open_target", opened)

    return use


def world(*values):
    return [{"id": f"r{i}", "x": x} for i, x in enumerate(values)]


def witness(*findings):
    target = {"name": "t", "settings": {}, "see": [], "at": [], "columns": {}, "label": None, "features": 1}
    return {
        "format": "undeleted-witness",
        "version": 1,
        "target": target,
        "digits": None,
        "undeleted": "broken",
        "forgets": "yes",
        "findings": list(findings),
    }


def collision(one, other, gone=("r0",), **more):
    outputs = {"one": [0, 0], "other": [0, 1]}
    batches = [[name] for name in gone]
    return {
        "kind": "collision",
        "family": "f",
        "one": one,
        "other": other,
        "batches": batches,
        "seed": 1,
        "tolerance": 1e-9,
        "outputs": outputs,
    } | more


def statistics(one, other, gone=("r0",), **more):
    assumed = {"epsilon": None, "delta": 0.0}
    told = {"kind": "statistics", "shows": "broken", "assumed": assumed, "confidence": 0.95, "runs": 100}
    return collision(one, other, gone) | told | more


def exposure(*values, own=("r0",)):
    columns = {"x": {"low": 0, "high": 100_000}}
    stage = {"records": world(*values), "own": list(own), "columns": columns, "label": None, "column": "x"}
    return {"kind": "exposure", "attack": "rank-walk", "stage": stage, "seed": 1, "claims": {}}


def forgets(*values, gone=("r0",), **more):
    return {"kind": "forgets", "records": world(*values), "deleted": list(gone), "seed": 1} | more


def written(tmp_path, body):
    path = tmp_path / "witness.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


LEAKS = collision(world(9, 5, 1), world(9, 5, 2), ("r0", "r1"))
FORGED = {
    "ε = 0 assumed": statistics(world(5, 1), world(5, 3), assumed={"epsilon": 0, "delta": 0.0}),
    "is not allowed": statistics(
        world(5, 1), world(5, 1), confidence=1e-9, shows="not perfectly safe", runs=1
    ),
    "two rows, one id": collision(
        [{"id": "r0", "x": 5}, {"id": "r0", "x": 1}, {"id": "r1", "x": 4}],
        [{"id": "r0", "x": 2}, {"id": "r0", "x": 1}, {"id": "r1", "x": 7}],
    ),
    "one left": exposure(7, 0, 99_999),
    "floats that swallow": collision(world(1e16, 1.0), world(1e16, 0.0)),
    "floats that swallow, counted": statistics(world(1e16, 1.0), world(1e16, 0.0)),
    "a half beside large whole numbers": collision(world(0.5, 2**53), world(0.5, 2**53 + 1)),
    "the same, counted": statistics(world(0.5, 2**53), world(0.5, 2**53 + 1)),
    "deleted twice": forgets(5, 1, 2, gone=("r0", "r0")),
    "no such person": forgets(5, 1, 2, gone=("r9",)),
    "rows that differ in what leaves": collision(world(5, 1), world(4, 2)),
    "one that is 1 here and 1.0 there": collision(world(1, 5), world(1.0, 5)),
    "true for 1": collision(world(True, 5), world(1, 5)),
    "rounding": collision(world(5, 1), world(4, 2), digits=-3),
    "many": None,
}


def test_the_same_kind_of_file_convicts_what_leaks(played, tmp_path):
    played(median)
    path = written(tmp_path, witness(LEAKS))
    [found] = replay(path, TargetSpec("t"))
    assert found.counts
    assert any("deterministic" in reason for reason in found.rests_on)


@pytest.mark.parametrize("target", SAFE)
@pytest.mark.parametrize("forged", FORGED)
def test_no_forged_witness_convicts_a_safe_target(played, tmp_path, target, forged):
    played(SAFE[target])
    finding = FORGED[forged]
    findings = (
        [finding] if finding else [statistics(world(5, 1), world(5, 1), shows="not perfectly safe")] * 3
    )
    try:
        found = replay(written(tmp_path, witness(*findings)), TargetSpec("t"), RARELY)
    except (BadFile, Misuse, TargetFailed):
        return
    assert not any(r.counts for r in found)


def test_what_is_assumed_of_the_first_output_is_the_callers(played, tmp_path):
    played(noisy_sum)
    finding = statistics(world(5, 1), world(5, 3), assumed={"epsilon": 0.0, "delta": 0.0})
    path = written(tmp_path, witness(finding))
    [found] = replay(path, TargetSpec("t"), seed=5)
    assert not found.holds
    assert "--first-epsilon 0 --first-delta 0 if you accept that" in found.says
    [accepted] = replay(path, TargetSpec("t"), ReplayTerms(first=FirstOutput(0.0)), seed=5)
    assert accepted.holds, "whoever states what is false of a target gets what follows"
    assert "the first output is (0, 0)-DP for a replacement" in accepted.rests_on


def test_digits_and_the_tolerance_are_the_callers(played, tmp_path):
    played(exact_sum)
    forged = witness(collision(world(5, 1), world(5, 1.00000001)))
    assert not any(r.counts for r in replay(written(tmp_path, forged), TargetSpec("t")))
    rounded = forged | {"digits": -3}
    with pytest.raises(Misuse, match="another observer"):
        replay(written(tmp_path, rounded), TargetSpec("t"))
    for wrong in ({"confidence": 0.1}, {"confidence": 1.0}, {"tolerance": -1.0}, {"tolerance": math.nan}):
        with pytest.raises(Misuse):
            ReplayTerms(**wrong)


JUNK = [
    *(
        [],
        {},
        None,
        True,
        -1,
        0,
        2**70,
        1e308,
        -1e308,
        1e-320,
        "",
        "r0",
        "\ud800",
        "x" * 99,
        [[]],
        [{}],
        {"id": "r0"},
    ),
    *(
        {"epsilon": 0},
        [["r0"]],
        "collision",
        "statistics",
        "exposure",
        "forgets",
        0.5,
        "9" * 400,
        ["r0", "r0"],
    ),
]


def mutated(rng, body):
    """The file with something else in one to three places: a value, a missing part, a part twice."""
    body = copy.deepcopy(body)
    for _ in range(rng.randrange(1, 4)):
        at, part = body, rng.choice(list(body))
        while rng.random() < 0.8 and isinstance(at[part], dict | list) and at[part]:
            at = at[part]
            part = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        match rng.randrange(4):
            case 0 if isinstance(at, dict):
                del at[part]
            case 1 if isinstance(at, list):
                at.insert(part, copy.deepcopy(rng.choice(at)))
            case 2 if isinstance(at[part], int | float) and not isinstance(at[part], bool):
                at[part] = rng.choice([at[part] + 1, -at[part], at[part] * 1e16, 0, 1, 7])
            case _:
                at[part] = copy.deepcopy(rng.choice(JUNK))
    return body


def test_no_mutated_witness_convicts_a_safe_target_or_crashes(played, tmp_path):
    """500 of them; both outcomes are tried often enough to mean something."""
    rng = random.Random("mutants")
    bodies = [witness(LEAKS), witness(exposure(*range(5, 900, 13), own=("r0", "r1")), forgets(5, 1, 2))]
    bodies += [witness(collision(world(3, 4, 5, 6), world(3, 4, 6, 5), ("r0", "r1"), worlds=None))]
    bodies[2]["findings"][0].pop("worlds")
    convicted = refused = 0
    for number in range(500):
        says = rng.choice(list(SAFE.values()))
        played(says)
        path = written(tmp_path, mutated(rng, rng.choice(bodies)))
        try:
            found = replay(path, TargetSpec("t"), RARELY, seed=number)
        except UndeletedError:
            refused += 1
            continue
        convicted += any(r.counts for r in found)
    assert convicted == 0
    assert 50 < refused < 450, "both kinds must be tried"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(witness({"kind": []})),
        json.dumps(witness({"kind": {}})),
        json.dumps(witness(LEAKS)).replace('"r1"', "[" * 5000 + "]" * 5000),
        "[" * 100_000,
        json.dumps(witness(LEAKS)).replace('"seed": 1', '"seed": ' + "9" * 9000),
        json.dumps(witness(LEAKS)).replace('"x": 5', '"x": NaN'),
        json.dumps(witness(LEAKS)).replace('"x": 5', '"x": 1e999'),
        json.dumps(witness(LEAKS)).replace('"version": 1', '"version": [[]]'),
        '{"format": "undeleted-witness", "version": 1, "findings": "\\ud800"}',
        "\ufeff{}",
        "",
    ],
    ids=range(11),
)
def test_what_is_no_witness_is_two_lines_and_exit_2(text, tmp_path, capsys):
    path = written(tmp_path, text)
    assert run(["replay", str(path), "--target", "mechanism:exact-sum"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_on_the_command_line_it_says_what_it_rests_on(tmp_path, capsys):
    path = written(tmp_path, witness(LEAKS))
    assert run(["replay", str(path), "--target", "retrain:median"]) == 1
    told = capsys.readouterr().out
    assert "HOLDS" in told
    assert "depends on  the target is deterministic" in told
    assert run(["replay", str(path), "--target", "mechanism:exact-sum", "--json", "--seed", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 3
