"""Does a method select the same features when the samples change?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.arrays import as_array

__all__ = ["StabilityEstimate", "selection_stability"]


@dataclass(frozen=True)
class StabilityEstimate:
    """A stability with its uncertainty.

    Attributes
    ----------
    value : float
        The estimate.
    variance : float
        The variance of the estimate.
    low, high : float
        The ends of the confidence interval.

    Examples
    --------
    >>> from tensift.metrics import StabilityEstimate
    >>> StabilityEstimate(0.5, 0.01, 0.3, 0.7).value
    0.5
    """

    value: float
    variance: float
    low: float
    high: float


def selection_stability(supports: ArrayLike, *, confidence: float = 0.95) -> StabilityEstimate:
    """Similarity of several selections, corrected for chance (Nogueira, Sechidis and Brown).

    Pass the selections that one method makes on several resamples of the data.

    Parameters
    ----------
    supports : array-like of bool, shape (n_selections, n_features)
        One mask per selection, at least two. The selections may differ in size.
    confidence : float in (0, 1), default=0.95
        The level of the interval.

    Returns
    -------
    StabilityEstimate
        Its value is 1 if all selections are the same, and 0 on average if they are drawn at
        random. It is NaN if every selection keeps all features or none.

    Notes
    -----
    Let M selections keep ``k`` of d features on average, and feature f be kept by the share
    ``p_f`` of them. The unbiased variance of f is ``M / (M - 1) p_f (1 - p_f)``; by chance it
    would be ``(k / d) (1 - k / d)``. The value is one minus the mean variance over f divided by
    the variance by chance. If all selections have the same size, it is the mean of Kuncheva's
    index over all pairs. The variance of the estimate is that of its leading term, a mean over
    selections, and the interval is normal. Both assume that the selections are independent,
    which is not quite true for half-samples of the same data.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown: On the stability of feature selection algorithms. Journal
    of Machine Learning Research 18(174), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import selection_stability
    >>> always = np.array([[1, 1, 0, 0, 0, 0]] * 4, dtype=bool)
    >>> selection_stability(always).value
    1.0
    >>> half = np.array([[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0]], dtype=bool)
    >>> round(selection_stability(half).value, 3)
    0.25
    """
    masks = np.asarray(as_array(supports, "supports"))
    if masks.ndim != 2 or masks.dtype.kind != "b" or len(masks) < 2 or masks.shape[1] < 1:
        raise ValueError(
            "supports must be at least two boolean masks, shape (n_selections, n_features); "
            f"got dtype {masks.dtype} and shape {masks.shape}"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1; got {confidence!r}")
    n_selections, d = masks.shape
    shares = masks.mean(axis=0)
    sizes = masks.sum(axis=1) / d  # as shares of all features
    size = float(sizes.mean())
    by_chance = size * (1 - size)
    if by_chance == 0:
        return StabilityEstimate(math.nan, math.nan, math.nan, math.nan)
    unbiased = n_selections / (n_selections - 1)
    value = 1 - unbiased * float(np.mean(shares * (1 - shares))) / by_chance
    # What each selection contributes to the estimate, to first order, up to a constant.
    influence = masks @ shares / d - sizes * size + value / 2 * sizes * (2 * size - 1)
    influence /= by_chance
    variance = 4 / n_selections * float(np.var(influence))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    return StabilityEstimate(value, variance, value - reach, value + reach)
