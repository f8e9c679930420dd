"""How often an audit accuses a target that is safe, and how often it catches its leaky twin in the same time.

Every audit has a seed of its own and a few seconds; a false alarm is `broken`, `not perfectly safe`, or a
`forgets: no` where it forgets.  The stated rate is 5 % an audit.
"""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from scipy.stats import binom

from bench import Bench
from undeleted.audit.auditor import Options, audit
from undeleted.audit.confidence_bounds import at_most
from undeleted.audit.targets import Named
from undeleted.errors import TargetFailed

TINY = Path(__file__).parents[1] / "tests" / "audit" / "curators" / "tiny.py"
RATE = 0.05
SAFE: dict[str, Named] = {
    "noisy sum": Named("mechanism:noisy-sum"),
    "noisy sum, ε = 4": Named("mechanism:noisy-sum", {"epsilon": 4}),
    "noisy histogram": Named("mechanism:noisy-histogram", {"high": 2}),
    "tree counter": Named("baseline:tree-counter"),
    "pad that tells the deleted": Named("baseline:xor-pad"),
    "noise once, coins shown": Named(f"{TINY}:NoiseOnce"),
    "accident in one seed of fifty": Named(f"{TINY}:RarelyRandom"),
    "exact sum": Named("mechanism:exact-sum"),
    "GaussianNB, all public": Named("sklearn.naive_bayes:GaussianNB", see=("fitted",)),
    "River's mean": Named("river.stats:Mean"),
}
KEEPS_NOISE = ("tree counter",)  # more noise than afresh: `no` is right
LEAKY: dict[str, Named] = {
    "pad that tells the undeleted": Named("baseline:xor-undeleted"),
    "noise drawn again": Named(f"{TINY}:FreshNoise"),
    "exact median": Named("retrain:median"),
    "least squares": Named("sklearn.linear_model:LinearRegression"),
}


def one(job: tuple[str, Named, int, float]) -> dict[str, Any]:
    name, target, seed, budget = job
    try:
        found = audit(target, Options(budget=budget, seed=seed))
    except TargetFailed as failure:
        return {"name": name, "accused": False, "forgets": "failed", "why": str(failure)}
    return {"name": name, "accused": found.broken, "forgets": found.forgets.verdict}


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
        "no more false alarms than 5 % of them allow",
        binom.sf(alarms - 1, audits, RATE) > 1e-3,
        alarms=alarms,
        rate_at_most=at_most(alarms, audits, 0.05),
    )
    bench.claim(
        "the leaky twins are caught, nine times in ten", missed <= 0.1 * (len(jobs) - audits), missed=missed
    )
    bench.finish()


if __name__ == "__main__":
    main()
