"""ε, δ and ρ: budgets, the joint cost of releases, and how much noise a budget requires.

Neighbouring data sets differ by one person added or removed, everywhere in this package.
"""

from undeleted.foundations.privacy.accounting import (
    Event,
    Spend,
    account,
    filtered,
    parallel,
    sequential,
)
from undeleted.foundations.privacy.budget import NEIGHBOURS, Budget, Noise, Privacy, Zcdp, as_noise
from undeleted.foundations.privacy.calibration import Reach, calibrate, events_of, split
from undeleted.foundations.privacy.ledger import Ledger, as_given

__all__ = [
    "NEIGHBOURS",
    "Budget",
    "Event",
    "Ledger",
    "Noise",
    "Privacy",
    "Reach",
    "Spend",
    "Zcdp",
    "account",
    "as_given",
    "as_noise",
    "calibrate",
    "events_of",
    "filtered",
    "parallel",
    "sequential",
    "split",
]
