"""Estimators that rank the features of tensor data and keep the best."""

from tensift.selectors._base import TensorSelector
from tensift.selectors._path import stpca_path
from tensift.selectors._ranking import rank_features
from tensift.selectors._selection_path import SelectionPath
from tensift.selectors._stpca import STPCASelector

__all__ = ["STPCASelector", "SelectionPath", "TensorSelector", "rank_features", "stpca_path"]
