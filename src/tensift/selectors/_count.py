"""How many features are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import to_numpy
from tensift.selectors._covariances import Covariances
from tensift.selectors._diverse import EnergyCurve

__all__ = ["Order", "SuggestedCount", "suggested_count"]

_FIRST = 64  # features that are looked at before it is asked whether more could be better


@dataclass(frozen=True)
class SuggestedCount:
    """How many features a selection suggests to keep, and why.

    Attributes
    ----------
    count : int
        The number of features.
    reason : str
        Why, in words.
    explained : ndarray of shape (t,)
        Shares of all features' variance that the first 1, 2, ... features explain, as far as had
        to be looked: no later count could be better.
    n_features : int
        The number of all features.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import VarianceSelector
    >>> X = load_digits().data
    >>> suggested = VarianceSelector("auto", selection="diverse").fit(X).suggested_count_
    >>> suggested.count, suggested.n_features
    (18, 64)
    >>> bool(suggested.explained[17] > 0.75)
    True
    """

    count: int
    reason: str
    explained: NDArray[np.float64]
    n_features: int


class Order(Protocol):
    """An order of features that is found as far as it is asked for."""

    def extend(self, count: int) -> Any:
        """The first `count` features."""

    def ranking(self) -> Any:
        """All features, of which those that were not asked for may still change."""


def suggested_count(
    covariances: Covariances, order: Order, n_features: int
) -> tuple[SuggestedCount, Any]:
    """The count after which features explain less than their share, and the curve as it came.

    That is the count with the largest explained share less ``t / d``. No share is above 1, so that
    it is known as soon as ``1 - t / d`` is below the largest so far.
    """
    curve = EnergyCurve(covariances)
    n_known = min(_FIRST, n_features)
    while True:
        shares = curve.extended(order.extend(n_known))
        explained = np.asarray(to_numpy(shares), dtype=np.float64)
        excess = explained - np.arange(1, len(explained) + 1) / n_features
        best = int(np.argmax(excess))
        if n_known >= n_features or 1 - n_known / n_features <= excess[best]:
            break
        n_known = min(2 * n_known, n_features)
    count = best + 1
    reason = (
        f"{count} of {n_features} features explain {100 * explained[best]:.1f}% of the variance, "
        f"{100 * count / n_features:.1f}% if all had equal shares; any more of them in this order "
        f"explain less than their share, 1/{n_features} each"
    )
    return SuggestedCount(count, reason, explained, n_features), shares
