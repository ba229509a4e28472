"""The orientation and the transform that nobody has to set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRANSFORMS", "OrientationChoice", "choose_orientation"]

TRANSFORMS = ("identity", "dct", "haar", "eigen")  # what transform="auto" tries


@dataclass(frozen=True)
class OrientationChoice:
    """How the orientation, the transform or both were chosen: what was tried, and why this one.

    Every candidate scores and selects features. Kept is the one whose selected features vary the
    most: all of them avoid features that repeat one another, so what is left is how much of the
    data's energy the features hold.

    Attributes
    ----------
    candidates : list of (int, transform)
        The orientations and transforms that were tried.
    variances : ndarray
        For each of them the mean variance of the features it selects, in units of the mean
        variance of all features.
    chosen : int
        The number of the one that was kept.
    reason : str
        Why, in words.

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
    """Fit every candidate and give the best of them.

    `fitted` gives for an orientation and a transform the mean variance of the selected features,
    and whatever was fitted. Where several are equal, the first is kept.
    """
    found: list[float] = []
    best: Any = None
    for orientation, transform in candidates:
        variance, one = fitted(orientation, transform)
        if not found or variance > max(found):
            best = one
        found.append(variance)
    chosen = int(np.argmax(found))
    others = [value for number, value in enumerate(found) if number != chosen]
    orientation, transform = candidates[chosen]
    name = f", transform={transform!r}" if isinstance(transform, str) else ""
    reason = f"orientation={orientation}{name}: the features it selects vary {found[chosen]:.3g} "
    reason += "times as much as all features do on average"
    if others:
        reason += f" (next best: {max(others):.3g}; {len(found)} tried)"
    return best, OrientationChoice(candidates, np.array(found), chosen, reason)
