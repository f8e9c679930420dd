"""The survey: every definition of unlearning, applied to every curator."""

from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.survey_table import survey as table

SAYS = (
    "Definitions that perfect retraining satisfies are open to the attacks. Those that it does not satisfy "
    "rule out exact sums and bulletin boards. The new definition allows those and refuses the leaky ones."
)
WHERE = "Section 1.2"


def survey(setting: Setting) -> ClaimResult:
    cells = table()
    decided = [cell for cell in cells if cell.agrees is not None]
    differing = [f"{cell.definition} on {cell.specimen}" for cell in decided if not cell.agrees]
    figures = (
        exactly(
            f"of {len(cells)} answers, those that the paper decides and that agree with it",
            len(decided) - len(differing),
            len(decided),
            "undeleted definitions",
        ),
        exactly("those that differ", ", ".join(differing) or "none", "none"),
        exactly(
            "numbers of definitions and of curators",
            f"{len({c.definition for c in cells})} and {len({c.specimen for c in cells})}",
            "16 and 12",
        ),
    )
    rows = [
        {"curators that satisfy it": sum(c.answer.holds for c in cells if c.definition == d), "definition": d}
        for d in dict.fromkeys(c.definition for c in cells)
    ]
    listed = tuple(
        {"definition": c.definition, "curator": c.specimen, "holds": c.answer.holds, "paper": c.claim}
        for c in cells
    )
    caption = "How many of the twelve curators satisfy each definition. The table below says which."
    alt = "Definitions by the number of curators that satisfy them."
    picture = bars(rows, "curators that satisfy it", "definition", caption=caption, alt=alt)
    return ClaimResult(figures, (picture,), table=listed)
