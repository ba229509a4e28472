"""Eigenvectors of stacks of positive semidefinite matrices, where the library's are slow.

Libraries for accelerators decompose stacks of small matrices quickly, up to an order of 32, and
larger ones a hundred times more slowly. So larger matrices are halved until they are small: the
invariant subspace of the upper half of the eigenvalues is found by matrix products, and a rotation
that separates it from the rest leaves two blocks of half the order.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import moved_to, namespace_of, to_numpy
from tensift._warnings import warn_user
from tensift.solvers.on_device._algebra import Algebra
from tensift.solvers.on_device._replay import Replayed
from tensift.solvers.on_device._sign import composition_for

__all__ = ["eigh", "eigh_by_products"]

Array = Any  # of any namespace of the array API

_SMALL = 32  # the order up to which libraries for accelerators are fast
_SQUASHES, _LARGEST_SHIFT = 4, 7.0
_PURIFICATIONS, _AT_ONCE = 56, 8
_FLOOR = 1e3  # of eigenvalues that are told apart, times the resolution and the trace
_TILT = 1e-5  # of a row beside the one before it, on a second attempt
_LEAST_COSINE = 1e-6  # between halves of eigenvectors and of unit vectors
_REFINEMENTS, _LARGEST_TURN = 8, 0.7
# Off the diagonal, and off orthonormality: what is good enough, and what is not good enough to go
# on with; times the resolution of the numbers, the order of the matrix and its norm.
_GOOD, _POOR = 4.0, 1e4


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of positive semidefinite matrices.

    By the library's own decomposition where that is fast, on the CPU and for small matrices, and
    by `eigh_by_products` otherwise.
    """
    algebra = Algebra(matrices)
    small = matrices.shape[-1] <= _SMALL
    if small or algebra.eps > 1e-9 or "cpu" in str(algebra.device).lower():
        return algebra.xp.linalg.eigh(matrices)
    return eigh_by_products(matrices)


def eigh_by_products(matrices: Array, *, small: int = _SMALL) -> tuple[Array, Array]:
    """Eigenvalues, ascending but for rounding, and eigenvectors, by halving down to `small`.

    Parameters
    ----------
    matrices : array of shape (p, q, q)
        Positive semidefinite matrices in double precision.
    small : int
        Blocks of this order and less are left to the library.

    Notes
    -----
    A matrix ``B`` of order m is squashed to ``F = B (B + s I)^-1``, with s such that about half of
    the eigenvalues of F are above 1/2: so the differences that count are relative to eigenvalues,
    not to the norm. Squaring F, or ``2 F - F^2``, whichever brings the trace nearer to m / 2,
    drives the eigenvalues to 0 and 1 and ends with the projector P onto the upper half (the
    trace-correcting purification of electronic structure theory). Columns of P and ``I - P`` make
    a matrix whose unitary polar factor separates the halves.

    Eigenvalues of different halves that nearly coincide are not told apart. What this leaves off
    the diagonal is of the size of their distance, and removed at the end by rotations of all pairs
    at once, the first terms of which are those of perturbation theory. Matrices for which that
    fails, such as those with the same eigenvalue many times over, are halved a second time with
    rows and columns scaled a little differently, which tells eigenvalues apart. If that fails too,
    they are decomposed by the library, with a warning.
    """
    algebra = Algebra(matrices)
    with np.errstate(all="ignore"):  # what fails is seen at the end
        values, vectors, poor = _halved(matrices, small, 0.0, algebra)
        if not poor.any():
            return values, vectors
        index = np.flatnonzero(poor)
        some = algebra.xp.take(matrices, moved_to(matrices, index), axis=0)
        new_values, new_vectors, poor = _halved(some, small, _TILT, algebra)
    if poor.any():
        warn_user(
            f"{np.count_nonzero(poor)} of {matrices.shape[0]} matrices were decomposed by the "
            "library's own eigh: products did not find their eigenvectors"
        )
        new_values, new_vectors = algebra.xp.linalg.eigh(some)
    return _with_rows(values, new_values, index), _with_rows(vectors, new_vectors, index)


def _with_rows(array: Array, rows: Array, index: NDArray[np.intp]) -> Array:
    """An array with some of its rows replaced."""
    xp = namespace_of(array)
    source = np.arange(array.shape[0])
    source[index] = array.shape[0] + np.arange(len(index))
    return xp.take(xp.concat([array, rows]), moved_to(array, source), axis=0)


