"""Deleting from an exact median exposes people who stay."""

from collections.abc import Sequence

from undeleted.foundations.coins import seeded
from undeleted.foundations.types import Output
from undeleted.games.attacks.median_walk import median_walk
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import dynamic_game
from undeleted.games.worlds import World
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly
from undeleted.paper.claims._pictures import BLUE, HEIGHT, RED, WIDTH
from undeleted.paper.claims._runs import attack, least, optimum

SAYS = (
    "For an odd number of people: when somebody above the median leaves, the median moves to the value of "
    "another person, who did not ask for anything. In a world of ten 0, one w and twelve 1, deleting a "
    "single 1 reveals w."
)
WHERE = "Section 1.1, and the footnote in Section 4"


def p2_median_walk(setting: Setting) -> ClaimResult:
    n, own = setting.pick((1001, 64), (10_001, 600))
    figures = []
    for people, strategy, expected in (
        (n, "one-sided", own - own // 2),
        (n - 1, "one-sided", own // 2),
        (n, "alternating", 1),
    ):
        result, command = attack(
            "median-walk", n=people, controlled=own, strategy=strategy, seed=setting.seed
        )
        what = (
            f"people exposed, of {people - own:,} who stayed, by {own:,} own records ({strategy}, n = "
            f"{people:,})"
        )
        figures.append(exactly(what, result["exposed"], expected, command))
        figures.append(exactly("wrong claims among them", result["wrong"], 0))
    for against in ("noisy-histogram", "frozen-median"):
        result, command = attack("median-walk", n=n, controlled=own, against=against, seed=setting.seed)
        figures.append(exactly(f"the same walk against {against}", result["exposed"], 0, command))
    figures.append(
        exactly("the footnote's w after one deletion, in its two worlds", footnote(), "1/4 and 3/4")
    )
    proof, command = least("retrain-median")
    figures.append(exactly("least δ of the retrained median", optimum(proof), "1/2", command))
    return ClaimResult(tuple(figures), (picture(setting),))


def footnote() -> str:
    """The median, in quarters, after one of twelve 1 leaves a world that also has ten 0 and one w."""
    seen = []
    for w in (1, 3):
        world = [0] * 10 + [w] + [4] * 12

        def attacker(game: World) -> Output:
            game.corrupt(22)
            return game.look(), game.delete(22)

        _, (first, then) = dynamic_game(Retrain(median), attacker, world, 1, seeded(7))
        seen.append(f"{then}/4" if first == 4 else f"first {first}/4")
    return " and ".join(seen)


def picture(setting: Setting) -> Picture:
    people = sorted(int(v) for v in seeded(f"walk {setting.seed}").choose(1000, 41))
    own = list(range(29, 41))
    seen = []

    def attacker(world: World) -> None:
        world.corrupt(*own)
        seen.append(world.look())
        seen.extend(world.delete(i) for i in own)

    dynamic_game(Retrain(median), attacker, people, 12, seeded(setting.seed))
    _, result = dynamic_game(
        Retrain(median), lambda w: median_walk(w, controlled=own), people, 12, seeded(setting.seed)
    )
    low = min(seen) - 60
    walk = [{"deletions": i, "value": v} for i, v in enumerate(seen)]
    others = [
        {"value": v, "who": "exposed" if v in result else "not exposed"} for v in people[:29] if v >= low
    ]
    caption = (
        f"Each line is a person who stays. The median steps over {len(result)} of them, and stops at "
        "each (41 people, 12 deletions)."
    )
    alt = "The published median steps down after every second deletion, each time to the value of a person."
    return Picture(caption, alt, _chart(walk, others, low))


def _chart(walk: Sequence[Output], others: Sequence[Output], low: int) -> Output:
    import altair as a

    height = a.Y("value:Q", scale=a.Scale(domainMin=low), title="value")
    colour = a.Color(
        "who:N", title=None, scale=a.Scale(domain=["exposed", "not exposed"], range=[RED, "#999"])
    )
    lines = a.Chart(a.InlineData(values=others)).mark_rule(strokeWidth=1.5).encode(y=height, color=colour)
    path = a.Chart(a.InlineData(values=walk)).mark_line(interpolate="step-after", point=True, color=BLUE)
    steps = path.encode(x=a.X("deletions:Q", title="deletions of the attacker's own records"), y=height)
    return (lines + steps).properties(width=WIDTH, height=HEIGHT).to_dict()
