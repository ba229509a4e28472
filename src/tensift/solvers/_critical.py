"""The penalties above which nothing is left of any slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import hermitian_part
from tensift.gram._tensor import GramTensor
from tensift.solvers._problem import column_norms
from tensift.solvers._projection import psd_part

__all__ = ["CriticalPenalties", "critical_penalties"]

_WEIGHT, _RELAXATION = 0.3, 1.9
_CHECK_EVERY = 10
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class CriticalPenalties:
    """Penalties above which the optimum of every slice is zero.

    Attributes
    ----------
    lam : float
        With no other penalty, a larger lam leaves nothing of any slice, and one smaller by a few
        parts in ten thousand leaves something.
    eta : float
        The same for eta.

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

    ``A = 0`` is optimal if some ``G`` with columns of norm at most ``lam`` has a Hermitian part
    of at least ``2 S - eta I``. So the critical eta is twice the largest eigenvalue of ``S``, and
    the critical lam the least possible length of the longest column of such a ``G`` for
    ``eta = 0``. The latter is bracketed: every such ``G`` bounds it from above, and every
    ``A >= 0`` from below, by ``Tr(2 S A) / ||A||_{2,1}``.

    Under both penalties the optimum is zero wherever ``lam / critical + eta / critical >= 1``:
    shares of the two multipliers that prove it for one penalty alone prove it together.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    tol : float
        The width of the bracket, as a share of the value. Its upper end is returned.
    max_iter : int
        Steps at most.

    Returns
    -------
    CriticalPenalties

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import critical_penalties
    >>> critical_penalties(GramTensor(np.diag([9.0, 1.0])[None], thin=False))
    CriticalPenalties(lam=18.0, eta=18.0)
    """
    matrices = 2 * gram.dense()
    if not matrices.any():
        return CriticalPenalties(0.0, 0.0)
    eta = 2 * float(gram.spectrum[0].max())
    return CriticalPenalties(eta * _longest_column(matrices / eta, tol, max_iter), eta)


def _longest_column(matrices: NDArray, tol: float, max_iter: int) -> float:
    """The least length of the longest column of G with ``herm(G) >= matrices``, over all slices.

    The alternating direction method on two copies of G: in one the longest column is shortened,
    the other is made feasible. Its multiplier is the ``A`` of the lower bound. Slices that
    cannot be the largest any more are left out.
    """
    upper = column_norms(matrices).max(axis=1)
    lower = np.einsum("pii->pi", matrices).real.max(axis=1)
    feasible, dual = matrices.copy(), np.zeros_like(matrices)
    for step in range(1, max_iter + 1):
        if step % _CHECK_EVERY == 1:
            if upper.max() <= (1 + tol) * lower.max():
                break
            wanted = upper > lower.max()
            upper, lower, matrices = upper[wanted], lower[wanted], matrices[wanted]
            feasible, dual = feasible[wanted], dual[wanted]
        short = feasible - dual
        short -= _onto_ball(short, 1 / _WEIGHT)
        free = _RELAXATION * short + (1 - _RELAXATION) * feasible + dual
        middle = hermitian_part(free)
        feasible = free - middle + matrices + psd_part(middle - matrices)
        dual = free - feasible
        upper = np.minimum(upper, column_norms(feasible).max(axis=1))
        gain = -np.einsum("pij,pij->p", matrices.conj(), dual).real
        size = np.maximum(column_norms(dual).sum(axis=1), _TINY)
        lower = np.maximum(lower, gain / size)
    return float(upper.max())


def _onto_ball(matrices: NDArray, radius: float) -> NDArray:
    """The nearest matrices whose column norms sum to at most `radius`."""
    norms = column_norms(matrices)
    descending = -np.sort(-norms, axis=1)
    excess = (np.cumsum(descending, axis=1) - radius) / np.arange(1, norms.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1
    cut = np.maximum(excess[np.arange(len(norms)), last], 0)[:, None]
    return matrices * (np.maximum(norms - cut, 0) / np.maximum(norms, _TINY))[:, None, :]
