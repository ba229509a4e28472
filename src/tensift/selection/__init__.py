"""Selection by scores: order the features, decide how many to keep, and keep them."""

from tensift.selection._base import TensorSelector
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._count import SuggestedCount, suggest_count
from tensift.selection._count_by_reconstruction import suggest_count_by_reconstruction
from tensift.selection._geometry import feature_agreement
from tensift.selection._geometry_selector import GeometrySelector
from tensift.selection._neighbours import whitened_components
from tensift.selection._order import rank_features
from tensift.selection._rules import RULES, Selection

__all__ = [
    "RULES",
    "ColumnSubsetOrder",
    "GeometrySelector",
    "Selection",
    "SuggestedCount",
    "TensorSelector",
    "feature_agreement",
    "rank_features",
    "suggest_count",
    "suggest_count_by_reconstruction",
    "whitened_components",
]
