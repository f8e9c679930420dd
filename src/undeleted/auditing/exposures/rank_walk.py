"""Delete the attacker's rows from one side, and check whether outputs are values of people who stay.

A median, a quantile, an extreme or a neighbour is somebody's value.  A number counts as exposed if it is the
value of a person who stays, not the attacker's and not in the first output.  A binomial test of how many of
the published numbers hit somebody rules out coincidence.
"""

from collections.abc import Iterator
from operator import itemgetter

from scipy.stats import binom

from undeleted.auditing.exposures import Exposure, Stage
from undeleted.auditing.lab import Lab, leaves
from undeleted.auditing.pairs import Space
from undeleted.foundations.coins import Coins

PEOPLE, OWN = 65, 24
CHANCE = 1e-3


class RankWalk:
    """One stage for every wide column and each side."""

    def stages(self, space: Space, coins: Coins) -> Iterator[Stage]:
        for column in (c for c in space.features if c.is_number and c.size >= 8 * PEOPLE):
            for from_above in (True, False):
                rows = space.draw(coins, PEOPLE)
                if not space.rows:
                    drawn = [column.at(int(p)) for p in coins.choose(column.size, PEOPLE)]
                    rows = [{**row, column.name: value} for row, value in zip(rows, drawn, strict=True)]
                rows.sort(key=itemgetter(column.name), reverse=from_above)
                records = tuple({"id": f"r{i:02}", **row} for i, row in enumerate(rows))
                own = tuple(r["id"] for r in records[:OWN])
                yield Stage(records, own, space.columns, space.label, column.name)

    def play(self, lab: Lab, stage: Stage, seed: int) -> Exposure | None:
        column = next(c for c in stage.columns if c.name == stage.column)
        first, *later = lab.play(stage.records, [(name,) for name in stage.own], seed)
        mine = {r[column.name] for r in stage.records if r["id"] in set(stage.own)}
        said = {v for z in later for v in leaves(z) if isinstance(v, int | float)} - mine - set(leaves(first))
        inside = {v for v in said if column.holds(v)}
        hidden = {r[column.name]: r["id"] for r in stage.staying}
        hits = inside & hidden.keys()
        low, high = min(hidden), max(hidden)
        near = {v for v in inside if low <= v <= high}
        density = len(hidden) / (1 + (high - low) / column.step)  # of people's values on the grid there
        by_chance = binom.sf(len(hits) - 1, max(1, len(near)), min(1.0, density))
        if not hits or by_chance >= CHANCE:
            return None
        claims = {hidden[v]: v for v in hits}
        return Exposure("rank-walk", len(hits), len(stage.staying), len(stage.own), len(stage.own), claims)
