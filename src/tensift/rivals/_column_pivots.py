"""QR factorisation with column pivoting, where a pivot may be a block of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import squared_modulus
from tensift.rivals._fibres import first_largest, orthonormal_basis
from tensift.rivals._greedy import Picks

__all__ = ["pivots"]

_EXPLAINED = 1e-20  # a share of the energy of a feature that is a rounding error


def pivots(columns: NDArray, count: int) -> Picks:
    """Pivots of a QR factorisation; a pivot is a block of columns of ``(r, features, width)``."""
    r, size, width = columns.shape
    left = columns.reshape(r, -1).copy()
    lengths = squared_modulus(columns).sum(axis=(0, 2))
    least, total = _EXPLAINED * lengths, lengths.sum()
    picks = Picks([], [], lengths)
    for _ in range(count):
        best = first_largest(np.where(lengths > least, lengths, 0))
        if lengths[best] <= least[best]:
            break
        picks.features.append(best)
        picks.gains.append(float(lengths[best] / total))
        own = left[:, best * width : (best + 1) * width]
        basis = orthonormal_basis(own, float(np.sqrt(lengths[best])))
        left -= basis @ (basis.conj().T @ left)
        left[:, best * width : (best + 1) * width] = 0
        lengths = squared_modulus(left).reshape(r, size, width).sum(axis=(0, 2))
    return picks._replace(left=np.where(lengths > least, lengths, 0) / total)
