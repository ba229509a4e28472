"""What the first features of a selection explain, and how many of them are worth keeping."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, MUTED, new_axes, tidy
from tensift.plotting._names import plain
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SelectionCurveDisplay"]


class SelectionCurveDisplay:
    """The share of the variance that the first features explain, against their number.

    A straight line shows what they would explain if all features explained the same. Where the
    curve is steeper than the line, features add more than average. The count that
    ``n_features_to_select="auto"`` chooses is where the distance between both is largest.

    Parameters
    ----------
    explained : array-like
        Shares for the first 1, 2, ... features.
    n_features : int
        The number of all features.
    count : int
        How many are kept.
    reason : str, optional
        Why this number, in words.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curve was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import SelectionCurveDisplay
    >>> display = SelectionCurveDisplay([0.5, 0.8, 0.9], n_features=10, count=2)
    >>> display.plot(Figure().subplots()).ax_.get_xlabel()
    'number of features'
    """

    def __init__(
        self, explained: ArrayLike, n_features: int, count: int, reason: str | None = None
    ) -> None:
        self.explained = np.asarray(explained, dtype=float)
        self.n_features = n_features
        self.count = count
        self.reason = reason

    @classmethod
    def from_estimator(
        cls, estimator: TensorSelector, X: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> SelectionCurveDisplay:
        """Draw what the features of a fitted selector explain.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        X : array-like of shape (n, d_1, ..., d_m), or (n, d), optional
            Samples from which to compute the curve. Not needed if the selector has computed it,
            with ``selection="diverse"`` or ``n_features_to_select="auto"``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectionCurveDisplay
        """
        check_is_fitted(estimator)
        count = int(to_numpy(estimator.get_support()).sum())
        if True:
            explained = getattr(estimator, "selection_curve_", None)
            if explained is None:
                raise ValueError(
                    f"{type(estimator).__name__} did not compute what features explain; give X, or "
                    "fit it with selection='diverse'"
                )
        suggested = getattr(estimator, "suggested_count_", None)
        chosen = suggested is not None and suggested.count == count
        return cls(
            to_numpy(explained),
            estimator.order_.shape[0],
            count,
            suggested.reason if suggested is not None and chosen else None,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> SelectionCurveDisplay:
        """Draw the curve, the line of equal shares and the count.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectionCurveDisplay
        """
        ax = new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure.figure
        known = len(self.explained)
        counts = np.arange(known + 1)
        curve = np.concatenate([[0.0], 100 * self.explained])
        ax.plot(counts, 100 * counts / self.n_features, color=MUTED, label="equal shares")
        marker = "o" if known <= 30 else None
        ax.plot(counts, curve, color=ACCENT, marker=marker, markersize=3, label="explained")
        if self.count <= known:
            here, equal = curve[self.count], 100 * self.count / self.n_features
            ax.vlines(self.count, equal, here, color="0.25", linewidth=1)
            ax.plot([self.count], [here], "o", color="0.25", zorder=3)
            left = self.count > known / 2
            ax.annotate(
                f"{self.count} of {self.n_features} kept: {here:.1f}%",
                (self.count, here),
                (-6 if left else 6, 6 if left else -12),
                textcoords="offset points",
                ha="right" if left else "left",
                color="0.25",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
            )
        ax.set_xlim(0, 1.02 * known)
        ax.set_ylim(0, 105)
        ax.set_xlabel("number of features")
        ax.set_ylabel("variance explained (%)")
        ax.legend(loc="lower right", frameon=False)
        if self.reason is not None:
            ax.set_title(plain(textwrap.fill(self.reason, 62)), fontsize="small", loc="left")
        tidy(ax)
        return self
