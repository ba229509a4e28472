"""Linear algebra on stacks of matrices of one kind, found out about once.

Solvers on accelerators wait for Python as often as for products: finding the namespace of an array,
or making an identity, takes as long as a product of a thousand small matrices.
"""

from __future__ import annotations

from typing import Any

from tensift._namespace import device_of, is_complex, namespace_of

__all__ = ["Algebra"]

Array = Any  # of any namespace of the array API


class Algebra:
    """Operations on stacks of matrices of the namespace, type and device of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers.on_device._algebra import Algebra
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
        """The identity of an order, made once."""
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

    def from_spectrum(self, vectors: Array, values: Array) -> Array:
        """``V diag(values) V^H``."""
        return (vectors * values[..., None, :]) @ self.adjoint(vectors)

    def times(self, matrices: Array, columns: Array) -> Array:
        """Every matrix times a vector."""
        return (matrices @ columns[..., None])[..., 0]

    def at_least(self, values: Array, least: float) -> Array:
        """The values, or `least` where they are smaller."""
        return self.xp.clip(values, min=least)
