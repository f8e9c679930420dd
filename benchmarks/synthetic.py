"""Synthetic rows of the Adult census table: how near they are, before and after people leave; beside peers.

    pairs     the mean total variation of all 78 pairs of 13 columns, from the exact pairs of those who remain
    clamped   the published counts alone, with negative ones set to 0
    boosting  gradient boosting, trained on rows and tested on held-out people: accuracy and AUC for income
    peers     MST and AIM of dpmm, in an environment of their own; they cannot forget, so for ten rounds of
              deletions they divide their budget (in zCDP) by ten

(ε, δ) = (1, 10⁻⁶).  Settings are the library's defaults; nothing was chosen by these figures.  It needs
UNDELETED_ADULT.  `--peers none` leaves the peers out.
"""

import argparse
import csv
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from bench import OUT, Bench
from undeleted import Budget, Category, NoisyMarginals, Number, Schema
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic import fitting
from undeleted.curate.synthetic.fitting import fitted
from undeleted.curate.synthetic.rows import sampled_codes
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy.accounting import zcdp_epsilon
from undeleted.foundations.privacy.calibration import rho_for

BUDGET = Budget(1.0, 1e-6)
NUMBERS = {
    "age": (17, 90, [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80]),
    "capital_gain": (0, 99_999, [1, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 50_000]),
    "capital_loss": (0, 4_356, [1, 1_500, 1_800, 1_950, 2_200]),
    "hours_per_week": (1, 99, [10, 20, 30, 35, 40, 41, 45, 50, 55, 60]),
}
CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
MOST = {0.0: 0.016, 0.2: 0.018, 0.5: 0.024}
PEER = ("dpmm==0.1.9",)
HERE = Path(__file__).parent


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--peers", nargs="+", default=["MST", "AIM"], help="MST, AIM, or none")
    parser.add_argument("--peer-seconds", type=int, default=1800, help="the most time a peer may take")


