"""A metric of several methods at several numbers of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tensift.metrics import SelectionEvaluation
from tensift.plotting._matplotlib import PALETTE, new_axes, tidy
from tensift.plotting._names import in_legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EvaluationDisplay"]

_LABELS = {
    "acc": "clustering accuracy",
    "nmi": "normalized mutual information",
    "silhouette": "silhouette of the classes",
    "poc": "proportion correct",
}


class EvaluationDisplay:
    """A metric against the number of features, one line per method.

    An evaluation at a single count (such as all features) is a dashed horizontal line.

    Parameters
    ----------
    evaluations : mapping of str to SelectionEvaluation
        The evaluations by the method's name, the most important first.
    metric : str, default="acc"
        Which of their metrics to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from tensift.metrics import evaluate_selection
    >>> from tensift.plotting import EvaluationDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> X[:15, 2] += 9
    >>> labels = np.repeat([0, 1], 15)
    >>> evaluations = {
    ...     name: evaluate_selection(X, labels, ranking, counts=[1, 2], n_repeats=3)
    ...     for name, ranking in {"good": [2, 0], "bad": [0, 1]}.items()
    ... }
    >>> display = EvaluationDisplay(evaluations).plot(Figure().subplots())
    >>> [line.get_label() for line in display.ax_.lines]
    ['good', 'bad']
    """

    def __init__(self, evaluations: Mapping[str, SelectionEvaluation], metric: str = "acc") -> None:
        for name, evaluation in evaluations.items():
            if metric not in evaluation.means:
                raise ValueError(
                    f"metric={metric!r} is not in the evaluation {name!r}, which has "
                    f"{tuple(evaluation.means)}"
                )
        self.evaluations = dict(evaluations)
        self.metric = metric

    def plot(self, ax: Axes | None = None) -> EvaluationDisplay:
        """Draw the lines, with bands of one standard deviation up and down.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        EvaluationDisplay
        """
        ax = new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure.figure
        colours = iter(PALETTE * len(self.evaluations))
        for name, evaluation in self.evaluations.items():
            means, label = evaluation.means[self.metric], in_legend(name)
            if len(evaluation.counts) == 1:
                ax.axhline(means[0], color="0.35", linewidth=1, linestyle=(0, (4, 3)), label=label)
                continue
            colour = next(colours)
            ax.plot(evaluation.counts, means, "o-", color=colour, markersize=4, label=label)
            if self.metric in evaluation.stds:
                spread = evaluation.stds[self.metric]
                ax.fill_between(
                    evaluation.counts,
                    means - spread,
                    means + spread,
                    color=colour,
                    alpha=0.14,
                    lw=0,
                )
        ax.set_xlabel("features kept")
        ax.set_ylabel(_LABELS.get(self.metric, plain(self.metric)))
        ax.legend(frameon=False, loc="lower right")
        tidy(ax)
        return self
