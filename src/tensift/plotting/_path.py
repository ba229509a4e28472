"""The score maps of a path, one for every pair of penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names
from tensift.plotting._matplotlib import BLUE, MUTED, SCORE_MAP, new_figure, tidy
from tensift.plotting._names import names_for, plain, set_ticks
from tensift.plotting._panels import Panels
from tensift.stpca import SelectionPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PathDisplay"]

_LARGEST = 14.0  # inches


class PathDisplay:
    """A grid of small score maps: `lam` grows downwards, `eta` to the right.

    Two modes make an image. With more modes, the two longest make an image of the highest scores
    over the others. One mode (a vector, or mode features such as channels) makes a line. Cells
    without any score above zero say so.

    Parameters
    ----------
    path : SelectionPath
        What `stpca_path` returned.
    common_scale : bool, default=True
        Whether a colour or a height means the same score in all cells. If not, every cell is
        scaled to its own highest score.
    dims : sequence of str, optional
        Other names of the modes of a score map than those of `path`.
    coords : mapping of str to array-like, optional
        Other names along a mode, by the mode's name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (n_lams, n_etas)
        Where the cells were drawn, the smallest penalties first.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import stpca_path
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import PathDisplay
    >>> path = stpca_path(load_digits().data, lams=[1, 10, 100], etas=[1, 100])
    >>> display = PathDisplay.from_path(path, figure=Figure())
    >>> display.axes_.shape
    (3, 2)
    """

    def __init__(
        self,
        path: SelectionPath,
        *,
        common_scale: bool = True,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.common_scale = common_scale
        self.dims = dims
        self.coords = coords

    @classmethod
    def from_path(
        cls,
        path: SelectionPath,
        *,
        common_scale: bool = True,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> PathDisplay:
        """Draw the scores of a path.

        Parameters
        ----------
        path, common_scale, dims, coords
            As in the class.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        PathDisplay
        """
        return cls(path, common_scale=common_scale, dims=dims, coords=coords).plot(figure)

    def plot(self, figure: Figure | None = None) -> PathDisplay:
        """Draw all cells.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        PathDisplay
        """
        self.figure_ = figure = new_figure(figure)
        path = self.path.to_numpy()
        names = names_for(path.spread.shape, path.names, self.dims, self.coords)
        lams, etas = np.argsort(path.lams), np.argsort(path.etas)
        scores = path.scores[np.ix_(lams, etas)]
        figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.06)
        if path.spread.ndim == 1:
            self._make_axes(figure, scores, 0.6, sharex=True)
            self._draw_lines(scores, names)
        else:
            panels = Panels.choose(path.spread, names)
            height, width = (path.spread.shape[mode] for mode in panels.image_modes)
            self._make_axes(figure, scores, height / width if panels.aspect == "equal" else 1.0)
            self._draw_images(scores, panels)
        for axes, eta in zip(self.axes_[0], path.etas[etas], strict=True):
            axes.set_title(f"eta = {eta:g}", fontsize="medium")
        for axes, lam in zip(self.axes_[:, 0], path.lams[lams], strict=True):
            axes.set_ylabel(f"lam = {lam:g}", rotation=0, ha="right", va="center")
        return self

    def _make_axes(
        self, figure: Figure, scores: NDArray, aspect: float, *, sharex: bool = False
    ) -> None:
        rows, columns = scores.shape[:2]
        cell = min(1.5, (_LARGEST - 2) / columns, (_LARGEST - 1) / (rows * aspect))
        figure.set_size_inches(2.0 + cell * columns, 0.6 + cell * aspect * rows)
        self.axes_: Any = figure.subplots(rows, columns, sharex=sharex, squeeze=False)

    def _top(self, cell: NDArray, scores: NDArray) -> float:
        """The score at the upper end of a cell's scale."""
        return float(scores.max() if self.common_scale else cell.max()) or 1.0

    def _draw_lines(self, scores: NDArray, names: Names) -> None:
        positions = np.arange(scores.shape[2])
        for index in np.ndindex(*scores.shape[:2]):
            axes, cell = self.axes_[index], scores[index]
            if cell.any():
                axes.fill_between(positions, cell, color=BLUE, alpha=0.2, lw=0)
                axes.plot(positions, cell, color=BLUE, linewidth=1)
            else:
                _say_zero(axes)
            axes.set_ylim(0, 1.05 * self._top(cell, scores))
            axes.tick_params(axis="y", labelleft=False, length=0)
            tidy(axes)
        corner = self.axes_[-1, 0]
        set_ticks(corner.xaxis, names, 0, most=3)
        top = f"{self._top(scores, scores):.2g}" if self.common_scale else "its highest score"
        self.figure_.suptitle(f"score, from 0 to {top} in each cell", fontsize="medium")

    def _draw_images(self, scores: NDArray, panels: Panels) -> None:
        others = tuple(
            mode + 2 for mode in range(scores.ndim - 2) if mode not in panels.image_modes
        )
        images = scores.max(axis=others)
        drawn = None
        for index in np.ndindex(*images.shape[:2]):
            axes, image = self.axes_[index], images[index]
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_color(MUTED)
            if image.any():
                drawn = axes.imshow(
                    image,
                    cmap=SCORE_MAP,
                    vmin=0,
                    vmax=self._top(image, images),
                    aspect=panels.aspect,
                    interpolation="nearest",
                )
            else:
                height, width = image.shape
                axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
                axes.set_aspect(panels.aspect)
                _say_zero(axes)
        vertical, horizontal = (plain(panels.names.name(mode)) for mode in panels.image_modes)
        self.axes_[-1, 0].set_xlabel(f"{vertical} ↓  {horizontal} →", fontsize="small", color="0.4")
        if drawn is not None:
            self._add_colorbar(drawn, [plain(panels.names.name(mode - 2)) for mode in others])

    def _add_colorbar(self, drawn: Any, others: list[str]) -> None:
        label = "score" if self.common_scale else "score, of each cell's highest"
        if others:
            label += f" (highest over {', '.join(others)})"
        bar = self.figure_.colorbar(drawn, ax=self.axes_, label=label, shrink=0.7, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        if not self.common_scale:
            low, high = drawn.get_clim()
            bar.set_ticks([low, high], labels=["0", "1"])


def _say_zero(axes: Axes) -> None:
    axes.text(
        0.5,
        0.5,
        "all zero",
        transform=axes.transAxes,
        ha="center",
        va="center",
        color="0.5",
        fontsize="small",
    )
