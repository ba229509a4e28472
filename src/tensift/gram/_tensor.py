"""The Gram tensor: one Hermitian matrix a slice, dense or as a thin factor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, eigh, squared_modulus

__all__ = ["GramTensor"]


@dataclass(frozen=True)
class GramTensor:
    """A stack of Gram matrices ``S_j``, dense or by factors ``F_j`` with ``S_j = F_j F_j^H``.

    Parameters
    ----------
    array : ndarray
        ``(p, q, q)`` if dense, ``(p, q, r)`` if thin.
    thin : bool
        Whether `array` holds factors.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> factor = np.ones((2, 3, 1))
    >>> GramTensor(factor, thin=True).dense().shape
    (2, 3, 3)
    """

    array: NDArray
    thin: bool

    @property
    def n_slices(self) -> int:
        """The number of slices, ``p``."""
        return self.array.shape[0]

    @property
    def size(self) -> int:
        """The order of each Gram matrix, ``q``."""
        return self.array.shape[1]

    def __getitem__(self, index: slice | NDArray) -> GramTensor:
        """The Gram tensor of some of the slices, which keep a spectrum that is known."""
        part = GramTensor(self.array[index], self.thin)
        if "spectrum" in vars(self):
            values, vectors = self.spectrum
            vars(part)["spectrum"] = values[index], vectors[index]
        return part

    def dense(self) -> NDArray:
        """The Gram matrices, ``(p, q, q)``."""
        if not self.thin:
            return self.array
        return self.array @ adjoint(self.array)

    @cached_property
    def spectrum(self) -> tuple[NDArray[np.float64], NDArray]:
        """Eigenvalues ``(p, q)``, ascending, and eigenvectors ``(p, q, q)``; computed once."""
        values, vectors = eigh(self.dense())
        return np.maximum(values, 0), vectors

    def trace(self) -> NDArray[np.float64]:
        """``Tr(S_j)``, ``(p,)``."""
        if self.thin:
            return np.sum(squared_modulus(self.array), axis=(1, 2))
        return np.trace(self.array, axis1=1, axis2=2).real

    def scaled(self, factor: float) -> GramTensor:
        """The Gram tensor of the data multiplied by `factor`."""
        return GramTensor(self.array * (factor if self.thin else factor**2), self.thin)
