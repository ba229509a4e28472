"""Estimators that rank the features of tensor data and keep the best."""

from tensift.selectors._auto_orientation import OrientationChoice
from tensift.selectors._auto_penalties import PenaltyChoice
from tensift.selectors._base import TensorSelector
from tensift.selectors._choice import AutomaticChoice
from tensift.selectors._count import SuggestedCount
from tensift.selectors._cpufs import CPUFS, CPUFSnn
from tensift.selectors._diverse import explained_energy, rank_diverse
from tensift.selectors._laplacian_score import LaplacianScore
from tensift.selectors._mcfs import MCFS
from tensift.selectors._mspca import MSPCA
from tensift.selectors._ndfs import NDFS
from tensift.selectors._nlgms import NLGMS
from tensift.selectors._path import stpca_path
from tensift.selectors._pivoted_cholesky import PivotedCholeskySelector
from tensift.selectors._ranking import rank_features
from tensift.selectors._registry import SelectorInfo, list_selectors
from tensift.selectors._rne import RNE
from tensift.selectors._selection_path import SelectionPath
from tensift.selectors._simple_baselines import AllFeatures, RandomSelector, VarianceSelector
from tensift.selectors._sogfs import SOGFS
from tensift.selectors._spca_psd import SPCA_PSD
from tensift.selectors._spcafs import SPCAFS
from tensift.selectors._stpca import STPCASelector
from tensift.selectors._udfs import UDFS

__all__ = [
    "CPUFS",
    "MCFS",
    "MSPCA",
    "NDFS",
    "NLGMS",
    "RNE",
    "SOGFS",
    "SPCAFS",
    "SPCA_PSD",
    "UDFS",
    "AllFeatures",
    "AutomaticChoice",
    "CPUFSnn",
    "LaplacianScore",
    "OrientationChoice",
    "PenaltyChoice",
    "PivotedCholeskySelector",
    "RandomSelector",
    "STPCASelector",
    "SelectionPath",
    "SelectorInfo",
    "SuggestedCount",
    "TensorSelector",
    "VarianceSelector",
    "explained_energy",
    "list_selectors",
    "rank_diverse",
    "rank_features",
    "stpca_path",
]
