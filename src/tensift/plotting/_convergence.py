"""How the solver converges, slice by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, BLUE, new_axes, subdivide, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvergenceDisplay"]

_LOG_FROM = 20  # steps
_ROUNDING = 100 * 64 * float(np.finfo(float).eps)  # per cent; a smaller distance is drawn as zero


class ConvergenceDisplay:
    """The objective of every slice at every step, above a count of the slices still running.

    Objectives are shown as their distance from the slice's own lowest value, in per cent, so that
    slices of any size can share an axis. The last value need not be the lowest: the paper's solver
    can raise the objective. In the median, a slice that has stopped keeps its last value.

    Parameters
    ----------
    objective_path : array-like of shape (p, steps), or (steps,)
        The objective of every slice after every step, NaN after its last one; or that of the one
        problem of a method without slices.

    Attributes
    ----------
    relative_path_ : ndarray of shape (p', steps)
        What is drawn, in per cent; distances below rounding are zero. Slices whose lowest objective
        is zero are left out.
    ax_ : matplotlib Axes
        The objectives.
    steps_ax_ : matplotlib Axes
        The number of slices that took each step.
    figure_ : matplotlib Figure
        The figure that holds both.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import ConvergenceDisplay
    >>> path = [[4.0, 2.0, np.nan], [3.0, 2.5, 2.0]]
    >>> display = ConvergenceDisplay(path).plot(Figure().subplots())
    >>> display.relative_path_
    array([[100.,   0.,  nan],
           [ 50.,  25.,   0.]])
    """

    def __init__(self, objective_path: ArrayLike) -> None:
        self.objective_path = np.atleast_2d(np.asarray(objective_path, dtype=float))

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the convergence of a fitted selector.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector that has an ``objective_path_``.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "objective_path_"):
            raise ValueError(
                f"{type(estimator).__name__} takes no steps, so there is no convergence to draw"
            )
        return cls(to_numpy(estimator.objective_path_)).plot(ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the objectives and the steps taken.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; it is divided in two. By default in a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        from_user = new_axes(ax)
        self.figure_ = from_user.figure.figure
        (self.ax_,), (self.steps_ax_,) = subdivide(from_user, 2, 1, height_ratios=[3, 1])
        self.steps_ax_.sharex(self.ax_)
        self._plot_objectives()
        self._plot_steps()
        return self

    def _plot_objectives(self) -> None:
        from matplotlib.collections import LineCollection

        self.relative_path_ = _above_lowest(self.objective_path)
        steps = np.arange(1, self.objective_path.shape[1] + 1)
        lines = [
            np.column_stack([steps, values])[np.isfinite(values)] for values in self.relative_path_
        ]
        opacity = float(np.clip(8 / max(len(lines), 1), 0.06, 0.5))
        # Draw thin lines as pixels: thousands of slices would make a vector file of megabytes.
        self.ax_.add_collection(
            LineCollection(
                lines, colors=BLUE, linewidths=0.8, alpha=opacity, rasterized=True, label="slices"
            )
        )
        if lines:
            median = np.median(_held(self.relative_path_), axis=0)
            marker = "o" if len(steps) == 1 else None  # a line through one point is not seen
            self.ax_.plot(
                steps,
                median,
                color=ACCENT,
                marker=marker,
                clip_on=False,
                linewidth=2,
                label="median",
            )
        # No margin below zero: nothing is lower than the lowest objective.
        highest = float(np.nanmax(self.relative_path_, initial=0.0))
        self.ax_.set_ylim(0, 1.05 * highest if highest > 0 else 1.0)
        self.ax_.set_ylabel("above lowest\nobjective (%)")
        self.ax_.tick_params(labelbottom=False)
        legend = self.ax_.legend(frameon=False, loc="upper right")
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1)
        tidy(self.ax_)

    def _plot_steps(self) -> None:
        from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

        n_steps = self.objective_path.shape[1]
        running = np.count_nonzero(~np.isnan(self.objective_path), axis=0)
        ax = self.steps_ax_
        ax.fill_between(np.arange(1, n_steps + 1), running, color=BLUE, alpha=0.3, lw=0)
        marker = "o" if n_steps == 1 else None
        ax.plot(np.arange(1, n_steps + 1), running, color=BLUE, marker=marker, linewidth=1)
        if n_steps > _LOG_FROM:
            # Most progress is made in the first steps, even if the last slice needs many.
            ax.set_xscale("log")
            ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if t <= n_steps]
            ax.xaxis.set_major_locator(FixedLocator(ticks))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(ScalarFormatter())
        else:
            ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.set_xlim(1, max(n_steps, 2))
        ax.set_ylim(0, 1.1 * len(self.objective_path))
        ax.yaxis.set_major_locator(MaxNLocator(nbins=2, integer=True))
        ax.set_xlabel("step")
        ax.set_ylabel("slices\nrunning")
        tidy(ax)


def _above_lowest(path: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row as its distance from its own lowest value, in per cent of that value."""
    lowest = np.fmin.reduce(path, axis=1)
    alive = np.isfinite(lowest) & (lowest != 0)
    lowest = lowest[alive, None]
    above = 100 * (path[alive] - lowest) / np.abs(lowest)
    above[above < _ROUNDING] = 0.0
    return above


def _held(path: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row with its last value in place of the NaN after it."""
    last = np.where(np.isnan(path), 0, np.arange(path.shape[1]))
    return np.take_along_axis(path, np.maximum.accumulate(last, axis=1), axis=1)
