"""The optimisation of RNE: non-negative, nearly orthogonal weights that make a residual small.

Minimise ``||A H||_1 + alpha / 4 ||H'H - I||^2`` over ``H >= 0`` by an augmented Lagrangian method.
A separate variable ``M`` stands for the product ``A H``; we update ``H``, ``M`` and the multiplier
``Y`` in turn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import diagonal_of

__all__ = ["embed", "embedding_objective", "fast_sweeps", "paper_sweeps"]

_EPS = np.finfo(float).eps
_GROWTH, _LARGEST_WEIGHT = 1.1, 1e10  # the weight of ||M - A H||^2: growth per turn and limit
_PAPER_SWEEPS = 30
_FAST_SWEEPS = 10
_LEAST_EXPONENT, _LARGEST_EXPONENT = 0.25, 8.0
_SMALLEST_ENTRY = 1e-150  # squares of smaller entries underflow, which is slow

# A function of H, M, Y and the weight that returns a better H.
Sweeps = Callable[[NDArray, NDArray, NDArray, float], NDArray]


def embed(
    A: NDArray,
    H: NDArray,
    alpha: float,
    sweeps: Sweeps,
    *,
    first_weight: float,
    max_iter: int,
    tol: float,
    report: Callable[[int], None],
) -> tuple[NDArray, list[float]]:
    """Return ``H`` and the objective after every turn, from a positive start."""
    M, Y, weight = A @ H, np.zeros((len(A), H.shape[1])), first_weight
    path: list[float] = []
    while len(path) < max_iter:
        H = sweeps(H, M, Y, weight)
        AH = A @ H
        shifted = AH - Y / weight
        M = np.sign(shifted) * np.maximum(np.abs(shifted) - 1 / weight, 0)
        Y = Y + weight * (M - AH)
        weight = min(_GROWTH * weight, _LARGEST_WEIGHT)
        path.append(embedding_objective(AH, H, alpha))
        report(len(path))
        if len(path) > 1 and abs(path[-2] - path[-1]) < tol * path[-2]:
            break
    return H, path


def embedding_objective(AH: NDArray, H: NDArray, alpha: float) -> float:
    """``||A H||_1 + alpha / 4 ||H'H - I||^2``."""
    deviation = H.T @ H
    diagonal_of(deviation)[:] -= 1
    return float(np.abs(AH).sum() + alpha / 4 * np.sum(deviation**2))


def paper_sweeps(A: NDArray, alpha: float) -> Sweeps:
    """Make the published step: multiply by ``sqrt(negative / positive part of the gradient)``.

    ``G = A'A`` is split into its positive and negative entries, ``G = G^+ - G^-``. Both products
    follow from ``|G|``, the only ``d x d`` matrix, and ``G H = A'(A H)``:
    ``G^+ H = (|G| H + G H) / 2``.
    """
    modulus = np.abs(A.T @ A)

    def sweep(H: NDArray, M: NDArray, Y: NDArray, weight: float) -> NDArray:
        AM, AY = A.T @ M, A.T @ Y
        pull = weight * np.maximum(AM, 0) + np.maximum(AY, 0)
        push = weight * np.maximum(-AM, 0) + np.maximum(-AY, 0) + _EPS
        for _ in range(_PAPER_SWEEPS):
            H = H / np.sqrt(np.sum(H**2, axis=0) + _EPS)
            GH, modulus_H = A.T @ (A @ H), modulus @ H
            # Rounding errors could make the negative part smaller than zero.
            top = alpha * H + pull + weight / 2 * np.maximum(modulus_H - GH, 0)
            bottom = alpha * (H @ (H.T @ H)) + push + weight / 2 * (modulus_H + GH)
            H = H * np.sqrt(top / bottom)
        return H

    return sweep


def fast_sweeps(A: NDArray, alpha: float) -> Sweeps:
    """Make multiplicative steps that are as long as possible, on columns of norm 1.

    - ``|G|`` is replaced by its upper bound ``s s'``, where ``s`` are the norms of the columns of
      ``A``. This needs no ``d x d`` matrix, and a step costs ``O(min(n, d) d m + d m^2)``.
    - The columns of ``H`` stay on the unit sphere, so only the tangential part of the gradient
      counts.
    - The exponent of the ratio (1/2 in the paper) grows while the augmented Lagrangian falls. A
      step that makes it rise is undone and repeated with half the exponent.
    """
    lengths = np.linalg.norm(A, axis=0)
    gram = A.T @ A if A.shape[1] <= len(A) else None
    exponent = 1.0

    def sweep(H: NDArray, M: NDArray, Y: NDArray, weight: float) -> NDArray:
        nonlocal exponent
        target = A.T @ (weight * M + Y)
        pull, push = np.maximum(target, 0), np.maximum(-target, 0) + _EPS
        last, log_ratio, before = H, np.zeros_like(H), np.inf
        for left in range(_FAST_SWEEPS, -1, -1):
            GH = A.T @ (A @ H) if gram is None else gram @ H
            GH *= weight
            overlap = H.T @ H
            diagonal_of(overlap)[:] = 0
            crossing = np.sum(overlap**2, axis=0)
            quadratic, linear = np.einsum("ij,ij->j", H, GH), np.einsum("ij,ij->j", H, target)
            now = float(np.sum(alpha / 4 * crossing + quadratic / 2 - linear))
            if now > before and exponent > _LEAST_EXPONENT:
                exponent, before = max(_LEAST_EXPONENT, exponent / 2), np.inf
                H = _stepped(last, log_ratio, exponent)
                continue
            if left == 0:
                break
            exponent, before = min(_LARGEST_EXPONENT, 1.1 * exponent), now
            # In place, because allocating memory would take as long as the arithmetic.
            positive = np.outer(weight * lengths, lengths @ H)
            positive += GH
            positive /= 2
            bottom = H @ overlap
            bottom *= alpha
            bottom += push
            bottom += positive
            top = np.subtract(positive, GH, out=positive)
            np.maximum(top, 0, out=top)
            top += pull
            # Adding the same to both sides damps the ratio, in proportion to the gradient.
            damping = np.einsum("ij,ij->j", H, bottom)
            radial = alpha * crossing + quadratic - linear
            top += (damping + np.maximum(radial, 0)) * H
            bottom += (damping + np.maximum(-radial, 0)) * H
            log_ratio = np.divide(top, bottom, out=top)
            with np.errstate(divide="ignore"):  # log(0): that entry of H becomes zero
                np.log(log_ratio, out=log_ratio)
            last, H = H, _stepped(H, log_ratio, exponent)
        return H

    return sweep


def _stepped(H: NDArray, log_ratio: NDArray, exponent: float) -> NDArray:
    """Return `H` times a power of the ratio, with columns scaled to norm 1."""
    stepped = exponent * log_ratio
    np.exp(stepped, out=stepped)
    stepped *= H
    stepped[stepped < _SMALLEST_ENTRY] = 0
    stepped /= np.sqrt(np.einsum("ij,ij->j", stepped, stepped))
    return stepped
