"""Who is among the nearest, from distances of which some may be equal."""

import math
from typing import Any

import numpy as np

from tensift._utils.namespace import device_of, is_device_array, namespace_of

__all__ = ["nearest"]

_TIE = 1e-11  # rounding must not decide between equal distances


def nearest(distances: Any, scales: Any, count: int, tie: float = _TIE) -> Any:
    """Return how likely each sample (column) is among the `count` nearest of each other (row).

    This is 1 or 0, but between them for samples that tie for the last places. `scales` are the
    sizes of the numbers that the distances of each row were computed from. Distances whose
    difference is below the share `tie` of them are equal. The diagonal of `distances` does not
    matter; it is overwritten in NumPy arrays.

    Examples
    --------
    The second and third sample are equally far from the first:

    >>> points = np.array([0.0, 1.0, -1.0, 5.0])
    >>> nearest((points[:, None] - points) ** 2, points**2, 1)[0]
    array([0. , 0.5, 0.5, 0. ])
    """
    xp = namespace_of(distances)
    if is_device_array(distances):
        own = xp.eye(distances.shape[0], dtype=xp.bool, device=device_of(distances))
        distances = xp.where(own, xp.full_like(distances, math.inf), distances)
        last = xp.sort(distances, axis=1)[:, count - 1]
    else:
        np.fill_diagonal(distances, np.inf)
        last = np.partition(distances, count - 1, axis=1)[:, count - 1]
    margin = tie * (scales + xp.abs(last))
    nearer = distances < (last - margin)[:, None]
    tied = (distances <= (last + margin)[:, None]) & ~nearer
    places = count - _number_of(nearer, distances)
    shares = xp.astype(tied, distances.dtype) * (places / _number_of(tied, distances))[:, None]
    return xp.where(nearer, xp.ones_like(shares), shares)


def _number_of(flags: Any, like: Any) -> Any:
    """Return how many are true in each row."""
    if not is_device_array(flags):
        return np.count_nonzero(flags, axis=1)
    xp = namespace_of(like)
    return xp.sum(xp.astype(flags, like.dtype), axis=1)
