"""Two centres on a line: sizes and sums follow from how they move, and neighbouring sums expose people.

The attack of the paper's appendix, on any target that publishes two numbers for one column (see
`undeleted.games.attacks.kmeans_line`).
"""

from collections.abc import Iterator

import numpy as np

from undeleted.auditing.columns import Row
from undeleted.auditing.exposures import Exposure, Stage
from undeleted.auditing.lab import Lab, numbers
from undeleted.auditing.pairs import Space
from undeleted.foundations.coins import Coins
from undeleted.games.attacks.kmeans_line import TwoMeansState, order_of, read_off

PEOPLE, OWN = 400, 120
MARGIN = 1e-2  # how far from the midpoint of its centres a clustering may put the boundary


class PrefixSums:
    """One stage, for one column of whole numbers that is wide enough to keep neighbours apart."""

    def stages(self, space: Space, coins: Coins) -> Iterator[Stage]:
        only = space.columns[0]
        if len(space.columns) > 1 or not only.is_number or only.step != 1 or only.size < 100 * PEOPLE:
            return
        values = [int(row[only.name]) for row in space.draw(coins, PEOPLE)]
        records: tuple[Row, ...] = tuple({"id": f"r{i:03}", only.name: v} for i, v in enumerate(values))
        own = tuple(records[int(i)]["id"] for i in coins.choose(PEOPLE, OWN))
        yield Stage(records, own, space.columns)

    def play(self, lab: Lab, stage: Stage, seed: int) -> Exposure | None:
        [column] = stage.columns
        people = len(stage.records)
        values = {r["id"]: int(r[column.name]) for r in stage.records}
        centres = self._centres(lab.play(stage.records, (), seed)[0])
        if centres is None or not column.low <= centres[0] < centres[1] <= column.high:
            return None
        own = np.array(sorted(values[name] for name in stage.own))
        order = order_of(own, centres, 3 * MARGIN)
        waiting = {v: [name for name in stage.own if values[name] == v] for v in order}
        batches = [(waiting[v].pop(),) for v in order]
        states = [TwoMeansState(centres, people, ())]
        for i, output in enumerate(lab.play(stage.records, batches, seed)[1:]):
            centres = self._centres(output)
            if centres is None:
                return None
            states.append(TwoMeansState(centres, people - 1 - i, (order[i],)))
        recovered = read_off(states, own, MARGIN)
        others = sorted((values[r["id"]], r["id"]) for r in stage.staying)
        inside = {rank: v for rank, v in recovered.items() if 0 <= rank < len(others)}
        right = {others[rank][1]: v for rank, v in inside.items() if others[rank][0] == v}
        if not right:
            return None
        wrong = len(recovered) - len(right)
        return Exposure("prefix-sums", len(right), len(others), len(batches), len(own), right, wrong)

    def _centres(self, output: object) -> tuple[float, float] | None:
        pair = numbers(output)
        if pair is None or pair.size != 2:
            return None
        low, high = sorted(map(float, pair))
        return low, high
