"""Checks of Gram matrices and grids of penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import namespace_of
from tensift._utils.stacks import adjoint
from tensift.moments import GramTensor

__all__ = ["check_gram", "checked_grid"]


def check_gram(gram: GramTensor) -> None:
    """Raise an error if these cannot be Gram matrices."""
    array = gram.array
    xp = namespace_of(array)
    if array.ndim != 3 or 0 in array.shape or not (gram.thin or array.shape[1] == array.shape[2]):
        raise ValueError(
            f"X has an array of shape {array.shape}, but Gram matrices are (p, q, q), and thin "
            "factors (p, q, r)"
        )
    floating = xp.isdtype(array.dtype, ("real floating", "complex floating"))
    if not floating or not xp.all(xp.isfinite(array)):
        raise ValueError("X must hold finite floating-point numbers, without NaN or infinity")
    size = float(xp.max(xp.abs(array)))
    if size == 0:
        raise ValueError("X is constant: its Gram matrices are zero, so there is nothing to select")
    double = array.dtype in (xp.float64, xp.complex128)
    if not gram.thin and xp.max(xp.abs(array - adjoint(array))) > (1e-8 if double else 1e-5) * size:
        raise ValueError("X must hold Hermitian matrices, S = X X^H for every slice")


def checked_grid(name: str, values: Any) -> NDArray[np.float64]:
    """Return penalties as an array; raise an error if they are not distinct numbers >= 0."""
    try:
        grid = np.asarray(values)
    except ValueError:  # rows of different lengths
        grid = np.array(None)
    if grid.dtype.kind not in "iuf" and grid.size:
        raise ValueError(f"{name} must be a list of numbers, got {values!r}")
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(
            f"{name} must be a list of at least one number, got an array of shape {grid.shape}"
        )
    for value in grid:
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be finite numbers of at least 0, got {value:g}")
    unique, counts = np.unique(grid, return_counts=True)
    if unique.size < grid.size:
        raise ValueError(
            f"{name} has {unique[counts > 1][0]:g} more than once; remove the repetition"
        )
    return grid.astype(float)
