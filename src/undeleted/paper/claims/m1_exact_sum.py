"""An exact sum that subtracts leavers is undeleted-safe, although older definitions forbid it."""

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.exact_sum import ExactSum
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum
from undeleted.paper.specimens import specimen
from undeleted.paper.survey_table import ask

SAYS = (
    "The exact sum is stateless: the next sum is the last one minus the deleted number. It satisfies the "
    "new definition in every variant. Deletion-as-compliance and related definitions rule it out."
)
WHERE = "Section 4, and the survey in Section 1.2"
STRICT = ("garg-2020", "gao-2022", "chourasia-shah-2023", "dp-folklore")


def m1_exact_sum(setting: Setting) -> ClaimResult:
    return safe_and_forbidden("exact-sum", setting, maintained(setting))


def maintained(setting: Setting) -> int:
    """The largest difference between the maintained sum and one that is computed from scratch."""
    n, gone = setting.pick((2_000, 500), (50_000, 5_000))
    x = Number("x", min=0, max=1000)
    schema, mechanism = Schema([x]), ExactSum(x)
    values = seeded(f"people {setting.seed}").integers(0, 1001, n)
    release = mechanism.release(Arrays(schema.table(values)), seeded(setting.seed))
    worst = 0
    for i in range(gone):
        release = mechanism.forget(release, mechanism.contribution(schema.table(values[i : i + 1])))
        worst = max(worst, abs(int(release.value[0]) - int(values[i + 1 :].sum())))
    return worst


def safe_and_forbidden(name: str, setting: Setting, difference: int) -> ClaimResult:
    """The figures for sums and boards: perfect in all games, refused by the stricter definitions."""
    figures = [
        exactly("largest difference from a computation from scratch, over all deletions", difference, 0)
    ]
    for game in ("non-adaptive", "static", "dynamic"):
        proof, command = least(name, game, k=2)
        figures.append(exactly(f"least δ, {game}, up to two leave", optimum(proof), "0", command))
    rows = []
    for definition in (*STRICT, "undeleted-dynamic"):
        cell = ask(definition, specimen(name))
        command = f"undeleted definitions show {definition} --on {name}"
        ours = definition.startswith("undeleted")
        figures.append(exactly(f"{definition} allows it", cell.answer.holds, ours, command))
        distance = cell.answer.distance
        rows.append(
            {"definition": definition, "distance": 1.0 if distance is None else min(1.0, float(distance))}
        )
    return ClaimResult(tuple(figures), (picture(name, rows),))


def picture(name: str, rows: list[dict[str, object]]) -> Picture:
    caption = (
        f"How far {name} is from what each definition asks for, in a small world (distances above 1 are "
        "drawn as 1): of these five only the new one accepts it."
    )
    alt = "Long bars for four older definitions, none for the new one."
    return bars(rows, "distance", "definition", caption=caption, alt=alt)
