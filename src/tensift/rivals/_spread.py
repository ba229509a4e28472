"""Standard deviations of features, with zero for features that vary only by rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.stacks import squared_modulus
from tensift.moments import (
    FeatureScale,
    check_magnitude,
    is_missing,
    largest_modulus,
    largest_observed,
)
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
    """Check samples, real or complex; return the spread of their elements, and the samples.

    The spread is that of observed values; samples have estimates where values are missing.
    """
    samples = selector._validate_samples(X, reset=True)
    check_magnitude(samples)
    selector._note_missing(samples)
    if is_missing(samples).any():
        return _spread_of_observed(selector, samples)
    peak = largest_modulus(samples)
    kind = complex if np.iscomplexobj(samples) else float
    rows = samples.reshape(len(samples), -1).astype(kind)
    # Scaled, because squares of tiny values would underflow to zero.
    spread = peak * spread_of_columns(rows / (peak or 1))
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return spread.reshape(selector.feature_shape_), samples


def _spread_of_observed(
    selector: TensorSelector, samples: NDArray
) -> tuple[NDArray[np.float64], NDArray]:
    missing = is_missing(samples)
    number = np.maximum(np.count_nonzero(~missing, axis=0), 1)
    peak = largest_observed(samples) or 1.0
    values = np.where(missing, 0, samples) / peak
    mean = values.sum(axis=0) / number
    left = squared_modulus(np.where(missing, 0, values - mean)).sum(axis=0)
    spread = np.sqrt(left / number)
    spread = peak * np.where(spread > _ROUNDING * np.abs(values).max(axis=0), spread, 0.0)
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    if getattr(selector, "scale", None) == "feature":  # estimates must not depend on units
        selector._deviations = FeatureScale(selector._mode_of_features()).of_samples(samples)
    return spread, selector._filled(samples).rows
