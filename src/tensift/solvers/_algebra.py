"""Operations on stacks of matrices, ``(p, rows, columns)``, in one vocabulary for every library.

The formulas of the solvers are written once, against the methods of these two classes:

- `HostAlgebra` uses NumPy directly. Solvers on the host take many small steps, and the wrappers
  of the array API standard would cost more time than the operations.
- `Algebra` uses the array API standard, for arrays on any device. It looks up the namespace, the
  type and the device once, because each look-up takes as long as a product of a thousand small
  matrices on an accelerator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensift._utils import stacks
from tensift._utils.namespace import device_of, is_complex, is_device_array, namespace_of

__all__ = ["HOST", "Algebra", "HostAlgebra", "algebra_of"]

Array = Any  # of any namespace of the array API


class Algebra:
    """Operations on stacks of matrices that share namespace, type and device.

    Parameters
    ----------
    like : array of shape (..., q)
        An array of that namespace, type and device.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers._algebra import Algebra
    >>> stack = np.array([[[0.0, 2j], [-2j, 1.0]]])
    >>> algebra = Algebra(stack)
    >>> bool((algebra.adjoint(stack) == stack).all())
    True
    >>> algebra.column_norms(stack)
    array([[2.        , 2.23606798]])
    """

    def __init__(self, like: Array) -> None:
        self.xp = namespace_of(like)
        self.dtype, self.device = like.dtype, device_of(like)
        self.complex = is_complex(like)
        self.real_dtype = self.xp.real(like[:0, ...]).dtype if self.complex else like.dtype
        limits = self.xp.finfo(self.dtype)
        self.eps, self.tiny = float(limits.eps), float(limits.smallest_normal)
        self._identities: dict[int, Array] = {}
        self.identity(like.shape[-1])  # made now: a function that is being recorded must not

    def identity(self, order: int) -> Array:
        """The identity matrix of an order, made once."""
        if order not in self._identities:
            made = self.xp.eye(order, dtype=self.dtype, device=self.device)
            self._identities[order] = made
        return self._identities[order]

    def adjoint(self, matrices: Array) -> Array:
        """Conjugate transpose of every matrix."""
        return self.xp.conj(matrices.mT) if self.complex else matrices.mT

    def hermitian_part(self, matrices: Array) -> Array:
        """The nearest Hermitian matrix to every matrix."""
        return 0.5 * (matrices + self.adjoint(matrices))

    def real(self, values: Array) -> Array:
        """The real part."""
        return self.xp.real(values) if self.complex else values

    def squared_modulus(self, values: Array) -> Array:
        """``|z|**2``."""
        return self.xp.real(values * self.xp.conj(values)) if self.complex else values * values

    def inner(self, one: Array, other: Array) -> Array:
        """Real inner product of every pair of matrices, ``Re Tr(one^H other)``."""
        products = self.real(self.xp.conj(one) * other) if self.complex else one * other
        return self.xp.sum(products, axis=(1, 2))

    def weighted_square(self, matrices: Array, weights: Array) -> Array:
        """``sum_ij weights_i |z_ij|**2`` of every matrix."""
        return self.xp.sum(self.squared_modulus(matrices) * weights[:, :, None], axis=(1, 2))

    def norms(self, matrices: Array) -> Array:
        """Frobenius norm of every matrix."""
        return self.xp.linalg.vector_norm(matrices, axis=(-2, -1))

    def column_norms(self, matrices: Array) -> Array:
        """Euclidean norms of the columns of every matrix."""
        return self.xp.linalg.vector_norm(matrices, axis=-2)

    def diagonal(self, matrices: Array) -> Array:
        """The real diagonal of every Hermitian matrix."""
        return self.real(self.xp.linalg.diagonal(matrices))

    def trace(self, matrices: Array) -> Array:
        """The real trace of every Hermitian matrix."""
        return self.xp.sum(self.diagonal(matrices), axis=-1)

    def diagonal_matrices(self, values: Array) -> Array:
        """Matrices with these real values on the diagonal."""
        values = values[..., :, None]
        if self.complex:
            values = self.xp.astype(values, self.dtype)
        return values * self.identity(values.shape[-2])

    def less_diagonal(self, matrices: Array, values: Array) -> Array:
        """``matrices - diag(values)``."""
        return matrices - self.diagonal_matrices(values)

    def from_spectrum(self, vectors: Array, values: Array) -> Array:
        """``V diag(values) V^H``."""
        return (vectors * values[..., None, :]) @ self.adjoint(vectors)

    def at_least(self, values: Array, least: float) -> Array:
        """The values, or `least` where they are smaller."""
        return self.xp.clip(values, min=least)

    def larger(self, one: Array, other: Array) -> Array:
        """The larger of two values, entry by entry."""
        return self.xp.where(one > other, one, other)

    def descending(self, values: Array) -> Array:
        """Every row sorted, the largest value first."""
        return self.xp.sort(values, axis=1, descending=True)

    def running_sum(self, values: Array) -> Array:
        """Cumulative sums along every row."""
        return self.xp.cumulative_sum(values, axis=1)

    def arange(self, stop: int) -> Array:
        """``0, 1, ..., stop - 1`` as real numbers."""
        return self.xp.arange(stop, dtype=self.real_dtype, device=self.device)

    def take(self, array: Array, index: Array) -> Array:
        """Some of the entries along the first axis, by their indices."""
        return self.xp.take(array, index, axis=0)

    def may_hold(self, condition: Array) -> bool:
        """Whether a condition may be true somewhere: recorded functions must not look."""
        return True


class HostAlgebra:
    """The methods of `Algebra` that formulas on the host need, in NumPy alone.

    Where NumPy has several ways to the same number, these are the fast ones: ``einsum`` needs no
    temporary arrays, and diagonals are changed in place.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers._algebra import HOST
    >>> HOST.column_norms(np.array([[[3.0, 0.0], [4.0, 1.0]]]))
    array([[5., 1.]])
    """

    xp = np
    tiny = float(np.finfo(float).tiny)

    adjoint = staticmethod(stacks.adjoint)
    hermitian_part = staticmethod(stacks.hermitian_part)
    squared_modulus = staticmethod(stacks.squared_modulus)
    norms = staticmethod(stacks.frobenius_norm)
    at_least = larger = staticmethod(np.maximum)

    def inner(self, one: Array, other: Array) -> Array:
        """Real inner product of every pair of matrices, ``Re Tr(one^H other)``."""
        return np.einsum("pij,pij->p", one.conj(), other).real

    def weighted_square(self, matrices: Array, weights: Array) -> Array:
        """``sum_ij weights_i |z_ij|**2`` of every matrix."""
        return np.einsum("pij,pij,pi->p", matrices.conj(), matrices, weights).real

    def column_norms(self, matrices: Array) -> Array:
        """Euclidean norms of the columns of every matrix."""
        return np.sqrt(np.einsum("pij,pij->pj", matrices.conj(), matrices).real)

    def diagonal(self, matrices: Array) -> Array:
        """The real diagonal of every Hermitian matrix."""
        return stacks.diagonal_of(matrices).real

    def diagonal_matrices(self, values: Array) -> Array:
        """Matrices with these real values on the diagonal."""
        result = np.zeros((*values.shape, values.shape[-1]))
        stacks.diagonal_of(result)[...] = values
        return result

    def less_diagonal(self, matrices: Array, values: Array) -> Array:
        """``matrices - diag(values)``."""
        result = matrices.copy()
        stacks.diagonal_of(result)[...] -= values
        return result

    def from_spectrum(self, vectors: Array, values: Array) -> Array:
        """``V diag(values) V^H``."""
        return (vectors * values[:, None, :]) @ stacks.adjoint(vectors)

    def descending(self, values: Array) -> Array:
        """Every row sorted, the largest value first."""
        return -np.sort(-values, axis=1)

    def running_sum(self, values: Array) -> Array:
        """Cumulative sums along every row."""
        return np.cumsum(values, axis=1)

    def arange(self, stop: int) -> Array:
        """``0, 1, ..., stop - 1``."""
        return np.arange(stop)

    def take(self, array: Array, index: Array) -> Array:
        """Some of the entries along the first axis, by indices or by a mask."""
        return array[index]

    def may_hold(self, condition: Array) -> bool:
        """Whether a condition is true somewhere; work for nothing is skipped."""
        return bool(condition.any())


HOST = HostAlgebra()


def algebra_of(array: Array) -> Algebra | HostAlgebra:
    """The operations for arrays of the kind of this one."""
    return Algebra(array) if is_device_array(array) else HOST
