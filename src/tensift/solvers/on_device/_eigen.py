"""Eigenvectors of stacks of positive semidefinite matrices, where the library is slow.

Libraries for accelerators are fast for matrices up to order 32 and a hundred times slower for
larger ones. So larger matrices are halved until they are small. Matrix products find the invariant
subspace of the upper half of the eigenvalues. A rotation that separates it from the rest leaves two
blocks of half the order.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import moved_to, namespace_of, to_numpy
from tensift._utils.warnings import warn_user
from tensift.solvers._algebra import Algebra
from tensift.solvers.on_device._replay import Replayed
from tensift.solvers.on_device._sign import composition_for

__all__ = ["eigh", "eigh_by_products"]

Array = Any  # of any namespace of the array API

_SMALL = 32  # the order up to which libraries for accelerators are fast
_SQUASHES, _LARGEST_SHIFT = 4, 7.0
_PURIFICATIONS, _AT_ONCE = 56, 8
_FLOOR = 1e3  # times machine epsilon times the trace: smaller eigenvalues count as zero
_TILT = 1e-5  # relative difference in scale of neighbouring rows, on the second attempt
_LEAST_COSINE = 1e-6  # between the subspace of half the eigenvectors and half the unit vectors
_REFINEMENTS, _LARGEST_TURN = 8, 0.7
# Errors of diagonality and orthonormality that are good enough, and that are too large to accept;
# times machine epsilon, the order of the matrix and its norm.
_GOOD, _POOR = 4.0, 1e4


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of positive semidefinite matrices.

    On the CPU and for small matrices the library's own decomposition is fast and is used. All
    others are left to `eigh_by_products`.
    """
    algebra = Algebra(matrices)
    small = matrices.shape[-1] <= _SMALL
    if small or algebra.eps > 1e-9 or "cpu" in str(algebra.device).lower():
        return algebra.xp.linalg.eigh(matrices)
    return eigh_by_products(matrices)


def eigh_by_products(matrices: Array, *, small: int = _SMALL) -> tuple[Array, Array]:
    """Eigenvalues, ascending up to rounding, and eigenvectors, by halving down to order `small`.

    Parameters
    ----------
    matrices : array of shape (p, q, q)
        Positive semidefinite matrices in double precision.
    small : int
        Blocks of at most this order are left to the library.

    Notes
    -----
    A matrix ``B`` of order m is mapped to ``F = B (B + s I)^-1``. The shift s is chosen so that
    about half of the eigenvalues of F are above 1/2. This makes relative differences of eigenvalues
    count, not differences relative to the norm. Then F is replaced by ``F^2`` or by ``2 F - F^2``,
    whichever brings the trace closer to m / 2, until the eigenvalues are 0 and 1. The limit is the
    projector P onto the upper half (trace-correcting purification, known from electronic structure
    theory). Columns of P and of ``I - P`` form a matrix whose unitary polar factor separates the
    halves.

    This does not separate eigenvalues of different halves that nearly coincide. The error that it
    leaves off the diagonal is as small as their distance. At the end it is removed by rotating all
    pairs at once, by the angles of perturbation theory to first order. This fails for some
    matrices, such as those with one eigenvalue many times. They are halved again with slightly
    rescaled rows and columns, which separates the eigenvalues. If this fails too, the library
    decomposes them, with a warning.
    """
    algebra = Algebra(matrices)
    with np.errstate(all="ignore"):  # failures are detected at the end
        values, vectors, poor = _halved(matrices, small, 0.0, algebra)
        if not poor.any():
            return values, vectors
        index = np.flatnonzero(poor)
        some = algebra.xp.take(matrices, moved_to(matrices, index), axis=0)
        new_values, new_vectors, poor = _halved(some, small, _TILT, algebra)
    if poor.any():
        warn_user(
            f"{np.count_nonzero(poor)} of {matrices.shape[0]} matrices were decomposed by the "
            "library's own eigh, which is slower: products did not find their eigenvectors"
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
    """Eigenvalues, eigenvectors, and which matrices are not decomposed well enough."""
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
    """Matrices padded to a larger order; the added eigenvalues are above all others."""
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
    # Use the unit vectors nearest to the upper half. This costs nothing and keeps the matrix of
    # the polar factor away from being singular.
    ranks = xp.argsort(-algebra.diagonal(projector), axis=-1, stable=True)
    ranks = xp.argsort(ranks, axis=-1)
    places = xp.arange(order, device=algebra.device)
    shuffle = xp.astype(ranks[..., :, None] == places, blocks.dtype)
    upper = projector @ shuffle
    return _polar_factor(xp.where(places < order // 2, upper, shuffle - upper), algebra)


def _polar_factor(matrices: Array, algebra: Algebra) -> Array:
    """The unitary matrix nearest to each square matrix.

    Singular values must be at most the square root of two, and not close to zero.
    """
    algebra.identity(matrices.shape[-1])  # make it before anything is recorded
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
    # Eigenvalues that are zero up to rounding are moved away from zero, where rounding would
    # decide their sign, and away from each other.
    grades = 1 + xp.arange(order, dtype=algebra.real_dtype, device=algebra.device) / order
    blocks = blocks + floor * algebra.diagonal_matrices(grades)
    # Start with the geometric mean of the eigenvalues.
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
    # Inverses are off by up to a thousandth. Stay inside (0, 1): purification diverges outside.
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
    """Some steps of purification, and how far eigenvalues were from 0 and 1 before the last."""
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
    """Rotate approximate eigenvectors until the matrices are diagonal."""
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
        # Many large angles together would rotate too far.
        limit = _LARGEST_TURN / algebra.at_least(algebra.norms(turn), _LARGEST_TURN)
        turn = limit[:, None, None] * turn
        # The first terms of the matrix exponential, then orthonormalised.
        vectors = vectors + vectors @ (turn + 0.5 * (turn @ turn))
        for _ in range(2):
            vectors = 1.5 * vectors - 0.5 * (vectors @ (algebra.adjoint(vectors) @ vectors))
    skew = algebra.norms(algebra.adjoint(vectors) @ vectors - identity)
    poor = ~((left <= _POOR * norm) & (skew <= _POOR * resolution))
    return values, vectors, to_numpy(poor)
