"""The smallest penalties at which the optimum of every slice is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, moved_to, namespace_of, to_numpy
from tensift._utils.pool import Pool
from tensift._utils.stacks import adjoint, conjugate, real_part
from tensift.moments import GramTensor, blocks_of, variances
from tensift.solvers._algebra import algebra_of
from tensift.solvers._column_lengths import LengthsOfFactor, LengthsOfMatrices
from tensift.solvers._problem import column_norms
from tensift.solvers.on_device._memory import block_elements

__all__ = ["CriticalPenalties", "bounds_of_critical", "bounds_of_slices", "critical_penalties"]

# Matrices of thin factors are not formed in two cases. Above `_LARGE` features, and `_FEW` for the
# square of the number of samples, factors are faster. Above `_DENSE` features, matrices take too
# much memory; up to `_LARGEST_DENSE` they may, if there are at most `_MANY` for each sample.
_LARGE, _FEW = 512, 4
_DENSE, _LARGEST_DENSE, _MANY = 4096, 8192, 16
_BLOCK = 2**18  # entries of matrices that are stepped together: they stay in the cache
_LONGER, _LONGEST = 1.5, 50.0  # factor of a step after a good one, and the longest step
_LEAST = -25.0  # logarithm of a share of the largest weight: smaller weights change no bound
_SHARE_OF_GAP, _SHARE_OF_TOL = 1 / 16, 1 / 8  # errors of squared lengths that are accepted
_ROUNDING = 1e-12  # of bounds


@dataclass(frozen=True)
class CriticalPenalties:
    """Penalties above which the optimum of every slice is zero.

    Attributes
    ----------
    lam : float
        If eta is zero and lam is larger than this, every optimum is zero. If lam is smaller by a
        few parts in ten thousand, some optimum is not.
    eta : float
        The same for eta if lam is zero.

    Examples
    --------
    >>> from tensift.solvers import CriticalPenalties
    >>> CriticalPenalties(lam=18.0, eta=20.0).eta
    20.0
    """

    lam: float
    eta: float


def critical_penalties(
    gram: GramTensor, *, tol: float = 1e-4, max_iter: int = 10_000
) -> CriticalPenalties:
    """Find the smallest penalties under which the optimum of every slice is zero.

    ``A = 0`` is optimal if there is a ``G`` with columns of norm at most ``lam`` and with
    ``herm(G) >= 2 S - eta I``. So the critical eta is twice the largest eigenvalue of ``S``. The
    critical lam, for ``eta = 0``, is the smallest possible length of the longest column of such a
    ``G``. It lies between two bounds: every such ``G`` gives an upper bound, and every ``A >= 0``
    gives the lower bound ``Tr(2 S A) / ||A||_{2,1}``.

    Weights ``d > 0`` of the features give both. ``G_ij = 4 S_ij d_i / (d_i + d_j)`` has the
    Hermitian part ``2 S``. ``A_ij = S_ij d_i d_j / (d_i + d_j)`` is the entrywise product of two
    positive semidefinite matrices, so it is one too. Let ``g_j`` be the squared length of column
    ``j`` of ``G``. If the weights sum to one, the square of the critical lam lies between
    ``sum_j d_j g_j`` and ``max_j g_j``. The lower of the two is concave in ``d`` and ``g`` is its
    gradient, so they meet where it is largest. Weights times ``g`` are better weights.

    With thin factors and many features, no ``q x q`` matrix is formed.

    Under both penalties the optimum is zero if ``lam / critical + eta / critical >= 1``, because
    the matching mixture of the two multipliers proves it.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    tol : float
        Stop when the bounds differ by at most this share. The upper bound is returned.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    CriticalPenalties

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import critical_penalties
    >>> critical_penalties(GramTensor(np.diag([9.0, 1.0])[None], thin=False))
    CriticalPenalties(lam=18.0, eta=18.0)
    """
    scaled = _ScaledSlices(gram)
    if scaled.unit == 0:
        return CriticalPenalties(0.0, 0.0)
    return CriticalPenalties(scaled.critical_lam(tol, max_iter), scaled.critical_eta())


def bounds_of_critical(gram: GramTensor, n_jobs: int | None = None) -> CriticalPenalties:
    """The critical eta, and an upper bound of the critical lam: twice the longest column of ``S``.

    This is cheap: one product and the largest eigenvalue, for thin factors in the smaller order.
    Eigenvalues that are known already are used. On the host, threads share the slices.
    """
    if is_device_array(gram.array):
        return _largest_bounds(gram)
    with Pool(n_jobs, single=gram.n_slices == 1) as pool:
        found = pool.map(lambda block: _largest_bounds(gram[block]), blocks_of(gram))
    return CriticalPenalties(max(one.lam for one in found), max(one.eta for one in found))


def _largest_bounds(gram: GramTensor) -> CriticalPenalties:
    eta, _, upper = bounds_of_slices(gram)
    xp = namespace_of(upper)
    return CriticalPenalties(float(xp.max(upper)), float(xp.max(eta)))


def bounds_of_slices(gram: GramTensor) -> tuple[Any, Any, Any]:
    """The critical eta of every slice, and a lower and an upper bound of its critical lam."""
    xp = namespace_of(gram.array)
    longest = xp.sqrt(xp.max(_column_squares(gram), axis=1))
    known = "spectrum" in vars(gram)
    eta = gram.spectrum[0][:, -1] if known else xp.linalg.eigvalsh(_inner(gram))[:, -1]
    return 2 * eta, 2 * xp.max(variances(gram), axis=1), 2 * longest


class _ScaledSlices:
    """The matrices ``M = 2 S / unit``, where `unit` is the largest entry of all ``S``.

    Few slices can have the largest critical penalties. Quick bounds tell which. These are looked at
    in the order of their bounds, until no other can be larger.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    """

    def __init__(self, gram: GramTensor) -> None:
        self._gram, self._on_device = gram, is_device_array(gram.array)
        xp = namespace_of(gram.array)
        diagonals = xp.max(variances(gram), axis=1)
        self.unit = float(xp.max(diagonals))
        if self.unit == 0:
            return
        self._forms_matrices = self._on_device or not _is_wide(gram)
        most = block_elements(gram.array) if self._on_device else _BLOCK
        self._together = max(1, most // gram.size**2) if self._forms_matrices else 1
        parts = self._in_blocks(np.arange(gram.n_slices))
        self._squares = xp.concat([_column_squares(self._some(part)) for part in parts])
        self._lower = (to_numpy(diagonals) * (2 / self.unit)) ** 2
        self._upper = to_numpy(xp.max(self._squares, axis=1))

    def critical_eta(self) -> float:
        """Twice the largest eigenvalue of all ``S``, not less than what solvers find.

        It is at most the Frobenius norm, and at least the length of any column.
        """
        xp = namespace_of(self._squares)
        largest = self.unit * np.sqrt(to_numpy(xp.sum(self._squares, axis=1)))
        order = _descending(largest, self.unit * np.sqrt(self._upper.max()))
        if self._on_device:  # a device takes as long for all of them as for one
            return self.unit * float(xp.max(xp.linalg.eigvalsh(_inner(self._some(order)))))
        found = 0.0
        for j in order:
            if largest[j] <= found:
                break
            if self._gram.thin:
                value = self.unit * float(np.linalg.eigvalsh(_inner(self._some(j[None]))).max())
                value *= 1 + _ROUNDING
            else:  # the very digits that the solver has, because this is where its optimum is zero
                value = 2 * float(self._gram[j[None]].spectrum[0].max())
            found = max(found, value)
        return found

    def critical_lam(self, tol: float, max_iter: int) -> float:
        """How short the longest column of a G with ``herm(G) >= 2 S`` can be: the largest slice."""
        lower = float(self._lower.max())
        upper, goal = lower, (1 + tol) ** 2
        for index in self._in_blocks(_descending(self._upper, lower)):
            if self._upper[index[0]] <= goal * lower:
                upper = max(upper, self._upper[index[0]])
                break
            found, lower = self._bounds_of(index, lower, tol, max_iter)
            upper = max(upper, found)
        return self.unit * float(np.sqrt(upper))

    def _bounds_of(
        self, index: NDArray[np.intp], lower: float, tol: float, max_iter: int
    ) -> tuple[float, float]:
        """An upper bound of the squares of some slices, and a lower bound of the largest of all.

        `lower` is what is known of the largest of all. Slices leave as soon as they cannot be
        larger by more than `tol`.
        """
        part, squares = self._some(index), self._taken(self._squares, index)
        algebra = algebra_of(part.array)
        xp, goal, found = algebra.xp, (1 + tol) ** 2, lower
        lengths: LengthsOfMatrices | LengthsOfFactor = (
            LengthsOfMatrices(algebra, part.dense())
            if self._forms_matrices
            else LengthsOfFactor(part.array[0])
        )
        upper, mean = xp.max(squares, axis=1), xp.mean(squares, axis=1)  # of equal weights
        logs, step, spread = xp.zeros_like(squares), xp.ones_like(upper), upper / mean
        for _ in range(max_iter):
            lower = max(lower, float(xp.max(mean)))
            closed = upper <= goal * lower
            if xp.any(closed):
                found = max(found, float(xp.max(xp.where(closed, upper, xp.zeros_like(upper)))))
                (wanted,) = xp.nonzero(~closed)
                if not wanted.shape[0]:
                    return found, lower
                lengths.keep(wanted)
                squares, upper, mean, logs, step, spread = (
                    algebra.take(array, wanted)
                    for array in (squares, upper, mean, logs, step, spread)
                )
            ascent = xp.log(algebra.at_least(squares / mean[:, None], algebra.tiny))
            logs = logs + step[:, None] * ascent
            logs = algebra.at_least(logs - xp.max(logs, axis=1, keepdims=True), _LEAST)
            gap = float(xp.max(spread)) - 1
            squares, error = lengths(logs, max(_SHARE_OF_GAP * gap, _SHARE_OF_TOL * tol))
            weights = xp.exp(logs)
            mean = xp.sum(weights * squares, axis=1) / xp.sum(weights, axis=1)
            longest = xp.max(squares, axis=1)
            # Longer steps are fewer steps, as long as the bounds approach each other.
            longer = xp.clip(_LONGER * step, max=_LONGEST)
            step = xp.where(longest / mean > spread, xp.ones_like(step), longer)
            spread = longest / mean
            mean, upper = mean / (1 + error), xp.minimum(upper, longest / (1 - error))
        return max(found, float(xp.max(upper))), max(lower, float(xp.max(mean)))

    def _in_blocks(self, index: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        return np.split(index, range(self._together, len(index), self._together))

    def _some(self, index: NDArray[np.intp]) -> GramTensor:
        """Some of the slices, scaled."""
        gram = self._gram
        array = self._taken(gram.array, index)
        array = array * (2 / self.unit) ** 0.5 if gram.thin else 2 * (array / self.unit)
        return GramTensor(array, gram.thin)

    def _taken(self, array: Any, index: NDArray[np.intp]) -> Any:
        if not self._on_device:
            return array[index]
        return namespace_of(array).take(array, moved_to(array, index), axis=0)


def _is_wide(gram: GramTensor) -> bool:
    """Whether matrices of the order of the features would take too long, or too much memory."""
    size, n = gram.array.shape[1:]
    if not gram.thin or size <= _LARGE:
        return False
    return size >= _FEW * n**2 or size > max(_DENSE, min(_MANY * n, _LARGEST_DENSE))


def _descending(bounds: NDArray[np.float64], least: float) -> NDArray[np.intp]:
    """Indices of the bounds that are at least as large as another, the largest first."""
    order = np.argsort(-bounds, kind="stable")
    return order[bounds[order] >= least * (1 - _ROUNDING)]


def _inner(gram: GramTensor) -> Any:
    """The Gram matrices; for thin factors ``F^H F``, which has the same eigenvalues above zero."""
    if not gram.thin:
        return gram.array
    return namespace_of(gram.array).matmul(adjoint(gram.array), gram.array)


def _column_squares(gram: GramTensor) -> Any:
    """Squared lengths of the columns of all Gram matrices, ``(p, q)``."""
    if not gram.thin:
        return column_norms(gram.array) ** 2
    xp, factor = namespace_of(gram.array), gram.array
    products = xp.matmul(factor, _inner(gram)) * conjugate(factor)
    return xp.clip(real_part(xp.sum(products, axis=2)), min=0.0)
