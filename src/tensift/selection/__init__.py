"""Selection by scores: order the features, decide how many to keep, and keep them."""

from tensift.selection._base import TensorSelector
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._count import SuggestedCount, suggest_count
from tensift.selection._count_by_reconstruction import suggest_count_by_reconstruction
from tensift.selection._covariances import RowCovariances, covariances_of_slices
from tensift.selection._diverse import explained_energy, rank_diverse
from tensift.selection._order import rank_features

__all__ = [
    "ColumnSubsetOrder",
    "RowCovariances",
    "SuggestedCount",
    "TensorSelector",
    "covariances_of_slices",
    "explained_energy",
    "rank_diverse",
    "rank_features",
    "suggest_count",
    "suggest_count_by_reconstruction",
]
