"""The only module that imports matplotlib: axes to draw on, and a common style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ACCENT",
    "BLUE",
    "MUTED",
    "PALETTE",
    "SCORE_MAP",
    "new_axes",
    "new_figure",
    "require_matplotlib",
    "subdivide",
    "tidy",
]

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
ACCENT = "#d55e00"
BLUE = "#0072b2"
PALETTE = (ACCENT, BLUE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MUTED = "#b4b8bd"
# Perceptually uniform, and readable in grey.
SCORE_MAP = "viridis"


def require_matplotlib() -> None:
    """Raise a one-line hint if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            'tensift.plotting needs matplotlib: pip install "tensift[plot]"'
        ) from None


def new_axes(ax: Axes | None, size: tuple[float, float] = (5.0, 4.0)) -> Axes:
    """The given axes, or those of a new pyplot figure."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def new_figure(figure: Figure | None) -> Figure:
    """The given figure, or a new one of pyplot."""
    require_matplotlib()
    if figure is not None:
        return figure
    import matplotlib.pyplot as plt

    return plt.figure()


def subdivide(
    ax: Axes, rows: int, columns: int, height_ratios: Sequence[float] | None = None
) -> np.ndarray:
    """Replace axes by a grid of smaller ones in the same place."""
    from matplotlib.gridspec import GridSpecFromSubplotSpec

    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax must come from subplots or a grid, since it is divided into panels")
    figure = ax.figure
    ax.remove()
    grid = GridSpecFromSubplotSpec(rows, columns, place, height_ratios=height_ratios)
    panels = [figure.add_subplot(grid[cell]) for cell in range(rows * columns)]
    return np.array(panels, dtype=object).reshape(rows, columns)


def tidy(ax: Axes) -> None:
    """Remove the frame that carries no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("0.6")
    ax.tick_params(color="0.6")
