"""The exact solver for slices with far more features than samples: in a span that grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of, eigh, hermitian_part
from tensift.moments import GramTensor
from tensift.solvers._algebra import HOST
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import (
    best_multiple,
    best_sizes,
    column_weights,
    gradient_of_norms,
    is_closed,
    parts_of_value,
)
from tensift.solvers._low_rank import LowRank
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._projection import psd_part
from tensift.solvers._solution import Solution
from tensift.solvers._splitting import _SOFTER, Splitting, is_checked
from tensift.solvers._tracking import TrackedProjection
from tensift.solvers._wide import orthonormal

__all__ = ["fits_span", "may_be_dense", "solve_in_span"]

# The span is cheaper than matrices from this number of features per sample and of features.
_MANY, _LARGE = 4, 128
_DENSE = 4096  # slices of at most so many features are left to the method for matrices
_MOST_STEPS, _MOST_SPANS = 100, 20  # before that
_INSIDE = 0.3  # the span grows if less than this share of the gap is left inside it
_PATIENCE = 60  # steps after which the span grows in any case
_ROUNDING = 1e-14  # a share of the largest eigenvalue that counts as zero
_SAME = 1e-10  # a share of the largest eigenvalue of an operator below which directions are dropped
_LEAST_NORM = 1e-9  # a share of the largest norm, below which columns are weighted alike
_TINY = np.finfo(float).tiny


def fits_span(gram: GramTensor) -> bool:
    """Whether `solve_in_span` is faster than the method for matrices."""
    return gram.thin and gram.size >= max(_LARGE, _MANY * gram.array.shape[2])


def may_be_dense(gram: GramTensor) -> bool:
    """Whether the method for matrices may take over."""
    return gram.size <= _DENSE


def solve_in_span(problems: SliceProblems, tol: float, max_iter: int) -> Solution:
    """Minimise the problem of one slice, given by its thin factor ``F`` with ``S = F F^H``.

    At the optimum ``A = U C U^H``, multiply the gradient by ``U``. The cone's multiplier vanishes,
    and what is left says that every direction is ``(D + k)^-1 F y``. ``D`` is diagonal, with half
    of ``lam`` over the norm of every column, and ``k`` is a number. So the optimum lies in a
    span of few directions, one for each of its eigenvalues, but only its norms tell which.

    Operators ``B M B^H`` with an orthonormal basis ``B`` of the samples are as large as the samples
    are many. `Splitting` finds the best ``M``. If what is left of the gap lies outside the span,
    the span is that of the samples, the operator's directions and those that its norms ask for.

    The bound holds for all operators, not only for those in the span. Let the columns of the
    multiplier ``G`` be in the span, and ``P`` project onto all that is orthogonal to it. Then
    ``P herm(G) P = 0``, so the multiplier of the cone may be ``eta P`` there, and ``B^H G P / 2``
    beside it. It is positive semidefinite if its part within the span is at least
    ``B^H G P G^H B / (4 eta)``.

    Parameters
    ----------
    problems : SliceProblems
        The problem of one slice.
    tol, max_iter
        As for `solve_exact`.
    """
    splitting = _SpanSplitting.of(problems)
    if splitting is None:  # constant samples
        nothing = np.zeros((1, 1))
        found = LowRank.of_eigenpairs([(np.zeros(0), problems.gram.array[0, :, :0])])
        return Solution(found, nothing, np.ones(1, bool), nothing[0])
    return splitting.run(tol, max_iter)


class _SpanSplitting(Splitting):
    """The splitting method for operators in a span.

    `sparse_in` has a column for each feature, in coordinates of the span: ``(1, k, q)``. The
    eigenvectors in `basis` are in these coordinates too. The first coordinates are the
    eigenvectors of ``S`` with eigenvalues above zero, so that ``S`` is diagonal.

    Parameters
    ----------
    problems : SliceProblems
        The problem of one slice.
    values, directions : ndarray of shape (r,) and (q, r)
        Eigenvalues of ``S`` above zero, and the eigenvectors.
    """

    def __init__(
        self, problems: SliceProblems, values: NDArray[np.float64], directions: NDArray
    ) -> None:
        self._stated, self._values, self._directions = problems, values, directions
        self._set_span(directions)
        problem, algebra = self.problems, HOST
        pull = algebra.at_least(problem.pull, 0.0)
        sizes, norms, multiple, _ = best_sizes(
            algebra,
            algebra.squared_modulus(directions)[None],
            pull[:, :, None],
            2 * (problem.values + problem.ridge)[:, :, None],
            problem.lam[:, :, None],
        )
        sizes, norms = sizes[:, :, 0], norms[:, :, 0]
        columns = sizes[:, :, None] * self._across
        if multiple[0, 0] > 0:
            gradient = gradient_of_norms(algebra, columns, norms, problem.lam)
        else:  # if A = 0 is the optimum, these columns, cut to lam, often prove it at once
            free = pull[:, :, None] * self._across
            length = np.maximum(np.maximum(column_norms(free), problem.lam), _TINY)
            gradient = free * (problem.lam / length)[:, None, :]
        operators = algebra.diagonal_matrices(sizes).astype(directions.dtype)
        dual = hermitian_part(gradient @ self._span) + problem.gradient(operators)

        self.balance = np.full(1, 2.0)
        self.best, self._norms = np.zeros_like(operators), norms
        self.objective, self.bound = problem.trace, np.zeros(1)
        self.multiple = np.ones(1)
        self._bound_inside = self.bound
        self._n_spans = 1
        self._begin(columns, operators, gradient, dual, norms)

    @classmethod
    def of(cls, problems: SliceProblems) -> _SpanSplitting | None:
        """The method in the span of the samples; None if they are constant."""
        factor = problems.gram.array[0]
        values, turn = np.linalg.eigh(adjoint(factor) @ factor)
        some = values > _ROUNDING * values[-1]
        if values[-1] <= 0:
            return None
        directions = orthonormal(factor @ turn[:, some], factor[:, :0])
        within = adjoint(directions) @ factor
        values, turn = np.linalg.eigh(within @ adjoint(within))
        return cls(problems, np.maximum(values, 0), directions @ turn)

    def run(self, tol: float, max_iter: int) -> Solution:
        """Step until the slice is certified, or the steps run out, or this method is no good."""
        path: list[NDArray[np.float64]] = []
        self._age = 1  # steps in this span
        for step in range(1, max_iter + 1):
            if step > 1:
                self._step()
            checked = is_checked(step, max_iter)
            if checked:
                self._certify()
            path.append(self.objective * self.problems.unit[:, 0])
            if checked and (is_closed(self.objective, self.bound, tol)[0] or self._is_over(step)):
                break
            if checked and self._is_narrow():
                self._grow()
            else:
                self._adapt(self._age)
                self._age += 1
        closed = is_closed(self.objective, self.bound, tol)
        unit = self.problems.unit[:, 0]
        return Solution(self._found(), np.stack(path, axis=1), closed, self.bound * unit)

    def _is_over(self, step: int) -> bool:
        """Whether the method for matrices should take over."""
        if not may_be_dense(self._stated.gram):
            return False
        nothing_proven = 2 * self.bound[0] < self.objective[0] and self._n_spans > 2
        return nothing_proven or step >= _MOST_STEPS or self._n_spans >= _MOST_SPANS

    def _is_narrow(self) -> bool:
        """Whether what is left of the gap lies outside the span."""
        inside, gap = self.objective - self._bound_inside, self.objective - self.bound
        return bool(inside[0] < _INSIDE * gap[0]) or self._age >= _PATIENCE

    def _found(self) -> LowRank:
        values, turn = np.linalg.eigh(hermitian_part(self.best)[0])
        some = values > _ROUNDING * values[-1]
        return LowRank.of_eigenpairs([(values[some], self._span[0] @ turn[:, some])])

    def _set_span(self, basis: NDArray) -> None:
        """Let operators be in the span of the columns of `basis`."""
        self._span = np.ascontiguousarray(basis)[None]
        self._across = adjoint(self._span)
        size = basis.shape[1]
        values = np.zeros((1, size))
        values[0, : len(self._values)] = self._values
        identity = np.eye(size, dtype=basis.dtype)[None]
        self.problems = DiagonalProblems.of(self._stated, HOST, (values, identity))

    def _begin(
        self, sparse: NDArray, conic: NDArray, gradient: NDArray, dual: NDArray, norms: NDArray
    ) -> None:
        """Start from two copies of an operator and their multipliers; `norms` set the metric."""
        problem = self.problems
        weights = _SOFTER * column_weights(HOST, problem.lam, norms)
        metric = (self._across * (weights / 2)[:, None, :]) @ self._span
        diagonal_of(metric)[...] += problem.values + problem.ridge
        values, basis = eigh(hermitian_part(metric))
        self._set_metric(weights, np.maximum(values, _TINY), basis)
        self.pull = adjoint(basis) @ (problem.pull[:, :, None] * basis)
        self.sparse_in = sparse + gradient / weights[:, None, :]
        self._shrink()
        conic_in = self.scaling * (adjoint(basis) @ conic @ basis)
        conic_in -= (adjoint(basis) @ dual @ basis) / self.lift
        self.conic_in = hermitian_part(conic_in)
        self.project = TrackedProjection(1, basis.shape[1], basis.dtype)
        self.conic = self.project(self.conic_in)

    def _collected(self, columns: NDArray) -> NDArray:
        operators = columns @ self._span
        return adjoint(self.basis) @ (operators + adjoint(operators)) @ self.basis

    def _spread(self, rotated: NDArray) -> NDArray:
        return self._from_basis(rotated) @ self._across

    def _from_basis(self, rotated: NDArray) -> NDArray:
        return self.basis @ rotated @ adjoint(self.basis)

    def _dual(self) -> NDArray:
        """The multiplier of the cone, within the span."""
        return self._from_basis(self.lift * (self.conic - self.conic_in))

    def _certify(self) -> None:
        problem, gradient, dual = self.problems, self._gradient(), hermitian_part(self._dual())
        within = gradient @ self._span
        pull = hermitian_part(within)
        self._bound_inside = problem.lower_bound(pull - dual)
        if problem.eta[0, 0] > _TINY:
            outside = gradient @ adjoint(gradient) - within @ adjoint(within)
            least = hermitian_part(outside) / (4 * problem.eta[:, :, None])
            dual = least + psd_part(hermitian_part(dual - least))
            self.bound = np.maximum(self.bound, problem.lower_bound(pull - dual))

        rotated = self.conic / self.scaling
        operators = self._from_basis(rotated)
        norms = column_norms(operators @ self._across)
        fit = HOST.inner(self.pull, rotated)
        parts = parts_of_value(HOST, rotated, norms, self.spectrum, fit, problem.lam, self.weights)
        self.multiple, value = best_multiple(HOST, *parts)
        value += problem.trace
        if value[0] <= self.objective[0]:
            self.objective = value
            self.best, self._norms = operators * self.multiple[0], norms * self.multiple[0]

    def _renew_metric(self) -> None:
        factor = float(np.clip(self.multiple[0], 0.2, 5)) if self.multiple[0] > 0 else 1.0
        sparse = factor * self._sparse()
        conic = self._from_basis(factor * self.conic / self.scaling)
        self._begin(sparse, conic, self._gradient(), self._dual(), column_norms(sparse))

    def _grow(self) -> None:
        """Take the span of the samples, of the best operator, and of what its norms ask for."""
        before, gradient, dual = self._span, self._gradient(), self._dual()
        self._set_span(self._wider())
        turn = before[0].conj().T @ self._span[0]
        back = adjoint(turn)
        outside = self._span - before @ turn
        mixed = back @ (gradient @ outside) / 2
        left = np.eye(turn.shape[1]) - back @ turn
        dual = back @ dual @ turn + mixed + adjoint(mixed) + self.problems.eta[:, :, None] * left
        self.best = back @ self.best @ turn
        self._n_spans, self._age = self._n_spans + 1, 1
        self._begin(
            self.best @ self._across, self.best, back @ gradient, hermitian_part(dual), self._norms
        )

    def _wider(self) -> NDArray:
        """An orthonormal basis of the next span; its first columns are the `directions`."""
        problem, span, rank = self.problems, self._span[0], len(self._values)
        sizes, turn = np.linalg.eigh(hermitian_part(self.best)[0])
        some = sizes > _SAME * sizes[-1]
        sizes, turn = sizes[some], turn[:, some]  # A = turn diag(sizes) turn^H
        if not len(sizes):
            return span
        norms = np.maximum(self._norms, _LEAST_NORM * self._norms.max())[0]
        metric = problem.ridge[0] + problem.lam[0] / norms / 2
        wide = span @ turn
        inner = adjoint(wide) @ (metric[:, None] * wide)
        inner += adjoint(turn) @ (problem.values.T * turn)
        diagonal_of(inner)[...] += problem.eta[0] / sizes
        shifts, mix = np.linalg.eigh(hermitian_part(inner))
        old = turn @ (sizes[:, None] * mix)
        pulled = (problem.values.T * (2 * turn @ mix - old))[:rank]
        new = (self._directions @ pulled) / (metric[:, None] + shifts)
        new /= np.maximum(np.sqrt(np.sum(HOST.squared_modulus(new), axis=0)), _TINY)
        basis = self._directions
        if span.shape[1] > rank:
            basis = _joined(basis, span[:, rank:] @ old[rank:])
        return _joined(basis, new)


def _joined(basis: NDArray, columns: NDArray) -> NDArray:
    """An orthonormal basis, made longer by columns."""
    return np.concatenate([basis, orthonormal(columns, basis)], axis=1)
