"""The names of modes and of the indices along them, as matplotlib draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensift._utils.terminal import printable
from tensift.labels import Names

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.ticker import Locator

__all__ = ["MOST_NAMED_TICKS", "in_legend", "names_for", "plain", "set_ticks"]

MOST_NAMED_TICKS = 24
_LINES_OF_NUMBERS, _LINES_OF_NAMES = 2.0, 1.15  # the distance of two ticks


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


def names_for(
    shape: Sequence[int],
    names: Names | None,
    dims: Sequence[str] | None,
    coords: Mapping[str, Any] | None,
) -> Names:
    """Return the names of an array's modes: those of data, unless others are given by hand."""
    own = Names(tuple(shape)) if names is None else names
    if own.shape != tuple(shape):
        raise ValueError(
            f"names belong to modes of shape {own.shape}, but the values to draw have shape "
            f"{tuple(shape)}"
        )
    return own.with_given(dims, coords)


def _locator_of_names(length: int) -> Locator:
    """Return a locator for names at 0, 1, 2, ...: all of them, or every second, third, ...

    Names below each other are left out where they would overlap. Those side by side are not: they
    can be turned.
    """
    from matplotlib.axis import YAxis
    from matplotlib.ticker import FixedLocator

    class LocatorOfNames(FixedLocator):
        def __call__(self) -> Sequence[float]:
            room = length
            if isinstance(self.axis, YAxis):
                # matplotlib leaves two lines for each number.
                room = max(1, int(self.axis.get_tick_space() * _LINES_OF_NUMBERS / _LINES_OF_NAMES))
            return list(range(0, length, math.ceil(length / room)))

    return LocatorOfNames(range(length))


def set_ticks(axis: Axis, names: Names, mode: int, most: int = 8) -> None:
    """Name an axis along which the indices of a mode lie at 0, 1, 2, ...; `most` ticks."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    length = names.shape[mode]

    def label(position: float, _: Any = None) -> str:
        index = round(position)
        on_index = abs(position - index) < 1e-6 and 0 <= index < length
        return plain(names.label(mode, index)) if on_index else ""

    if not names.is_scale(mode) and length <= MOST_NAMED_TICKS:
        axis.set_major_locator(_locator_of_names(length))
    else:
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True))
    axis.set_major_formatter(FuncFormatter(label))
    axis.set_label_text(plain(names.title(mode)))
