"""Non-negative, nearly orthogonal weights of features that a residual hardly sees.

``min ||A H||_1 + alpha / 4 ||H'H - I||^2`` over ``H >= 0``, by multipliers: the product ``A H``
gets a variable ``M`` of its own, and ``H``, ``M`` and the multiplier ``Y`` take turns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import diagonal_of

__all__ = ["bold_sweeps", "embed", "embedding_objective", "published_sweeps"]

_EPS = np.finfo(float).eps
_GROWTH, _LARGEST_WEIGHT = 1.1, 1e10  # of the weight of ||M - A H||^2
_PUBLISHED_SWEEPS = 30
_BOLD_SWEEPS = 10
_LEAST_EXPONENT, _LARGEST_EXPONENT = 0.25, 8.0
_VANISHED = 1e-150  # below, squares are zero and arithmetic is slow

# Improves H for a target T = weight * M + Y and a weight.
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
    """``H`` and the objective after every turn, from a positive start."""
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


def published_sweeps(A: NDArray, alpha: float) -> Sweeps:
    """The published step: the gradient's positive part divides its negative part, under a root.

    The parts of ``G = A'A`` are taken entry by entry. With ``|G|``, the only ``d x d`` matrix, and
    ``G H = A'(A H)`` both are at hand: ``G^+ H = (|G| H + G H) / 2``.
    """
    modulus = np.abs(A.T @ A)

    def sweep(H: NDArray, M: NDArray, Y: NDArray, weight: float) -> NDArray:
        AM, AY = A.T @ M, A.T @ Y
        pull = weight * np.maximum(AM, 0) + np.maximum(AY, 0)
        push = weight * np.maximum(-AM, 0) + np.maximum(-AY, 0) + _EPS
        for _ in range(_PUBLISHED_SWEEPS):
            H = H / np.sqrt(np.sum(H**2, axis=0) + _EPS)
            GH, modulus_H = A.T @ (A @ H), modulus @ H
            # By rounding alone the negative part could be below zero.
            top = alpha * H + pull + weight / 2 * np.maximum(modulus_H - GH, 0)
            bottom = alpha * (H @ (H.T @ H)) + push + weight / 2 * (modulus_H + GH)
            H = H * np.sqrt(top / bottom)
        return H

    return sweep


def bold_sweeps(A: NDArray, alpha: float) -> Sweeps:
    """Multiplicative steps, as long as they can be, on columns of length one from the start on.

    - ``|G|`` is replaced by its bound ``s s'``, with the lengths ``s`` of the columns of ``A``, so
      that no ``d x d`` matrix is needed and a step costs ``O(min(n, d) d m + d m^2)``.
    - The columns of ``H`` stay on the unit sphere. Of the gradient only the tangential part counts.
    - The exponent of the ratio, 1/2 as published, grows while the augmented Lagrangian falls. A
      step that makes it rise is taken back and repeated with half the exponent.
    """
    lengths = np.linalg.norm(A, axis=0)
    gram = A.T @ A if A.shape[1] <= len(A) else None
    exponent = 1.0

    def sweep(H: NDArray, M: NDArray, Y: NDArray, weight: float) -> NDArray:
        nonlocal exponent
        target = A.T @ (weight * M + Y)
        pull, push = np.maximum(target, 0), np.maximum(-target, 0) + _EPS
        last, log_ratio, before = H, np.zeros_like(H), np.inf
        for left in range(_BOLD_SWEEPS, -1, -1):
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
            # In place, as fresh memory would take as long as the arithmetic.
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
            # What is added to both sides damps the ratio, in proportion to the gradient's size.
            damping = np.einsum("ij,ij->j", H, bottom)
            radial = alpha * crossing + quadratic - linear
            top += (damping + np.maximum(radial, 0)) * H
            bottom += (damping + np.maximum(-radial, 0)) * H
            log_ratio = np.divide(top, bottom, out=top)
            with np.errstate(divide="ignore"):  # an entry whose numerator is zero becomes zero
                np.log(log_ratio, out=log_ratio)
            last, H = H, _stepped(H, log_ratio, exponent)
        return H

    return sweep


def _stepped(H: NDArray, log_ratio: NDArray, exponent: float) -> NDArray:
    """`H` times a power of the ratio, in columns of length one."""
    stepped = exponent * log_ratio
    np.exp(stepped, out=stepped)
    stepped *= H
    stepped[stepped < _VANISHED] = 0
    stepped /= np.sqrt(np.einsum("ij,ij->j", stepped, stepped))
    return stepped
