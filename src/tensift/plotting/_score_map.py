"""The scores of features, drawn at the places of the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tensift.labels import Names
from tensift.plotting._fitted import FittedSelection
from tensift.plotting._limit_marks import mark_image, mark_vector
from tensift.plotting._matplotlib import BLUE, SCORE_MAP, new_axes, tidy
from tensift.plotting._names import names_for, plain, set_ticks
from tensift.plotting._panels import Panels, figure_size
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScoreMapDisplay"]

_MOST_BARS = 60


class ScoreMapDisplay:
    """Scores, laid out like the features.

    Two modes make an image, three or more a row of images, and one mode (a vector, or mode
    features such as channels) bars, or a line if bars would be too thin.

    Parameters
    ----------
    scores : array-like of shape (d_1, ..., d_m)
        One score for every feature.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.
    quantity : str, default="score"
        What the numbers are, for the axis or the colour bar.
    included, excluded : array-like of bool, of the shape of scores, optional
        Features that constraints force in, which get a dot, or out, which are greyed.

    Attributes
    ----------
    ax_ : matplotlib Axes, or ndarray of Axes for three or more modes
        Where the scores were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ScoreMapDisplay
    >>> digits = load_digits()
    >>> selector = STPCASelector(n_features_to_select=20).fit(digits)
    >>> display = ScoreMapDisplay.from_estimator(selector, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'column'
    """

    def __init__(
        self,
        scores: ArrayLike,
        *,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        quantity: str = "score",
        included: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
    ) -> None:
        self.scores = np.asarray(scores)
        self.names = names_for(self.scores.shape, names, dims, coords)
        self.quantity = quantity
        none = np.zeros(self.scores.shape, dtype=bool)
        self.included = none if included is None else np.asarray(included, dtype=bool)
        self.excluded = none if excluded is None else np.asarray(excluded, dtype=bool)

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> ScoreMapDisplay:
        """Draw the scores of a fitted selector.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreMapDisplay
        """
        fitted = FittedSelection.of(estimator, dims, coords)
        names = fitted.feature_names
        return cls(
            fitted.scores,
            names=names,
            included=fitted.included,
            excluded=fitted.excluded,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> ScoreMapDisplay:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreMapDisplay
        """
        names = self.names
        panels = None if self.scores.ndim == 1 else Panels.choose(self.scores, names)
        ax = new_axes(ax, figure_size(panels))
        self.figure_ = ax.figure.figure
        if panels is None:
            self.ax_: Any = ax
            self._plot_vector(names)
        else:
            self._plot_images(ax, panels)
        return self

    def _plot_vector(self, names: Names) -> None:
        positions = np.arange(self.scores.size)
        if self.scores.size <= _MOST_BARS:
            self.ax_.bar(positions, self.scores, width=0.8, color=BLUE)
        else:
            self.ax_.plot(positions, self.scores, color=BLUE, linewidth=1)
        mark_vector(self.ax_, self.included, self.excluded)
        set_ticks(self.ax_.xaxis, names, 0)
        if any(len(names.label(0, int(i))) > 4 for i in positions[:_MOST_BARS]):
            self.ax_.tick_params(axis="x", rotation=45)
        self.ax_.set_ylim(bottom=0)
        self.ax_.set_ylabel(plain(self.quantity))
        tidy(self.ax_)

    def _plot_images(self, ax: Axes, panels: Panels) -> None:
        axes = panels.axes(ax)
        # One scale for all images: a colour means the same score everywhere.
        top = float(self.scores.max())
        bottom = min(0.0, float(self.scores.min()))
        parts = (panels.images(part) for part in (self.scores, self.included, self.excluded))
        for panel, image, included, excluded in zip(axes, *parts, strict=True):
            drawn = panel.imshow(
                image,
                cmap=SCORE_MAP,
                vmin=bottom,
                vmax=top,
                aspect=panels.aspect,
                interpolation="nearest",
            )
            mark_image(panel, included, excluded, panels.aspect)
        label = self.quantity if not panels.note else f"{self.quantity} ({panels.note})"
        bar = axes[0].figure.colorbar(drawn, ax=axes, label=plain(label), shrink=0.85, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        self.ax_ = axes[0] if panels.n_images == 1 else np.array(axes, dtype=object)
