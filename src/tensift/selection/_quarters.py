"""Quarters of the features, of which halves are made for cross-fitting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)

__all__ = ["quarters_of"]

# Numbers that differ by a smaller share differ by rounding, which depends on the order of samples
# and on the library.
_ROUNDING = {"float64": 1e-9, "float32": 1e-6}
_BLOCK_VALUES = 2**20  # looked at together
_BLOCK_ON_DEVICE = 2**25  # the same, where few large operations are faster than many small ones


def quarters_of(
    values: Any, deviation: NDArray[np.float64], shares: NDArray[np.float64] | None = None
) -> list[NDArray[np.intp]]:
    """Split features into quarters that are alike; each is in ascending order.

    Features are dealt out by the rank of their deviation, not by their index, so that the quarters
    do not depend on the order of features. Of equal deviations, as in standardised samples, the
    fourth moments decide. The index decides only between features that are equal in both.

    Parameters
    ----------
    values : array of shape (n, features, t)
        Centred values of features.
    deviation : ndarray of shape (features,)
        Their standard deviations.
    shares : ndarray of shape (n,), optional
        The weights of samples that were multiplied by the roots of these.

    Returns
    -------
    list of four ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection._quarters import quarters_of
    >>> values = np.random.default_rng(0).normal(size=(9, 6, 1)) * np.arange(1, 7)[:, None]
    >>> quarters_of(values, np.arange(1.0, 7.0))
    [array([1, 5]), array([0, 4]), array([3]), array([2])]
    """
    tolerance = _ROUNDING[precision_of(values)]
    ranked, places = _ranked(deviation, tolerance)
    is_tied = (np.bincount(places) > 1)[places]
    if is_tied.any():
        tied = np.flatnonzero(is_tied)
        fourth = _ranked(_fourth_moments(values, tied, shares), tolerance)[1]
        ranked[is_tied[ranked]] = tied[np.lexsort((fourth, places[tied]))]
    quarter = np.empty(len(ranked), dtype=np.int8)
    quarter[ranked] = np.arange(len(ranked)) % 4
    return [np.flatnonzero(quarter == number) for number in range(4)]


def _fourth_moments(
    values: Any, features: NDArray[np.intp], shares: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the fourth moments of some features, which are looked at in blocks."""
    xp = namespace_of(values)
    block = _BLOCK_ON_DEVICE if is_device_array(values) else _BLOCK_VALUES
    step = max(1, block // math.prod(values.shape[::2]))
    parts = []
    for start in range(0, len(features), step):
        some = features[start : start + step]
        if is_device_array(values):
            some = moved_to(values, some)
        powers = xp.sum(xp.take(values, some, axis=1) ** 2, axis=2) ** 2
        if shares is not None:
            inverse = 1 / shares[:, None]
            powers = powers * (moved_to(values, inverse) if is_device_array(values) else inverse)
        parts.append(np.asarray(to_numpy(xp.sum(powers, axis=0)), float))
    return np.concatenate(parts)


def _ranked(
    numbers: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the descending order of numbers, and their places; equal numbers have the same."""
    order = np.argsort(-numbers, kind="stable")
    ordered = numbers[order]
    is_less = ordered[1:] < (1 - tolerance) * ordered[:-1]
    places = np.zeros(len(numbers), dtype=np.intp)
    places[order[1:]] = np.cumsum(is_less)
    return order, places
