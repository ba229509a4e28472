"""The smallest penalties at which the optimum of every slice is zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensift._utils.namespace import is_complex, is_device_array, namespace_of
from tensift._utils.pool import Pool
from tensift.moments import GramTensor, blocks_of
from tensift.solvers import on_device
from tensift.solvers._algebra import Algebra, HostAlgebra, algebra_of
from tensift.solvers._problem import column_norms
from tensift.solvers._projection import psd_part

__all__ = ["CriticalPenalties", "critical_penalties"]

_WEIGHT, _RELAXATION = 0.3, 1.9
_CHECK_EVERY = 10


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
    matrices = 2 * gram.dense()
    xp = namespace_of(matrices)
    if not xp.any(matrices != 0):
        return CriticalPenalties(0.0, 0.0)
    if is_device_array(matrices):
        eta = float(xp.max(xp.linalg.eigvalsh(matrices)))
        longest = _longest_column(matrices / eta, tol, max_iter, on_device.psd_part)
    else:
        eta = 2 * float(gram.spectrum[0].max())
        longest = _longest_column(matrices / eta, tol, max_iter, psd_part)
    return CriticalPenalties(eta * longest, eta)


def bounds_of_critical(gram: GramTensor, n_jobs: int | None = None) -> CriticalPenalties:
    """The critical eta, and an upper bound of the critical lam: twice the longest column of ``S``.

    This is cheap: one product and the largest eigenvalue, for thin factors in the smaller order.
    Eigenvalues that are known already are used. On the host, threads share the slices.
    """
    if is_device_array(gram.array):
        return _bounds_of_stack(gram)
    with Pool(n_jobs, single=gram.n_slices == 1) as pool:
        found = pool.map(lambda block: _bounds_of_stack(gram[block]), blocks_of(gram))
    return CriticalPenalties(max(one.lam for one in found), max(one.eta for one in found))


def _bounds_of_stack(gram: GramTensor) -> CriticalPenalties:
    factor = gram.array
    xp = namespace_of(factor)
    if gram.thin:
        across = xp.conj(factor) if is_complex(factor) else factor
        inner = xp.matmul(xp.matrix_transpose(across), factor)
        squares = _real(xp.sum(xp.matmul(factor, inner) * across, axis=2))
        longest = xp.sqrt(xp.max(xp.clip(squares, min=0.0)))
    else:
        inner, longest = factor, xp.max(column_norms(factor))
    known = "spectrum" in vars(gram)
    largest = xp.max(gram.spectrum[0] if known else xp.linalg.eigvalsh(inner))
    return CriticalPenalties(2 * float(longest), 2 * float(largest))


def _longest_column(
    matrices: Any, tol: float, max_iter: int, psd_part: Callable[[Any], Any]
) -> float:
    """How short the longest column of a G with ``herm(G) >= matrices`` can be; largest slice.

    This is the alternating direction method on two copies of G: one gets shorter columns, the
    other is made feasible. Their multiplier is the ``A`` of the lower bound. Slices that can no
    longer be the largest are dropped.
    """
    algebra = algebra_of(matrices)
    xp = algebra.xp
    upper = xp.max(algebra.column_norms(matrices), axis=1)
    lower = xp.max(algebra.diagonal(matrices), axis=1)
    feasible, dual = matrices, xp.zeros_like(matrices)
    for step in range(1, max_iter + 1):
        if step % _CHECK_EVERY == 1:
            if xp.max(upper) <= (1 + tol) * xp.max(lower):
                break
            (wanted,) = xp.nonzero(upper > xp.max(lower))
            upper, lower, matrices, feasible, dual = (
                algebra.take(part, wanted) for part in (upper, lower, matrices, feasible, dual)
            )
        short = feasible - dual
        short = short - _onto_ball(algebra, short, 1 / _WEIGHT)
        free = _RELAXATION * short + (1 - _RELAXATION) * feasible + dual
        middle = algebra.hermitian_part(free)
        feasible = free - middle + matrices + psd_part(middle - matrices)
        dual = free - feasible
        upper = xp.minimum(upper, xp.max(algebra.column_norms(feasible), axis=1))
        gain = -algebra.inner(matrices, dual)
        size = xp.sum(algebra.column_norms(dual), axis=1)
        lower = algebra.larger(lower, gain / algebra.at_least(size, algebra.tiny))
    return float(xp.max(upper))


def _onto_ball(algebra: Algebra | HostAlgebra, matrices: Any, radius: float) -> Any:
    """The nearest matrices whose column norms sum to at most `radius`."""
    norms = algebra.column_norms(matrices)
    count = algebra.arange(norms.shape[1]) + 1
    excess = (algebra.running_sum(algebra.descending(norms)) - radius) / count
    # All norms are cut by the same amount. If the k largest stay above zero, it is their excess
    # over the radius divided by k, and this is largest for the right k.
    cut = algebra.at_least(algebra.xp.max(excess, axis=1), 0.0)[:, None]
    shares = algebra.at_least(norms - cut, 0.0) / algebra.at_least(norms, algebra.tiny)
    return matrices * shares[:, None, :]


def _real(values: Any) -> Any:
    return namespace_of(values).real(values) if is_complex(values) else values
