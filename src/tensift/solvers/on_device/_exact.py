"""The certified minimum where the arrays are: products in place of projections by eigenvectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import moved_to, namespace_of, to_numpy
from tensift.gram._tensor import GramTensor
from tensift.solvers._exact import (
    _BALANCE,
    _BALANCE_BY,
    _BALANCE_EVERY,
    _BALANCE_UNTIL,
    _RELAXATION,
    _SMALLEST_COLUMN,
    _SOFTER,
)
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution
from tensift.solvers.on_device._algebra import Algebra
from tensift.solvers.on_device._eigen import eigh
from tensift.solvers.on_device._replay import Replayed, memory_of
from tensift.solvers.on_device._sign import Sign, sign_for

__all__ = ["solve_exact_on_device"]

Array = Any  # of any namespace of the array API

# Elements of a stack solved together. About sixty such stacks of double precision are in memory,
# which may be a quarter of that of the device.
_SMALLEST_BLOCK, _LARGEST_BLOCK, _STACKS, _SHARE = 2**20, 2**25, 60, 0.25
# Of projections, as a share of norms: enough for most slices, and for those that take long.
_ACCURACY, _LATER_ACCURACY, _LATER = 1e-5, 1e-9, 96
_ROUNDS, _DEAD = 5, 1e-8  # of the start
_SMALLEST_PART = 64  # of its first size: as far as a stack shrinks
# After these steps the metric is made anew, and the gap looked at: both cost more, compared to a
# step, than they do in `solve_exact`.
_NEW_METRICS = {12 * 3**k for k in range(10)}
_CHECK_EVERY = {3: 1, 9: 2, 49: 4, np.inf: 8}  # until which step, how often
# Columns are weighted a little differently, so that those that have vanished, all alike, do not
# give the metric eigenvalues that are hard to tell apart.
_GRADES = 0.2
_ROUNDING = 8 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)


def solve_exact_on_device(
    problems: SliceProblems,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: Solution | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Minimise every slice problem to a certified relative duality gap, on any device.

    The method is that of `solve_exact`, step for step. What differs is how matrices are projected
    onto the cone: by a polynomial of them (`sign`), so that a step is made of products alone. The
    certificate takes parts that are positive semidefinite by construction (`certified_split`): the
    bound is proven and the operators are feasible, however near the polynomial came. Eigenvectors
    are needed once for all penalties, and again for slices that take long; beyond the order that
    libraries decompose quickly they, too, come from products (`eigh_by_products`).

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve, their Gram matrices in any array of the standard, in double precision.
    tol, max_iter, start
        As in `solve_exact`.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution
        Of arrays of the same kind, on the same device.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import SliceProblems
    >>> from tensift.solvers.on_device import solve_exact_on_device
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_exact_on_device(SliceProblems(gram, lam=2.0, eta=1.0, ridge=1e-3))
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    >>> bool(solution.dual_gap[0] <= 1e-6)
    True
    """
    array = problems.gram.array
    xp = namespace_of(array)
    if xp.finfo(array.dtype).bits != 64:
        raise ValueError(
            "solver='exact' proves its results in double precision, and the Gram matrices are in "
            f"{array.dtype}; use 64-bit arrays (in JAX: jax.config.update('jax_enable_x64', "
            "True)), or solver='paper'"
        )
    n_slices, size = array.shape[:2]
    rows = max(1, block_elements(array) // size**2)
    solutions = []
    for first in range(0, n_slices, rows):
        block = slice(first, min(first + rows, n_slices))
        whole = block == slice(0, n_slices)
        part = problems if whole else problems[block]
        warm = None if start is None else start.operators[block, ...]
        solutions.append(_solve_block(part, tol, max_iter, warm))
        if callback is not None:
            callback(block.stop)
    return Solution.concatenate(solutions)


def block_elements(like: Array) -> int:
    """How many elements of Gram matrices are solved together on the device of an array."""
    memory = memory_of(like)
    if memory is None:
        return 2**22
    fit = int(_SHARE * memory / (_STACKS * 8))
    return min(max(_SMALLEST_BLOCK, fit), _LARGEST_BLOCK)


def _solve_block(
    problems: SliceProblems, tol: float, max_iter: int, warm: Array | None
) -> Solution:
    algebra = Algebra(problems.gram.array)
    return _Splitting(_Diagonal.of(problems, algebra), warm).run(tol, max_iter)


def spectrum_of(gram: GramTensor) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Gram matrices; computed once."""
    known = vars(gram)
    if "spectrum" not in known:
        values, vectors = eigh(gram.dense())
        known["spectrum"] = namespace_of(values).clip(values, min=0.0), vectors
    return known["spectrum"]


@dataclass(frozen=True)
class _Diagonal:
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
    def of(cls, problems: SliceProblems, algebra: Algebra) -> _Diagonal:
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

    def take(self, index: Array) -> _Diagonal:
        arrays = {name: value for name, value in vars(self).items() if name != "algebra"}
        taken = {name: self.algebra.xp.take(a, index, axis=0) for name, a in arrays.items()}
        return _Diagonal(self.algebra, **{f.name: taken[f.name] for f in fields(self)[1:]})

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
class _Start:
    """Operators to start from, and what the solver needs to know about them, as in `Start`."""

    operators: Array
    rotated: Array
    norms: Array
    gradient: Array

    @classmethod
    def of(cls, problems: _Diagonal) -> _Start:
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
        multiple, _ = _best_multiple(algebra, quadratic, linear)
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

    def or_better(self, problems: _Diagonal, operators: Array) -> _Start:
        """Take the best multiple of other `operators` where the objective is lower there."""
        algebra = problems.algebra
        rotated, norms = problems.rotate(operators), algebra.column_norms(operators)
        multiple, value = _best_multiple(algebra, *problems.parts_of_value(rotated, norms))
        _, own = _best_multiple(algebra, *problems.parts_of_value(self.rotated, self.norms))
        scale = multiple[:, None, None]
        operators, norms = operators * scale, norms * multiple[:, None]
        gradient = _gradient_of_norms(algebra, operators, norms, problems.lam)
        better, where = (value < own)[:, None, None], algebra.xp.where
        return _Start(
            where(better, operators, self.operators),
            where(better, rotated * scale, self.rotated),
            where(better[:, :, 0], norms, self.norms),
            where(better, gradient, self.gradient),
        )


class _Splitting:
    """The state of the method for a stack of slices, of which those that are done leave.

    As in `solve_exact`: `sparse_in` and `conic_in` are the variables of the iteration. Of the
    second half the sign and the modulus are kept, the sum of its positive and negative parts. What
    the host is told, a few numbers a slice, is in NumPy arrays.
    """

    # What has an entry for every slice; `turn` leads from `basis` to the eigenbasis of S.
    _ON_DEVICE = (
        "balance", "weights", "spectrum", "basis", "turn", "pull", "scaling", "lift", "damping",
        "sparse_in", "kept", "conic_in", "half_sign", "modulus", "conic", "moves", "best",
        "multiple",
    )  # fmt: skip
    _ON_HOST = ("objective", "bound", "unit", "index")

    def __init__(self, problems: _Diagonal, warm: Array | None) -> None:
        algebra = self.algebra = problems.algebra
        self.problems = problems
        self._set_accuracy(_ACCURACY)
        begin = partial(_begun, algebra, self.project)
        begin_at_last = Replayed(begin, ("begin", _ACCURACY), lasting=True)
        given = [getattr(problems, f.name) for f in fields(problems)[1:]]
        (
            self.sparse_in,
            self.kept,
            self.conic_in,
            self.half_sign,
            self.modulus,
            self.conic,
            self.weights,
            self.spectrum,
            self.pull,
            self.scaling,
            self.balance,
            self.lift,
            self.damping,
        ) = begin_at_last(*given, *([] if warm is None else [warm]))
        self.basis = problems.vectors
        self.turn, self.turned = problems.vectors, False  # not used before there is a new metric
        xp = algebra.xp
        self.best = xp.zeros_like(self.conic_in)
        self.moves = xp.ones_like(self.conic_in[:, :4, 0])
        self.multiple = xp.ones_like(self.weights[:, 0])
        # A = 0 is feasible, and no part of the objective can be negative.
        self.objective, self.unit = to_numpy(xp.stack([problems.trace, problems.unit[:, 0]]))
        self.bound = np.zeros_like(self.objective)
        self.index = np.arange(len(self.unit))

    def run(self, tol: float, max_iter: int) -> Solution:
        """Step until every slice is certified, or the steps run out."""
        n_slices = len(self.index)
        dual, converged = np.zeros(n_slices), np.zeros(n_slices, bool)
        path: list[NDArray] = []
        left: list[tuple[NDArray, Array]] = []
        going = np.ones(n_slices, bool)
        for step in range(1, max_iter + 1):
            balances = step % _BALANCE_EVERY == 0 and step < _BALANCE_UNTIL
            if step > 1:
                self._step(watched=balances)
            if _is_checked(step) or step == max_iter:
                self._certify(going)
                closed = self.objective - self.bound <= tol * np.abs(self.objective)
            done = going & (closed if step < max_iter else True)
            path.append(np.full(n_slices, np.nan))
            path[-1][self.index[going]] = (self.objective * self.unit)[going]
            if done.any():
                dual[self.index[done]] = (self.bound * self.unit)[done]
                converged[self.index[done]] = closed[done]
                going &= ~done
                if not going.any():
                    break
                kept = _who_stays(going, n_slices)
                if not kept.all():
                    left.append((self.index[~kept], self._taken(self.best, ~kept)))
                    self._keep(kept)
                    going, closed = going[kept], closed[kept]
            if step == _LATER:
                self._set_accuracy(_LATER_ACCURACY)
            if step in _NEW_METRICS:
                self._renew_metric()
            elif balances:
                self._balance()
        left.append((self.index, self.best))
        order = np.argsort(np.concatenate([index for index, _ in left]))
        operators = self._taken(self.algebra.xp.concat([part for _, part in left]), order)
        return Solution(
            self.algebra.hermitian_part(operators),
            moved_to(operators, np.stack(path, axis=1)),
            moved_to(operators, converged),
            moved_to(operators, dual),
        )

    def _set_accuracy(self, accuracy: float) -> None:
        """Choose the polynomial, and the functions that depend on it."""
        project = sign_for(self.problems.vectors, accuracy)
        self.project = partial(_projected, self.algebra, project)
        self.advance = [
            Replayed(
                partial(_advanced, self.algebra, self.project, watched),
                ("step", accuracy, watched),
            )
            for watched in (False, True)
        ]

    def _step(self, *, watched: bool) -> None:
        """One step of all slices; a watched one says how far things moved."""
        (
            self.sparse_in,
            self.kept,
            self.conic_in,
            self.half_sign,
            self.modulus,
            self.conic,
            *moves,
        ) = self.advance[watched](
            self.sparse_in,
            self.kept,
            self.conic_in,
            self.modulus,
            self.conic,
            self.weights,
            self.problems.lam,
            self.basis,
            self.pull,
            self.lift,
            self.scaling,
            self.damping,
        )
        if watched:
            self.moves = moves[0]

    def _project(self) -> None:
        self.half_sign, self.modulus, self.conic = self.project(self.conic_in)

    def _shrink(self) -> None:
        self.kept = _kept(self.algebra, self.sparse_in, self.weights, self.problems.lam)

    def _sparse(self) -> Array:
        return self.sparse_in * self.kept[:, None, :]

    def _gradient(self) -> Array:
        """The multiplier of the column norms: no column is longer than lam."""
        return self.sparse_in * (self.weights * (1 - self.kept))[:, None, :]

    def _certify(self, going: NDArray[np.bool_]) -> None:
        """Improve the best operator and the best bound by what the last step gave."""
        certified = Replayed(partial(_certified, self.algebra, self.turned), ("gap", self.turned))
        found, facts = certified(
            self.sparse_in,
            self.kept,
            self.half_sign,
            self.modulus,
            self.weights,
            self.basis,
            self.turn,
            self.pull,
            self.lift,
            self.scaling,
            self.spectrum,
            self.problems.values,
            self.problems.lam,
            self.problems.eta,
            self.problems.ridge,
        )
        xp = self.algebra.xp
        self.multiple = facts[0, :] + 0
        bounds, values = to_numpy(facts[1:, :])
        self.bound[going] = np.maximum(self.bound, bounds)[going]
        better = going & (values <= self.objective)
        self.objective[better] = values[better]
        self.best = xp.where(moved_to(found, better)[:, None, None], found, self.best)

    def _balance(self) -> None:
        """Weigh the cone anew where the copies are far apart or hardly move."""
        balanced = Replayed(partial(_balanced, self.algebra), "balance", lasting=True)
        self.balance, self.lift, self.damping, self.conic_in, self.modulus = balanced(
            self.moves, self.conic, self.conic_in, self.balance, self.scaling, self.spectrum
        )

    def _renew_metric(self) -> None:
        """Weigh every column by its present norm, and take the best multiple of both copies."""
        algebra, problems, old = self.algebra, self.problems, self.basis
        xp, adjoint = algebra.xp, algebra.adjoint
        factor = xp.clip(self.multiple, min=0.2, max=5.0)
        factor = xp.where(self.multiple > 0, factor, xp.ones_like(factor))[:, None, None]
        sparse, gradient = factor * self._sparse(), self._gradient()
        conic = old @ (factor * self.conic / self.scaling) @ adjoint(old)
        dual = old @ (self.lift * (self.conic - self.conic_in)) @ adjoint(old)

        weights = _SOFTER * _column_weights(algebra, problems.lam, algebra.column_norms(sparse))
        places = xp.arange(weights.shape[1], dtype=weights.dtype, device=algebra.device)
        weights = weights * (1 + _GRADES * places / weights.shape[1])
        # The eigenvectors of the metric, less what is the same in all directions.
        least = xp.min(weights, axis=1, keepdims=True)
        metric = algebra.from_spectrum(problems.vectors, problems.values)
        metric = metric + algebra.diagonal_matrices((weights - least) / 2)
        values, basis = eigh(algebra.hermitian_part(metric))
        values = algebra.at_least(values, 0.0) + problems.ridge + least / 2
        self._set_metric(weights, algebra.at_least(values, _TINY), basis)
        self.turn, self.turned = adjoint(problems.vectors) @ basis, True
        self.pull = adjoint(self.turn) @ (problems.pull[:, :, None] * self.turn)

        self.sparse_in = sparse + gradient / weights[:, None, :]
        self._shrink()
        conic_in = self.scaling * (adjoint(basis) @ conic @ basis)
        conic_in = conic_in - (adjoint(basis) @ dual @ basis) / self.lift
        self.conic_in = algebra.hermitian_part(conic_in)
        self._project()

    def _set_metric(self, weights: Array, values: Array, basis: Array) -> None:
        self.weights, self.spectrum, self.basis = weights, values, basis
        self.scaling = _scaling(values)
        self.lift, self.damping = _lift(self.scaling, values, self.balance)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        for name in self._ON_DEVICE:
            setattr(self, name, self._taken(getattr(self, name), kept))
        for name in self._ON_HOST:
            setattr(self, name, getattr(self, name)[kept])
        self.problems = self.problems.take(moved_to(self.weights, np.flatnonzero(kept)))

    def _taken(self, array: Array, which: NDArray) -> Array:
        index = np.flatnonzero(which) if which.dtype == bool else which
        return self.algebra.xp.take(array, moved_to(array, index), axis=0)


def _kept(algebra: Algebra, sparse_in: Array, weights: Array, lam: Array) -> Array:
    """The share of each column that is left of it after shrinking."""
    norms = algebra.at_least(algebra.column_norms(sparse_in), _TINY)
    return algebra.at_least(1 - lam / (weights * norms), 0.0)


def _projected(algebra: Algebra, sign: Sign, conic_in: Array) -> tuple[Array, Array, Array]:
    """Half the sign of Hermitian matrices, their modulus, and their positive part."""
    half_sign = sign(conic_in)
    half = half_sign @ conic_in
    modulus = half + algebra.adjoint(half)
    return half_sign, modulus, 0.5 * (conic_in + modulus)


def _advanced(
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
    kept = _kept(algebra, sparse_in, weights, lam)
    step, before = right * scaling - conic, conic
    conic_in = conic_in + _RELAXATION * step
    half_sign, modulus, conic = project(conic_in)
    state = (sparse_in, kept, conic_in, half_sign, modulus, conic)
    if not watched:
        return state
    moves = [algebra.norms(m) for m in (step, conic, conic - before, conic_in - conic)]
    return (*state, algebra.xp.stack(moves, axis=1))


def _certified(
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
    # Parts that are semidefinite by construction (`certified_split`).
    keep = half_sign + 0.5 * algebra.identity(half_sign.shape[-1])
    half = keep @ modulus
    positive = algebra.hermitian_part(half @ keep)
    negative = positive + modulus - (half + adjoint(half))

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
    multiple, value = _best_multiple(algebra, quadratic, linear)
    found = operators * multiple[:, None, None]
    return found, xp.stack([multiple, bound, value + trace])


def _is_checked(step: int) -> bool:
    every = next(often for until, often in _CHECK_EVERY.items() if step < until)
    return step % every == 0


def _who_stays(going: NDArray[np.bool_], first_size: int) -> NDArray[np.bool_]:
    """All slices that go on, and as many others as fill the stack to one of few sizes."""
    size = first_size
    n_going = int(np.count_nonzero(going))
    needed = max(n_going, first_size // _SMALLEST_PART)
    while needed <= size // 2:
        size //= 2
    if needed <= (3 * size) // 4:
        size = (3 * size) // 4
    kept = going.copy()
    kept[np.flatnonzero(~going)[: size - n_going]] = True
    return kept


def _begun(
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
    problems = _Diagonal(algebra, values, vectors, lam, eta, ridge, unit)
    start = _Start.of(problems)
    if warm is not None:
        start = start.or_better(problems, warm)
    weights = _column_weights(algebra, lam, start.norms)
    weights = algebra.xp.mean(weights, axis=1, keepdims=True)
    spectrum = values + ridge + weights / 2
    scaling = _scaling(spectrum)
    balance = algebra.xp.full_like(weights[:, :, None], 2.0)
    lift, damping = _lift(scaling, spectrum, balance)
    pull = algebra.diagonal_matrices(problems.pull)
    slope = problems.rotate(algebra.hermitian_part(start.gradient))
    slope = slope + problems.curvature * start.rotated - pull
    sparse_in = start.operators + start.gradient / weights[:, :, None]
    weights = algebra.xp.zeros_like(values) + weights
    kept = _kept(algebra, sparse_in, weights, lam)
    conic_in = algebra.hermitian_part(scaling * start.rotated - slope / lift)
    half_sign, modulus, conic = project(conic_in)
    state = (sparse_in, kept, conic_in, half_sign, modulus, conic)
    return (*state, weights, spectrum, pull, scaling, balance, lift, damping)


def _scaling(spectrum: Array) -> Array:
    """The square root of the curvature, by which the cone is entered."""
    root = spectrum**0.25
    return root[:, :, None] * root[:, None, :]


def _lift(scaling: Array, spectrum: Array, balance: Array) -> tuple[Array, Array]:
    """From scaled multipliers of the cone to those of the problem; and the quadratic step."""
    lift = scaling * balance
    return lift, 1 / (lift * scaling + (spectrum[:, :, None] + spectrum[:, None, :]))


def _balanced(
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
    lift, damping = _lift(scaling, spectrum, balance)
    conic_in = conic + (conic_in - conic) / factor
    return balance, lift, damping, conic_in, 2 * conic - conic_in


def _best_multiple(algebra: Algebra, quadratic: Array, linear: Array) -> tuple[Array, Array]:
    multiple = algebra.at_least(linear, 0.0) / algebra.at_least(2 * quadratic, _TINY)
    return multiple, multiple * (multiple * quadratic - linear)


def _column_weights(algebra: Algebra, lam: Array, norms: Array) -> Array:
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
