"""QR factorisation with column pivoting, where a pivot may be a block of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import squared_modulus
from tensift.rivals._fibres import orthonormal_basis
from tensift.rivals._greedy import PickRule

__all__ = ["ColumnPivots"]

_EXPLAINED = 1e-20  # a share of the energy of a feature that is a rounding error


class ColumnPivots(PickRule):
    """Pivots of a QR factorisation; a pivot is a block of columns of ``(r, features, width)``."""

    def __init__(self, values: NDArray, columns: NDArray) -> None:
        super().__init__(values)
        self._rank, _, self._width = columns.shape
        self._columns = columns.reshape(self._rank, -1).copy()
        self._lengths = squared_modulus(columns).sum(axis=(0, 2))
        self._least, self._total = _EXPLAINED * self._lengths, self._lengths.sum()

    def _worth(self) -> NDArray[np.float64]:
        worth: NDArray[np.float64] = (
            np.where(self._lengths > self._least, self._lengths, 0) / self._total
        )
        return worth

    def _take(self, feature: int) -> None:
        left, width = self._columns, self._width
        own = left[:, feature * width : (feature + 1) * width]
        basis = orthonormal_basis(own, float(np.sqrt(self._lengths[feature])))
        left -= basis @ (basis.conj().T @ left)
        left[:, feature * width : (feature + 1) * width] = 0
        squares = squared_modulus(left).reshape(self._rank, self.size, width)
        self._lengths = squares.sum(axis=(0, 2))
