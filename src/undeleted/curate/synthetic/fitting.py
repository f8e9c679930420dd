"""Fit a model to published marginals, from scratch, in a process of its own; keep the fit while they stay.

A fit is a function of the release alone, with fixed seeds: the same release gives the same model.  When the
release has changed nothing of the old fit is used; it is dropped when rows of the new release are drawn.
"""

import importlib.util
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeAlias, get_args

import numpy as np

from undeleted.curate.mechanisms.noisy_marginals import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.statistics import Marginals
from undeleted.curate.synthetic.measured import Measured
from undeleted.errors import BadQuestion, BadSetting, FitFailed, MissingExtra
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.types import Given, Json

Model: TypeAlias = Literal["mixture", "tree"]
Advance: TypeAlias = Callable[[float], None]  # called with the share of the work that is done
MODELS: tuple[Model, ...] = get_args(Model)
MEGABYTES, SECONDS = 1.0, 600.0
_WORKER = "undeleted.curate.synthetic.worker"


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model: what the process returned, and which marginals it used."""

    model: Model
    arrays: Mapping[str, FloatArray]
    facts: Json
    total: float

    def marginal(self, columns: tuple[int, ...], bins: tuple[int, ...]) -> FloatArray:
        """The shares of all combinations of bins of some columns, of a mixture."""
        if self.model != "mixture":
            raise BadQuestion("only a mixture gives marginals.", 'FittedModel with model = "mixture".')
        from undeleted.curate.synthetic.worker import projected

        starts = np.cumsum([0, *bins])
        parts = [self.arrays["products"][:, starts[c] : starts[c + 1]] for c in columns]
        return projected(parts)


_LOCK = threading.Lock()
_kept: dict[Marginals, tuple[bytes, dict[tuple[Model, float], FittedModel]]] = {}
_running: set[subprocess.Popen[bytes]] = set()


def fitted(
    mechanism: NoisyMarginals,
    release: Cells,
    model: Model = "mixture",
    *,
    megabytes: float = MEGABYTES,
    seconds: float = SECONDS,
    advance: Advance = lambda done: None,
) -> FittedModel:
    """The model of a release; it is computed once for a release, and again from nothing when it changes."""
    if model not in MODELS:
        raise BadSetting(f"there is no model {model!r}.", f"Choose {' or '.join(MODELS)}.")
    if not 0 < megabytes <= 1000:
        raise BadSetting(f"a junction tree of {megabytes:g} MB is not possible.", "Choose up to 1000 MB.")
    if not (isinstance(seconds, int | float) and 0 < seconds <= 86_400):
        raise BadSetting(f"a time limit of {seconds!r} s is not possible.", "Choose up to 86400 s, a day.")
    now, counted = blake2b(release.value.tobytes()).digest(), mechanism.statistic
    with _LOCK:
        version, fits = _kept.get(counted, (b"", {}))
        if version != now:
            fits = {}
        if (model, megabytes) not in fits:
            fits[model, megabytes] = _fit(mechanism, release, model, megabytes, seconds, advance)
        if len(_kept) > 8:
            _kept.clear()
        _kept[counted] = now, fits
    return fits[model, megabytes]


def stop() -> None:
    """End what is being fitted: those who wait for it get an error."""
    for process in list(_running):
        process.kill()


def _fit(
    mechanism: NoisyMarginals,
    release: Cells,
    model: Model,
    megabytes: float,
    seconds: float,
    advance: Advance,
) -> FittedModel:
    measured = Measured.of(mechanism, release)
    alone = [measured.alone(column) for column in range(len(measured.bins))]
    if model == "tree":
        _require_columns_fit(mechanism, measured, megabytes)
    asked: Json = {
        "do": model,
        "bins": measured.bins,
        "sets": measured.sets,
        "spreads": measured.spreads,
        "total": measured.total,
        "megabytes": megabytes,
        "excess": measured.excess(),
        "alone": [shares.tolist() for shares, _ in alone],
        "alone_spreads": [spread for _, spread in alone],
    }
    counts = {f"counts{i}": table for i, table in enumerate(measured.counts)}
    arrays, facts = ask(asked, counts, seconds, advance)
    facts.setdefault("used", [list(columns) for columns in measured.sets])
    return FittedModel(model, arrays, facts, measured.total)


def _require_columns_fit(mechanism: NoisyMarginals, measured: Measured, megabytes: float) -> None:
    """Refuse a size that no pair of columns fits into."""
    cells = 8e-6 * min((counts.size for counts in measured.counts), default=0)
    if cells > megabytes:
        bins = dict(zip((column.name for column in mechanism.over), measured.bins, strict=True))
        largest = max(bins, key=bins.__getitem__)
        problem = f"no marginal fits into a junction tree of {megabytes:g} MB."
        raise BadSetting(problem, f"Allow more, or drop {largest!r}: it has {bins[largest]:,} bins.")


def ask(
    asked: Json, arrays: Mapping[str, Given], seconds: float, advance: Advance
) -> tuple[dict[str, Given], Json]:
    """Have the process do something, within so many seconds."""
    if importlib.util.find_spec("mbi") is None or importlib.util.find_spec("jax") is None:
        raise MissingExtra("synthetic rows", "mbi", "synthetic")
    request = io.BytesIO()
    np.savez(request, asked=np.array(json.dumps(asked)), **arrays)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", _WORKER],  # nothing is imported from the folder where this runs
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONWARNINGS": "ignore",
            "PYTHONHASHSEED": "0",
        },  # Private-PGM goes through sets
    )
    _running.add(process)
    said: list[str] = []
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    listening = threading.Thread(target=_listen, args=(process.stderr, said, advance), daemon=True)
    listening.start()
    try:
        process.stdin.write(request.getvalue())
        process.stdin.close()
        answer = process.stdout.read()
        code = process.wait()
    except BrokenPipeError:
        answer, code = b"", process.wait()
    finally:
        late = not timer.is_alive() and process.returncode not in (0, None)
        timer.cancel()
        process.kill()
        process.wait()
        _running.discard(process)
        listening.join()
        process.stdout.close()
        process.stderr.close()
    if code != 0:
        raise FitFailed(seconds if late else None, said[-1] if said else "")
    with np.load(io.BytesIO(answer), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    facts: Json = json.loads(str(found.pop("facts")))
    return found, facts


def _listen(lines: Given, said: list[str], advance: Advance) -> None:
    """Pass on how far the process is; remember its last words."""
    for line in lines:
        text = line.decode(errors="replace").strip()
        try:
            advance(float(text))
        except ValueError:
            said.append(text)
