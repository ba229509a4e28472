"""Standard deviations of features, with zero for features that vary only by rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.moments import check_magnitude, largest_modulus
from tensift.selection import TensorSelector

__all__ = ["spread_of_columns", "spread_of_elements"]

_ROUNDING = 1e-13  # columns that vary by less, as a share of their largest value, are constant


def spread_of_columns(rows: NDArray) -> NDArray[np.float64]:
    """Return the standard deviation of each column, 0 for columns that vary only by rounding."""
    spread = rows.std(axis=0)
    return np.where(spread > _ROUNDING * np.abs(rows).max(axis=0), spread, 0.0)


def spread_of_elements(
    selector: TensorSelector, X: ArrayLike
) -> tuple[NDArray[np.float64], NDArray]:
    """Check samples, real or complex; return the spread of their elements, and the samples."""
    samples = selector._validate_samples(X, reset=True)
    check_magnitude(samples)
    peak = largest_modulus(samples)
    kind = complex if np.iscomplexobj(samples) else float
    rows = samples.reshape(len(samples), -1).astype(kind)
    # Scaled, because squares of tiny values would underflow to zero.
    spread = peak * spread_of_columns(rows / (peak or 1))
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return spread.reshape(selector.feature_shape_), samples
