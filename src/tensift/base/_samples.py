"""How every estimator takes in samples: tensors, or rows that stand for them."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import validate_data

__all__ = ["TensorEstimator", "check_finite", "n_axes"]


class TensorEstimator(BaseEstimator):
    """An estimator on samples ``(n, d_1, ..., d_m)``.

    Samples are tensors, or 2-D rows whose tensor shape is given by the parameter
    ``feature_shape``. A subclass has that parameter and calls `_validate_samples`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"feature_shape": [None, tuple, list]}

    feature_shape: tuple[int, ...] | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _validate_samples(self, X: Any, *, reset: bool, min_samples: int = 2) -> NDArray:
        """Check samples and give them their tensor shape, ``(n, d_1, ..., d_m)``.

        With ``reset`` the shape is learned, otherwise it must be the one learned before.
        """
        _refuse_masked(X)
        complex_rows = self.feature_shape is not None and np.iscomplexobj(X)
        if n_axes(X) > 2 or complex_rows:
            X = _check_tensor(X, min_samples)
        else:
            X = validate_data(self, X, reset=reset, dtype="numeric", ensure_min_samples=min_samples)
        shape = X.shape[1:]
        if reset:
            self._learn_shape(shape)
        elif shape not in (self.feature_shape_, self._row_shape()):
            raise ValueError(
                f"X has samples of shape {shape}, but {type(self).__name__} was fitted on samples "
                f"of shape {self.feature_shape_}"
            )
        return X.reshape(len(X), *self.feature_shape_)

    def _learn_shape(self, shape: tuple[int, ...]) -> None:
        """Remember the shape of samples that arrive as `shape`."""
        self.feature_shape_ = self._tensor_shape(shape)
        self.n_features_in_ = math.prod(self.feature_shape_)
        self._rows_in = len(shape) == 1

    def _tensor_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The tensor shape of samples that arrive as `shape`, by `feature_shape` if it is given."""
        if self.feature_shape is None:
            return shape
        wanted = tuple(self.feature_shape)
        if not wanted or not all(isinstance(d, Integral) and d > 0 for d in wanted):
            raise ValueError(
                f"feature_shape must be a tuple of positive integers, got {self.feature_shape!r}"
            )
        wanted = tuple(int(d) for d in wanted)
        if shape not in (wanted, (math.prod(wanted),)):
            raise ValueError(
                f"feature_shape={wanted} has {math.prod(wanted)} elements, but the samples in X "
                f"have shape {shape}; give the shape of one sample, or None to take it from X"
            )
        return wanted

    def _row_shape(self) -> tuple[int, ...]:
        """The shape of a row that stands for a whole sample, if rows are welcome."""
        welcome = self._rows_in or self.feature_shape is not None
        return (self.n_features_in_,) if welcome else self.feature_shape_


def n_axes(X: Any) -> int:
    """The number of axes of anything array-like, data frames and sparse matrices included."""
    return len(X.shape) if hasattr(X, "shape") else np.asarray(X).ndim


def _check_tensor(X: Any, min_samples: int) -> NDArray:
    """Finite real or complex samples of more than two axes, or complex rows."""
    X = check_finite(X)
    if len(X) < min_samples:
        raise ValueError(
            f"X has {len(X)} sample(s) (shape={X.shape}) while a minimum of {min_samples} is "
            "required; samples go along the first axis"
        )
    if X.size == 0:
        raise ValueError(f"X has a mode of length zero (shape={X.shape}); there is nothing in it")
    return X


def check_finite(X: Any) -> NDArray:
    """A numeric array without NaN or infinity, in scikit-learn's words but complex allowed."""
    _refuse_masked(X)
    if getattr(getattr(X, "dtype", None), "kind", "f") not in "biufcOSU":
        raise ValueError(f"X has dtype {X.dtype}, which is not numeric; pass numbers")
    if not np.iscomplexobj(X):
        return check_array(X, allow_nd=True, ensure_min_samples=0, input_name="X")
    X = np.asarray(X)
    check_array(
        np.stack([X.real, X.imag]).reshape(2, -1),
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
    )
    return X


def _refuse_masked(X: Any) -> None:
    if np.ma.is_masked(X):
        raise ValueError("X has masked values, which would be taken as they are; fill them first")
