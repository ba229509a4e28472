"""Selectors side by side: what they keep, how good it is, and how long it takes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tensift.comparison import SelectorComparison
from tensift.labels import Names
from tensift.plotting._comparison_measures import (
    colour_of,
    draw_agreement,
    draw_measure,
    measures_of,
)
from tensift.plotting._matplotlib import ACCENT, new_figure
from tensift.plotting._names import names_for, plain, set_ticks
from tensift.plotting._panels import Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["ComparisonDisplay"]

_MAPS_IN_A_ROW = 8
_TITLE: dict[str, Any] = {"fontsize": "medium", "color": "0.25", "ha": "left"}


class ComparisonDisplay:
    """Selected features of every method, measures with their spreads, and agreement.

    Parameters
    ----------
    comparison : SelectorComparison
        What `compare_selectors` found.
    title : str, optional
        The title of the figure; by default how many features are kept.
    dims : sequence of str, optional
        The names of the modes of a sample.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    map_axes_ : list of matplotlib Axes
        Where selected features were drawn: one for each method, or one for all if features form a
        line.
    measure_axes_ : dict of str to matplotlib Axes
        Where each measure was drawn.
    agreement_ax_ : matplotlib Axes
        Where the agreement was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.comparison import compare_selectors
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ComparisonDisplay
    >>> digits = load_digits()
    >>> found = compare_selectors(digits.data[:100], ["stpca"], 20, n_resamples=3)
    >>> display = ComparisonDisplay(found).plot(Figure())
    >>> list(display.measure_axes_)[:3]
    ['neighbours_kept', 'neighbour_agreement', 'reconstruction_error']
    """

    def __init__(
        self,
        comparison: SelectorComparison,
        *,
        title: str | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.comparison = comparison
        self.title = title
        self.names = names_for(comparison.feature_shape, comparison.names, dims, coords)

    def plot(self, figure: Figure | None = None) -> ComparisonDisplay:
        """Draw all parts.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ComparisonDisplay
        """
        found = self.comparison
        names = self.names
        self.figure_ = figure = new_figure(figure)
        figure.set_layout_engine("constrained")
        n_methods = len(found.methods)
        as_images = found.feature_mode is None and len(found.feature_shape) > 1
        measures = measures_of(found)
        n_columns = max(map(len, measures))
        width = 3.2 + 1.5 * n_columns + 0.26 * n_methods
        # Names stand upright below the agreement.
        names_below = 0.07 * max(len(plain(method)) for method in found.methods)
        lower = 0.3 + len(measures) * (0.8 + 0.26 * n_methods) + names_below
        if as_images:
            n_maps = min(_MAPS_IN_A_ROW, len(found.scores))
            tall, wide = _image_shape(found.feature_shape)
            rows = math.ceil(len(found.scores) / n_maps)
            upper = 0.5 + rows * (0.3 + min(width / n_maps, 1.9) * min(tall / wide, 1.5))
        else:
            upper = 1.1 + 0.26 * n_methods
        figure.set_size_inches(width, upper + lower)
        parts: Any = figure.subfigures(2, 1, height_ratios=[upper, lower])
        kept, judged = parts
        if as_images:
            self.map_axes_ = _draw_maps(kept, found, names, n_maps)
        else:
            self.map_axes_ = [_draw_strip(kept, found, names)]
        self._draw_measures(judged, measures, n_columns)
        text = f"{found.n_features_to_select} of {found.n_features} features kept"
        figure.suptitle(
            text if self.title is None else plain(self.title), x=0.01, ha="left", fontweight="bold"
        )
        return self

    def _draw_measures(
        self, place: SubFigure, measures: Sequence[Sequence[str]], n_columns: int
    ) -> None:
        found = self.comparison
        n_methods = len(found.methods)
        axes: Any = place.subplots(
            len(measures),
            n_columns + 1,
            width_ratios=[1.5] * n_columns + [0.4 + 0.26 * n_methods],
            squeeze=False,
        )
        place.suptitle(
            "Measures: dots are half-samples or seeds, bars a standard deviation (for stability "
            "95 %), dashes random",
            x=0.01,
            **_TITLE,
        )
        for ax in axes.ravel():
            ax.set_axis_off()
        self.measure_axes_ = {}
        for row, measures_of_row in zip(axes, measures, strict=True):
            for ax, measure in zip(row, measures_of_row, strict=False):
                ax.set_axis_on()
                draw_measure(ax, found, measure)
                names = [plain(name) if ax is row[0] else "" for name in found.methods]
                ax.set_yticks(range(n_methods), names)
                self.measure_axes_[measure] = ax
        self.agreement_ax_ = axes[-1, -1]
        self.agreement_ax_.set_axis_on()
        draw_agreement(self.agreement_ax_, found)


def _image_shape(shape: Sequence[int]) -> tuple[int, int]:
    tall, wide = (shape[mode] for mode in _image_modes(shape))
    return tall, wide


def _image_modes(shape: Sequence[int]) -> tuple[int, int]:
    """The two longest modes, in their own order."""
    first, second = sorted(sorted(range(len(shape)), key=lambda mode: -shape[mode])[:2])
    return first, second


def _draw_maps(
    place: SubFigure, found: SelectorComparison, names: Names, n_columns: int
) -> list[Axes]:
    """The score map of every method, the kept features coloured."""
    n_rows = math.ceil(len(found.scores) / n_columns)
    axes: list[Axes] = list(place.subplots(n_rows, n_columns, squeeze=False).ravel())
    vertical, horizontal = _image_modes(found.feature_shape)
    others = tuple(m for m in range(len(found.feature_shape)) if m not in (vertical, horizontal))
    shape_of_cells = Panels(names, (vertical, horizontal), [], 0).aspect
    across = plain(", ".join(names.name(mode) for mode in others))
    largest = f", the largest over {across}" if others else ""
    place.suptitle(_heading(place, found, f"Scores{largest}, each on a scale"), x=0.01, **_TITLE)
    for ax, (method, scores) in zip(axes, found.scores.items(), strict=False):
        kept = np.zeros(scores.size, dtype=bool)
        kept[found.features[method]] = True
        anywhere = np.asarray(kept.reshape(scores.shape).any(axis=others))
        _draw_map(ax, scores.max(axis=others), anywhere, shape_of_cells)
        ax.set_title(plain(method), fontsize="small", color=colour_of(method))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("0.8")
    directions = f"{plain(names.name(vertical))} ↓  {plain(names.name(horizontal))} →"
    axes[0].set_xlabel(directions, fontsize="small", color="0.4")
    for ax in axes[len(found.scores) :]:
        ax.set_axis_off()
    return axes[: len(found.scores)]


def _draw_map(
    ax: Axes, scores: NDArray, kept: NDArray[np.bool_], aspect: Literal["equal", "auto"]
) -> None:
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    # Only light grey, because orange is hard to see on dark grey.
    pale = LinearSegmentedColormap.from_list("pale", ["0.97", "0.35"])
    common: dict[str, Any] = {"aspect": aspect, "interpolation": "nearest"}
    ax.imshow(scores, cmap=pale, vmin=min(0.0, float(scores.min())), **common)
    orange = np.ma.masked_where(~kept, kept)
    ax.imshow(orange, cmap=ListedColormap([ACCENT]), alpha=0.8, **common)


def _draw_strip(place: SubFigure, found: SelectorComparison, names: Names) -> Axes:
    """One line per method, with the kept features coloured."""
    ax: Axes = place.subplots()
    mode = found.feature_mode or 0
    scores = np.full((len(found.methods), found.n_features), np.nan)
    kept = np.zeros(scores.shape, dtype=bool)
    for row, method in enumerate(found.methods):
        if method in found.scores:
            own = found.scores[method].ravel()
            scores[row] = own / (np.abs(own).max() or 1.0)
            kept[row, found.features[method]] = True
    _draw_map(ax, np.nan_to_num(scores), kept, "auto")
    set_ticks(ax.xaxis, names, mode, most=20)
    if any(len(names.label(mode, index)) > 3 for index in range(min(found.n_features, 40))):
        ax.tick_params(axis="x", rotation=45)
    ax.set_yticks(range(len(found.methods)), [plain(method) for method in found.methods])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    place.suptitle(_heading(place, found, "Scores, each line on a scale"), x=0.01, **_TITLE)
    return ax


def _heading(place: SubFigure, found: SelectorComparison, scores: str) -> str:
    """What the pictures show, and which methods do not keep the features with the best scores."""
    by_rule: dict[str, list[str]] = {}
    for method, rule in found.rules.items():
        by_rule.setdefault(plain(rule), []).append(plain(method))
    by_rule.pop("top", None)
    others = "; ".join(f"{rule} ({', '.join(methods)})" for rule, methods in by_rule.items())
    text = f"{scores} of its own; the kept features are orange"
    text += f". Not kept by score alone: {others}" if others else ""
    inches = place.bbox.width / place.dpi
    return textwrap.fill(text, round(13 * inches))
