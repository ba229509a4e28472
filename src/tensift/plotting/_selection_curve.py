"""What the first features of a selection reach, and how many of them are worth keeping."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, BLUE, new_axes, tidy
from tensift.plotting._names import plain
from tensift.selection import SuggestedCount, TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SelectionCurveDisplay"]

# What `selection_curve_` is for every rule that has one.
_MEASURES = {"geometry": "alignment", "reconstruct": "variance explained"}


class SelectionCurveDisplay:
    """What the first features of a selection reach, and how many are worth keeping.

    One curve is `selection_curve_`: what the first 1, 2, ... features reach by the rule that
    selected them, on the samples that it looked at. If the selector has chosen how many to keep,
    with ``n_features_to_select="auto"``, the other curve is the one by which it chose: the same
    measure on samples that features were not chosen on. Its band is the spread between halves
    of the samples, and a dotted line is at the suggested count.

    Parameters
    ----------
    curve : array-like
        The measure of the first 1, 2, ... features, as a share; empty if there is none.
    n_features : int
        The number of all features.
    count : int
        How many are kept.
    measure : str, default="alignment"
        What the curve shows.
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
    >>> display.plot(Figure().subplots()).ax_.get_ylabel()
    'alignment (%)'
    """

    def __init__(
        self,
        curve: ArrayLike,
        n_features: int,
        count: int,
        measure: str = "alignment",
        suggested: SuggestedCount | None = None,
    ) -> None:
        self.curve = np.asarray(curve, dtype=float)
        self.n_features = n_features
        self.count = count
        self.measure = measure
        self.suggested = suggested

    @classmethod
    def from_estimator(
        cls, estimator: TensorSelector, *, ax: Axes | None = None
    ) -> SelectionCurveDisplay:
        """Draw what the features of a fitted selector reach.

        Parameters
        ----------
        estimator : TensorSelector
            A selector that was fitted with a rule other than "top", or with
            ``n_features_to_select="auto"``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectionCurveDisplay
        """
        check_is_fitted(estimator)
        suggested = getattr(estimator, "suggested_count_", None)
        curve = getattr(estimator, "selection_curve_", None)
        if curve is None and suggested is None:
            raise ValueError(
                f"{type(estimator).__name__} has no curve to draw; fit it with "
                "n_features_to_select='auto', or with selection='geometry' or 'reconstruct'"
            )
        return cls(
            np.zeros(0) if curve is None else to_numpy(curve),
            estimator.order_.shape[0],
            int(to_numpy(estimator.get_support()).sum()),
            _MEASURES.get(estimator.selection, "alignment"),
            suggested,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> SelectionCurveDisplay:
        """Draw the curves and the counts.

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
        ax.set_ylabel(plain(f"{self.measure} (%)"))
        if len(self.curve):
            self._plot_curve()
        last = len(self.curve)
        if self.suggested is not None:
            self._plot_suggested(self.suggested)
            last = max(last, len(self.suggested.curve), self.suggested.count)
        ax.set(xlim=(0, 1.02 * last), ylim=(0, 105), xlabel="number of features")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(edgecolor="none", framealpha=1)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        tidy(ax)
        return self

    def _plot_curve(self) -> None:
        ax, known = self.ax_, len(self.curve)
        counts, curve = np.arange(1, known + 1), 100 * self.curve
        marker = "o" if known <= 30 else None
        ax.plot(counts, curve, color=ACCENT, marker=marker, markersize=3, label="selected features")
        if self.count <= known:
            here = curve[self.count - 1]
            ax.plot([self.count], [here], "o", color="0.25", zorder=3)
            left = self.count > known / 2
            ax.annotate(
                f"{self.count} of {self.n_features} kept: {here:.1f}%",
                (self.count, here),
                (-6 if left else 6, -14),
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
        counts = np.arange(1, len(suggested.curve) + 1)
        curve, spread = 100 * suggested.curve, 100 * suggested.spread
        ax.fill_between(counts, curve - spread, curve + spread, color=BLUE, alpha=0.25, lw=0)
        ax.plot(counts, curve, color=BLUE, label=f"{suggested.measure}, on other samples")
        ax.axvline(
            suggested.count, color=BLUE, linestyle=":", label=f"suggested: {suggested.count}"
        )
