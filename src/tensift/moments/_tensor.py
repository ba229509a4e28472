"""The Gram tensor: one Hermitian matrix per slice, dense or as a thin factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.computed_once import computed_once
from tensift._utils.namespace import is_complex, is_device_array, moved_to, namespace_of
from tensift._utils.stacks import adjoint, diagonal_of, eigh, squared_modulus

__all__ = ["GramTensor", "variances"]


@dataclass(frozen=True)
class GramTensor:
    """A stack of Gram matrices ``S_j``, dense or as factors ``F_j`` with ``S_j = F_j F_j^H``.

    Parameters
    ----------
    array : ndarray, or an array of another library
        ``(p, q, q)`` if dense, ``(p, q, r)`` if thin.
    thin : bool
        Whether `array` holds factors.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> factor = np.ones((2, 3, 1))
    >>> GramTensor(factor, thin=True).dense().shape
    (2, 3, 3)
    """

    array: Any
    thin: bool

    @property
    def n_slices(self) -> int:
        """The number of slices, ``p``."""
        return self.array.shape[0]

    @property
    def size(self) -> int:
        """The order of each Gram matrix, ``q``."""
        return self.array.shape[1]

    def __getitem__(self, index: Any) -> GramTensor:
        """Return the Gram tensor of some slices; a spectrum that was computed is kept."""
        part = GramTensor(_some(self.array, index), self.thin)
        if "spectrum" in vars(self):
            values, vectors = self.spectrum
            vars(part)["spectrum"] = _some(values, index), _some(vectors, index)
        return part

    def dense(self) -> Any:
        """Return the Gram matrices, ``(p, q, q)``."""
        if not self.thin:
            return self.array
        return self.array @ adjoint(self.array)

    @computed_once
    def spectrum(self) -> tuple[NDArray[np.float64], NDArray]:
        """Eigenvalues ``(p, q)``, ascending, and eigenvectors ``(p, q, q)``; computed once."""
        values, vectors = eigh(self.dense())
        return np.maximum(values, 0), vectors

    def trace(self) -> Any:
        """Return ``Tr(S_j)`` of every slice, shape ``(p,)``."""
        if is_device_array(self.array):
            xp = namespace_of(self.array)
            if self.thin:
                return xp.sum(squared_modulus(self.array), axis=(1, 2))
            trace = xp.linalg.trace(self.array)
            return xp.real(trace) if is_complex(trace) else trace
        if self.thin:
            return np.sum(squared_modulus(self.array), axis=(1, 2))
        return np.trace(self.array, axis1=1, axis2=2).real

    def scaled(self, factor: float) -> GramTensor:
        """Return the Gram tensor of the data multiplied by `factor`."""
        return GramTensor(self.array * (factor if self.thin else factor**2), self.thin)

    def divided(self, deviations: NDArray[np.float64]) -> GramTensor:
        """Return the Gram tensor of slices whose features are divided by numbers ``(p, q)``."""
        factors = 1 / deviations
        if is_device_array(self.array):
            real = squared_modulus(self.array[:0, ...]).dtype
            factors = moved_to(self.array, factors, real)
        array = self.array * factors[:, :, None]
        return GramTensor(array if self.thin else array * factors[:, None, :], self.thin)


def _some(stack: Any, index: Any) -> Any:
    """Return some entries of a stack, by a slice, indices or a mask."""
    if not is_device_array(stack):
        return stack[index]
    if isinstance(index, slice):
        return stack[index, ...]
    if isinstance(index, np.ndarray):
        index = moved_to(stack, np.flatnonzero(index) if index.dtype == bool else index)
    return namespace_of(stack).take(stack, index, axis=0)


def variances(gram: GramTensor) -> Any:
    """Return the sum of squares of every feature of every slice, ``(p, q)``."""
    if is_device_array(gram.array):
        xp = namespace_of(gram.array)
        if gram.thin:
            return xp.sum(squared_modulus(gram.array), axis=2)
        diagonal = diagonal_of(gram.array)
        return xp.clip(xp.real(diagonal) if is_complex(diagonal) else diagonal, min=0.0)
    if gram.thin:
        return np.sum(squared_modulus(gram.array), axis=2)
    return np.maximum(diagonal_of(gram.array).real, 0)
