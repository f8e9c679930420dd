"""Perfect retraining satisfies what most definitions ask for, and leaks those who stay."""

from collections.abc import Callable

from undeleted.foundations.types import Output
from undeleted.games.baselines.retrain import Retrain, median, total
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import optimum
from undeleted.paper.claims.d1_non_adaptive import guess
from undeleted.paper.specimens import specimen
from undeleted.paper.survey_table import ask
from undeleted.verifying.exact import FiniteWorld, verify

SAYS = (
    "Retraining from scratch after every deletion is the ideal that definitions of unlearning imitate, and "
    "satisfies them. Deleting one person can then expose another who did not ask for it, as with an exact "
    "median; for an exact sum, retraining is a subtraction and does not."
)
WHERE = "Sections 1 and 1.2"
RETRAINING = (
    "cao-yang-2015",
    "ginart-2019",
    "guo-2019",
    "sekhari-2021",
    "gupta-2021",
    "cohen-2023",
    "godin-lamontagne-2021",
)


def largest(points: tuple[Output, ...]) -> Output:
    return max(points, default=None)


def spread(points: tuple[Output, ...]) -> Output:
    return max(points) - min(points) if points else None


def how_many(points: tuple[Output, ...]) -> int:
    return len(points)


def votes(points: tuple[Output, ...]) -> Output:
    """The most common value; the smallest, if there are several."""
    return max(sorted(set(points)), key=points.count, default=None)


FUNCTIONS: dict[str, Callable[[tuple[Output, ...]], Output]] = {
    "count": how_many,
    "sum": total,
    "median": median,
    "maximum": largest,
    "range": spread,
    "most common value": votes,
}


def m10_perfect_retraining(setting: Setting) -> ClaimResult:
    figures, rows = [], []
    x, y = "least δ of any simulator", "function"
    values = setting.pick([0, 1, 2], [0, 1, 2, 3])
    for name, function in FUNCTIONS.items():
        world = FiniteWorld.of(lambda function=function: Retrain(function), values, 3, 1, by_value=True)
        proof = verify(world, "dynamic")
        what = f"retrained {name}: least δ of any simulator"
        figures.append(exactly(what, optimum(proof), guess(function, len(values))))
        rows.append({x: float(proof.literal.lower), y: name})
    for definition in RETRAINING:
        cell = ask(definition, specimen("retrain-median"))
        command = f"undeleted definitions show {definition} --on retrain-median"
        figures.append(
            exactly(f"the retrained median satisfies {definition}", cell.answer.holds, True, command)
        )
    for definition in ("undeleted-non-adaptive", "undeleted-dynamic"):
        cell = ask(definition, specimen("retrain-median"))
        command = f"undeleted definitions show {definition} --on retrain-median"
        figures.append(
            exactly(f"the retrained median satisfies {definition}", cell.answer.holds, False, command)
        )
    caption = (
        "Perfect retraining of six functions, three people: how far the best simulator is from the truth."
    )
    alt = "No bars for the count and the sum; bars for median, maximum, range and most common value."
    return ClaimResult(tuple(figures), (bars(rows, x, y, caption=caption, alt=alt),))
