"""The steps of the exact solver as functions of arrays only, so that they can be recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensift.solvers._algebra import Algebra
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import (
    best_multiple,
    column_weights,
    curvature_of,
    cut_to_support,
    kept_shares,
    lower_bound,
    parts_of_value,
    scaling_of,
)
from tensift.solvers._splitting import _BALANCE, _BALANCE_BY, _RELAXATION
from tensift.solvers._start import Start
from tensift.solvers.on_device._sign import Sign, semidefinite_parts

__all__ = [
    "advanced",
    "balanced",
    "begun",
    "certified",
    "projected",
    "scaled_lift",
]

Array = Any  # of any namespace of the array API

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
    problems = DiagonalProblems(algebra, values, vectors, lam, eta, ridge, unit)
    start = Start.of(problems)
    if warm is not None:
        start = start.or_better(problems, warm)
    weights = column_weights(algebra, lam, start.norms)
    weights = algebra.xp.mean(weights, axis=1, keepdims=True)
    spectrum = values + ridge + weights / 2
    scaling = scaling_of(algebra, spectrum)
    balance = algebra.xp.full_like(weights[:, :, None], 2.0)
    lift, damping = scaled_lift(scaling, spectrum, balance)
    pull = algebra.diagonal_matrices(problems.pull)
    slope = problems.rotate(algebra.hermitian_part(start.gradient))
    slope = slope + problems.gradient(start.rotated)
    sparse_in = start.operators + start.gradient / weights[:, :, None]
    weights = algebra.xp.zeros_like(values) + weights
    kept = kept_shares(algebra, sparse_in, weights, lam)
    conic_in = algebra.hermitian_part(scaling * start.rotated - slope / lift)
    half_sign, modulus, conic = project(conic_in)
    state = (sparse_in, kept, conic_in, half_sign, modulus, conic)
    return (*state, weights, spectrum, pull, scaling, balance, lift, damping)


def scaled_lift(scaling: Array, spectrum: Array, balance: Array) -> tuple[Array, Array]:
    """The factor of multipliers of the cone that undoes scaling, and that of the quadratic step."""
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
    """The new weight of the cone, its dependants, and variables with unchanged multipliers."""
    xp = algebra.xp
    moves = algebra.at_least(moves, _TINY)
    ratio = xp.log(moves[:, 0] / moves[:, 1] / (moves[:, 2] / moves[:, 3]))
    steps = xp.astype(ratio > _BALANCE, ratio.dtype) - xp.astype(ratio < -_BALANCE, ratio.dtype)
    factor = xp.exp(steps * math.log(_BALANCE_BY))[:, None, None]
    balance = balance * factor
    lift, damping = scaled_lift(scaling, spectrum, balance)
    conic_in = conic + (conic_in - conic) / factor
    return balance, lift, damping, conic_in, 2 * conic - conic_in


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
    """One step; with `watched`, also how far the copies are apart and how far they moved."""
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
    curvature = curvature_of(algebra, values, ridge)
    bound = lower_bound(algebra, values, 2 * values - eta, curvature, multipliers)

    operators = basis @ (positive / scaling) @ adjoint(basis)
    support = xp.astype(kept > 0, kept.dtype)
    operators, rotated = cut_to_support(algebra, operators, basis, support)
    norms = algebra.column_norms(operators)
    fit = algebra.inner(pull, rotated)
    parts = parts_of_value(algebra, rotated, norms, spectrum, fit, lam, weights)
    multiple, value = best_multiple(algebra, *parts)
    found = operators * multiple[:, None, None]
    return found, xp.stack([multiple, bound, value + xp.sum(values, axis=1)])
