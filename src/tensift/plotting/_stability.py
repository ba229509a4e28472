"""How often features are selected, next to their scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.labels import Names
from tensift.metrics import StabilityEstimate
from tensift.plotting._matplotlib import ACCENT, BLUE, MUTED, new_figure, tidy
from tensift.plotting._names import names_for, plain
from tensift.plotting._panels import Panels
from tensift.plotting._score_map import ScoreMapDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["StabilityDisplay"]

_PART_TITLE: dict[str, Any] = {"fontsize": "medium", "color": "0.25", "ha": "left"}


class StabilityDisplay:
    """The score map, a map of selection probabilities, and all probabilities in order.

    Features whose probability reaches the threshold are outlined in images and coloured in the
    curve. The dashed line is the threshold. The dotted line is the probability of every feature if
    features were drawn at random.

    Parameters
    ----------
    probabilities : array-like of shape (d_1, ..., d_m)
        The share of the resamples that keep each feature.
    scores : array-like of the same shape, optional
        The scores on all samples.
    threshold : float, default=0.75
        Features with at least this probability are stable.
    stability : StabilityEstimate, optional
        The index and its interval.
    n_kept : float, optional
        How many features a resample keeps; by default the sum of the probabilities.
    title : str, optional
        The title of the figure; by default how many features are stable, and the index.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes of features.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    displays_ : list of ScoreMapDisplay
        The score map, if there are scores, and the map of probabilities.
    curve_ax_ : matplotlib Axes
        Where the probabilities were drawn in order.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import STPCASelector, stability_selection
    >>> from tensift.datasets import load_digits
    >>> digits = load_digits()
    >>> found = stability_selection(STPCASelector(20), digits, n_resamples=10)
    >>> display = found.plot(figure=Figure())
    >>> display.curve_ax_.get_ylabel()
    'share of resamples'
    """

    def __init__(
        self,
        probabilities: ArrayLike,
        *,
        scores: ArrayLike | None = None,
        threshold: float = 0.75,
        stability: StabilityEstimate | None = None,
        n_kept: float | None = None,
        title: str | None = None,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.probabilities = np.asarray(probabilities, dtype=float)
        self.scores = None if scores is None else np.asarray(scores, dtype=float)
        if self.scores is not None and self.scores.shape != self.probabilities.shape:
            raise ValueError(
                f"scores has shape {self.scores.shape}, probabilities "
                f"{self.probabilities.shape}; give one score for every feature"
            )
        self.threshold = threshold
        self.stability = stability
        self.n_kept = float(self.probabilities.sum()) if n_kept is None else n_kept
        self.title = title
        self.names = names_for(self.probabilities.shape, names, dims, coords)

    def plot(self, figure: Figure | None = None) -> StabilityDisplay:
        """Draw all parts.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        StabilityDisplay
        """
        self.figure_ = figure = new_figure(figure)
        figure.set_layout_engine("constrained")
        parts: dict[str, Callable[[Axes], None]] = {}
        if self.scores is not None:
            parts["Scores on all samples"] = self._draw_scores
        parts["Share of resamples that keep a feature"] = self._draw_probabilities
        parts["The same, in order"] = self._draw_curve
        self.displays_: list[ScoreMapDisplay] = []
        for place, (name, draw) in zip(self._arrange(len(parts)), parts.items(), strict=True):
            place.suptitle(name, x=_margin(place), **_PART_TITLE)
            draw(place.subplots())
        figure.suptitle(
            self._headline() if self.title is None else plain(self.title),
            x=_margin(figure),
            ha="left",
            fontweight="bold",
        )
        return self

    def _selected(self) -> NDArray[np.bool_]:
        return self.probabilities >= self.threshold - 1e-9

    def _headline(self) -> str:
        count = np.count_nonzero(self._selected())
        text = f"{count} of {self.probabilities.size} features are stable"
        index = self.stability
        if index is None or math.isnan(index.value):
            return text
        return f"{text}; stability {index.value:z.2f} ({index.low:z.2f} to {index.high:z.2f})"

    def _arrange(self, n_parts: int) -> list[SubFigure]:
        """Maps and the curve side by side; maps of more than two modes in rows of their own."""
        shape = self.probabilities.shape
        if len(shape) < 3:
            self.figure_.set_size_inches(4.2 * n_parts, 3.8)
            grid = self.figure_.add_gridspec(1, n_parts)
            return [self.figure_.add_subfigure(grid[0, i]) for i in range(n_parts)]
        panels = Panels.choose(self.probabilities, self.names)
        height, width = (shape[mode] for mode in panels.image_modes)
        ratio = height / width if panels.aspect == "equal" else 1.0
        row = min(1.1 + 9.0 / len(panels.shown) * ratio, 4.0)
        rows = [row] * (n_parts - 1) + [3.2]
        self.figure_.set_size_inches(10.5, sum(rows) + 0.4)
        grid = self.figure_.add_gridspec(n_parts, 1, height_ratios=rows)
        return [self.figure_.add_subfigure(grid[i, 0]) for i in range(n_parts)]

    def _draw_scores(self, ax: Axes) -> None:
        assert self.scores is not None
        self.displays_.append(ScoreMapDisplay(self.scores, names=self.names).plot(ax))

    def _draw_probabilities(self, ax: Axes) -> None:
        drawn = ScoreMapDisplay(
            self.probabilities, names=self.names, quantity="share of resamples"
        ).plot(ax)
        self.displays_.append(drawn)
        selected = self._selected()
        if selected.ndim == 1:
            drawn.ax_.axhline(self.threshold, color=ACCENT, linewidth=1, linestyle="--")
            return
        panels = Panels.choose(self.probabilities, self.names)
        for panel, image in zip(np.atleast_1d(drawn.ax_), panels.images(selected), strict=True):
            _outline(panel, image)

    def _draw_curve(self, ax: Axes) -> None:
        self.curve_ax_ = ax
        ordered = np.sort(self.probabilities, axis=None)[::-1]
        edges = np.arange(ordered.size + 1) + 0.5
        count = np.count_nonzero(self._selected())
        if count:
            ax.stairs(ordered[:count], edges[: count + 1], fill=True, color=ACCENT, alpha=0.2)
        ax.stairs(ordered, edges, baseline=None, color=BLUE, linewidth=1.5)
        ax.axhline(self.threshold, color=ACCENT, linewidth=1, linestyle="--")
        ax.axhline(self.n_kept / ordered.size, color=MUTED, linewidth=1.2, linestyle=":")
        right: dict[str, Any] = {"x": 1.0, "ha": "right", "va": "bottom", "fontsize": "small"}
        along = ax.get_yaxis_transform()
        ax.text(y=self.threshold, s=f"threshold {self.threshold:g}", color=ACCENT, transform=along,
                **right)  # fmt: skip
        ax.text(y=self.n_kept / ordered.size, s="by chance", color="0.45", transform=along, **right)
        ax.set_xlim(0.5, ordered.size + 0.5)
        ax.set_ylim(0, 1.05)
        ax.set_xlabel("features, most often kept first")
        ax.set_ylabel("share of resamples")
        tidy(ax)


def _outline(ax: Axes, mask: NDArray[np.bool_]) -> None:
    """Lines between marked cells of an image and the others."""
    padded = np.pad(mask, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    lines = [((c - 0.5, r - 0.5), (c + 0.5, r - 0.5)) for r, c in zip(rows, columns, strict=True)]
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    lines += [((c - 0.5, r - 0.5), (c - 0.5, r + 0.5)) for r, c in zip(rows, columns, strict=True)]
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(lines, colors=ACCENT, linewidths=1.5), autolim=False)


def _margin(figure: Figure | SubFigure) -> float:
    """A tenth of an inch, as a share of the width."""
    return 0.1 * figure.dpi / figure.bbox.width
