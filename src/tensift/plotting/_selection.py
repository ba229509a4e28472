"""A whole selection in one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from tensift.plotting._channel_ranking import ChannelRankingDisplay
from tensift.plotting._convergence import ConvergenceDisplay
from tensift.plotting._fitted import FittedSelection
from tensift.plotting._matplotlib import new_figure
from tensift.plotting._names import plain
from tensift.plotting._panels import Panels
from tensift.plotting._score_curve import ScoreCurveDisplay
from tensift.plotting._score_map import ScoreMapDisplay
from tensift.plotting._selected_features import SelectedFeaturesDisplay
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["SelectionDisplay"]

_MARGIN = 0.1  # inches
_PART_TITLE: dict[str, Any] = {"fontsize": "medium", "color": "0.25"}


class SelectionDisplay:
    """Score map, selected features, score curve and convergence, side by side.

    Mode features have a ranking of the channels in place of the map and the curve. A selector
    that does not iterate has no convergence.

    Parameters
    ----------
    estimator : TensorSelector
        A fitted selector.
    X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
        Samples, one of which is drawn.
    sample : int, default=0
        Which of the samples to draw.
    title : str, optional
        The title of the figure; by default how many features are kept.
    dims : sequence of str, optional
        The names of the modes of a sample.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    displays_ : list
        The displays, in the order in which they are drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import SelectionDisplay
    >>> X = load_digits().data
    >>> selector = STPCASelector(n_features_to_select=20).fit(X)
    >>> display = SelectionDisplay.from_estimator(selector, X, figure=Figure())
    >>> [type(part).__name__ for part in display.displays_]
    ['ScoreMapDisplay', 'SelectedFeaturesDisplay', 'ScoreCurveDisplay', 'ConvergenceDisplay']
    """

    def __init__(
        self,
        estimator: TensorSelector,
        X: ArrayLike,
        *,
        sample: int = 0,
        title: str | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.sample = sample
        self.title = title
        self.dims = dims
        self.coords = coords

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        X: ArrayLike,
        *,
        sample: int = 0,
        title: str | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> SelectionDisplay:
        """Draw the selection of a fitted selector.

        Parameters
        ----------
        estimator, X, sample, title, dims, coords
            As in the class.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        SelectionDisplay
        """
        display = cls(estimator, X, sample=sample, title=title, dims=dims, coords=coords)
        return display.plot(figure)

    def plot(self, figure: Figure | None = None) -> SelectionDisplay:
        """Draw all parts.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        SelectionDisplay
        """
        self.figure_ = figure = new_figure(figure)
        fitted = FittedSelection.of(self.estimator, self.dims, self.coords)
        figure.set_layout_engine("constrained")
        parts = self._parts(fitted)
        places = _arrange(figure, fitted, list(parts))
        self.displays_: list[Any] = []
        for place, (title, draw) in zip(places, parts.items(), strict=True):
            place.suptitle(title, x=_MARGIN / _inches_wide(place), ha="left", **_PART_TITLE)
            self.displays_.append(draw(place.subplots()))
        kept = int(fitted.support.sum())
        total = self.estimator._n_observed(fitted.support.size)
        figure.suptitle(
            f"{kept} of {total} features kept" if self.title is None else plain(self.title),
            x=_MARGIN / _inches_wide(figure),
            ha="left",
            fontweight="bold",
        )
        return self

    def _parts(self, fitted: FittedSelection) -> dict[str, Callable[[Axes], Any]]:
        """The titles of the parts, and the function that draws each on given axes."""
        selector, dims, coords = self.estimator, self.dims, self.coords

        def kept(ax: Axes) -> Any:
            return SelectedFeaturesDisplay.from_estimator(
                selector, self.X, sample=self.sample, dims=dims, coords=coords, ax=ax
            )

        parts: dict[str, Callable[[Axes], Any]] = {}
        if _by_channel(fitted):
            parts["Scores"] = lambda ax: ChannelRankingDisplay.from_estimator(
                selector, dims=dims, coords=coords, ax=ax
            )
            parts[f"Kept, on sample {self.sample}"] = kept
        else:
            parts["Score map"] = lambda ax: ScoreMapDisplay.from_estimator(
                selector, dims=dims, coords=coords, ax=ax
            )
            parts[f"Kept, on sample {self.sample}"] = kept
            parts["Scores"] = lambda ax: ScoreCurveDisplay.from_estimator(selector, ax=ax)
        if hasattr(selector, "objective_path_"):
            parts["Convergence"] = lambda ax: ConvergenceDisplay.from_estimator(selector, ax=ax)
        return parts


def _inches_wide(figure: Figure | SubFigure) -> float:
    return figure.bbox.width / figure.dpi


def _by_channel(fitted: FittedSelection) -> bool:
    return fitted.feature_mode is not None and len(fitted.names.shape) > 1


def _arrange(figure: Figure, fitted: FittedSelection, titles: list[str]) -> list[SubFigure]:
    """Divide the figure into one part per title, and set its size."""
    n_parts = len(titles)
    if _by_channel(fitted):
        n_bars = min(fitted.scores.size, 40)
        figure.set_size_inches(4.2 * n_parts, max(3.6, 1.4 + 0.2 * n_bars))
        grid = figure.add_gridspec(1, n_parts, width_ratios=[3, 4, 4][:n_parts])
        cells = [grid[0, column] for column in range(n_parts)]
    elif fitted.scores.ndim > 2:
        panels = Panels.choose(fitted.scores, fitted.names)
        height, width = (fitted.names.shape[mode] for mode in panels.image_modes)
        shape = height / width if panels.aspect == "equal" else 1.0
        row = 1.1 + 9.0 / len(panels.shown) * shape
        row = min(row, 4.0)
        figure.set_size_inches(10.5, 2 * row + 3.6)
        grid = figure.add_gridspec(3, n_parts - 2, height_ratios=[row, row, 3.2])
        cells = [grid[0, :], grid[1, :], *(grid[2, column] for column in range(n_parts - 2))]
    elif n_parts == 4:
        figure.set_size_inches(9.0, 7.2)
        grid = figure.add_gridspec(2, 2, height_ratios=[5, 4])
        cells = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1]]
    else:
        figure.set_size_inches(4.2 * n_parts, 3.6)
        grid = figure.add_gridspec(1, n_parts)
        cells = [grid[0, column] for column in range(n_parts)]
    return [figure.add_subfigure(cell) for cell in cells]