def adult() -> tuple[Schema, Any]:
    """The columns with public bounds, and the table on the grid; income is the last column."""
    with open(os.environ["UNDELETED_ADULT"], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [Number(name, min=low, max=high) for name, (low, high, _) in NUMBERS.items()]
    categories = [Category(n, values=tuple(sorted({r[n] for r in rows}))) for n in (*CATEGORIES, "income")]
    schema = Schema([*numbers, *categories])
    return schema, schema.table({name: [row[name] for row in rows] for name in schema.names})


class Census:
    """The table, its marginals, and how far something is from them."""

    def __init__(self) -> None:
        self.schema, self.table = adult()
        edges = {name: ends for name, (_, _, ends) in NUMBERS.items()}
        self.mechanism = NoisyMarginals(tuple(self.schema.columns), budget=BUDGET, edges=edges)  # type: ignore[arg-type]
        self.order = np.random.default_rng(1).permutation(self.table.rows)

    def some(self, rows: Any) -> Any:
        return self.table.take(rows)

    def bins_of(self, table: Any) -> Any:
        codes = np.column_stack([table.codes[c.name] for c in self.mechanism.over]).astype(np.int64)
        return self.mechanism.statistic.binned(codes)

    def pairs(self, table: Any) -> list[Any]:
        total = Arrays(table).total(self.mechanism.statistic)
        return [t / table.rows for t in self.mechanism.tables(Cells(total))]

    def pairs_of_bins(self, bins: Any) -> list[Any]:
        found = []
        for columns, shape in zip(
            self.mechanism.statistic.sets, self.mechanism.statistic.shapes, strict=True
        ):
            cells = np.ravel_multi_index(tuple(bins[:, i] for i in columns), shape)
            found.append(np.bincount(cells, minlength=math.prod(shape)).reshape(shape) / len(bins))
        return found


def spent() -> float:
    """Processor seconds of the processes that fit; they do not depend on how busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def apart(some: list[Any], exact: list[Any]) -> float:
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(some, exact, strict=True)]))


def near(bench: Bench, census: Census) -> None:
    """Pairs before and after people leave, by seeds of the noise."""
    mechanism, order = census.mechanism, census.order
    found: dict[tuple[str, float], list[float]] = {}
    times: dict[str, list[float]] = {"mixture": [], "tree": [], "sample": []}
    for seed in range(bench.seeds):
        release = mechanism.release(Arrays(census.table), seeded(f"synthetic {seed}"))
        for share in MOST:
            left, stay = np.split(order, [int(share * census.table.rows)])
            gone = mechanism.contribution(census.some(left))
            now = mechanism.forget(release, gone) if share else release
            there = census.some(stay)
            exact = census.pairs(there)
            started = spent()
            model = fitted(mechanism, now)
            times["mixture"].append(spent() - started)
            sets, bins = mechanism.statistic.sets, mechanism.statistic.bins
            estimated = apart([model.marginal(columns, bins) for columns in sets], exact)
            started = time.perf_counter()
            codes = sampled_codes(mechanism, now, there.rows, seed)
            times["sample"].append(time.perf_counter() - started)
            drawn = census.pairs_of_bins(mechanism.statistic.binned(codes))
            clamped = [np.maximum(t, 0) / np.maximum(t, 0).sum() for t in mechanism.tables(now)]
            figures = {"mixture": estimated, "rows": apart(drawn, exact), "clamped": apart(clamped, exact)}
            if not seed:
                started = spent()
                codes = sampled_codes(mechanism, now, there.rows, seed, "tree")
                times["tree"].append(spent() - started)
                figures["tree_rows"] = apart(census.pairs_of_bins(mechanism.statistic.binned(codes)), exact)
            for name, value in figures.items():
                found.setdefault((name, share), []).append(value)
    for share, most in MOST.items():
        mean = {n: float(np.mean(v)) for (n, of), v in found.items() if of == share}
        widest = float(np.max(found["mixture", share]))
        bench.row(left=share, cells=mechanism.statistic.size, seeds=bench.seeds, worst_mixture=widest, **mean)
        bench.claim(f"{share:.0%} left: pairs at most {most}", widest <= most, worst=widest)
        more = mean["rows"] - mean["mixture"]
        bench.claim(f"{share:.0%} left: rows at most 0.002 above", more <= 0.002, more=more)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    seconds = {f"{name}_seconds": float(np.median(several)) for name, several in times.items()}
    bench.row(**seconds, memory_mb=memory)
    most = max(times["mixture"] + times["tree"])
    bench.claim(
        "a fit from nothing, with its compilation: at most 60 s of a processor", most <= 60, most=most
    )


def deletion(bench: Bench, census: Census) -> None:
    """What forgetting one person costs in the mechanism, a marginal."""
    mechanism = census.mechanism
    codes = np.column_stack([census.table.codes[c.name] for c in mechanism.over]).astype(np.int64)
    rounds = []
    for start in range(0, 5000, 1000):
        started = time.perf_counter()
        for row in codes[start : start + 1000]:
            mechanism.contribution(row[None])
        rounds.append((time.perf_counter() - started) / 1000)
    each = 1e6 * float(np.median(rounds)) / len(mechanism.statistic.sets)
    bench.row(deletion_us=each * len(mechanism.statistic.sets), us_a_marginal=each)
    bench.claim("a deletion takes at most 10 µs a marginal", each <= 10, us=each)


def boosted(train: Any, test: Any) -> tuple[float, float]:
    """Accuracy and AUC of gradient boosting for the last column."""
    model = HistGradientBoostingClassifier(random_state=0).fit(train[:, :-1], train[:, -1])
    shares = model.predict_proba(test[:, :-1])[:, 1]
    return float(((shares > 0.5) == test[:, -1]).mean()), float(roc_auc_score(test[:, -1], shares))


def boosting(bench: Bench, census: Census) -> None:
    """Gradient boosting on rows of a junction tree, beside real rows and peers."""
    mechanism, order = census.mechanism, census.order
    test = census.bins_of(census.some(order[: census.table.rows // 4]))
    train = order[census.table.rows // 4 :]
    left, stay = np.split(train, [len(train) // 5])
    scores: dict[str, tuple[float, float]] = {"real rows": boosted(census.bins_of(census.some(train)), test)}
    ours: dict[str, list[tuple[float, float]]] = {"ours": [], "ours, a fifth left": []}
    for seed in range(bench.seeds):
        release = mechanism.release(Arrays(census.some(train)), seeded(f"boosting {seed}"))
        for name, rows in (("ours", train), ("ours, a fifth left", stay)):
            if rows is stay:
                for gone in np.array_split(left, 10):  # ten rounds, and nobody who stays pays anything
                    release = mechanism.forget(release, mechanism.contribution(census.some(gone)))
            codes = sampled_codes(mechanism, release, len(rows), seed, "tree")
            ours[name].append(boosted(mechanism.statistic.binned(codes), test))
    scores |= {
        n: (float(np.mean([a for a, _ in s])), float(np.mean([u for _, u in s]))) for n, s in ours.items()
    }
    for kind in [k for k in bench.options.peers if k != "none"]:
        split = zcdp_epsilon(rho_for(BUDGET) / 10, BUDGET.delta)
        for name, rows, epsilon in ((kind, train, 1.0), (f"{kind}, tenth round", stay, split)):
            bins = peer(bench, kind, census.bins_of(census.some(rows)), mechanism.statistic.bins, epsilon)
            if bins is not None:
                scores[name] = boosted(bins, test)
    for name, (accuracy, auc) in scores.items():
        bench.row(trained_on=name, accuracy=accuracy, auc=auc)
    for name in ours:
        accuracy, auc = scores[name]
        held = accuracy >= 0.85 and auc >= 0.90
        bench.claim(f"{name}: accuracy 0.85 and AUC 0.90", held, accuracy=accuracy, auc=auc)
    for kind in [k for k in bench.options.peers if k in scores]:
        behind = scores[kind][0] - scores["ours"][0], scores[kind][1] - scores["ours"][1]
        bench.claim(f"within a point of {kind}", max(behind) <= 0.01, accuracy=behind[0], auc=behind[1])
        if f"{kind}, tenth round" in scores:
            ahead = scores["ours, a fifth left"][1] - scores[f"{kind}, tenth round"][1]
            bench.claim(f"after ten rounds of deletions ahead of {kind}", ahead > 0, auc=ahead)


def peer(bench: Bench, kind: str, bins: Any, sizes: Any, epsilon: float) -> Any:
    """Rows of a peer, or None if it takes too long."""
    folder = OUT / "peer_dpmm"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PEER]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as place:
        given, written = Path(place) / "given.npz", Path(place) / "rows.npy"
        np.savez(given, codes=bins, sizes=np.array(sizes))
        words = (python, HERE / "peer_dpmm.py", kind, given, written, epsilon, BUDGET.delta, 0)
        command = list(map(str, words))
        started = time.perf_counter()
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=bench.options.peer_seconds)
        except subprocess.TimeoutExpired:
            bench.row(peer=kind, epsilon=epsilon, seconds=bench.options.peer_seconds, ended="took too long")
            return None
        bench.row(peer=kind, epsilon=epsilon, seconds=time.perf_counter() - started)
        return np.load(written)


def main() -> None:
    bench = Bench("synthetic", __doc__ or "", seeds=3, options=options)
    if not os.environ.get("UNDELETED_ADULT"):
        print("skipped: UNDELETED_ADULT does not name the Adult table")
        sys.exit(0)
    census = Census()
    near(bench, census)
    deletion(bench, census)
    boosting(bench, census)
    fitting._kept.clear()
    bench.finish()


if __name__ == "__main__":
    main()
