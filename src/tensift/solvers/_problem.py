"""The slice problem of STPCA-MP, for a whole stack of slices at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_complex, is_device_array, namespace_of
from tensift._utils.stacks import squared_modulus
from tensift.moments import GramTensor

__all__ = ["SliceProblems"]


@dataclass(frozen=True)
class SliceProblems:
    """One convex problem for each slice (equation `STPCA-MP: matrix form`).

    ``min  Tr((I - A) S (I - A)^H) + ridge ||A||_F^2 + lam ||A||_{2,1} + eta Tr(A)`` over Hermitian
    ``A >= 0``, where ``||A||_{2,1}`` sums the Euclidean norms of the columns.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    lam, eta : float or ndarray of shape (p,)
        Weights of the column norms and of the trace: one for all slices, or one for each. Arrays
        must be of the same kind as the Gram matrices.
    ridge : float, default=0.0
        Weight of ``||A||_F^2``. The paper adds it to its update, not to its objective.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import SliceProblems
    >>> problems = SliceProblems(GramTensor(np.eye(2)[None], thin=False), lam=1.0, eta=0.5)
    >>> float(problems.value(np.eye(2)[None])[0])
    3.0
    """

    gram: GramTensor
    lam: float | NDArray[np.float64]
    eta: float | NDArray[np.float64]
    ridge: float = 0.0

    def __getitem__(self, index: slice | NDArray) -> SliceProblems:
        """The problems of some of the slices."""

        def taken(weight: Any) -> Any:
            return weight[index] if getattr(weight, "ndim", 0) else weight

        return SliceProblems(self.gram[index], taken(self.lam), taken(self.eta), self.ridge)

    def value(
        self, operators: NDArray, norms: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The objective at `operators` ``(p, q, q)``; pass their column `norms` if known."""
        norms = column_norms(operators) if norms is None else norms
        factor = self.gram.array
        reconstructed = operators @ factor  # A F or A S
        if is_device_array(factor):
            return self._value_on_device(operators, reconstructed, norms)
        if self.gram.thin:
            fit = np.sum((factor.conj() * reconstructed).real, axis=(1, 2))
            energy = np.sum(squared_modulus(reconstructed), axis=(1, 2))
        else:
            fit = np.trace(reconstructed, axis1=1, axis2=2).real
            energy = np.einsum("pij,pij->p", operators.conj(), reconstructed).real
        trace = np.trace(operators, axis1=1, axis2=2).real
        loss = self.gram.trace() - 2 * fit + energy + self.ridge * np.sum(norms**2, axis=1)
        return loss + self.lam * norms.sum(axis=1) + self.eta * trace

    def _value_on_device(self, operators: Any, reconstructed: Any, norms: Any) -> Any:
        """The same for device arrays; on the host, NumPy's own functions are faster."""
        xp = namespace_of(operators)
        if self.gram.thin:
            loss = _inner(reconstructed, reconstructed - 2 * self.gram.array)
        else:
            loss = _inner(operators, reconstructed) - 2 * _trace(reconstructed)
        loss = self.gram.trace() + loss + self.ridge * xp.sum(norms * norms, axis=1)
        return loss + self.lam * xp.sum(norms, axis=1) + self.eta * _trace(operators)


def column_norms(operators: Any) -> Any:
    """Euclidean norms of the columns of every operator, ``(p, q)``."""
    if is_device_array(operators):
        return namespace_of(operators).linalg.vector_norm(operators, axis=1)
    return np.sqrt(np.einsum("pij,pij->pj", operators.conj(), operators).real)


def _inner(one: Any, other: Any) -> Any:
    """Real inner products of device arrays, matrix by matrix."""
    xp = namespace_of(one)
    flat = (one.shape[0], one.shape[1] * one.shape[2])
    return _real(xp.vecdot(xp.reshape(one, flat), xp.reshape(other, flat)))


def _trace(matrices: Any) -> Any:
    return _real(namespace_of(matrices).linalg.trace(matrices))


def _real(values: Any) -> Any:
    return namespace_of(values).real(values) if is_complex(values) else values