def _halved(
    matrices: Array, small: int, tilt: float, algebra: Algebra
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Eigenvalues, eigenvectors, and which of them are not good enough."""
    xp = algebra.xp
    n_slices, size = matrices.shape[:2]
    halvings = max(0, math.ceil(math.log2(size / small)))
    order = -(-size // 2**halvings) * 2**halvings
    blocks = xp.reshape(_padded(matrices, order, algebra), (n_slices, 1, order, order))
    trace = algebra.trace(blocks)[..., None, None]
    floor = _FLOOR * algebra.eps * xp.where(trace > 0, trace, trace + 1)
    vectors = None
    for _ in range(halvings):
        scales = 1 + tilt * xp.arange(blocks.shape[-1], dtype=floor.dtype, device=algebra.device)
        tilted = blocks * (scales[:, None] * scales) if tilt else blocks
        rotation = _rotation_to_halves(tilted, floor, algebra)
        rotated = algebra.adjoint(rotation) @ blocks @ rotation
        rotated = xp.where(xp.isfinite(rotated), rotated, xp.zeros_like(rotated))
        vectors = rotation if vectors is None else _apply_blocks(vectors, rotation)
        half = rotated.shape[-1] // 2
        halves = xp.stack([rotated[..., :half, :half], rotated[..., half:, half:]], axis=2)
        blocks = xp.reshape(halves, (n_slices, -1, half, half))
    _, rotation = xp.linalg.eigh(algebra.hermitian_part(blocks))
    vectors = rotation if vectors is None else _apply_blocks(vectors, rotation)
    vectors = xp.permute_dims(xp.flip(vectors, axis=1), (0, 2, 1, 3))  # the upper halves last
    vectors = xp.reshape(vectors, (n_slices, order, order))
    return _refined(matrices, vectors[:, :size, :size], algebra)


def _padded(matrices: Array, order: int, algebra: Algebra) -> Array:
    """Matrices of a larger order, whose last eigenvalues are above all others."""
    xp = algebra.xp
    n_slices, size = matrices.shape[:2]
    if order == size:
        return matrices
    above = xp.tile(2 * algebra.trace(matrices)[:, None], (1, order - size))
    corner = algebra.diagonal_matrices(above)
    side = xp.zeros((n_slices, size, order - size), dtype=matrices.dtype, device=algebra.device)
    top = xp.concat([matrices, side], axis=2)
    return xp.concat([top, xp.concat([side.mT, corner], axis=2)], axis=1)


def _rotation_to_halves(blocks: Array, floor: Array, algebra: Algebra) -> Array:
    """Unitary matrices whose first columns span the upper half of the eigenvectors."""
    xp, order = algebra.xp, blocks.shape[-1]
    projector = _upper_projector(_squashed(blocks, floor, algebra), algebra)
    # The unit vectors nearest to the upper half become its columns: the matrix whose polar
    # factor is taken is then as far from singular as can be had for nothing.
    ranks = xp.argsort(-algebra.diagonal(projector), axis=-1, stable=True)
    ranks = xp.argsort(ranks, axis=-1)
    places = xp.arange(order, device=algebra.device)
    shuffle = xp.astype(ranks[..., :, None] == places, blocks.dtype)
    upper = projector @ shuffle
    return _polar_factor(xp.where(places < order // 2, upper, shuffle - upper), algebra)


def _polar_factor(matrices: Array, algebra: Algebra) -> Array:
    """The unitary matrix nearest to each square matrix that is not close to singular.

    Singular values are at most the square root of two.
    """
    algebra.identity(matrices.shape[-1])  # made before anything is recorded
    return Replayed(partial(_orthonormalised, algebra), "polar")(matrices)[0]


def _orthonormalised(algebra: Algebra, matrices: Array) -> tuple[Array]:
    identity = algebra.identity(matrices.shape[-1])
    matrices = math.sqrt(0.5) * matrices
    for a, b, c in composition_for(_LEAST_COSINE, algebra.eps).coefficients:
        square = algebra.adjoint(matrices) @ matrices
        matrices = matrices @ (square @ (c * square + b * identity) + a * identity)
    return (matrices,)


def _squashed(blocks: Array, floor: Array, algebra: Algebra) -> Array:
    """``B (B + s I)^-1`` with s such that the trace is about half of the order."""
    xp, order = algebra.xp, blocks.shape[-1]
    identity = algebra.identity(order)
    # Eigenvalues that are zero but for rounding are moved away from zero, where they have no sign,
    # and away from one another.
    grades = 1 + xp.arange(order, dtype=algebra.real_dtype, device=algebra.device) / order
    blocks = blocks + floor * algebra.diagonal_matrices(grades)
    # To begin with, the geometric mean of the eigenvalues.
    factors = algebra.diagonal(xp.linalg.cholesky(blocks))
    shift = xp.exp(2 * xp.mean(xp.log(algebra.at_least(factors, algebra.tiny)), axis=-1))
    for left in reversed(range(_SQUASHES)):
        amount = shift[..., None, None]
        squashed = identity - amount * xp.linalg.inv(blocks + amount * identity)
        if left:
            # Newton's step for the logarithm of the shift: the trace falls by Tr(F - F^2).
            trace = algebra.trace(squashed)
            slope = algebra.at_least(trace - algebra.norms(squashed) ** 2, 1e-3)
            step = (trace - order / 2) / slope
            shift = shift * xp.exp(xp.clip(step, min=-_LARGEST_SHIFT, max=_LARGEST_SHIFT))
    # Inverses have errors of up to a thousandth: keep clear of 0 and 1, beyond which is no return.
    return 0.96 * algebra.hermitian_part(squashed) + 0.02 * identity


def _upper_projector(matrices: Array, algebra: Algebra) -> Array:
    """The projector onto the upper half of the eigenvectors of matrices between 0 and I."""
    xp, order = algebra.xp, matrices.shape[-1]
    purify = Replayed(partial(_purified, algebra), "purify")
    for _ in range(_PURIFICATIONS // _AT_ONCE):
        matrices, distance = purify(matrices)
        if bool(xp.all(distance <= order * order * algebra.eps)):
            break
    matrices = algebra.hermitian_part(matrices)
    return xp.where(xp.isfinite(matrices), matrices, xp.zeros_like(matrices))


def _purified(algebra: Algebra, matrices: Array) -> tuple[Array, Array]:
    """Some steps of purification, and how far the eigenvalues were from 0 and 1 at the last."""
    for _ in range(_AT_ONCE):
        square, trace = matrices @ matrices, algebra.trace(matrices)
        distance = trace - algebra.trace(square)
        low = (trace < matrices.shape[-1] / 2)[..., None, None]
        matrices = algebra.xp.where(low, 2 * matrices - square, square)
    return matrices, distance


def _apply_blocks(vectors: Array, rotations: Array) -> Array:
    """Rotate columns block by block: ``(p, b, q, m)`` with ``(p, 2 b, m / 2, m / 2)``."""
    xp = namespace_of(vectors)
    n_slices, n_blocks, rows, order = vectors.shape
    half = rotations.shape[-1]
    columns = xp.reshape(vectors, (n_slices, n_blocks, rows, order // half, half))
    columns = xp.permute_dims(columns, (0, 1, 3, 2, 4))
    return xp.reshape(columns, (n_slices, -1, rows, half)) @ rotations


def _refined(
    matrices: Array, vectors: Array, algebra: Algebra
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Rotate nearly right eigenvectors until nothing is left off the diagonal."""
    xp, order = algebra.xp, matrices.shape[-1]
    identity = algebra.identity(order)
    resolution = algebra.eps * order
    for attempt in range(_REFINEMENTS + 1):
        rotated = algebra.adjoint(vectors) @ matrices @ vectors
        values = algebra.diagonal(rotated)
        off = rotated * (1 - identity)
        norm = resolution * xp.max(xp.abs(values), axis=-1)
        left = algebra.norms(off)
        if attempt == _REFINEMENTS or bool(xp.all(left <= _GOOD * norm)):
            break
        distance = values[..., None, :] - values[..., :, None]
        distance = xp.where(distance == 0, xp.full_like(distance, algebra.tiny), distance)
        length = xp.abs(off) + algebra.tiny
        angle = 0.5 * xp.atan(2 * length / distance) / length
        matters = length > (2 / order) * norm[:, None, None]
        turn = xp.where(matters, angle, xp.zeros_like(angle)) * off
        # Many large angles at once would turn too far.
        limit = _LARGEST_TURN / algebra.at_least(algebra.norms(turn), _LARGEST_TURN)
        turn = limit[:, None, None] * turn
        # The beginning of the exponential, made orthonormal.
        vectors = vectors + vectors @ (turn + 0.5 * (turn @ turn))
        for _ in range(2):
            vectors = 1.5 * vectors - 0.5 * (vectors @ (algebra.adjoint(vectors) @ vectors))
    skew = algebra.norms(algebra.adjoint(vectors) @ vectors - identity)
    poor = ~((left <= _POOR * norm) & (skew <= _POOR * resolution))
    return values, vectors, to_numpy(poor)
