"""The error of restored samples against the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tensift.labels import Names
from tensift.plotting._fitted import FittedSelection
from tensift.plotting._matplotlib import ACCENT, SCORE_MAP, new_figure, tidy
from tensift.plotting._montage import Montage
from tensift.plotting._names import names_for, plain
from tensift.selection import ReconstructionCurve, TensorSelector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ReconstructionCurveDisplay"]


class ReconstructionCurveDisplay:
    """The error of restored samples for several numbers of features, and where it remains.

    The curve shows the share of the variance of samples that is missed. Beside it is a map of the
    error that remains with the largest number of features, in units of the samples.

    Parameters
    ----------
    curve : ReconstructionCurve
        What `TensorSelector.reconstruction_curve` returns.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes of a sample.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        Where the curve and the map were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ReconstructionCurveDisplay
    >>> X = load_digits().data
    >>> selector = GeometrySelector(n_features_to_select=20).fit(X[:1000])
    >>> display = ReconstructionCurveDisplay.from_estimator(selector, X[1000:], figure=Figure())
    >>> display.axes_[0].get_ylabel()
    'variance missed (%)'
    """

    def __init__(
        self,
        curve: ReconstructionCurve,
        *,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(curve, ReconstructionCurve):
            raise TypeError(
                "curve must be what the method reconstruction_curve of a selector returns, got "
                f"{type(curve).__name__}"
            )
        self.curve = curve
        self.names = names_for(curve.element_errors.shape[1:], names, dims, coords)

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        X: ArrayLike,
        *,
        counts: Sequence[int] | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> ReconstructionCurveDisplay:
        """Draw how well a fitted selector restores samples.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples that it was not fitted on.
        counts : sequence of int, optional
            The numbers of features; by default 1, 2, 4, ... and the number that is kept.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReconstructionCurveDisplay
        """
        names = FittedSelection.of(estimator, dims, coords).names
        curve = estimator.reconstruction_curve(X, counts)
        return cls(curve, names=names).plot(figure)

    def plot(self, figure: Figure | None = None) -> ReconstructionCurveDisplay:
        """Draw the curve and the map.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReconstructionCurveDisplay
        """
        self.figure_ = figure = new_figure(figure)
        figure.set_layout_engine("constrained")
        figure.set_size_inches(9.0, 3.6)
        self.axes_: Any = figure.subplots(1, 2)
        self._draw_curve()
        self._draw_map()
        return self

    def _draw_curve(self) -> None:
        ax, curve = self.axes_[0], self.curve
        percent = 100 * curve.errors
        ax.plot(curve.counts, percent, color=ACCENT, marker="o", markersize=4)
        ax.set_xscale("log", base=2)
        ax.set_xticks(curve.counts, [str(count) for count in curve.counts])
        ax.minorticks_off()
        ax.set_ylim(0, 1.08 * max(100.0, float(percent.max())))
        ax.annotate(
            f"{percent[-1]:.3g} %",
            (curve.counts[-1], percent[-1]),
            (7, 0),
            textcoords="offset points",
            va="center",
            color="0.25",
        )
        ax.set_xlim(right=1.6 * curve.counts[-1])
        ax.set(xlabel="number of features", ylabel="variance missed (%)")
        tidy(ax)

    def _draw_map(self) -> None:
        ax, curve = self.axes_[1], self.curve
        left = np.sqrt(curve.element_errors[-1])
        montage = Montage.choose(self.names)
        high = float(left.max()) or 1.0
        drawn = montage.draw(ax, left, 0.0, high, SCORE_MAP)
        noun = "feature" if curve.counts[-1] == 1 else "features"
        words = f"error with {curve.counts[-1]} {noun}"
        if montage.is_trace:
            ax.set(xlabel=plain(montage.names.title(0)), ylabel=words)
            return
        ax.set_xlabel(plain(montage.caption), fontsize="small", color="0.4", loc="left")
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.85, pad=0.02, label=words)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
