"""Find the bend in the curve of sorted scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ScoreCut", "suggest_cut"]

_ROUNDING = 1e-9  # as a share of the height of the curve
_SHARP = 0.8


@dataclass(frozen=True)
class ScoreCut:
    """How many features to keep, and how clear that is.

    Attributes
    ----------
    count : int
        The number of scores before the bend.
    depth : float
        How far the first score after the bend lies below the straight line from the best to the
        worst score, as a share of the height of the line there. It is near 0 if scores fall
        evenly, and 1 if there are only two levels.

    Examples
    --------
    >>> from tensift.report import suggest_cut
    >>> suggest_cut([9.0, 8.0, 0.5, 0.2, 0.0]).is_sharp
    True
    """

    count: int
    depth: float

    @property
    def is_sharp(self) -> bool:
        """Whether the cut is clear: a few features more or less would make a difference."""
        return self.depth >= _SHARP


def suggest_cut(scores: ArrayLike) -> ScoreCut | None:
    """Cut where the curve of sorted scores is farthest below the line from first to last.

    Before the cut, scores fall faster than on average; after it, more slowly. The rule has no
    parameters. It does not change if scores are scaled or a constant is added to them, and it
    never separates equal scores.

    Parameters
    ----------
    scores : array-like
        One score per feature, in any shape and order.

    Returns
    -------
    ScoreCut or None
        None if there is no bend, because all scores are equal or the curve is never below the
        line.

    Examples
    --------
    >>> from tensift.report import suggest_cut
    >>> suggest_cut([0.1, 5.0, 0.2, 4.8, 0.1])
    ScoreCut(count=2, depth=0.959...)
    >>> suggest_cut([1.0, 1.0, 1.0]) is None
    True
    """
    falling = np.sort(np.asarray(scores, dtype=float), axis=None)[::-1]
    if not np.isfinite(falling).all():
        raise ValueError("scores must be finite; found NaN or infinity")
    largest = np.abs(falling).max(initial=0.0)
    if falling.size < 3 or falling[0] - falling[-1] <= _ROUNDING * largest:
        return None
    falling = falling / largest
    height = (falling - falling[-1]) / (falling[0] - falling[-1])
    line = np.linspace(1.0, 0.0, falling.size)
    count = int(np.argmax(line - height))
    if line[count] - height[count] <= _ROUNDING:
        return None
    return ScoreCut(count, float(1 - height[count] / line[count]))
