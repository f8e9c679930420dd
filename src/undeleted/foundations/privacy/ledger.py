"""What has been spent of a budget, and what is left.

A ledger never shrinks.  Deleting a person returns no budget, because earlier publications cannot be undone.

What is published at once was chosen before any answer: its joint cost is the least of three bounds.  What is
published later may depend on earlier answers: from then on, and for what is left, only bounds count that hold
for adaptive choices (`filtered`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from undeleted.errors import BudgetSpent
from undeleted.foundations.privacy.accounting import Event, Spend, account, filtered
from undeleted.foundations.privacy.budget import Budget

_FUZZ = 1 + 1e-9  # a budget that is spent to the last digit may differ in the last bit


def as_given(epsilon: float, total: float) -> float:
    """An ε without the rounding errors of its computation: to a billionth of the whole.

    >>> as_given(1.5999999999983998, 2.0), as_given(3e-12, 2.0)
    (1.6, 0.0)
    """
    grain = 10.0 ** (math.floor(math.log10(total)) - 9)
    return float(f"{round(epsilon / grain) * grain:.12g}")


@dataclass
class Ledger:
    """A total budget and the events charged to it.

    >>> from undeleted.foundations.coins import DiscreteLaplace
    >>> ledger = Ledger(Budget(1.0))
    >>> ledger.charge("income", [Event(DiscreteLaplace(2.0), shift=1)])
    >>> ledger.left
    0.5
    """

    total: Budget
    events: list[Event] = field(default_factory=list)
    resumed: bool = False  # whether some of the events were published before

    @property
    def spent(self) -> Spend:
        return self._cost(self.events)

    @property
    def left(self) -> float:
        """The ε that later publications may still spend."""
        left = self.total.epsilon - filtered(self.events, self.total.delta).epsilon if self.events else None
        return self.total.epsilon if left is None else as_given(max(0.0, left), self.total.epsilon)

    def _cost(self, events: Sequence[Event]) -> Spend:
        return (filtered if self.resumed else account)(events, self.total.delta)

    def charge(self, name: str, events: Sequence[Event]) -> None:
        """Charge a publication, or raise and charge nothing."""
        after = self._cost([*self.events, *events]).epsilon
        if after > self.total.epsilon * _FUZZ:
            raise BudgetSpent(name, after - self.spent.epsilon, self.left, self.total.epsilon)
        self.events.extend(events)
