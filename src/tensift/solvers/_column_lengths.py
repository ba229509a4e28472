"""Squared lengths of the columns of the multipliers that prove an optimum of zero.

For a Hermitian ``M`` and weights ``d > 0``, the matrix ``G_ij = 2 M_ij d_i / (d_i + d_j)`` has the
Hermitian part ``M``. Its columns have the squared lengths
``g_j = sum_i |M_ij|**2 (2 d_i / (d_i + d_j))**2``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint
from tensift.solvers._algebra import Algebra, HostAlgebra

__all__ = ["LengthsOfFactor", "LengthsOfMatrices"]

Array = Any  # of any namespace of the array API

_ENTRIES = 2**17  # as many at a time stay in the cache of a processor
_CELL = 0.5  # logarithms of weights in a cell differ by at most this
_LEAST_COLUMNS, _PARTS = 16, 8  # products with fewer columns, or in more parts, are slower
_ONE_NODE_FEWER = 4 / (_CELL / 2)  # times the error


class LengthsOfMatrices:
    """The lengths for a stack of matrices, in as many operations as they have entries.

    Parameters
    ----------
    algebra : Algebra or HostAlgebra
        The operations.
    matrices : array of shape (p, q, q)
        ``M``.
    """

    def __init__(self, algebra: Algebra | HostAlgebra, matrices: Array) -> None:
        self._algebra = algebra
        self._squares = algebra.squared_modulus(matrices)

    def keep(self, wanted: Array) -> None:
        """Leave out all slices but those at these indices."""
        self._squares = self._algebra.take(self._squares, wanted)

    def __call__(self, logs: Array, accuracy: float) -> tuple[Array, float]:
        """The squared lengths ``(p, q)`` for weights ``exp(logs)``, and their relative error."""
        xp, size = self._algebra.xp, logs.shape[1]
        weights = xp.exp(logs)
        rows = size if isinstance(self._algebra, Algebra) else max(1, _ENTRIES // max(1, logs.size))
        found = xp.zeros_like(logs)
        for first in range(0, size, rows):
            some = slice(first, first + rows)
            terms = weights[:, some, None] / (weights[:, some, None] + weights[:, None, :])
            terms *= terms
            terms *= self._squares[:, some, :]
            found = found + xp.sum(terms, axis=1)
        return 4 * found, 0.0


class LengthsOfFactor:
    """The lengths for one matrix ``M = F F^H`` of a large order ``q``, which is never formed.

    With ``v = log d``, the squared lengths are
    ``g_j = exp(-v_j) f_j^H (sum_i exp(v_i) s(v_i - v_j) f_i f_i^H) f_j`` for the rows ``f`` of the
    factor and ``s(x) = 1 / cosh(x / 2)**2``. The logarithms are divided into cells. In every
    pair of cells ``s`` is replaced by its interpolation at Chebyshev nodes. So one matrix of order
    ``n`` for each node is enough for all features.

    Every term is non-negative, so the relative error of ``g`` is at most that of ``s``, which is
    bounded in `_error`.

    Parameters
    ----------
    factor : ndarray of shape (q, n)
        ``F``.
    """

    def __init__(self, factor: NDArray) -> None:
        self._factor = factor

    def keep(self, wanted: Array) -> None:
        """Nothing to do: there is one slice."""

    def __call__(self, logs: NDArray[np.float64], accuracy: float) -> tuple[NDArray, float]:
        """The squared lengths ``(1, q)`` for weights ``exp(logs)``, and their relative error.

        The error is at most `accuracy`, up to rounding.
        """
        count = 2
        while _error(count) > accuracy:
            count += 1
        order = np.argsort(logs[0], kind="stable")
        lengths = np.empty_like(logs)
        lengths[0, order] = self._in_order(self._factor[order], logs[0, order], count)
        return lengths, _error(count)

    def _in_order(
        self, factor: NDArray, logs: NDArray[np.float64], count: int
    ) -> NDArray[np.float64]:
        """The squared lengths for ascending weights."""
        numbers = np.floor((logs - logs[0]) / _CELL)
        numbers, starts, cell = np.unique(numbers, return_index=True, return_inverse=True)
        ends = [*starts[1:], len(logs)]
        rows = [slice(start, end) for start, end in zip(starts, ends, strict=True)]

        centres = logs[0] + (numbers + 0.5) * _CELL
        nodes = _CELL / 2 * np.cos((np.arange(count) + 0.5) * np.pi / count)
        shares = _lagrange(nodes, logs - centres[cell])
        levels = (centres[:, None] + nodes).ravel()
        kernel = 1 / np.cosh((levels[:, None] - levels) / 2) ** 2
        kernel = kernel.reshape(len(rows), count, len(levels))
        inward, outward = shares * np.exp(logs)[:, None], shares * np.exp(-logs)[:, None]

        # Some columns of the sums at a time, which saves memory. Sums are Hermitian, so the rows
        # above and in the block on the diagonal are enough.
        size, n = factor.shape
        width = max(_LEAST_COLUMNS, min(-(-n // _PARTS), size // (2 * len(levels))))
        lengths = np.zeros(size)
        for first in range(0, n, width):
            some = np.ascontiguousarray(factor[:, first : first + width])
            known = np.ascontiguousarray(factor[:, : first + width])
            shape = known.shape[1], some.shape[1]
            sums = np.empty((len(rows), count, *shape), factor.dtype)
            for row, total in zip(rows, sums, strict=True):
                weighted = inward[row].T[:, :, None] * some[row]
                np.matmul(adjoint(known[row]), weighted, out=total)
            sums = sums.reshape(len(levels), -1)
            for row, weights in zip(rows, kernel, strict=True):
                mixed = (weights @ sums).reshape(count, *shape)
                mixed[:, :first] *= 2  # stands for the rows below as well
                found = np.einsum("mij,ij->im", known[row] @ mixed, some[row].conj()).real
                lengths[row] += np.einsum("im,im->i", found, outward[row])
        return np.maximum(lengths, 0)


def _error(count: int) -> float:
    """A bound of the relative error of ``s`` interpolated at `count` nodes in both variables.

    On a circle of radius 2, ``|s|`` is at most ``e**2`` times its value in the centre. So the
    ``m``-th derivative is at most ``m! e**2 / 2**m`` times that, by Cauchy, and interpolation in a
    cell of half-width ``h`` has an error of at most ``2 e**2 (h / 4)**m`` times the largest value
    of ``s`` in the cell, which is at most ``exp(2 h)`` times any other. The second interpolation
    enlarges the error of the first by at most the Lebesgue constant of the nodes.
    """
    spread = np.exp(_CELL)
    once = 2 * np.exp(2) * spread / _ONE_NODE_FEWER**count
    lebesgue = 1 + 2 / np.pi * np.log(count)
    return float(once * (1 + lebesgue * spread))


def _lagrange(nodes: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Lagrange polynomials of the nodes, ``(len(at), len(nodes))``."""
    result = np.ones((len(at), len(nodes)))
    for one, node in enumerate(nodes):
        for other in np.delete(nodes, one):
            result[:, one] *= (at - other) / (node - other)
    return result
