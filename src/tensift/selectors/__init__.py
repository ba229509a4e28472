"""Estimators that rank the features of tensor data and keep the best."""

from tensift.selectors._base import TensorSelector
from tensift.selectors._ranking import rank_features
from tensift.selectors._stpca import STPCASelector

__all__ = ["STPCASelector", "TensorSelector", "rank_features"]
