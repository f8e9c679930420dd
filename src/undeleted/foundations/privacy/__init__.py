"""ε, δ and ρ: budgets, what releases cost together, and how much noise a budget buys.

Neighbouring data sets differ by one person added or removed, everywhere in this package.
"""

from undeleted.foundations.privacy.accounting import Event, Spend, account, parallel, sequential
from undeleted.foundations.privacy.budget import NEIGHBOURS, Budget, Privacy, Zcdp
from undeleted.foundations.privacy.calibration import Reach, calibrate, events_of, split
from undeleted.foundations.privacy.ledger import Ledger

__all__ = [
    "NEIGHBOURS",
    "Budget",
    "Event",
    "Ledger",
    "Privacy",
    "Reach",
    "Spend",
    "Zcdp",
    "account",
    "calibrate",
    "events_of",
    "parallel",
    "sequential",
    "split",
]
