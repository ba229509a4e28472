"""What ``tensift info`` says about missing values: how many, and where."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tensift.cli._console import show
from tensift.cli._figures import FORMATS, write_figure
from tensift.cli._output import OutputFolder
from tensift.labels import Names
from tensift.plotting import MissingDisplay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MissingCounts", "check_figure_name", "write_missing_figure"]

_NAMED = 3  # indices along a mode that lack most


class MissingCounts:
    """Counts what is missing, chunk by chunk.

    Parameters
    ----------
    shape : tuple of int
        The shape of a sample.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.elements = np.zeros(shape, dtype=np.int64)
        self._samples: list[NDArray[np.float64]] = []

    def add(self, missing: NDArray[np.bool_]) -> None:
        """Count the missing values of a chunk of samples."""
        self.elements += np.count_nonzero(missing, axis=0)
        self._samples.append(missing.reshape(len(missing), -1).mean(axis=1))

    @property
    def total(self) -> int:
        """The number of missing values."""
        return int(self.elements.sum())

    @property
    def samples(self) -> NDArray[np.float64]:
        """The share of every sample that is missing."""
        return np.concatenate(self._samples)

    def say(self, names: Names) -> None:
        """Print where values are missing."""
        if not self.total:
            return
        samples = self.samples
        never = int(np.count_nonzero(self.elements == len(samples)))
        if never:
            was = "were" if never > 1 else "was"
            show(f"          {never} of {self.elements.size} elements {was} never observed")
        empty = int(np.count_nonzero(samples == 1))
        if empty:
            show(f"          {empty} sample{'s have' if empty > 1 else ' has'} no value at all")
        for mode in range(self.elements.ndim):
            others = tuple(axis for axis in range(self.elements.ndim) if axis != mode)
            shares = self.elements.mean(axis=others) / len(samples)
            _say_most(names.name(mode), shares, partial(names.label, mode))
        _say_most("samples", samples, str)

    def draw(self, names: Names, figure: Figure) -> None:
        """Draw where values are missing."""
        figure.set_layout_engine("constrained")
        figure.set_size_inches(6.0, 5.0)
        shares = self.elements / max(1, len(self.samples))
        MissingDisplay(shares, self.samples, names=names).plot(figure.subplots())


def _say_most(title: str, shares: NDArray[np.float64], label: partial[str] | type[str]) -> None:
    """Print the indices that lack most, unless all lack the same."""
    if np.ptp(shares) < 1e-12:
        return
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0]
    shown = ", ".join(f"{label(int(i))} ({100 * shares[i]:.3g} %)" for i in order[:_NAMED])
    more = ", ..." if len(order) > _NAMED else ""
    show(f"          {title}: most at {shown}{more}")


def check_figure_name(path: Path | None) -> None:
    """Raise an error if a picture cannot have this name."""
    if path is not None and path.suffix.removeprefix(".").lower() not in FORMATS:
        raise ValueError(f"--figure {path}: the name must end in .png, .svg or .pdf")


def write_missing_figure(
    path: Path, counts: MissingCounts, names: Names, inputs: list[Path], *, overwrite: bool
) -> None:
    """Write the picture of what is missing."""
    with OutputFolder(path.parent, [path.name], overwrite=overwrite, inputs=inputs) as output:
        suffix = path.suffix.removeprefix(".")
        write_figure(output, path.stem, [suffix], partial(counts.draw, names))
