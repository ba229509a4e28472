"""The formulas of the exact solver: its bound, its candidates and its column weights.

They are written once, for NumPy and for arrays on any device (see `_algebra`). The two loops that
use them are separate: the loop on the host drops finished slices and looks at values to save work,
and the loop on a device must not, because its steps are recorded.

In all of them ``S`` is a Gram matrix and ``T = S + ridge I``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensift.solvers._algebra import Algebra, HostAlgebra

__all__ = [
    "best_multiple",
    "best_sizes",
    "column_weights",
    "curvature_of",
    "cut_to_support",
    "gradient_of_norms",
    "is_closed",
    "kept_shares",
    "lower_bound",
    "parts_of_value",
    "scaling_of",
]

Array = Any  # of any namespace of the array API
AnyAlgebra = Algebra | HostAlgebra

_ROUNDING = 8 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
_NO_CURVATURE = 1e-100  # instead of zero; dividing by it does not overflow
_ROUNDS = 5  # of reweighting
_LEAST_NORM = 1e-8  # column norms are not divided by less
_SMALLEST_COLUMN = 3e-3  # a share of the largest, below which columns are weighted alike
_DEAD = 1e-8  # a share of the largest, below which columns count as zero


# The certificate


def curvature_of(algebra: AnyAlgebra, values: Array, ridge: Array) -> Array:
    """``s_a + s_b + 2 ridge``: in the eigenbasis of ``S``, ``T A + A T`` is this times ``A``.

    It is never zero, so that it can be divided by: where nothing curves, the bound is very low.
    """
    curvature = values[:, :, None] + values[:, None, :] + 2 * ridge[:, :, None]
    return algebra.at_least(curvature, _NO_CURVATURE)


def lower_bound(
    algebra: AnyAlgebra, values: Array, pull: Array, curvature: Array, multipliers: Array
) -> Array:
    """A value that no feasible operator can go below, for every slice.

    For a matrix ``G`` with columns of norm at most ``lam`` and a positive semidefinite ``Z``, the
    objective is at least ``Tr(A T A) - <2 S - eta I - herm(G) + Z, A> + Tr(S)``. The minimum of
    this over all Hermitian ``A`` solves a Lyapunov equation, which is diagonal in the eigenbasis
    of ``S``: ``Tr(S) - 1/2 sum_ab |R_ab|^2 / (s_a + s_b + 2 ridge)`` with
    ``R = 2 S - eta I - herm(G) + Z``.

    Parameters
    ----------
    algebra : Algebra or HostAlgebra
        The operations.
    values : array of shape (p, q)
        Eigenvalues of ``S``.
    pull : array of shape (p, q)
        The diagonal of ``2 S - eta I``.
    curvature : array of shape (p, q, q)
        As `curvature_of` returns it.
    multipliers : array of shape (p, q, q)
        ``herm(G) - Z`` in the eigenbasis.
    """
    xp = algebra.xp
    # One expression: NumPy then divides in place.
    terms = algebra.squared_modulus(algebra.less_diagonal(multipliers, pull)) / curvature
    # Both sums are about as large as the trace. Take off what rounding can add.
    return xp.sum(values, axis=1) * (1 - _ROUNDING) - xp.sum(terms, axis=(1, 2)) / 2


def parts_of_value(
    algebra: AnyAlgebra,
    rotated: Array,
    norms: Array,
    spectrum: Array,
    fit: Array,
    lam: Array,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """``a, b`` such that the objective at ``t A`` is ``a t^2 - b t + Tr(S)`` for ``t >= 0``.

    Parameters
    ----------
    algebra : Algebra or HostAlgebra
        The operations.
    rotated : array of shape (p, q, q)
        ``A`` in the eigenbasis of ``T``, or of ``T + diag(weights) / 2`` if there are `weights`.
    norms : array of shape (p, q)
        Norms of the columns of ``A`` in the original basis.
    spectrum : array of shape (p, q)
        Eigenvalues of the same matrix.
    fit : array of shape (p,)
        ``<2 S - eta I, A>``.
    lam : array of shape (p, 1)
        Weight of the column norms.
    weights : array of shape (p, q), optional
        Weights of the columns.
    """
    xp = algebra.xp
    quadratic = algebra.weighted_square(rotated, spectrum)
    if weights is not None:
        quadratic = quadratic - xp.sum(weights * norms**2, axis=1) / 2
    return quadratic, fit - lam[:, 0] * xp.sum(norms, axis=1)


def best_multiple(algebra: AnyAlgebra, quadratic: Array, linear: Array) -> tuple[Array, Array]:
    """Where ``quadratic t^2 - linear t`` is least for ``t >= 0``, and how low it is."""
    multiple = algebra.at_least(linear, 0.0) / algebra.at_least(2 * quadratic, algebra.tiny)
    return multiple, multiple * (multiple * quadratic - linear)


def best_sizes(
    algebra: AnyAlgebra, squares: Array, pull: Array, curvature: Array, lam: Array
) -> tuple[Array, Array, Array, Array]:
    """The best operators ``V diag(a) V^H`` with the eigenvectors ``V`` of ``S``.

    Their eigenvalues ``a`` minimise ``sum t a^2 - (2 s - eta) a + lam sum_c n_c`` over ``a >= 0``,
    with ``n_c^2 = sum_a |V_ca|^2 a^2``. This problem has only q unknowns, and one step takes of
    the order of q^2 operations; a few rounds of reweighting come close to its minimum.

    Parameters
    ----------
    algebra : Algebra or HostAlgebra
        The operations.
    squares : array of shape (p, q, q)
        ``|V|^2``.
    pull : array of shape (p, q, k)
        ``2 s - eta`` where it is positive, for each of k pairs of penalties.
    curvature : array of shape (p, q, 1)
        ``2 (s + ridge)``.
    lam : array of shape (p, 1, k)
        Weights of the column norms.

    Returns
    -------
    sizes, norms : array of shape (p, q, k)
        The eigenvalues, and the norms of the columns of the operators.
    multiple, value : array of shape (p, k)
        By what they were multiplied at the end, and how far the objective is from ``Tr(S)``.
    """
    xp = algebra.xp
    sizes = pull / algebra.at_least(curvature, algebra.tiny)
    for _ in range(_ROUNDS):
        norms = xp.sqrt(squares @ sizes**2)
        weights = squares.mT @ (1 / algebra.at_least(norms, _LEAST_NORM))
        sizes = pull / algebra.at_least(curvature + lam * weights, algebra.tiny)
    norms = xp.sqrt(squares @ sizes**2)
    quadratic = xp.sum(curvature * sizes**2, axis=1) / 2
    linear = xp.sum(pull * sizes, axis=1) - xp.sum(lam * norms, axis=1)
    multiple, value = best_multiple(algebra, quadratic, linear)
    return sizes * multiple[:, None, :], norms * multiple[:, None, :], multiple, value


def cut_to_support(
    algebra: AnyAlgebra, operators: Array, basis: Array, support: Array
) -> tuple[Array, Array]:
    """Set the rows and columns outside `support` to zero; the result in both bases.

    One copy of the operator is positive semidefinite, the other has columns that are exactly
    zero. A principal submatrix of a positive semidefinite matrix is one too, so the result has
    both properties: it is a candidate for the optimum.
    """
    operators = operators * (support[:, :, None] * support[:, None, :])
    return operators, algebra.adjoint(basis) @ operators @ basis


def is_closed(objective: Array, bound: Array, tol: float) -> Array:
    """Whether the duality gap is at most `tol` times the objective."""
    return objective - bound <= tol * np.abs(objective)


# Column norms


def column_weights(algebra: AnyAlgebra, lam: Array, norms: Array) -> Array:
    """The curvature of the column norms, ``lam / norm``, bounded and never zero."""
    largest = algebra.xp.max(norms, axis=1, keepdims=True)
    least = _SMALLEST_COLUMN * algebra.at_least(largest, 0.1)
    return lam / algebra.larger(norms, least) + 1e-10


def kept_shares(algebra: AnyAlgebra, sparse_in: Array, weights: Array, lam: Array) -> Array:
    """What soft thresholding leaves of each column, as a share of its norm."""
    norms = algebra.at_least(algebra.column_norms(sparse_in), _TINY)
    return algebra.at_least(1 - lam / weights / norms, 0.0)


def gradient_of_norms(algebra: AnyAlgebra, operators: Array, norms: Array, lam: Array) -> Array:
    """``lam`` times the unit vectors along the columns, zero for columns that have vanished."""
    xp = algebra.xp
    alive = norms > _DEAD * xp.max(norms, axis=1, keepdims=True)
    factors = lam / xp.where(alive, norms, xp.ones_like(norms))
    return operators * xp.where(alive, factors, xp.zeros_like(norms))[:, None, :]


def scaling_of(algebra: AnyAlgebra, spectrum: Array) -> Array:
    """The square root of the curvature, by which operators are scaled before projection."""
    root = algebra.xp.sqrt(algebra.xp.sqrt(spectrum))
    return root[:, :, None] * root[:, None, :]
