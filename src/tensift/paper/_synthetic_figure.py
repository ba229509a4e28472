"""The picture of the synthetic experiment: orbits in the chosen channels, maps of the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.paper._sets import load_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "draw_synthetic"]

_CLASSES = ("#0072b2", "#d55e00")
_ORBITS = 8  # samples of a class that are drawn


@dataclass(frozen=True, eq=False)
class Panel:
    """What a method selected from a dataset; `scores` if they make a map."""

    data: str
    label: str
    known: tuple[int, ...]
    features: tuple[int, ...]
    share: float
    poc: float
    scores: NDArray[np.float64] | None = None


def draw_synthetic(figure: Figure, panels: Sequence[Panel]) -> None:
    """One row per dataset: the truth first, then the methods."""
    sets = list(dict.fromkeys(panel.data for panel in panels))
    labels = list(dict.fromkeys(panel.label for panel in panels))
    columns = 1 + len(labels)
    figure.set_size_inches(0.6 + 2.05 * columns, 0.7 + 2.45 * len(sets))
    figure.set_layout_engine("constrained")
    for row, name in enumerate(sets):
        of_set = {panel.label: panel for panel in panels if panel.data == name}
        for column, label in enumerate(["", *labels]):
            panel = of_set.get(label, next(iter(of_set.values())))
            is_map = panel.scores is not None
            ax: Any = figure.add_subplot(
                len(sets),
                columns,
                1 + row * columns + column,
                projection=None if is_map else "3d",
            )
            if not label:
                _draw_truth(ax, panel)
            elif panel.scores is not None:
                _draw_map(ax, panel.scores, panel)
            else:
                _draw_orbits(ax, panel, panel.features)
            ax.set_title(
                _title(panel, label), fontsize="small", fontweight="normal" if label else "bold"
            )
    _legend(figure)


def _title(panel: Panel, label: str) -> str:
    if not label:
        what = "an echo, faulty units" if panel.scores is not None else "orbit channels"
        return f"{panel.data}\n{what}"
    count = round(panel.share * len(panel.known))
    return f"{label}\n{count} of {len(panel.known)} found, POC {100 * panel.poc:.0f} %"


def _draw_truth(ax: Any, panel: Panel) -> None:
    if panel.scores is None:
        _draw_orbits(ax, panel, panel.known)
        return
    dataset = load_set(panel.data)
    labels = np.asarray(dataset.labels)
    sample = np.real(dataset.data[labels == labels.max()][0])
    ax.imshow(sample, cmap="gray", interpolation="nearest")
    _outline(ax, panel.known, sample.shape)
    _bare(ax)


def _draw_orbits(ax: Any, panel: Panel, channels: Sequence[int]) -> None:
    """Points of some samples of each class in the space of three channels."""
    dataset = load_set(panel.data)
    labels = np.asarray(dataset.labels)
    for colour, label in zip(_CLASSES, np.unique(labels), strict=False):
        points = dataset.data[labels == label][:_ORBITS][:, list(channels)]
        ax.scatter(*np.moveaxis(points, 1, 0).reshape(3, -1), s=2.5, color=colour, depthshade=False)
    ax.set_box_aspect((1, 1, 1), zoom=1.05)
    for axis, channel in zip((ax.xaxis, ax.yaxis, ax.zaxis), channels, strict=True):
        axis.set_ticklabels([])
        right = channel in panel.known
        axis.set_label_text(f"{channel}", fontsize="small", fontweight="bold" if right else None)
        axis.label.set_color("black" if right else "0.5")
        axis.labelpad = -13
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
    ax.tick_params(length=0)
    ax.grid(False)


def _draw_map(ax: Axes, scores: NDArray[np.float64], panel: Panel) -> None:
    ax.imshow(scores, cmap="viridis", interpolation="nearest")
    rows, columns = np.unravel_index(list(panel.features), scores.shape)
    ax.plot(columns, rows, "o", markersize=5, markerfacecolor="white", color="black", linestyle="")
    _outline(ax, panel.known, scores.shape)
    if np.ptp(scores) == 0:
        ax.set_xlabel("all scores equal", fontsize="small")
    _bare(ax)


def _outline(ax: Axes, known: Sequence[int], shape: tuple[int, ...]) -> None:
    from matplotlib.patches import Rectangle

    for row, column in zip(*np.unravel_index(list(known), shape), strict=True):
        corner = (column - 0.5, row - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_CLASSES[1], linewidth=2))


def _bare(ax: Axes) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("0.8")


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    common: dict[str, Any] = {"linestyle": "none"}
    handles = [
        Line2D([], [], marker="o", color=_CLASSES[0], markersize=4, label="class 1", **common),
        Line2D([], [], marker="o", color=_CLASSES[1], markersize=4, label="class 2", **common),
        Line2D([], [], marker="s", color=_CLASSES[1], markerfacecolor="none", markersize=9,
               markeredgewidth=2, label="faulty unit", **common),
        Line2D([], [], marker="o", color="black", markerfacecolor="white", markersize=6,
               label="selected unit", **common),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
