"""STPCA-MP: the selector, the path over penalties, scores, and automatic choices."""

from tensift.stpca._auto_orientation import OrientationChoice
from tensift.stpca._auto_penalties import PenaltyChoice
from tensift.stpca._choice import AutomaticChoice
from tensift.stpca._path import stpca_path
from tensift.stpca._penalties import check_fractions
from tensift.stpca._scoring import Scoring
from tensift.stpca._selection_path import SelectionPath
from tensift.stpca._selector import STPCASelector

__all__ = [
    "AutomaticChoice",
    "OrientationChoice",
    "PenaltyChoice",
    "STPCASelector",
    "Scoring",
    "SelectionPath",
    "check_fractions",
    "stpca_path",
]
