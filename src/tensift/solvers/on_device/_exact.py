"""The exact solver on any device: it projects by matrix products, not by eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.full_products import full_products
from tensift._utils.namespace import moved_to, namespace_of, to_numpy
from tensift.solvers._algebra import Algebra
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import column_weights, is_closed, kept_shares, scaling_of
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution
from tensift.solvers._splitting import _BALANCE_EVERY, _BALANCE_UNTIL, _SOFTER
from tensift.solvers.on_device._eigen import eigh
from tensift.solvers.on_device._memory import block_elements
from tensift.solvers.on_device._replay import Replayed
from tensift.solvers.on_device._sign import sign_for
from tensift.solvers.on_device._spectrum import spectrum_of
from tensift.solvers.on_device._steps import (
    advanced,
    balanced,
    begun,
    certified,
    projected,
    scaled_lift,
)

__all__ = ["solve_exact_on_device"]

Array = Any  # of any namespace of the array API

# Accuracy of projections relative to norms: it is enough for most slices, later for the rest.
_ACCURACY, _LATER_ACCURACY, _LATER = 1e-5, 1e-9, 96
_SMALLEST_PART = 64  # a stack never shrinks below its first size divided by this
# Steps after which the metric is renewed, and how often the gap is checked. Both are rarer than in
# `solve_exact`, because here they cost more than a step.
_NEW_METRICS = {12 * 3**k for k in range(10)}
_CHECK_EVERY = {3: 1, 9: 2, 49: 4, np.inf: 8}  # before step 3 at every step, and so on
# Weights get slightly different from column to column. Otherwise all columns that have vanished
# would have the same weight, and the metric would have eigenvalues that are hard to separate.
_GRADES = 0.2
_TINY = float(np.finfo(float).tiny)


@full_products
def solve_exact_on_device(
    problems: SliceProblems,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: Solution | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Minimise every slice problem to a certified relative duality gap, on any device.

    The steps are those of `solve_exact`, except for the projection onto the cone: a polynomial of
    the matrices (`sign`) replaces eigenvectors, so a step consists of products only. The
    certificate uses parts that are positive semidefinite by construction (`certified_split`). So
    the bound is proven and the operators are feasible, however accurate the polynomial is.
    Eigenvectors are needed once for all penalties, and again for slices that take long. For
    matrices too large for the library they come from products as well (`eigh_by_products`).

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve. Their Gram matrices are arrays of any library that follows the
        standard, in double precision.
    tol, max_iter, start
        As in `solve_exact`.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution
        Its arrays are of the same kind, on the same device.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
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
            f"solver='exact' needs double precision, but the Gram matrices are in {array.dtype}; "
            "use 64-bit arrays (in JAX: jax.config.update('jax_enable_x64', True)), or "
            "solver='paper'"
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


def _solve_block(
    problems: SliceProblems, tol: float, max_iter: int, warm: Array | None
) -> Solution:
    algebra = Algebra(problems.gram.array)
    diagonal = DiagonalProblems.of(problems, algebra, spectrum_of(problems.gram))
    return _Splitting(algebra, diagonal, warm).run(tol, max_iter)


class _Splitting:
    """The state of the method for a stack of slices; finished slices leave it.

    `sparse_in` and `conic_in` are the variables of the iteration, as in `solve_exact`. For
    `conic_in`, half its sign and its modulus (the sum of its positive and negative parts) are
    kept. A few numbers for every slice are copied to the host, into NumPy arrays.
    """

    # Attributes with one entry for every slice. `turn` maps `basis` to the eigenbasis of S.
    _ON_DEVICE = (
        "balance", "weights", "spectrum", "basis", "turn", "pull", "scaling", "lift", "damping",
        "sparse_in", "kept", "conic_in", "half_sign", "modulus", "conic", "moves", "best",
        "multiple",
    )  # fmt: skip
    _ON_HOST = ("objective", "bound", "unit", "index")

    def __init__(self, algebra: Algebra, problems: DiagonalProblems, warm: Array | None) -> None:
        self.algebra, self.problems = algebra, problems
        self._set_accuracy(_ACCURACY)
        begin = partial(begun, algebra, self.project)
        begin_at_last = Replayed(begin, ("begin", _ACCURACY), lasting=True)
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
        ) = begin_at_last(*problems.arrays, *([] if warm is None else [warm]))
        self.basis = problems.vectors
        self.turn, self.turned = problems.vectors, False  # not used before the metric is renewed
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
                closed = is_closed(self.objective, self.bound, tol)
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
        """Choose the polynomial, and build the functions that depend on it."""
        project = sign_for(self.problems.vectors, accuracy)
        self.project = partial(projected, self.algebra, project)
        self.advance = [
            Replayed(
                partial(advanced, self.algebra, self.project, watched),
                ("step", accuracy, watched),
            )
            for watched in (False, True)
        ]

    def _step(self, *, watched: bool) -> None:
        """One step of all slices; with `watched`, also store how far they moved."""
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
        self.kept = kept_shares(self.algebra, self.sparse_in, self.weights, self.problems.lam)

    def _sparse(self) -> Array:
        return self.sparse_in * self.kept[:, None, :]

    def _gradient(self) -> Array:
        """The multiplier of the column norms; its columns have norms of at most lam."""
        return self.sparse_in * (self.weights * (1 - self.kept))[:, None, :]

    def _certify(self, going: NDArray[np.bool_]) -> None:
        """Update the best operator and the best bound with the results of the last step."""
        certify = Replayed(partial(certified, self.algebra, self.turned), ("gap", self.turned))
        found, facts = certify(
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
        """Change the weight of the cone where the copies are far apart or hardly move."""
        balance = Replayed(partial(balanced, self.algebra), "balance", lasting=True)
        self.balance, self.lift, self.damping, self.conic_in, self.modulus = balance(
            self.moves, self.conic, self.conic_in, self.balance, self.scaling, self.spectrum
        )

    def _renew_metric(self) -> None:
        """Weight every column by its present norm, and take the best multiple of both copies."""
        algebra, problems, old = self.algebra, self.problems, self.basis
        xp, adjoint = algebra.xp, algebra.adjoint
        factor = xp.clip(self.multiple, min=0.2, max=5.0)
        factor = xp.where(self.multiple > 0, factor, xp.ones_like(factor))[:, None, None]
        sparse, gradient = factor * self._sparse(), self._gradient()
        conic = old @ (factor * self.conic / self.scaling) @ adjoint(old)
        dual = old @ (self.lift * (self.conic - self.conic_in)) @ adjoint(old)

        weights = _SOFTER * column_weights(algebra, problems.lam, algebra.column_norms(sparse))
        places = xp.arange(weights.shape[1], dtype=weights.dtype, device=algebra.device)
        weights = weights * (1 + _GRADES * places / weights.shape[1])
        # Subtracting a multiple of the identity does not change eigenvectors, but helps accuracy.
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
        self.scaling = scaling_of(self.algebra, values)
        self.lift, self.damping = scaled_lift(self.scaling, values, self.balance)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        for name in self._ON_DEVICE:
            setattr(self, name, self._taken(getattr(self, name), kept))
        for name in self._ON_HOST:
            setattr(self, name, getattr(self, name)[kept])
        self.problems = self.problems[moved_to(self.weights, np.flatnonzero(kept))]

    def _taken(self, array: Array, which: NDArray) -> Array:
        index = np.flatnonzero(which) if which.dtype == bool else which
        return self.algebra.xp.take(array, moved_to(array, index), axis=0)


def _is_checked(step: int) -> bool:
    every = next(often for until, often in _CHECK_EVERY.items() if step < until)
    return step % every == 0


def _who_stays(going: NDArray[np.bool_], first_size: int) -> NDArray[np.bool_]:
    """The slices to keep: all unfinished ones, and others to fill one of few stack sizes."""
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
