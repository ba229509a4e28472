"""Measures of a comparison with their spreads, and the agreement between methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tensift.comparison import SelectorComparison
from tensift.plotting._matplotlib import BLUE, tidy
from tensift.plotting._names import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["colour_of", "draw_agreement", "draw_measure", "measures_of"]

_BASELINES = ("VarianceSelector", "RandomSelector", "AllFeatures")
_GREY = "0.45"
_PANELS = {
    "neighbours_kept": "neighbours\nkept ↑",
    "neighbour_agreement": "neighbours\nagree ↑",
    "reconstruction_error": "missed of held-\nout samples ↓",
    "stability": "stability ↑",
    "redundancy": "redundancy",
    "seconds": "seconds\na fit ↓",
    "acc": "clustering\naccuracy ↑",
    "nmi": "mutual\ninformation ↑",
    "silhouette": "silhouette\nof classes ↑",
    "poc": "proportion\ncorrect ↑",
}
_LABELLED = ("acc", "nmi", "silhouette", "poc")
_SHORTEST = 1e-4  # seconds; shorter times are drawn as this
_NUMBERS_UP_TO = 8  # methods; numbers of more would be too small to read


def measures_of(found: SelectorComparison) -> list[list[str]]:
    """The measures to draw, in rows: those without labels, then those with labels if any."""
    there = [measure for measure in _PANELS if measure in found.runs or measure == "stability"]
    rows = [[m for m in there if m not in _LABELLED], [m for m in there if m in _LABELLED]]
    return [row for row in rows if row]


def colour_of(method: str) -> str:
    """The colour of a method: grey for the baselines."""
    return _GREY if method in _BASELINES else BLUE


def draw_measure(ax: Axes, found: SelectorComparison, measure: str) -> None:
    """One line per method: its runs, their mean and their spread."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    for row, method in enumerate(found.methods):
        if method not in found.features:
            ax.text(
                0.03, row, "failed", color=_GREY, va="center", transform=ax.get_yaxis_transform()
            )
            continue
        low, value, high, runs = _interval(found, measure, method)
        colour = colour_of(method)
        if len(runs) > 1:
            ax.plot(runs, [row] * len(runs), "o", color=colour, markersize=3, alpha=0.35, mew=0)
        if math.isfinite(value):
            ax.plot([low, high], [row, row], color=colour, linewidth=1.6, solid_capstyle="round")
            ax.plot([value], [row], "D", color=colour, markersize=5)
    _, by_chance, _, _ = _interval(found, measure, "RandomSelector")
    if measure != "seconds" and math.isfinite(by_chance):
        ax.axvline(by_chance, color=_GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    if measure == "seconds":
        times = np.concatenate(list(found.runs["seconds"].values()))
        decades = np.log10(np.maximum([times.min(), times.max()], _SHORTEST))
        ax.set_xscale("log")
        # Whole decades, so that there are ticks at both ends.
        ax.set_xlim(10 ** np.floor(decades[0]), 10 ** (np.floor(decades[1]) + 1))
        ax.xaxis.set_major_locator(LogLocator(numticks=4))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3))  # more would run into each other
    ax.set_ylim(len(found.methods) - 0.5, -0.5)
    ax.set_title(_PANELS[measure], fontsize="small")
    ax.margins(x=0.08)
    tidy(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize="x-small")
    ax.grid(axis="y", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)


def _interval(
    found: SelectorComparison, measure: str, method: str
) -> tuple[float, float, float, NDArray]:
    """The start of the bar, the value, the end of the bar, and the values of the runs."""
    if measure == "stability":
        estimate = found.stability[method]
        return estimate.low, estimate.value, estimate.high, np.array([])
    value = found.mean(measure, method)
    std = found.stds[measure].get(method, math.nan)
    reach = std if math.isfinite(std) else 0.0
    # The scale of seconds is logarithmic, so a bar must not reach zero.
    runs = found.runs[measure][method]
    if measure == "seconds":
        return max(value - reach, _SHORTEST), max(value, _SHORTEST), value + reach, runs
    return value - reach, value, value + reach, runs


def draw_agreement(ax: Axes, found: SelectorComparison) -> None:
    """The agreement of all pairs of methods, in the same lines as in `draw_measure`."""
    n_methods = len(found.methods)
    ax.imshow(found.agreement, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto")
    ax.set_yticks([])
    methods = [plain(method) for method in found.methods]
    ax.set_xticks(range(n_methods), methods, rotation=90, fontsize="small")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("agreement\n(1 the same, 0 chance)", fontsize="small")
    if n_methods > _NUMBERS_UP_TO:
        return
    for row, column in np.ndindex(n_methods, n_methods):
        value = found.agreement[row, column]
        if math.isfinite(value):
            colour = "white" if abs(value) > 0.6 else "black"
            ax.text(
                column, row, f"{value:z.1f}", ha="center", va="center", color=colour, fontsize=7
            )
