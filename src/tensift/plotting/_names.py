"""The names of modes and of the indices along them, on axes and in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift._utils.terminal import printable
from tensift.datasets import TensorDataset

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["MOST_NAMED_TICKS", "ModeNames", "in_legend", "plain"]

MOST_NAMED_TICKS = 24


def plain(text: str) -> str:
    r"""Return text that matplotlib draws as it is.

    Matplotlib takes what is between two dollar signs for mathematics. It then fails on names such
    as ``$_$``, or draws something else. So every name, label and title of the user passes through
    here. Control characters cannot be drawn, and would spoil SVG files, so they are escaped.

    Examples
    --------
    >>> from tensift.plotting._names import plain
    >>> print(plain("price ($)"))
    price (\$)
    """
    lines = [printable(line) for line in text.split("\n")]
    return "\n".join(lines).replace("$", r"\$")


def in_legend(text: str) -> str:
    """Return text for a legend, which leaves out labels that begin with an underscore."""
    return plain(f" {text}" if text.startswith("_") else text)


class ModeNames:
    """The names of the modes of a sample and of their indices.

    Parameters
    ----------
    shape : tuple of int
        The shape of a sample.
    dims : sequence of str, optional
        One name per mode.
    coords : mapping of str to array-like, optional
        Names along a mode, by the mode's name.
    units : mapping of str to str, optional
        The units of these names, by the mode's name.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        # A dataset checks names, so an empty one is made to check these.
        empty = TensorDataset(
            np.broadcast_to(0.0, (1, *shape)),
            dims=None if dims is None else tuple(dims),
            coords=None if coords is None else dict(coords),
            units=None if units is None else dict(units),
        )
        self.shape = tuple(shape)
        self.dims = empty.dims
        self.coords = empty.coords or {}
        self.units = empty.units or {}

    def only(self, modes: Sequence[int]) -> ModeNames:
        """The names of only some of the modes."""
        shape = [self.shape[mode] for mode in modes]
        if self.dims is None:
            return ModeNames(shape, [f"mode {mode}" for mode in modes])
        dims = [self.dims[mode] for mode in modes]
        coords = {dim: self.coords[dim] for dim in dims if dim in self.coords}
        units = {dim: self.units[dim] for dim in dims if dim in self.units}
        return ModeNames(shape, dims, coords, units)

    def title(self, mode: int) -> str:
        """The name of a mode."""
        return f"mode {mode}" if self.dims is None else self.dims[mode]

    def is_named(self, mode: int) -> bool:
        """Whether the indices along a mode have names."""
        return self.dims is not None and self.dims[mode] in self.coords

    def label(self, mode: int, index: int) -> str:
        """The name of one index along a mode: its coordinate, or the index itself."""
        if not self.is_named(mode):
            return str(index)
        value = self.coords[self.title(mode)][index]
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)

    def label_in_units(self, mode: int, index: int) -> str:
        """The name of one index along a mode, with its unit: ``650 nm``."""
        unit = self.units.get(self.title(mode), "") if self.is_named(mode) else ""
        return f"{self.label(mode, index)} {unit}".rstrip()

    def describe(self, index: Sequence[int]) -> str:
        """One feature in words, such as ``row 3, column 4`` or ``band 650 nm``."""
        words = []
        for mode, place in enumerate(index):
            title = self.title(mode)
            # "mode 1 3" would read as one number.
            words.append(f"{title}{':' * title[-1:].isdigit()} {self.label_in_units(mode, place)}")
        return ", ".join(words)

    def set_ticks(self, axis: Axis, mode: int, most: int = 8) -> None:
        """Name an axis along which the indices of a mode lie at 0, 1, 2, ...; `most` ticks."""
        from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

        length = self.shape[mode]

        def name(position: float, _: Any = None) -> str:
            index = round(position)
            on_index = abs(position - index) < 1e-6 and 0 <= index < length
            return plain(self.label(mode, index)) if on_index else ""

        text = self.is_named(mode) and self.coords[self.title(mode)].dtype.kind not in "biuf"
        if text and length <= MOST_NAMED_TICKS:
            axis.set_major_locator(FixedLocator(list(range(length))))
        else:
            axis.set_major_locator(MaxNLocator(nbins=most, integer=True))
        axis.set_major_formatter(FuncFormatter(name))
        unit = self.units.get(self.title(mode), "") if self.is_named(mode) else ""
        axis.set_label_text(plain(f"{self.title(mode)} ({unit})" if unit else self.title(mode)))
