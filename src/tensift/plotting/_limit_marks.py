"""Marks for features that constraints force into a selection, or out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.plotting._matplotlib import ACCENT, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["mark_image", "mark_vector"]

_GREY = (0.85, 0.85, 0.85)
_STRUCK_UP_TO = 64  # cells per side; in larger images, lines would hide the cells


def mark_image(
    ax: Axes, included: NDArray[np.bool_], excluded: NDArray[np.bool_], aspect: Any
) -> None:
    """Grey excluded cells of an image and strike them through; put a dot on included ones."""
    from matplotlib.collections import LineCollection

    if excluded.any():
        veil = np.zeros((*excluded.shape, 4))
        veil[..., :3], veil[..., 3] = _GREY, 0.85 * excluded
        ax.imshow(veil, aspect=aspect, interpolation="nearest")
        if max(excluded.shape) <= _STRUCK_UP_TO:
            lines = [
                [(column - 0.4, row + 0.4), (column + 0.4, row - 0.4)]
                for row, column in np.argwhere(excluded)
            ]
            ax.add_collection(LineCollection(lines, colors="0.5", linewidths=0.8))
    if included.any():
        rows, columns = np.nonzero(included)
        ax.scatter(
            columns, rows, s=22, color=ACCENT, edgecolors="white", linewidths=0.9, zorder=3,
            label="included",
        )  # fmt: skip


def mark_vector(ax: Axes, included: NDArray[np.bool_], excluded: NDArray[np.bool_]) -> None:
    """Put a grey band behind excluded positions, and a dot under included ones."""
    for position in np.flatnonzero(excluded):
        ax.axvspan(position - 0.5, position + 0.5, color=MUTED, alpha=0.5, linewidth=0, zorder=0)
    if included.any():
        ax.scatter(
            np.flatnonzero(included), np.zeros(int(included.sum())), s=30, color=ACCENT,
            edgecolors="white", linewidths=0.9, zorder=4, clip_on=False, label="included",
        )  # fmt: skip
