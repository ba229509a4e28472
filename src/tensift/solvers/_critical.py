"""The penalties above which nothing is left of any slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._namespace import device_of, is_complex, is_device_array, namespace_of
from tensift._stacks import diagonal_of, hermitian_part
from tensift.gram._tensor import GramTensor
from tensift.solvers import on_device
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


def bounds_of_critical(gram: GramTensor) -> CriticalPenalties:
    """The critical eta, and a bound from above of the critical lam: twice the longest column.

    They take one product and the largest eigenvalue, of the smaller side of thin factors.
    """
    factor = gram.array
    xp = namespace_of(factor)
    if gram.thin:
        across = xp.conj(factor) if is_complex(factor) else factor
        inner = xp.matmul(xp.matrix_transpose(across), factor)
        squares = _real(xp.sum(xp.matmul(factor, inner) * across, axis=2))
        longest = xp.sqrt(xp.max(xp.clip(squares, min=0.0)))
    else:
        inner, longest = factor, xp.max(column_norms(factor))
    return CriticalPenalties(2 * float(longest), 2 * float(xp.max(xp.linalg.eigvalsh(inner))))


def _longest_column(
    matrices: Any, tol: float, max_iter: int, psd_part: Callable[[Any], Any]
) -> float:
    """The least length of the longest column of G with ``herm(G) >= matrices``, over all slices.

    The alternating direction method on two copies of G: in one the longest column is shortened,
    the other is made feasible. Its multiplier is the ``A`` of the lower bound. Slices that
    cannot be the largest any more are left out.
    """
    xp = namespace_of(matrices)
    upper = xp.max(column_norms(matrices), axis=1)
    lower = xp.max(_real(diagonal_of(matrices)), axis=1)
    feasible, dual = matrices, xp.zeros_like(matrices)
    for step in range(1, max_iter + 1):
        if step % _CHECK_EVERY == 1:
            if xp.max(upper) <= (1 + tol) * xp.max(lower):
                break
            (wanted,) = xp.nonzero(upper > xp.max(lower))
            upper, lower, matrices, feasible, dual = (
                xp.take(part, wanted, axis=0) for part in (upper, lower, matrices, feasible, dual)
            )
        short = feasible - dual
        short = short - _onto_ball(short, 1 / _WEIGHT)
        free = _RELAXATION * short + (1 - _RELAXATION) * feasible + dual
        middle = hermitian_part(free)
        feasible = free - middle + matrices + psd_part(middle - matrices)
        dual = free - feasible
        upper = xp.minimum(upper, xp.max(column_norms(feasible), axis=1))
        gain = -_inner(matrices, dual)
        size = xp.sum(column_norms(dual), axis=1)
        lower = xp.maximum(lower, gain / xp.clip(size, min=_tiny(size)))
    return float(xp.max(upper))


def _real(values: Any) -> Any:
    return namespace_of(values).real(values) if is_complex(values) else values


def _tiny(values: Any) -> float:
    return float(namespace_of(values).finfo(values.dtype).smallest_normal)


def _inner(one: Any, other: Any) -> Any:
    """Real inner products of matrices."""
    if is_device_array(one):
        xp = namespace_of(one)
        return xp.sum(_real(xp.conj(one) * other if is_complex(one) else one * other), axis=(1, 2))
    return np.einsum("pij,pij->p", one.conj(), other).real


def _onto_ball(matrices: Any, radius: float) -> Any:
    """The nearest matrices whose column norms sum to at most `radius`."""
    norms = column_norms(matrices)
    if is_device_array(norms):
        return _onto_ball_on_device(matrices, norms, radius)
    descending = -np.sort(-norms, axis=1)
    excess = (np.cumsum(descending, axis=1) - radius) / np.arange(1, norms.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1
    cut = np.maximum(excess[np.arange(len(norms)), last], 0)[:, None]
    return matrices * (np.maximum(norms - cut, 0) / np.maximum(norms, _TINY))[:, None, :]


def _onto_ball_on_device(matrices: Any, norms: Any, radius: float) -> Any:
    xp = namespace_of(norms)
    descending = xp.sort(norms, axis=1, descending=True)
    count = xp.arange(1, norms.shape[1] + 1, dtype=norms.dtype, device=device_of(norms))
    excess = (xp.cumulative_sum(descending, axis=1) - radius) / count
    # The cut is the excess of the last column above it, which is the largest of all.
    cut = xp.clip(xp.max(excess, axis=1, keepdims=True), min=0.0)
    shrunk = xp.clip(norms - cut, min=0.0) / xp.clip(norms, min=_tiny(norms))
    return matrices * xp.astype(shrunk[:, None, :], matrices.dtype)
