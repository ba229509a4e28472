"""Who is among the nearest, from distances of which some may be equal."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["nearest"]

_TIE = 1e-11  # rounding must not decide between equal distances


def nearest(
    distances: NDArray[np.float64], scales: NDArray[np.float64], count: int, tie: float = _TIE
) -> NDArray[np.float64]:
    """Return how likely each sample (column) is among the `count` nearest of each other (row).

    This is 1 or 0, but between them for samples that tie for the last places. `scales` are the
    sizes of the numbers that the distances of each row were computed from. Distances whose
    difference is below the share `tie` of them are equal. The diagonal of `distances` is
    overwritten.

    Examples
    --------
    The second and third sample are equally far from the first:

    >>> points = np.array([0.0, 1.0, -1.0, 5.0])
    >>> nearest((points[:, None] - points) ** 2, points**2, 1)[0]
    array([0. , 0.5, 0.5, 0. ])
    """
    np.fill_diagonal(distances, np.inf)
    last = np.partition(distances, count - 1, axis=1)[:, count - 1]
    margin = tie * (scales + np.abs(last))
    nearer = distances < (last - margin)[:, None]
    tied = (distances <= (last + margin)[:, None]) & ~nearer
    places = count - np.count_nonzero(nearer, axis=1)
    return nearer + tied * (places / np.count_nonzero(tied, axis=1))[:, None]
