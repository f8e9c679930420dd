"""How often an audit accuses a safe target, and how often it catches a leaky variant.

Every audit has its own seed and a few seconds; a false alarm is `broken`, `not perfectly safe`, or
`forgets: no` for a target that forgets.  The stated rate is 5 % per audit.
"""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from scipy.stats import binom

from bench import Bench
from undeleted.auditing.auditor import Options, audit
from undeleted.auditing.confidence_bounds import at_most
from undeleted.auditing.targets import TargetSpec
from undeleted.errors import TargetFailed

TINY = Path(__file__).parents[1] / "tests" / "audit" / "curators" / "tiny.py"
RATE = 0.05
SAFE: dict[str, TargetSpec] = {
    "noisy sum": TargetSpec("mechanism:noisy-sum"),
    "noisy sum, ε = 4": TargetSpec("mechanism:noisy-sum", {"epsilon": 4}),
    "noisy histogram": TargetSpec("mechanism:noisy-histogram", {"high": 2}),
    "tree counter": TargetSpec("baseline:tree-counter"),
    "pad that reveals the deleted": TargetSpec("baseline:xor-pad"),
    "noise once, coins shown": TargetSpec(f"{TINY}:NoiseOnce"),
    "accident in one seed of fifty": TargetSpec(f"{TINY}:RarelyRandom"),
    "exact sum": TargetSpec("mechanism:exact-sum"),
    "GaussianNB, all public": TargetSpec("sklearn.naive_bayes:GaussianNB", see=("fitted",)),
    "River's mean": TargetSpec("river.stats:Mean"),
}
KEEPS_NOISE = ("tree counter",)  # it has more noise than a fresh start: `no` is correct
LEAKY: dict[str, TargetSpec] = {
    "pad that reveals the undeleted": TargetSpec("baseline:xor-undeleted"),
    "noise drawn again": TargetSpec(f"{TINY}:FreshNoise"),
    "exact median": TargetSpec("retrain:median"),
    "least squares": TargetSpec("sklearn.linear_model:LinearRegression"),
}


def one(job: tuple[str, TargetSpec, int, float]) -> dict[str, Any]:
    name, target, seed, budget = job
    try:
        result = audit(target, Options(budget=budget, seed=seed))
    except TargetFailed as failure:
        return {"name": name, "accused": False, "forgets": "failed", "why": str(failure)}
    return {"name": name, "accused": result.broken, "forgets": result.forgets.verdict}


def main() -> None:
    bench = Bench("false_alarms", __doc__ or "", seeds=32)
    jobs = [(name, target, seed, 4.0) for seed in range(bench.seeds) for name, target in SAFE.items()]
    jobs += [
        (name, target, seed, 12.0)
        for seed in range(max(2, bench.seeds // 4))
        for name, target in LEAKY.items()
    ]
    with ProcessPoolExecutor(2) as pool:
        done = list(pool.map(one, jobs))
    alarms = audits = missed = 0
    for name in (*SAFE, *LEAKY):
        mine = [d for d in done if d["name"] == name]
        accused = sum(d["accused"] for d in mine)
        kept = sum(d["forgets"] == "no" for d in mine)
        bench.row(target=name, safe=name in SAFE, audits=len(mine), accused=accused, forgets_no=kept)
        if name in SAFE:
            audits += len(mine)
            alarms += sum(d["accused"] or (d["forgets"] == "no" and name not in KEEPS_NOISE) for d in mine)
        else:
            missed += len(mine) - accused
    failed = [d for d in done if d["forgets"] == "failed"]
    bench.claim("no target failed", not failed, failed=[d["why"] for d in failed[:3]])
    bench.claim("at least 300 audits of safe targets", audits >= 300 or bench.seeds < 32, audits=audits)
    bench.claim(
        "no more false alarms than 5% of them allow",
        binom.sf(alarms - 1, audits, RATE) > 1e-3,
        alarms=alarms,
        rate_at_most=at_most(alarms, audits, 0.05),
    )
    bench.claim(
        "the leaky variants are caught nine times in ten", missed <= 0.1 * (len(jobs) - audits), missed=missed
    )
    bench.finish()


if __name__ == "__main__":
    main()
