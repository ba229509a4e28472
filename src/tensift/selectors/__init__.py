"""Estimators that rank the features of tensor data and keep the best."""

from tensift.selectors._base import TensorSelector
from tensift.selectors._cpufs import CPUFS, CPUFSnn
from tensift.selectors._mspca import MSPCA
from tensift.selectors._path import stpca_path
from tensift.selectors._ranking import rank_features
from tensift.selectors._selection_path import SelectionPath
from tensift.selectors._simple_baselines import AllFeatures, RandomSelector, VarianceSelector
from tensift.selectors._spca_psd import SPCA_PSD
from tensift.selectors._stpca import STPCASelector

__all__ = [
    "CPUFS",
    "MSPCA",
    "SPCA_PSD",
    "AllFeatures",
    "CPUFSnn",
    "RandomSelector",
    "STPCASelector",
    "SelectionPath",
    "TensorSelector",
    "VarianceSelector",
    "rank_features",
    "stpca_path",
]
