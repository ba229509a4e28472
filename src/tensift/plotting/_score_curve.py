"""Scores in the order of selection, with the cut between kept and dropped features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, MUTED, new_axes, tidy
from tensift.plotting._names import plain
from tensift.plotting._rules import order_in_words
from tensift.selection import TensorSelector, rank_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScoreCurveDisplay"]


class ScoreCurveDisplay:
    """The scores in the order in which features were selected, and where the selection ends.

    With ``selection="top"`` the scores fall. On a plateau, features on both sides of the cut are
    equally good. Other rules look at more than scores, so a dropped feature can have a higher score
    than a kept one.

    Parameters
    ----------
    scores : array-like
        One score for every feature, in any shape and order.
    n_selected : int
        How many are kept.
    order : array-like of int, optional
        The flat indices of all features in the order of selection; by default the highest score
        comes first.
    selection : str, default="top"
        The rule that made the order (a selector's ``selection``), for the label of the axis.

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
    'feature, highest score first'
    """

    def __init__(
        self,
        scores: ArrayLike,
        n_selected: int,
        *,
        order: ArrayLike | None = None,
        selection: str = "top",
    ) -> None:
        flat = np.asarray(scores).ravel()
        self.order = rank_features(flat) if order is None else np.asarray(order)
        self.scores = flat[self.order]
        self.n_selected = n_selected
        self.selection = selection

    @classmethod
    def from_estimator(
        cls, estimator: TensorSelector, *, ax: Axes | None = None
    ) -> ScoreCurveDisplay:
        """Draw the scores of a fitted selector in its order.

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
        return cls(
            to_numpy(estimator.scores_),
            int(estimator.get_support().sum()),
            order=to_numpy(estimator.order_),
            selection=estimator.selection,
        ).plot(ax)

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
        # One step per feature: rank r is drawn from r - 1 to r.
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
        low, high = min(0.0, float(self.scores.min())), float(self.scores.max())
        ax.set_ylim(low, 1.12 * max(high, 0.0) if high > low else 1.0)
        ax.set_xlabel(f"feature, {plain(order_in_words(self.selection))}")
        ax.set_ylabel("score")
        tidy(ax)
        return self
