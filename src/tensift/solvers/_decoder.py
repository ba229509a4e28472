"""The best decoder of sparse PCA for a given encoder: the nearest orthonormal columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, first_peak, squared_modulus
from tensift.solvers._coupling import Coupling

__all__ = ["best_decoder", "polar_factor"]

_DEPENDENT = 1e-8  # a row that loses all but this share of its length gives no new direction


def polar_factor(matrices: NDArray) -> NDArray:
    """The orthonormal columns nearest to those of every matrix ``(p, q, k)``, ``k <= q``."""
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    return left @ right


def best_decoder(
    gram: NDArray, images: NDArray, dead: NDArray[np.bool_], coupling: Coupling | None
) -> NDArray:
    """The decoders that maximise ``Re Tr(U^H S Q)``.

    Parameters
    ----------
    gram : ndarray of shape (p, q, q)
        The Gram matrices ``S``.
    images : ndarray of shape (p, q, k)
        ``S Q``.
    dead : ndarray of bool, shape (p, k)
        Which columns of ``Q`` are zero. Their decoders do not change the objective. They are
        placed along the longest row of the rest of ``S``, where some entry of the encoder is
        pulled away from zero most strongly. So a component comes back if it can.
    coupling : Coupling or None
        Given if the penalty is on entries of the original domain.
    """
    decoder = polar_factor(images)
    if not dead.any():
        return decoder
    decoder = np.where(dead[:, None, :], 0, decoder)
    for component in np.flatnonzero(dead.any(axis=0)):
        index = np.flatnonzero(dead[:, component])
        decoder[index, :, component] = _hardest_pull(gram[index], decoder[index], coupling)
    return decoder


def _hardest_pull(gram: NDArray, taken: NDArray, coupling: Coupling | None) -> NDArray:
    """Unit vectors ``(p, q)`` along the longest row of ``S`` outside the columns `taken`."""
    rows = gram - (gram @ taken) @ adjoint(taken)
    sizes = np.sqrt(squared_modulus(rows).sum(axis=2))
    if coupling is None:
        row, phases = first_peak(sizes, axis=1), np.ones((len(gram), 1))
    else:
        reach = coupling.reach(sizes)
        position, best = np.unravel_index(first_peak(reach), reach.shape)
        row, phases = np.full(len(gram), best), coupling.phases(int(position))[:, None]
    slices = np.arange(len(gram))
    # If the samples span no other direction, take the unit vector that is covered least.
    length = np.sqrt(squared_modulus(gram).sum(axis=2).max(axis=1))
    spent = sizes[slices, row] <= _DEPENDENT * length
    free = 1 - squared_modulus(taken).sum(axis=2)
    row = np.where(spent, free.argmax(axis=1), row)
    vectors = (
        np.where(spent[:, None], np.eye(gram.shape[1])[row], rows[slices, row].conj()) * phases
    )
    for _ in range(2):  # twice: once is not orthogonal to full precision
        vectors = vectors - (taken @ (adjoint(taken) @ vectors[:, :, None]))[:, :, 0]
        vectors = vectors / np.sqrt(squared_modulus(vectors).sum(axis=1, keepdims=True))
    return vectors
