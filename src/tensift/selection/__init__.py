"""Selection by scores: order features, decide how many to keep, keep them, restore the others."""

from tensift.selection._base import TensorSelector
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._count import SuggestedCount, suggest_count
from tensift.selection._count_by_reconstruction import suggest_count_by_reconstruction
from tensift.selection._geometry_selector import GeometrySelector
from tensift.selection._neighbours import whitened_components
from tensift.selection._order import rank_features
from tensift.selection._reconstruction_curve import ReconstructionCurve
from tensift.selection._replacing import Replacement, Replacements
from tensift.selection._rules import RULES, Selection

__all__ = [
    "RULES",
    "ColumnSubsetOrder",
    "GeometrySelector",
    "ReconstructionCurve",
    "Replacement",
    "Replacements",
    "Selection",
    "SuggestedCount",
    "TensorSelector",
    "rank_features",
    "suggest_count",
    "suggest_count_by_reconstruction",
    "whitened_components",
]
