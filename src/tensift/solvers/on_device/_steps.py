"""The steps of the certified solver: functions of arrays alone, which can be recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensift.solvers._exact import _BALANCE, _BALANCE_BY, _RELAXATION
from tensift.solvers.on_device._algebra import Algebra
from tensift.solvers.on_device._sign import Sign, semidefinite_parts
from tensift.solvers.on_device._start import Diagonal, Start, best_multiple, column_weights

__all__ = [
    "advanced",
    "balanced",
    "begun",
    "certified",
    "kept_shares",
    "projected",
    "scaled_lift",
    "scaling_of",
]

Array = Any  # of any namespace of the array API

_ROUNDING = 8 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)


def begun(
    algebra: Algebra,
    project: Callable[[Array], tuple[Array, Array, Array]],
    values: Array,
    vectors: Array,
    lam: Array,
    eta: Array,
    ridge: Array,
    unit: Array,
    warm: Array | None = None,
) -> tuple[Array, ...]:
    """The state of the method before its first step."""
    problems = Diagonal(algebra, values, vectors, lam, eta, ridge, unit)
    start = Start.of(problems)
    if warm is not None:
        start = start.or_better(problems, warm)
    weights = column_weights(algebra, lam, start.norms)
    weights = algebra.xp.mean(weights, axis=1, keepdims=True)
    spectrum = values + ridge + weights / 2
    scaling = scaling_of(spectrum)
    balance = algebra.xp.full_like(weights[:, :, None], 2.0)
    lift, damping = scaled_lift(scaling, spectrum, balance)
    pull = algebra.diagonal_matrices(problems.pull)
    slope = problems.rotate(algebra.hermitian_part(start.gradient))
    slope = slope + problems.curvature * start.rotated - pull
    sparse_in = start.operators + start.gradient / weights[:, :, None]
    weights = algebra.xp.zeros_like(values) + weights
    kept = kept_shares(algebra, sparse_in, weights, lam)
    conic_in = algebra.hermitian_part(scaling * start.rotated - slope / lift)
    half_sign, modulus, conic = project(conic_in)
    state = (sparse_in, kept, conic_in, half_sign, modulus, conic)
    return (*state, weights, spectrum, pull, scaling, balance, lift, damping)


def scaling_of(spectrum: Array) -> Array:
    """The square root of the curvature, by which the cone is entered."""
    root = spectrum**0.25
    return root[:, :, None] * root[:, None, :]


def scaled_lift(scaling: Array, spectrum: Array, balance: Array) -> tuple[Array, Array]:
    """From scaled multipliers of the cone to those of the problem; and the quadratic step."""
    lift = scaling * balance
    return lift, 1 / (lift * scaling + (spectrum[:, :, None] + spectrum[:, None, :]))


def balanced(
    algebra: Algebra,
    moves: Array,
    conic: Array,
    conic_in: Array,
    balance: Array,
    scaling: Array,
    spectrum: Array,
) -> tuple[Array, ...]:
    """The cone's new weight, what depends on it, and variables with the same multipliers."""
    xp = algebra.xp
    moves = algebra.at_least(moves, _TINY)
    ratio = xp.log(moves[:, 0] / moves[:, 1] / (moves[:, 2] / moves[:, 3]))
    steps = xp.astype(ratio > _BALANCE, ratio.dtype) - xp.astype(ratio < -_BALANCE, ratio.dtype)
    factor = xp.exp(steps * math.log(_BALANCE_BY))[:, None, None]
    balance = balance * factor
    lift, damping = scaled_lift(scaling, spectrum, balance)
    conic_in = conic + (conic_in - conic) / factor
    return balance, lift, damping, conic_in, 2 * conic - conic_in


def kept_shares(algebra: Algebra, sparse_in: Array, weights: Array, lam: Array) -> Array:
    """The share of each column that is left of it after shrinking."""
    norms = algebra.at_least(algebra.column_norms(sparse_in), _TINY)
    return algebra.at_least(1 - lam / (weights * norms), 0.0)


