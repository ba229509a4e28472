"""Slice problems in the eigenbases of their Gram matrices, and where they are solved from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tensift._namespace import namespace_of
from tensift.gram._tensor import GramTensor
from tensift.solvers._exact import _SMALLEST_COLUMN
from tensift.solvers._problem import SliceProblems
from tensift.solvers.on_device._algebra import Algebra
from tensift.solvers.on_device._eigen import eigh

__all__ = ["Diagonal", "Start", "best_multiple", "column_weights", "spectrum_of"]

Array = Any  # of any namespace of the array API

_ROUNDS, _DEAD = 5, 1e-8
_TINY = float(np.finfo(float).tiny)


def spectrum_of(gram: GramTensor) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Gram matrices; computed once."""
    known = vars(gram)
    if "spectrum" not in known:
        values, vectors = eigh(gram.dense())
        known["spectrum"] = namespace_of(values).clip(values, min=0.0), vectors
    return known["spectrum"]


@dataclass(frozen=True)
class Diagonal:
    """Problems in the eigenbases of their Gram matrices, of size one, as in `DiagonalProblems`.

    ``lam``, ``eta``, ``ridge`` and ``unit`` have the shape (p, 1).
    """

    algebra: Algebra
    values: Array
    vectors: Array
    lam: Array
    eta: Array
    ridge: Array
    unit: Array

    @classmethod
    def of(cls, problems: SliceProblems, algebra: Algebra) -> Diagonal:
        values, vectors = spectrum_of(problems.gram)
        xp = algebra.xp
        largest = xp.max(values, axis=1, keepdims=True)
        lam, eta = (_per_slice(weight, largest) for weight in (problems.lam, problems.eta))
        unit = largest + float(problems.ridge)
        instead = xp.where(lam > eta, lam, eta)
        instead = xp.where(instead > 0, instead, xp.ones_like(instead))
        unit = xp.where(unit > 0, unit, instead)
        ridge = xp.full_like(unit, float(problems.ridge))
        return cls(algebra, values / unit, vectors, lam / unit, eta / unit, ridge / unit, unit)

    def take(self, index: Array) -> Diagonal:
        arrays = {name: value for name, value in vars(self).items() if name != "algebra"}
        taken = {name: self.algebra.xp.take(a, index, axis=0) for name, a in arrays.items()}
        return Diagonal(self.algebra, **{f.name: taken[f.name] for f in fields(self)[1:]})

    def rotate(self, operators: Array) -> Array:
        return self.algebra.adjoint(self.vectors) @ operators @ self.vectors

    @property
    def curvature(self) -> Array:
        return self.values[:, :, None] + (self.values + 2 * self.ridge)[:, None, :]

    @property
    def pull(self) -> Array:
        return 2 * self.values - self.eta

    @property
    def trace(self) -> Array:
        return self.algebra.xp.sum(self.values, axis=1)

    def parts_of_value(self, rotated: Array, norms: Array) -> tuple[Array, Array]:
        xp = self.algebra.xp
        sizes = (self.values + self.ridge)[:, :, None]
        quadratic = xp.sum(self.algebra.squared_modulus(rotated) * sizes, axis=(1, 2))
        linear = xp.sum(self.pull * self.algebra.diagonal(rotated), axis=1)
        return quadratic, linear - self.lam[:, 0] * xp.sum(norms, axis=1)


@dataclass(frozen=True)
class Start:
    """Operators to start from, and what the solver needs to know about them, as in `Start`."""

    operators: Array
    rotated: Array
    norms: Array
    gradient: Array

    @classmethod
    def of(cls, problems: Diagonal) -> Start:
        """The best operator that has the eigenvectors of ``S``."""
        algebra, vectors, lam = problems.algebra, problems.vectors, problems.lam
        xp = algebra.xp
        curvature = 2 * (problems.values + problems.ridge)
        squares = algebra.squared_modulus(vectors)
        pull = algebra.at_least(problems.pull, 0.0)
        sizes = pull / algebra.at_least(curvature, _TINY)
        for _ in range(_ROUNDS):
            norms = algebra.times(squares, sizes**2) ** 0.5
            weights = algebra.times(squares.mT, 1 / algebra.at_least(norms, _DEAD))
            sizes = pull / algebra.at_least(curvature + lam * weights, _TINY)
        norms = algebra.times(squares, sizes**2) ** 0.5
        quadratic = xp.sum(curvature * sizes**2, axis=1) / 2
        linear = xp.sum(pull * sizes, axis=1) - lam[:, 0] * xp.sum(norms, axis=1)
        multiple, _ = best_multiple(algebra, quadratic, linear)
        sizes, norms = sizes * multiple[:, None], norms * multiple[:, None]
        operators = algebra.from_spectrum(vectors, sizes)
        gradient = _gradient_of_norms(algebra, operators, norms, lam)
        # If A = 0 is the optimum, these columns, cut to lam, often prove it at once.
        free = algebra.from_spectrum(vectors, pull)
        length = algebra.column_norms(free)
        length = algebra.at_least(xp.where(length > lam, length, lam), _TINY)
        zero = (multiple == 0)[:, None, None]
        gradient = xp.where(zero, free * (lam / length)[:, None, :], gradient)
        return cls(operators, algebra.diagonal_matrices(sizes), norms, gradient)

    def or_better(self, problems: Diagonal, operators: Array) -> Start:
        """Take the best multiple of other `operators` where the objective is lower there."""
        algebra = problems.algebra
        rotated, norms = problems.rotate(operators), algebra.column_norms(operators)
        multiple, value = best_multiple(algebra, *problems.parts_of_value(rotated, norms))
        _, own = best_multiple(algebra, *problems.parts_of_value(self.rotated, self.norms))
        scale = multiple[:, None, None]
        operators, norms = operators * scale, norms * multiple[:, None]
        gradient = _gradient_of_norms(algebra, operators, norms, problems.lam)
        better, where = (value < own)[:, None, None], algebra.xp.where
        return Start(
            where(better, operators, self.operators),
            where(better, rotated * scale, self.rotated),
            where(better[:, :, 0], norms, self.norms),
            where(better, gradient, self.gradient),
        )


def best_multiple(algebra: Algebra, quadratic: Array, linear: Array) -> tuple[Array, Array]:
    multiple = algebra.at_least(linear, 0.0) / algebra.at_least(2 * quadratic, _TINY)
    return multiple, multiple * (multiple * quadratic - linear)


def column_weights(algebra: Algebra, lam: Array, norms: Array) -> Array:
    """The curvature of the column norms, ``lam / norm``, bounded and never zero."""
    largest = algebra.xp.max(norms, axis=1, keepdims=True)
    least = _SMALLEST_COLUMN * algebra.at_least(largest, 0.1)
    return lam / algebra.xp.where(norms > least, norms, least) + 1e-10


def _gradient_of_norms(algebra: Algebra, operators: Array, norms: Array, lam: Array) -> Array:
    """``lam`` times the unit vectors along the columns, zero for columns that have vanished."""
    xp = algebra.xp
    alive = norms > _DEAD * xp.max(norms, axis=1, keepdims=True)
    factor = xp.where(alive, lam / xp.where(alive, norms, xp.ones_like(norms)), 0.0 * norms)
    return operators * factor[:, None, :]


def _per_slice(weight: Any, like: Array) -> Array:
    """A penalty as an array (p, 1)."""
    xp = namespace_of(like)
    if getattr(weight, "ndim", 0):
        return xp.reshape(xp.asarray(weight, dtype=like.dtype), like.shape)
    return xp.full_like(like, float(weight))
