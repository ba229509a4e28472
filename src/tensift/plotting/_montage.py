"""A sample of any number of modes as one small picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names
from tensift.plotting._matplotlib import BLUE, MUTED, tidy
from tensift.plotting._names import set_ticks
from tensift.plotting._panels import Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DIFFERENCES", "Montage"]

# Blue to red through white: colour-blind readers can tell them apart, and zero is white.
DIFFERENCES = "RdBu_r"
_OBLONG = 0.6  # height of a picture whose sides differ too much for square cells


@dataclass(frozen=True)
class Montage:
    """How samples of a shape become pictures: traces, images, or images side by side.

    One mode is a trace, and two are an image. With more modes, the two longest are the axes of an
    image, and the images of all other indices are tiles: the last other mode goes to the right,
    those before it go down. The tiles of a single other mode fill a square.
    """

    names: Names
    image_modes: tuple[int, ...]
    grid: tuple[int, int]
    square_cells: bool

    @classmethod
    def choose(cls, names: Names) -> Montage:
        """Arrange samples of the shape that `names` has."""
        shape = names.shape
        if len(shape) == 1:
            return cls(names, (0,), (1, 1), False)
        panels = Panels.choose(np.broadcast_to(0.0, shape), names)
        others = [shape[mode] for mode in range(len(shape)) if mode not in panels.image_modes]
        n_tiles = math.prod(others)
        if len(others) == 1 and n_tiles > 4:
            columns = math.ceil(math.sqrt(n_tiles))
        else:
            columns = others[-1] if others else 1
        grid = (math.ceil(n_tiles / columns), columns)
        return cls(names, panels.image_modes, grid, panels.aspect == "equal")

    @property
    def is_trace(self) -> bool:
        """Whether a sample is a line, not an image."""
        return len(self.image_modes) == 1

    @property
    def height(self) -> float:
        """The height of the picture, for a width of one."""
        if not self.square_cells:
            return _OBLONG
        rows, columns = self.image(np.broadcast_to(0.0, self.names.shape)).shape
        return rows / columns

    @property
    def caption(self) -> str:
        """Which mode goes where, in words."""
        if self.is_trace:
            return f"{self.names.title(0)} →"
        down, right = (self.names.name(mode) for mode in self.image_modes)
        words = f"{down} ↓  {right} →"
        tiled = [mode for mode in range(len(self.names.shape)) if mode not in self.image_modes]
        if tiled:
            words += f"  tiles: {', '.join(self.names.name(mode) for mode in tiled)}"
        return words

    def image(self, sample: NDArray) -> NDArray:
        """A sample of two or more modes as one image, with NaN between the tiles."""
        tiles = np.moveaxis(sample, self.image_modes, (-2, -1))
        height, width = tiles.shape[-2:]
        tiles = tiles.reshape(-1, height, width)
        if len(tiles) == 1:
            return tiles[0]
        gap = max(1, min(height, width) // 12)
        rows, columns = self.grid
        full = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
        for place, tile in enumerate(tiles):
            top, left = place // columns * (height + gap), place % columns * (width + gap)
            full[top : top + height, left : left + width] = tile
        return full

    def thumbnail(self, sample: NDArray) -> NDArray:
        """The image, resampled if its sides differ too much."""
        image = self.image(sample)
        if self.square_cells:
            return image
        height, width = (round(100 * side) for side in (_OBLONG, 1.0))
        rows = np.arange(height) * image.shape[0] // height
        columns = np.arange(width) * image.shape[1] // width
        return image[np.ix_(rows, columns)]

    def draw(self, ax: Axes, sample: NDArray, low: float, high: float, cmap: str) -> Any:
        """Draw a sample on a scale from `low` to `high`; return the image or the line."""
        if self.is_trace:
            (line,) = ax.plot(np.arange(sample.size), sample, color=BLUE, linewidth=1.2)
            if low < 0 < high:
                ax.axhline(0, color=MUTED, linewidth=0.8, zorder=0)
            margin = 0.05 * (high - low)
            ax.set(xlim=(0, max(sample.size - 1, 1)), ylim=(low - margin, high + margin))
            set_ticks(ax.xaxis, self.names, 0, most=3)
            ax.set_xlabel("")
            tidy(ax)
            return line
        drawn = ax.imshow(
            self.image(sample),
            cmap=cmap,
            vmin=low,
            vmax=high,
            aspect="equal" if self.square_cells else "auto",
            interpolation="nearest",
        )
        ax.set_xticks([])
        ax.set_yticks([])
        # A frame around tiles would close the gaps between them at the border only.
        ax.spines[:].set_visible(self.grid == (1, 1))
        ax.spines[:].set_color(MUTED)
        return drawn
