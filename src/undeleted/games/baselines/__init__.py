"""What people do today, each a stateful `Algorithm`: start(data, coins), then delete(points).

None of these is written as a mechanism, and most could not be: their answer to a deletion reads the data
of those who stay.  They serve to be attacked and compared; do not use them.
"""

from typing import TYPE_CHECKING

from undeleted.foundations import registry

if TYPE_CHECKING:
    from undeleted.games.baselines.certified_removal import CertifiedRemoval
    from undeleted.games.baselines.ignore import Ignore
    from undeleted.games.baselines.lazy_range_median import LazyRangeMedian
    from undeleted.games.baselines.recompute import Recompute
    from undeleted.games.baselines.renoised_tree import RenoisedTree
    from undeleted.games.baselines.retrain import Retrain
    from undeleted.games.baselines.threshold import Threshold
    from undeleted.games.baselines.tree_counter import TreeCounter
    from undeleted.games.baselines.xor_pad import XorPad
    from undeleted.games.baselines.xor_undeleted import XorUndeleted

__all__ = [
    "CertifiedRemoval",
    "Ignore",
    "LazyRangeMedian",
    "Recompute",
    "RenoisedTree",
    "Retrain",
    "Threshold",
    "TreeCounter",
    "XorPad",
    "XorUndeleted",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = registry.on_demand(__name__, __all__)
