"""What one record contributes, as bounded integers; a single expression defines each statistic.

A statistic is a sequence of *blocks*.  In every block a record adds one value to one cell, or a few values
whose total size is bounded:

    Count           one block    1 cell          adds 1
    People          one block    1 cell          adds 1 for the first row of a person
    ClippedSum      one block    1 cell          adds the value, in units of the grid
    Moments         d+1 blocks   1 cell each     adds 1, c, c², … of the centred code c
    Histogram       one block    1 per value     adds 1 to the cell of its value
    CrossProducts   many blocks  1 cell each     adds 1, cᵢ, cᵢcⱼ
    ClassMoments    d+1 blocks   2 per class     adds 1; 2hc and h² − c² in the cells of its class
    SecondMoments   many blocks                  the same, with products cᵢcⱼ
    ClassHistograms d blocks     class × value   adds 1 to a cell of each

`terms` computes (cell, value) for every move from the columns' codes, with +, − and × only: it accepts
numpy arrays, database columns and symbols.  Engines map it over a table and add up the results.
"""

from typing import TYPE_CHECKING

from undeleted.curate.statistics._statistic import (
    NOTHING,
    Block,
    Contribution,
    Declared,
    Statistic,
    merged,
)
from undeleted.foundations import registry

if TYPE_CHECKING:
    from undeleted.curate.statistics.boxes import Boxes
    from undeleted.curate.statistics.class_histograms import ClassHistograms
    from undeleted.curate.statistics.class_moments import ClassMoments
    from undeleted.curate.statistics.clipped_sum import ClippedSum
    from undeleted.curate.statistics.count import Count
    from undeleted.curate.statistics.cross_products import CrossProducts
    from undeleted.curate.statistics.forest_leaves import ForestLeaves
    from undeleted.curate.statistics.grouped_cells import GroupedCells
    from undeleted.curate.statistics.histogram import Histogram
    from undeleted.curate.statistics.item_pairs import ItemPairs
    from undeleted.curate.statistics.marginals import Marginals
    from undeleted.curate.statistics.moments import Moments
    from undeleted.curate.statistics.people import People
    from undeleted.curate.statistics.prefix import Prefix
    from undeleted.curate.statistics.range_tree import RangeTree
    from undeleted.curate.statistics.range_trees import RangeTrees
    from undeleted.curate.statistics.second_moments import SecondMoments

__all__ = [
    "NOTHING",
    "Block",
    "Boxes",
    "ClassHistograms",
    "ClassMoments",
    "ClippedSum",
    "Contribution",
    "Count",
    "CrossProducts",
    "Declared",
    "ForestLeaves",
    "GroupedCells",
    "Histogram",
    "ItemPairs",
    "Marginals",
    "Moments",
    "People",
    "Prefix",
    "RangeTree",
    "RangeTrees",
    "SecondMoments",
    "Statistic",
    "merged",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = registry.on_demand(__name__, __all__)
