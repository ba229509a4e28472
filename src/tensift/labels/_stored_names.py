"""Names as arrays of numbers and text, for files."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tensift.labels._names import Names

__all__ = ["arrays_of_names", "names_of_arrays"]


def arrays_of_names(names: Names) -> dict[str, NDArray]:
    """Return names as arrays: ``dims``, ``units``, and ``coords_0``, ... where there are some.

    Coordinates that are neither numbers, text nor dates become text.

    Examples
    --------
    >>> from tensift.labels import Names, arrays_of_names, names_of_arrays
    >>> names = Names((2,), ("band",), {"band": [450, 660]}, {"band": "nm"})
    >>> sorted(arrays_of_names(names))
    ['coords_0', 'dims', 'units']
    >>> names_of_arrays((2,), arrays_of_names(names)).title(0)
    'band (nm)'
    """
    found = {
        "dims": np.array([names.name(mode) for mode in range(len(names.shape))], dtype=str),
        "units": np.array([names.units.get(dim, "") for dim in names.dims], dtype=str),
    }
    for mode, dim in enumerate(names.dims):
        if dim in names.coords:
            values = names.coords[dim]
            if values.dtype.hasobject:
                values = np.array([names.label(mode, k) for k in range(len(values))], dtype=str)
            found[f"coords_{mode}"] = values
    return found


def names_of_arrays(shape: tuple[int, ...], arrays: Mapping[str, NDArray]) -> Names:
    """Return the names that `arrays_of_names` took apart; raise an error if they do not fit."""
    dims, units = (arrays[name].tolist() for name in ("dims", "units"))
    if len(dims) != len(shape) or len(units) != len(shape):
        raise ValueError(f"dims and units must have one text for each of the {len(shape)} modes")
    coords = {dim: arrays[f"coords_{k}"] for k, dim in enumerate(dims) if f"coords_{k}" in arrays}
    return Names(shape, tuple(dims), coords, dict(zip(dims, units, strict=True)))
