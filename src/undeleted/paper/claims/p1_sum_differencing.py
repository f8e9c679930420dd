"""An exact sum reveals the people who leave, and nobody else."""

from undeleted.foundations.coins import seeded
from undeleted.games.attacks.sum_differencing import sum_differencing
from undeleted.games.baselines.retrain import Retrain, total
from undeleted.games.dynamic import dynamic_game
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import attack, least, optimum

SAYS = (
    "Anybody who sees the sum before and after Alice left knows her number. That is a differencing attack "
    "on the *deleted*; it may be accepted, because Alice chose to leave, and it says nothing about those "
    "who stay."
)
WHERE = "Section 1, perfect retraining and privacy"


def p1_sum_differencing(setting: Setting) -> ClaimResult:
    people, leavers = setting.pick(1_000, 10_000), setting.pick(50, 200)
    figures = []
    for against in ("retrain-sum", "exact-sum"):
        result, command = attack(
            "sum-differencing", n=people, leavers=leavers, against=against, seed=setting.seed
        )
        what = f"numbers of {leavers} leavers that two consecutive sums reveal ({against})"
        figures.append(exactly(what, result["deleted_values_learned"], leavers, command))
    for name in ("retrain-sum", "exact-sum"):
        proof, command = least(name, k=2)
        figures.append(
            exactly(f"least δ of {name}: what it reveals about those who stay", optimum(proof), "0", command)
        )
    return ClaimResult(tuple(figures), (picture(setting),))


def picture(setting: Setting) -> Picture:
    values = [int(v) for v in seeded(f"people {setting.seed}").integers(0, 1001, 60)]
    _, result = dynamic_game(
        Retrain(total), lambda w: sum_differencing(w, leavers=40), values, 40, seeded(setting.seed)
    )
    x, y = "number of the person who left", "difference of two sums"
    rows = [{x: v, y: d, "who": "a leaver"} for v, d in zip(values, result, strict=False)]
    line = [{x: v, y: v, "who": "a leaver"} for v in (0, 1000)]
    caption = "Each point is a leaver: what the two sums around a deletion differ by is that person's number."
    alt = "Forty points exactly on the diagonal: the difference of two sums equals the deleted number."
    return curves(rows, x, y, "who", theory=line, caption=caption, alt=alt)
