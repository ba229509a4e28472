"""What every array from a user must be, wherever it enters: rectangular, and without a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_array", "refuse_masked"]


def refuse_masked(values: Any, name: str = "X") -> None:
    """Refuse masked values, also in a list of masked arrays; NumPy would drop the mask."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(np.ma.is_masked(part) for part in parts):
        raise ValueError(
            f"{name} has masked values, which would be taken as they are; fill them first"
        )


def as_array(values: Any, name: str = "X") -> NDArray[Any]:
    """Return an array, or say that its rows have different lengths.

    Subclasses pass through, so that memory maps stay what they are.
    """
    refuse_masked(values, name)
    _refuse_recordings(values, name)
    try:
        return np.asanyarray(values)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name} is ragged: its rows have different lengths or depths; give all samples the "
            "same shape"
        ) from None


def _refuse_recordings(values: Any, name: str) -> None:
    """Refuse objects of MNE-Python: as arrays, they would have channels that are no data, too."""
    one = values[0] if isinstance(values, list | tuple) and values else values
    if type(one).__module__.partition(".")[0] == "mne":
        raise ValueError(
            f"{name} is {type(one).__name__} of MNE-Python, which cannot be used here; pass an "
            "array, such as epochs.get_data(picks='data')"
        )
