"""Where the curve of sorted scores bends."""

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
        How many scores come before the bend.
    depth : float
        How far the first score after the bend lies below the straight line from the best score
        to the worst, as a share of the line's height there: near 0 for scores that fall evenly,
        1 for two levels.

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
        """Whether a few features more or less would make a difference."""
        return self.depth >= _SHARP


def suggest_cut(scores: ArrayLike) -> ScoreCut | None:
    """Cut where the curve of sorted scores is farthest below the line from its first to its last.

    Up to there scores fall faster than on average, from there on more slowly. The rule has no
    parameter, depends neither on the scale of the scores nor on a constant added to them, and
    never parts equal scores.

    Parameters
    ----------
    scores : array-like
        One score a feature, in any shape and order.

    Returns
    -------
    ScoreCut or None
        None if there is no bend: scores are equal, or the curve is nowhere below the line.

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
