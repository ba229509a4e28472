"""The largest value of samples, and whether all of them can be used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.sources import UnusableSample

__all__ = ["checked_peak", "largest_modulus", "largest_observed"]

_LARGEST = 1e100  # squares of larger values could overflow when summed
_TOO_LARGE = f"values above {_LARGEST:.0e}, too large for sums of squares; use larger units"


def checked_peak(samples: NDArray, first: int, *, missing: bool = False) -> float:
    """Return the largest absolute value; raise `UnusableSample` for NaN, infinity or above 1e100.

    `first` is the index of the first of these samples, for the error. With `missing`, NaN stands
    for a value that was not observed, and is left out.
    """
    peak = largest_observed(samples) if missing else largest_modulus(samples)
    if peak <= _LARGEST:
        return peak
    largest = np.fmax.reduce if missing else np.max  # the latter is NaN if the sample has one
    sizes = largest(np.abs(samples.reshape(len(samples), -1)), axis=1)
    row = int(np.argmax(sizes > _LARGEST if missing else ~(sizes <= _LARGEST)))
    if np.isnan(samples[row]).any() and not missing:
        what = "NaN"
    else:
        what = "infinity" if np.isinf(sizes[row]) else _TOO_LARGE
    raise UnusableSample(first + row, what)


def largest_observed(values: NDArray) -> float:
    """Return the largest absolute value that is not NaN; 0 if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import largest_observed
    >>> largest_observed(np.array([-3.0, np.nan, 2.0]))
    3.0
    """
    peak = largest_modulus(values)
    if not np.isnan(peak):
        return peak
    observed = values[~np.isnan(values)]
    return largest_modulus(observed) if observed.size else 0.0


def largest_modulus(values: NDArray) -> float:
    """Return the largest absolute value, in double precision."""
    if np.iscomplexobj(values):
        moduli = np.abs(values)
        peak = moduli.max()
        if values.dtype == np.complex64 and np.isfinite(peak):  # single precision rounds roots
            near = values[moduli >= peak * (1 - 1e-6)]
            peak = np.abs(near.astype(np.complex128)).max()
        return float(peak)
    return max(float(values.max()), -float(values.min()))
