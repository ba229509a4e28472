"""Who is among the nearest, from distances of which some may be equal."""

import math
from typing import Any

import numpy as np

from tensift._utils.namespace import device_of, is_device_array, namespace_of

__all__ = ["limits_of_nearest", "nearest", "without_own"]

_TIE = 1e-11  # rounding must not decide between equal distances


def nearest(distances: Any, scales: Any, count: int, tie: float = _TIE) -> Any:
    """Return how likely each sample (column) is among the `count` nearest of each other (row).

    This is 1 or 0, but between them for samples that tie for the last places. `scales` are the
    sizes of the numbers that the distances of each row were computed from. Distances whose
    difference is below the share `tie` of them are equal. The diagonal of `distances` does not
    matter.

    Examples
    --------
    The second and third sample are equally far from the first:

    >>> points = np.array([0.0, 1.0, -1.0, 5.0])
    >>> nearest((points[:, None] - points) ** 2, points**2, 1)[0]
    array([0. , 0.5, 0.5, 0. ])
    """
    xp = namespace_of(distances)
    distances = without_own(distances)
    low, high, share = limits_of_nearest(distances, scales, count, tie)
    found = xp.where(distances <= high[:, None], share[:, None], xp.zeros_like(distances))
    return xp.where(distances < low[:, None], xp.ones_like(found), found)


def without_own(distances: Any) -> Any:
    """Return distances of which no sample is near to itself."""
    xp = namespace_of(distances)
    own = xp.eye(distances.shape[0], dtype=xp.bool, device=device_of(distances))
    return xp.where(own, xp.full_like(distances, math.inf), distances)


def limits_of_nearest(
    distances: Any, scales: Any, count: int, tie: float = _TIE, offsets: Any = 0.0
) -> tuple[Any, Any, Any]:
    """Return for each row which distances are among the `count` nearest.

    Those below the first limit are. Those above the second are not. Those in between tie for the
    places that are left, and have equal shares of them, which are returned third. In each row,
    `distances` are too small by `offsets`, and infinite for the sample itself.

    Examples
    --------
    >>> distances = np.array([[np.inf, 1.0, 1.0, 3.0]])
    >>> low, high, share = limits_of_nearest(distances, np.ones(1), 1)
    >>> bool(low[0] < 1.0 < high[0]), float(share[0])
    (True, 0.5)
    """
    xp = namespace_of(distances)
    if is_device_array(distances):
        ordered = xp.sort(distances, axis=1)
    else:  # only the first places matter, and which distance comes after them
        after = min(count, distances.shape[1] - 1)
        ordered = np.partition(distances, after, axis=1)  # at two places: six times as long
    last = xp.max(ordered[:, :count], axis=1)
    margin = tie * (scales + xp.abs(last + offsets))
    low, high = last - margin, last + margin
    first = ordered[:, :count]
    places = _number_of(first >= low[:, None], distances)
    if is_device_array(distances):
        further = _number_of(ordered[:, count:] <= high[:, None], distances)
    else:
        further = np.zeros_like(places)
        rows = np.flatnonzero(ordered[:, after] <= high)
        further[rows] = np.count_nonzero(ordered[rows, count:] <= high[rows, None], axis=1)
    return low, high, places / (places + further)


def _number_of(flags: Any, like: Any) -> Any:
    """Return how many are true in each row."""
    xp = namespace_of(like)
    return xp.sum(xp.astype(flags, like.dtype), axis=1)
