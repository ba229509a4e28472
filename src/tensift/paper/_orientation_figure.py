"""The picture of orientations and transforms: results, curves, maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.paper._sets import load_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["MapPanel", "draw_orientation"]

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_OF_DIRECTION = {0: (_ORANGE, "o"), 1: (_BLUE, "s")}
_OF_TRANSFORM = {
    "identity": (_ORANGE, "o", "-"),
    "dft": ("#009e73", "^", "--"),
    "eigen": ("#cc79a7", "D", "-."),
    "random": ("0.45", "X", ":"),
}

Key = tuple[str, int, str]
Curves = Mapping[Key, Mapping[int, float]]


@dataclass(frozen=True, eq=False)
class MapPanel:
    """A score map, and the features that it selects."""

    data: str
    setting: str
    scores: NDArray[np.float64]
    features: tuple[int, ...]
    cell: str


def draw_orientation(
    figure: Figure,
    best: Sequence[dict[str, Any]],
    curves: Curves,
    maps: Sequence[MapPanel],
    setting: Callable[[Key], str],
) -> None:
    """Up to three parts, one below the other."""
    parts: list[tuple[float, Callable[[SubFigure], None]]] = [
        (2.9, lambda part: _draw_best(part, best))
    ]
    if curves:
        parts.append((3.0, lambda part: _draw_curves(part, curves, setting)))
    if maps:
        n_sets = len({panel.data for panel in maps})
        parts.append((2.6 * n_sets, lambda part: _draw_maps(part, maps)))
    figure.set_size_inches(12.5, sum(height for height, _ in parts))
    figure.set_layout_engine("constrained")
    pieces = figure.subfigures(
        len(parts), 1, height_ratios=[height for height, _ in parts], squeeze=False
    )
    for piece, (_, draw) in zip(pieces[:, 0], parts, strict=True):
        draw(piece)


def _draw_best(part: SubFigure, rows: Sequence[dict[str, Any]]) -> None:
    """One panel per dataset, one line per setting: ours filled, the paper's hollow."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    axes = part.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, sets, strict=True):
        of_set = [row for row in rows if row["data"] == name]
        for row in of_set:
            place = settings.index(row["setting"])
            color, marker = _OF_DIRECTION[0 if row["setting"].startswith("Dir1") else 1]
            if row["paper"] is not None:
                ax.plot([row["ours"], row["paper"]], [place, place], color="0.8", lw=1, zorder=1)
                ax.plot(row["paper"], place, marker, markerfacecolor="white", color="0.2", zorder=3)
            ax.plot(row["ours"], place, marker, color=color, markersize=7, zorder=2)
        ax.set_title(name, fontsize="medium", fontweight="bold")
        ax.set_xlabel("mean POC, %" if "poc" in of_set[0]["metric"] else "best accuracy, %")
        _tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.12)
    axes[0].set_yticks(range(len(settings)), settings)
    axes[0].set_ylim(len(settings) - 0.5, -0.5)
    printed = any(row["paper"] is not None for row in rows)
    handles = [
        axes[0].plot([], [], "o", color=_ORANGE, markersize=7, label="Dir1, ours")[0],
        axes[0].plot([], [], "s", color=_BLUE, markersize=7, label="Dir2, ours")[0],
    ]
    if printed:
        handles += axes[0].plot(
            [], [], "o", color="0.2", markerfacecolor="white", label="the paper's (same mark)"
        )
    part.legend(handles=handles, loc="outside right center", frameon=False)


def _draw_curves(part: SubFigure, curves: Curves, setting: Callable[[Key], str]) -> None:
    """Accuracy against the number of features: orientations first, then transforms."""
    sets = list(dict.fromkeys(name for name, _, _ in curves))
    axes = part.subplots(1, 2 * len(sets), squeeze=False)[0]
    for ax, name in zip(axes, sets, strict=False):
        for direction, (color, marker) in _OF_DIRECTION.items():
            key = name, direction, "identity"
            _draw_curve(ax, curves[key], setting(key), color, marker, "-")
        ax.set_title(f"{name}: orientations", fontsize="medium")
    for ax, name in zip(axes[len(sets) :], sets, strict=True):
        for transform, (color, marker, line) in _OF_TRANSFORM.items():
            key = name, 0, transform
            _draw_curve(ax, curves[key], setting(key), color, marker, line)
        ax.set_title(f"{name}: transforms", fontsize="medium")
    for left, right in zip(axes, axes[len(sets) :], strict=False):
        left.sharey(right)
    for ax in axes:
        ax.set_xlabel("number of features")
        ax.legend(frameon=False, fontsize="small")
        _tidy(ax)
    axes[0].set_ylabel("accuracy, %,\nbest over the grid")


def _draw_curve(
    ax: Axes, curve: Mapping[int, float], label: str, color: str, marker: str, line: str
) -> None:
    values = [100 * value for value in curve.values()]
    ax.plot(
        list(curve), values, color=color, marker=marker, linestyle=line, lw=1.8, markersize=5,
        label=label,
    )  # fmt: skip


def _draw_maps(part: SubFigure, maps: Sequence[MapPanel]) -> None:
    """One row per dataset: a sample, then the scores and selected pixels of each orientation."""
    sets = list(dict.fromkeys(panel.data for panel in maps))
    axes = part.subplots(len(sets), 5, squeeze=False)
    for row, name in zip(axes, sets, strict=True):
        sample = np.real(load_set(name).data[0])
        row[0].imshow(sample, cmap="gray")
        row[0].set_ylabel(name, fontweight="bold")
        row[0].set_title("a sample", fontsize="medium")
        of_set = [panel for panel in maps if panel.data == name]
        for (left, right), panel in zip((row[1:3], row[3:5]), of_set, strict=False):
            left.imshow(panel.scores, cmap="viridis", interpolation="nearest")
            left.set_title(f"{panel.setting}: scores", fontsize="medium")
            equal = "; all scores equal" if np.ptp(panel.scores) == 0 else ""
            left.set_xlabel(panel.cell + equal, fontsize="small")
            _draw_selected(right, sample, panel.features)
            right.set_title(f"{panel.setting}: {len(panel.features)} selected", fontsize="medium")
    for ax in axes.ravel():
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)


def _draw_selected(ax: Axes, sample: NDArray[np.float64], features: Sequence[int]) -> None:
    from matplotlib.colors import to_rgba

    overlay = np.zeros((*sample.shape, 4))
    overlay.reshape(-1, 4)[list(features)] = to_rgba(_ORANGE, 0.85)
    ax.imshow(sample, cmap="gray")
    ax.imshow(overlay, interpolation="nearest")


def _tidy(ax: Axes) -> None:
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
