"""What has been spent of a budget, and what is left.

A ledger never shrinks.  Deleting a person returns no budget, because earlier publications cannot be undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from undeleted.errors import BudgetSpent
from undeleted.foundations.privacy.accounting import Event, Spend, account
from undeleted.foundations.privacy.budget import Budget

_FUZZ = 1 + 1e-9  # a budget that is spent to the last digit may differ in the last bit


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

    @property
    def spent(self) -> Spend:
        return account(self.events, self.total.delta)

    @property
    def left(self) -> float:
        return max(0.0, self.total.epsilon - self.spent.epsilon)

    def charge(self, name: str, events: Sequence[Event]) -> None:
        """Charge a publication, or raise and charge nothing."""
        after = account([*self.events, *events], self.total.delta).epsilon
        if after > self.total.epsilon * _FUZZ:
            raise BudgetSpent(name, after - self.spent.epsilon, self.left, self.total.epsilon)
        self.events.extend(events)