def projected(algebra: Algebra, sign: Sign, conic_in: Array) -> tuple[Array, Array, Array]:
    """Half the sign of Hermitian matrices, their modulus, and their positive part."""
    half_sign = sign(conic_in)
    half = half_sign @ conic_in
    modulus = half + algebra.adjoint(half)
    return half_sign, modulus, 0.5 * (conic_in + modulus)


def advanced(
    algebra: Algebra,
    project: Callable[[Array], tuple[Array, Array, Array]],
    watched: bool,
    sparse_in: Array,
    kept: Array,
    conic_in: Array,
    modulus: Array,
    conic: Array,
    weights: Array,
    lam: Array,
    basis: Array,
    pull: Array,
    lift: Array,
    scaling: Array,
    damping: Array,
) -> tuple[Array, ...]:
    """One step, and what `_balance` asks: how far the copies are apart, and how far they move."""
    adjoint = algebra.adjoint
    reflected = sparse_in * (weights * (kept - 0.5))[:, None, :]
    right = adjoint(basis) @ (reflected + adjoint(reflected)) @ basis
    right = (right + pull + lift * modulus) * damping
    step = basis @ right @ adjoint(basis) - sparse_in * kept[:, None, :]
    sparse_in = sparse_in + _RELAXATION * step
    kept = kept_shares(algebra, sparse_in, weights, lam)
    step, before = right * scaling - conic, conic
    conic_in = conic_in + _RELAXATION * step
    half_sign, modulus, conic = project(conic_in)
    state = (sparse_in, kept, conic_in, half_sign, modulus, conic)
    if not watched:
        return state
    moves = [algebra.norms(m) for m in (step, conic, conic - before, conic_in - conic)]
    return (*state, algebra.xp.stack(moves, axis=1))


def certified(
    algebra: Algebra,
    turned: bool,
    sparse_in: Array,
    kept: Array,
    half_sign: Array,
    modulus: Array,
    weights: Array,
    basis: Array,
    turn: Array,
    pull: Array,
    lift: Array,
    scaling: Array,
    spectrum: Array,
    values: Array,
    lam: Array,
    eta: Array,
    ridge: Array,
) -> tuple[Array, Array]:
    """Feasible operators; and their best multiple, a proven bound and the objective, ``(3, p)``."""
    xp, adjoint = algebra.xp, algebra.adjoint
    identity = algebra.identity(half_sign.shape[-1])
    positive, negative = semidefinite_parts(half_sign, modulus, identity)
    gradient = algebra.hermitian_part(sparse_in * (weights * (1 - kept))[:, None, :])
    multipliers = adjoint(basis) @ gradient @ basis - lift * negative
    if turned:
        multipliers = turn @ multipliers @ adjoint(turn)
    residual = algebra.diagonal_matrices(2 * values - eta) - multipliers
    curvature = values[:, :, None] + (values + 2 * ridge)[:, None, :]
    terms = algebra.squared_modulus(residual) / algebra.at_least(curvature, _TINY)
    trace = xp.sum(values, axis=1)
    bound = trace * (1 - _ROUNDING) - xp.sum(terms, axis=(1, 2)) / 2

    # Rows and columns that are zero in one copy are made so in the other.
    support = xp.astype(kept > 0, kept.dtype)
    operators = basis @ (positive / scaling) @ adjoint(basis)
    operators = operators * (support[:, :, None] * support[:, None, :])
    rotated = adjoint(basis) @ operators @ basis
    norms = algebra.column_norms(operators)
    # T is the metric less the weights.
    quadratic = xp.sum(algebra.squared_modulus(rotated) * spectrum[:, :, None], axis=(1, 2))
    quadratic = quadratic - xp.sum(weights * norms**2, axis=1) / 2
    linear = xp.sum(algebra.real(adjoint(pull).mT * rotated), axis=(1, 2))
    linear = linear - lam[:, 0] * xp.sum(norms, axis=1)
    # The best multiple of the operator is explicit.
    multiple, value = best_multiple(algebra, quadratic, linear)
    found = operators * multiple[:, None, None]
    return found, xp.stack([multiple, bound, value + trace])
