"""Scores in order, with the cut between kept and dropped features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, MUTED, new_axes, tidy
from tensift.selectors import TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScoreCurveDisplay"]


class ScoreCurveDisplay:
    """The sorted scores, and where the selection cuts them.

    A cut on a cliff is a natural one; on a plateau, features on both sides are as good.

    Parameters
    ----------
    scores : array-like
        One score for every feature, in any shape and order.
    n_selected : int
        How many are kept.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curve was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import ScoreCurveDisplay
    >>> display = ScoreCurveDisplay([3.0, 0.5, 2.0, 0.1], n_selected=2).plot(Figure().subplots())
    >>> display.ax_.get_xlabel()
    'feature, by rank'
    """

    def __init__(self, scores: ArrayLike, n_selected: int) -> None:
        self.scores = np.sort(np.asarray(scores), axis=None)[::-1]
        self.n_selected = n_selected

    @classmethod
    def from_estimator(
        cls, estimator: TensorSelector, *, ax: Axes | None = None
    ) -> ScoreCurveDisplay:
        """Draw the sorted scores of a fitted selector.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreCurveDisplay
        """
        check_is_fitted(estimator)
        return cls(to_numpy(estimator.scores_), int(estimator.get_support().sum())).plot(ax)

    def plot(self, ax: Axes | None = None) -> ScoreCurveDisplay:
        """Draw the curve and the cut.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreCurveDisplay
        """
        ax = new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure.figure
        total, kept = self.scores.size, self.n_selected
        # A step a feature: rank r occupies the interval from r - 1 to r.
        edges = np.arange(total + 1)
        ax.stairs(self.scores[:kept], edges[: kept + 1], fill=True, color=ACCENT)
        ax.stairs(self.scores[kept:], edges[kept:], fill=True, color=MUTED)
        ax.axvline(kept, color="0.25", linewidth=1)
        left = kept > total / 2
        ax.annotate(
            f"{kept} of {total} kept",
            (kept, 1),
            (-5 if left else 5, -2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            color="0.25",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )
        ax.set_xlim(0, total)
        ax.set_ylim(0, 1.12 * float(self.scores[0]) or 1.0)
        ax.set_xlabel("feature, by rank")
        ax.set_ylabel("score")
        tidy(ax)
        return self
