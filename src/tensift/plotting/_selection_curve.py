"""What the first features of a selection explain, and how many of them are worth keeping."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, BLUE, MUTED, new_axes, tidy
from tensift.plotting._names import plain
from tensift.selection import SuggestedCount, TensorSelector, explained_energy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SelectionCurveDisplay"]


class SelectionCurveDisplay:
    """What the first features of a selection explain, and how many are worth keeping.

    One curve is the share of the variance that the first features explain. A straight line shows
    what they would explain if all features explained the same: where the curve is steeper, features
    add more than average. If the selector has chosen how many to keep, with
    ``n_features_to_select="auto"``, the other curve is the alignment by which it chose: how well
    features keep the similarities of samples that they were not chosen on. Its band is the spread
    between two halves of the samples, and a dotted line is at the suggested count.

    Parameters
    ----------
    explained : array-like
        Shares for the first 1, 2, ... features.
    n_features : int
        The number of all features.
    count : int
        How many are kept.
    suggested : SuggestedCount, optional
        How many features to keep, and why.

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
        self,
        explained: ArrayLike,
        n_features: int,
        count: int,
        suggested: SuggestedCount | None = None,
    ) -> None:
        self.explained = np.asarray(explained, dtype=float)
        self.n_features = n_features
        self.count = count
        self.suggested = suggested

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
            Samples from which to compute the curve. Not needed if the selector has looked at
            samples itself: with ``n_features_to_select="auto"`` or a rule other than "top".
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectionCurveDisplay
        """
        check_is_fitted(estimator)
        count = int(to_numpy(estimator.get_support()).sum())
        if X is not None:
            samples = estimator._validate_samples(X, reset=False)
            first = estimator.order_[:count]
            explained = explained_energy(samples, first, estimator._mode_of_features())
        else:
            explained = getattr(estimator, "selection_curve_", None)
            if explained is None:
                raise ValueError(
                    f"{type(estimator).__name__} did not compute what features explain; give X, or "
                    "fit it with n_features_to_select='auto'"
                )
        return cls(
            to_numpy(explained),
            estimator.order_.shape[0],
            count,
            getattr(estimator, "suggested_count_", None),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> SelectionCurveDisplay:
        """Draw the curves, the line of equal shares and the counts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectionCurveDisplay
        """
        ax = new_axes(ax)
        from matplotlib.ticker import MaxNLocator

        self.ax_, self.figure_ = ax, ax.figure.figure
        self._plot_explained()
        last = len(self.explained)
        if self.suggested is not None:
            self._plot_suggested(self.suggested)
            last = max(last, len(self.suggested.alignment))
        ax.set(xlim=(0, 1.02 * last), ylim=(0, 105), xlabel="number of features")
        ax.legend(edgecolor="none", framealpha=1)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        tidy(ax)
        return self

    def _plot_explained(self) -> None:
        ax, known = self.ax_, len(self.explained)
        counts = np.arange(known + 1)
        curve = np.concatenate([[0.0], 100 * self.explained])
        ax.plot(counts, 100 * counts / self.n_features, color=MUTED, label="equal shares")
        marker = "o" if known <= 30 else None
        ax.plot(
            counts, curve, color=ACCENT, marker=marker, markersize=3, label="variance explained"
        )
        ax.set_ylabel("variance explained (%)")
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

    def _plot_suggested(self, suggested: SuggestedCount) -> None:
        ax = self.ax_
        ax.set_title(plain(textwrap.fill(suggested.reason, 62)), fontsize="small", loc="left")
        if not suggested.n_structured:
            return
        counts = np.arange(len(suggested.alignment) + 1)
        curve = 100 * np.concatenate([[0.0], suggested.alignment])
        spread = 100 * np.concatenate([[0.0], suggested.spread])
        ax.fill_between(counts, curve - spread, curve + spread, color=BLUE, alpha=0.25, lw=0)
        ax.plot(counts, curve, color=BLUE, label="alignment")
        ax.axvline(
            suggested.count, color=BLUE, linestyle=":", label=f"suggested: {suggested.count}"
        )
        ax.set_ylabel("variance explained, alignment (%)")
