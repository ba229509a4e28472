"""Samples as rules look at them: with weights, and as values of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.namespace import (
    in_precision,
    is_complex,
    is_device_array,
    namespace_of,
    precision_of,
)
from tensift.sources import KeptSamples, SampleWeights

__all__ = ["fibres_of", "fibres_of_flags", "with_weights"]


def with_weights(
    samples: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None = None
) -> KeptSamples:
    """Return samples with the weights and groups that a user passed."""
    kept = KeptSamples.of(samples)
    weights = SampleWeights.of(sample_weight, groups)
    if weights is None:
        return kept
    used = np.flatnonzero(weights.check_length(len(kept)).positive)
    return KeptSamples(kept.take(used).rows, weights.used.values, weights.used.groups)


def fibres_of(rows: Any, feature_mode: int | None) -> Any:
    """Return samples as ``(n, features, values of a feature)``, real and floating."""
    xp = namespace_of(rows)
    if is_device_array(rows):
        rows = in_precision(rows, precision_of(rows))
    else:
        rows = np.asarray(rows, complex if np.iscomplexobj(rows) else float)
    n_samples = rows.shape[0]
    if is_complex(rows):
        rows = xp.stack([xp.real(rows), xp.imag(rows)], axis=-1)
        if feature_mode is None:
            return xp.reshape(rows, (n_samples, -1, 2))
    if feature_mode is None:
        return xp.reshape(rows, (n_samples, -1, 1))
    moved = xp.moveaxis(rows, feature_mode + 1, 1)
    return xp.reshape(moved, (n_samples, moved.shape[1], -1))


def fibres_of_flags(
    observed: NDArray[np.bool_], feature_mode: int | None, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Return where values ``(n, features, t)`` were observed; parts of complex numbers both."""
    n_samples, n_features, depth = shape
    flags = observed if feature_mode is None else np.moveaxis(observed, feature_mode + 1, 1)
    flags = flags.reshape(n_samples, n_features, -1)
    return np.repeat(flags, depth // flags.shape[2], axis=2)
