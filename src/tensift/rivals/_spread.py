"""Standard deviations of features, with zero for features that vary only by rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.stacks import squared_modulus
from tensift.labels import groups_of
from tensift.moments import (
    FeatureScale,
    check_magnitude,
    is_missing,
    largest_modulus,
    largest_observed,
)
from tensift.selection import TensorSelector
from tensift.sources import KeptSamples, SampleWeights

__all__ = ["spread_of_columns", "spread_of_elements", "with_roots"]

_ROUNDING = 1e-13  # columns that vary by less, as a share of their largest value, are constant


def with_roots(samples: NDArray, weights: SampleWeights | None) -> NDArray:
    """Return floating samples minus their mean, multiplied by the roots of their weights."""
    if weights is None:
        return samples - samples.mean(axis=0)
    centred = samples - samples[0]  # sums of large equal parts would lose digits
    centred = centred - np.average(centred, axis=0, weights=weights.values)
    return centred * np.sqrt(weights.values).reshape(-1, *(1,) * (samples.ndim - 1))


def spread_of_columns(rows: NDArray, weights: SampleWeights | None = None) -> NDArray[np.float64]:
    """Return the standard deviation of each column, 0 for columns that vary only by rounding."""
    if weights is None:
        spread = rows.std(axis=0)
    else:
        squares = squared_modulus(with_roots(rows, weights)).sum(axis=0)
        spread = np.sqrt(squares / weights.values.sum())
    return np.where(spread > _ROUNDING * np.abs(rows).max(axis=0), spread, 0.0)


def spread_of_elements(
    selector: TensorSelector,
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray, SampleWeights | None]:
    """Check samples, real or complex; return the spread of their elements, and the samples.

    The spread is that of observed values; samples have estimates where values are missing. Samples
    of weight zero are left out. The weights of the others are returned too.
    """
    weights = SampleWeights.of(sample_weight, groups_of(X, groups))
    samples = selector._validate_samples(X, reset=True, weights=weights)
    weights = None if weights is None else weights.used
    check_magnitude(samples)
    selector._note_missing(samples)
    if is_missing(samples).any():
        return _spread_of_observed(selector, samples, weights)
    peak = largest_modulus(samples)
    kind = complex if np.iscomplexobj(samples) else float
    rows = samples.reshape(len(samples), -1).astype(kind)
    # Scaled, because squares of tiny values would underflow to zero.
    spread = peak * spread_of_columns(rows / (peak or 1), weights)
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return spread.reshape(selector.feature_shape_), samples, weights


def _spread_of_observed(
    selector: TensorSelector, samples: NDArray, weights: SampleWeights | None
) -> tuple[NDArray[np.float64], NDArray, SampleWeights | None]:
    missing = is_missing(samples)
    peak = largest_observed(samples) or 1.0
    values = np.where(missing, 0, samples) / peak
    counts = (~missing).astype(float)
    if weights is not None:
        counts *= weights.values.reshape(-1, *(1,) * (samples.ndim - 1))
    number = counts.sum(axis=0)
    number[number == 0] = 1
    mean = (counts * values).sum(axis=0) / number
    left = (counts * squared_modulus(values - mean)).sum(axis=0)
    spread = np.sqrt(left / number)
    spread = peak * np.where(spread > _ROUNDING * np.abs(values).max(axis=0), spread, 0.0)
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    if getattr(selector, "scale", None) == "feature":  # estimates must not depend on units
        scale = FeatureScale(selector._mode_of_features())
        selector._deviations = scale.of_samples(samples, weights)
    kept = KeptSamples(samples)
    if weights is not None:
        kept = KeptSamples(samples, weights.values, weights.groups)
    kept = selector._without_gaps(kept)
    used = None if kept.weights is None else SampleWeights(kept.weights, kept.groups)
    return spread, kept.rows, used
