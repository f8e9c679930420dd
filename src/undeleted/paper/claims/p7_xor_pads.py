"""Generalized differencing: each release alone is uniform, and a pair of them reveals somebody's point."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from undeleted.foundations.coins import exact_law, seeded
from undeleted.games.attacks.xor_pad import curator_of
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly, share
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import attack, least, optimum
from undeleted.paper.definitions.chourasia_shah_2023 import chourasia_shah_2023
from undeleted.paper.specimens import specimen
from undeleted.paper.survey_table import ask

SAYS = (
    "Publish a random pad z, and z ⊕ x when x is deleted: every single release is uniform, and two of them "
    "reveal x. Publish z ⊕ y instead, for a random y who stays, and two of them reveal an undeleted "
    "point. Definitions that consider one release at a time can be vulnerable, such as Chourasia and Shah's, "
    "which allows the first."
)
WHERE = "Section 2.2"


def p7_xor_pads(setting: Setting) -> ClaimResult:
    trials = setting.pick(300, 5_000)
    figures = []
    for name in ("xor-pad", "xor-undeleted"):
        result, command = attack(name, trials=trials, seed=setting.seed)
        whom = "the deleted point" if name == "xor-pad" else "a point of somebody who stays"
        figures.append(
            share(f"{name}: how often two releases reveal {whom}", result["hits"], trials, 1.0, command)
        )
        safe, other = attack(name, trials=trials, against="two-pads", seed=setting.seed)
        figures.append(
            share(
                f"{name}, against two pads that do not depend on anybody",
                safe["hits"],
                trials,
                safe["guessing"],
                other,
            )
        )
        uniform = all(set(law.values()) == {law[0]} for law in single_releases(name))
        figures.append(exactly(f"{name}: every single release is uniform, whatever the data", uniform, True))
    for name, expected in (("xor-pad", "0"), ("xor-undeleted", "1/2")):
        proof, command = least(name, n=2)
        figures.append(exactly(f"least δ of {name} on one bit", optimum(proof), expected, command))
    for name, allowed in (("xor-pad", True), ("cumulative-xor-pad", False)):
        cell = ask("chourasia-shah-2023", specimen(name))
        command = f"undeleted definitions show chourasia-shah-2023 --on {name}"
        figures.append(
            exactly(f"{name} satisfies Chourasia and Shah's definition", cell.answer.holds, allowed, command)
        )
    larger = replace(specimen("xor-undeleted"), n=4, k=3, _played={})
    strict = chourasia_shah_2023(larger, factor=Fraction(1))
    what = "how far xor-undeleted is from that definition, four people and three requests that adapt, ε = 0"
    figures.append(exactly(what, str(strict.distance), "1/6"))
    note = (
        "z is always the initial pad. A cumulative variant, z_ℓ = z_(ℓ−1) ⊕ x, already fails Chourasia and "
        "Shah's definition when the requests adapt, so it would not show what the paper wants to show. "
        "That definition also rejects the second pad if closeness is perfect: after two outputs a request "
        "may depend on what they revealed."
    )
    return ClaimResult(tuple(figures), (picture(setting),), note=note)


def single_releases(name: str) -> list[dict[int, object]]:
    """The exact law of every single release, for two data sets of three points on two bits."""
    laws = []
    for data in ((0, 1, 3), (2, 2, 1)):
        for step in (0, 1):

            def run(coins, data=data, step=step):  # type: ignore[no-untyped-def]
                curator = curator_of(name, 2)
                first = curator.start(data, coins)
                return first if step == 0 else curator.delete([data[0]])

            laws.append(dict(exact_law(run)))
    return laws


def picture(setting: Setting) -> Picture:
    singles, pairs = Counter[int](), Counter[int]()
    runs = 800
    for trial in range(runs):
        curator = curator_of("xor-undeleted", 3)
        first = int(curator.start((1, 6, 6, 6), seeded(f"{setting.seed} {trial}")))
        second = int(curator.delete([1]))
        singles[second] += 1
        pairs[first ^ second] += 1
    x, y, by = "share of runs", "value of three bits", "what is observed"
    rows = [
        {x: counts[v] / runs, y: f"{v:03b}", by: text}
        for text, counts in (("the second release alone", singles), ("the first ⊕ the second", pairs))
        for v in range(8)
    ]
    caption = (
        "Three people who stay hold 110. The second release alone is uniform; together with the first it "
        "says 110 every time."
    )
    alt = "Eight bars of about an eighth each for single releases; one bar of 100% at 110 for pairs."
    return bars(rows, x, y, by, caption=caption, alt=alt)
