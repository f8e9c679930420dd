"""The folklore: release once with differential privacy, and ignore deletions."""

import numpy as np

from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.games.baselines.ignore import Ignore
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum
from undeleted.paper.claims.m3_private_sum import SCHEMA, X
from undeleted.paper.specimens import specimen
from undeleted.paper.survey_table import ask

SAYS = (
    "The folklore: release a differentially private result with parameters that are small enough to hide "
    "the whole group of those who will leave, and simply ignore all deletions."
)
WHERE = "Section 1, privacy-oriented definitions of deletion"


def m8_ignored_deletions(setting: Setting) -> ClaimResult:
    n, gone = setting.pick((1_000, 400), (10_000, 4_000))
    values = np.sort(seeded(f"people {setting.seed}").integers(0, 101, n))[::-1]
    people = [int(v) for v in values]
    curator, once = Ignore(NoisySum(X, Budget(1.0)), SCHEMA), NoisySum(X, Budget(1.0))
    first = curator.start(people, seeded(setting.seed))
    subtracted, changed = first, 0
    x, y = "deletions", "absolute error of the sum"
    rows, theory = [], []
    for k in range(1, gone + 1):
        z = curator.delete([people[k - 1]])
        subtracted = once.forget(subtracted, once.contribution(SCHEMA.table([people[k - 1]])))
        changed += z != first
        if k in (1, 2, 5, 10) or k % (gone // 10) == 0:
            exact = sum(people[k:])
            rows.append({x: k, y: abs(int(z.value[0]) - exact) + 1, "curator": "ignore deletions"})
            rows.append({x: k, y: abs(int(subtracted.value[0]) - exact) + 1, "curator": "subtract"})
            theory.append({x: k, y: sum(people[:k]) + 1, "curator": "ignore deletions"})
    noise = int(first.value[0]) - sum(people)
    drift = int(z.value[0]) - sum(people[gone:]) - sum(people[:gone])
    proof, command = least("ignore", k=2)
    figures = [
        exactly(f"releases of {gone:,} that differ from the first", changed, 0),
        exactly("error after all deletions minus the sum of the leavers: the first noise", drift, noise),
        exactly("least δ, up to two leave", optimum(proof), "0", command),
    ]
    for definition, expected in (
        ("undeleted-dynamic", True),
        ("dp-folklore", True),
        ("cao-yang-2015", False),
    ):
        cell = ask(definition, specimen("ignore"))
        command = f"undeleted definitions show {definition} --on ignore"
        figures.append(exactly(f"{definition} holds", cell.answer.holds, expected, command))
    caption = (
        "The error of a sum when deletions are ignored, next to subtracting from the same first release "
        "(plus one, for the logarithmic axis)."
    )
    alt = "The error of ignoring grows in proportion to the deletions; that of subtracting does not grow."
    picture = curves(rows, x, y, "curator", theory=theory, log="xy", caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,))
