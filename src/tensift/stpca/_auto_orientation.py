"""Choose the orientation and the basis without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BASES", "OrientationChoice", "choose_orientation"]

BASES = ("identity", "dct", "haar", "eigen")  # what basis="auto" tries


@dataclass(frozen=True)
class OrientationChoice:
    """How the orientation, the basis or both were chosen.

    Every candidate scores and selects features. The candidate whose selected features vary the
    most is kept.

    Attributes
    ----------
    candidates : list of (int, basis)
        The orientations and bases that were tried.
    variances : ndarray
        For each candidate the mean variance of its selected features, divided by the mean variance
        of all features.
    chosen : int
        The index of the candidate that was kept.
    reason : str
        Why, in one sentence.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> selector = STPCASelector(20, orientation="auto").fit(load_digits().data)
    >>> choice = selector.choice_.orientation
    >>> choice.candidates
    [(0, 'identity'), (1, 'identity')]
    >>> selector.orientation_ == choice.candidates[choice.chosen][0]
    True
    """

    candidates: list[tuple[int, Any]]
    variances: NDArray[np.float64]
    chosen: int
    reason: str


def choose_orientation(
    candidates: list[tuple[int, Any]], fitted: Callable[[int, Any], tuple[float, Any]]
) -> tuple[Any, OrientationChoice]:
    """Fit every candidate and return the best one.

    `fitted` returns, for an orientation and a basis, the mean variance of the selected features and
    the fitted object. The first of several equal candidates is kept.
    """
    found: list[float] = []
    best: Any = None
    for orientation, basis in candidates:
        variance, one = fitted(orientation, basis)
        if not found or variance > max(found):
            best = one
        found.append(variance)
    chosen = int(np.argmax(found))
    others = [value for number, value in enumerate(found) if number != chosen]
    orientation, basis = candidates[chosen]
    name = f", basis={basis!r}" if isinstance(basis, str) else ""
    reason = f"orientation={orientation}{name}: the features it selects vary {found[chosen]:.3g} "
    reason += "times as much as all features do on average"
    if others:
        reason += f" (next best: {max(others):.3g}; {len(found)} tried)"
    return best, OrientationChoice(candidates, np.array(found), chosen, reason)
