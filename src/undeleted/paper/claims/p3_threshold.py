"""The threshold functionality: one deletion publishes everybody who stays."""

from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import attack, least, optimum

SAYS = (
    "An extreme case: let f(D) be empty while |D| ≥ n, and D itself otherwise. By deleting her own "
    "record Alice makes a curator that retrains f publish everybody else."
)
WHERE = "Section 1.1, footnote 2"


def p3_threshold(setting: Setting) -> ClaimResult:
    n = setting.pick(1_000, 100_000)
    leaky, command = attack("threshold", n=n, seed=setting.seed)
    safe, other = attack("threshold", n=n, against="noisy-count", seed=setting.seed)
    proof, verify = least("threshold")
    figures = (
        exactly(f"people exposed of {n - 1:,} who stayed, by one deletion", leaky["exposed"], n - 1, command),
        exactly("the same against a noisy count that is released once", safe["exposed"], 0, other),
        exactly(
            "least δ in a world of two people besides Alice, on two values",
            optimum(proof),
            two_others(),
            verify,
        ),
    )
    rows = [
        {"people exposed": e, "after": when, "curator": who}
        for who, result in (("f, retrained", leaky), ("a noisy count, released once", safe))
        for when, e in (("no deletion", 0), ("one deletion", result["exposed"]))
    ]
    caption = "Before the deletion f says nothing at all; after it, everything."
    alt = (
        f"No bar before the deletion; after one deletion a bar of {n - 1:,} people for f, and none for the "
        "noisy count."
    )
    return ClaimResult(figures, (bars(rows, "people exposed", "after", "curator", caption=caption, alt=alt),))


def two_others() -> str:
    """1 − 1/m: the two who stay are one of m = 3 multisets, with the same output before the deletion."""
    stay = {tuple(sorted((a, b))) for a in (0, 1) for b in (0, 1)}
    return f"{len(stay) - 1}/{len(stay)}"
