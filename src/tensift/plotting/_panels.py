"""Samples of more than two modes as a row of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names
from tensift.plotting._matplotlib import subdivide
from tensift.plotting._names import plain, set_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Panels", "figure_size"]

_MOST_PANELS = 6


@dataclass(frozen=True)
class Panels:
    """Which two modes are the axes of an image, and which images are shown.

    The two longest modes are the axes; every index of the other modes is an image. If there are too
    many images, those with the highest values are shown, in the order of their indices.
    """

    names: Names
    image_modes: tuple[int, int]
    shown: list[tuple[int, ...]]
    n_images: int

    @classmethod
    def choose(cls, values: NDArray, names: Names) -> Panels:
        """Arrange an array of two or more modes."""
        longest = np.argsort([-size for size in values.shape], kind="stable")[:2]
        first, second = sorted(int(mode) for mode in longest)
        peaks = values.max(axis=(first, second))
        order = np.argsort(-peaks, axis=None, kind="stable")
        best = np.sort(order[:_MOST_PANELS])
        shown = [tuple(int(i) for i in np.unravel_index(flat, peaks.shape)) for flat in best]
        return cls(names, (first, second), shown, peaks.size)

    def images(self, array: NDArray) -> list[NDArray]:
        """The shown images of an array of the same shape."""
        others_first = np.moveaxis(array, self.image_modes, (-2, -1))
        return [others_first[index] for index in self.shown]

    def axes(self, ax: Axes) -> list[Axes]:
        """One axes per image, with names and a title."""
        axes = [ax] if self.n_images == 1 else list(subdivide(ax, 1, len(self.shown)).ravel())
        vertical, horizontal = self.image_modes
        other_modes = [m for m in range(len(self.names.shape)) if m not in self.image_modes]
        for place, (panel, index) in enumerate(zip(axes, self.shown, strict=True)):
            set_ticks(panel.xaxis, self.names, horizontal, most=8 if len(axes) == 1 else 4)
            set_ticks(panel.yaxis, self.names, vertical, most=8 if len(axes) == 1 else 4)
            if place:
                panel.set_ylabel("")
                panel.tick_params(labelleft=False)
            if index:
                title = self.names.only(other_modes).describe(index)
                panel.set_title(plain(title), fontsize="medium")
            panel.spines[:].set_visible(False)
            panel.tick_params(length=0)
        return axes

    @property
    def note(self) -> str:
        """What is left out, in words; empty if nothing is."""
        if len(self.shown) == self.n_images:
            return ""
        return f"best {len(self.shown)} of {self.n_images} images"

    @property
    def aspect(self) -> Literal["equal", "auto"]:
        """Square cells, unless the image would become very thin or has no common scale.

        Rows and columns have one; channels and times, or times and bands, do not.
        """
        names, modes = self.names, self.image_modes
        height, width = (names.shape[mode] for mode in modes)
        common = names.unit(modes[0]) == names.unit(modes[1]) and all(map(names.is_scale, modes))
        return "equal" if common and max(height, width) <= 4 * min(height, width) else "auto"


def figure_size(panels: Panels | None) -> tuple[float, float]:
    """The size of a figure for the images in a row, or for one plot."""
    return (5.0 if panels is None else min(2.0 + 3.0 * len(panels.shown), 14.0), 4.0)
