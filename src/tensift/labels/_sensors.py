"""The channels of a recording: what kind each is, and what its values are divided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sensors", "scales_of_types", "spread_along"]

_ROUNDING = 1e-12  # the share of a value that may be rounding


@dataclass(frozen=True, eq=False)
class Sensors:
    """The fitted channels of recordings of MNE-Python.

    Parameters
    ----------
    info : mne.Info
        Describes the fitted channels, with their positions.
    types : tuple of str
        The type of every channel, such as "eeg" or "mag".
    scales : mapping of str to float
        What the values of every type are divided by, in its units.
    places : ndarray of int or None
        The places of the channels in the fitted recording. None if several recordings were fitted
        that order their channels differently.

    Notes
    -----
    Magnetometers measure in T, gradiometers in T/m, electrodes in V: numbers that differ by many
    orders of magnitude for no reason but their units. The scale of a type is its spread: the root
    of the mean squared difference between its values and the mean of their channel, over channels,
    samples and times. Within a type, amplitudes are left as they are, since they can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.labels import scales_of_types
    >>> values = np.array([[1.0, 300.0], [-1.0, 100.0]])
    >>> scales_of_types(values.mean(axis=0), values.var(axis=0), ["eeg", "mag"])
    {'eeg': 1.0, 'mag': 100.0}
    """

    info: Any
    types: tuple[str, ...]
    scales: Mapping[str, float]
    places: NDArray[np.intp] | None = None

    def factors(self, n_modes: int) -> NDArray[np.float64]:
        """Return what each channel is divided by, as an array that fits whole samples."""
        return spread_along(self.types, self.scales, n_modes)


def spread_along(
    types: Sequence[str], scales: Mapping[str, float], n_modes: int
) -> NDArray[np.float64]:
    """Return the scale of every channel, with a length of one for all modes but the first."""
    found = np.array([scales[kind] for kind in types], dtype=float)
    return found.reshape(-1, *[1] * (n_modes - 1))


def scales_of_types(
    means: NDArray[np.float64], variances: NDArray[np.float64], types: Sequence[str]
) -> dict[str, float]:
    """Return the spread of every type of channel, from the means and variances of the channels."""
    kinds, found = np.array(types), {}
    for kind in dict.fromkeys(types):
        usable = (kinds == kind) & np.isfinite(variances)
        spread = float(np.sqrt(variances[usable].mean())) if usable.any() else 0.0
        level = float(np.abs(means[usable]).max()) if usable.any() else 0.0
        # If all channels of a type are constant, their spread is rounding.
        found[kind] = (spread if spread > _ROUNDING * level else level) or 1.0
    return found
