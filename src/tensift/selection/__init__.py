"""Selection by scores: order features, decide how many to keep, keep them, restore the others."""

from tensift.selection._base import TensorSelector
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._constraints import Constraints
from tensift.selection._count import SuggestedCount, suggest_count
from tensift.selection._count_by_reconstruction import suggest_count_by_reconstruction
from tensift.selection._gaps import without_gaps
from tensift.selection._geometry import feature_agreement
from tensift.selection._geometry_selector import GeometrySelector
from tensift.selection._greedy import FixedMerits, FreeChoice, pick_greedily
from tensift.selection._halves import Halves, halves_of
from tensift.selection._held import HeldConstraints, constraints_in_words, held_constraints
from tensift.selection._limited_choice import Chosen, choose
from tensift.selection._limits import FeatureLimits
from tensift.selection._neighbours import whitened_components
from tensift.selection._order import rank_features
from tensift.selection._reconstruction_curve import ReconstructionCurve
from tensift.selection._replacing import Replacement, Replacements
from tensift.selection._rules import RULES, Selection, limited_selection
from tensift.selection._tally import exchangeable

__all__ = [
    "RULES",
    "Chosen",
    "ColumnSubsetOrder",
    "Constraints",
    "FeatureLimits",
    "FixedMerits",
    "FreeChoice",
    "GeometrySelector",
    "Halves",
    "HeldConstraints",
    "ReconstructionCurve",
    "Replacement",
    "Replacements",
    "Selection",
    "SuggestedCount",
    "TensorSelector",
    "choose",
    "constraints_in_words",
    "exchangeable",
    "feature_agreement",
    "halves_of",
    "held_constraints",
    "limited_selection",
    "pick_greedily",
    "rank_features",
    "suggest_count",
    "suggest_count_by_reconstruction",
    "whitened_components",
    "without_gaps",
]
