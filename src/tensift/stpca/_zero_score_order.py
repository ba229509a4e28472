"""Order features with a score of zero by when they enter as penalties decrease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import device_of, is_device_array, namespace_of
from tensift._utils.stacks import adjoint, diagonal_of, eigh
from tensift.solvers import SliceProblems, Solution, column_norms

__all__ = ["NormsAtSmallerPenalties", "norms_under", "zero_score_order"]

# Factors by which both penalties shrink: fine until as many features have entered as will be
# selected, then coarse. Features that enter in the same step are ordered by score, not by entry.
_STEP, _LATER_STEP = 10**-0.1, 10**-1
_SMALLEST = 1e-4  # below this factor, the penalties are set to zero


def zero_score_order(
    norms: Any,
    score: Callable[[Any], Any],
    feature_varies: Any,
    n_selected: int,
    columns_that_vary: Callable[[int], Any],
    norms_at: Callable[[Any, float], Any],
) -> list[Any]:
    """Return scores under smaller and smaller penalties, for features with a score of zero.

    Each step divides both penalties by ``10**0.1`` until as many features have a score as will be
    selected, and by 10 after that. It stops when at most one feature that varies has no score. The
    last possible step has no penalties: there the operator is ``S (S + ridge I)^-1``, in which
    every feature that varies has a non-zero column. Only slices with zero columns are solved again.

    Parameters
    ----------
    norms : ndarray of shape (p, q)
        Column norms of the solution.
    score : callable
        Returns the scores of features, given column norms.
    feature_varies : ndarray of bool, in the shape of the features
        Which features vary; the others never get a score.
    n_selected : int
        How many features will be selected.
    columns_that_vary : callable
        Returns a mask ``(p, q)`` of the columns of slices that vary, given the number of features
        without a score (for a warning); called at most once.
    norms_at : callable
        ``norms_at(indices, factor)`` returns the column norms of these slices with both penalties
        times `factor`; fewer indices are requested in each call.

    Returns
    -------
    list of ndarray
        Scores of the features at each step, zero for those with a score at an earlier step: the
        `ties` of `rank_features`, in order.
    """
    xp = namespace_of(norms)
    scores = score(norms)
    waiting = feature_varies & (scores == 0)
    n_waiting = _count(waiting)
    if n_waiting < 2:
        return []
    column_varies = columns_that_vary(n_waiting)
    found: list[Any] = []
    slices = xp.arange(norms.shape[0], device=device_of(norms))
    has_score = _count(scores != 0)
    factor = 1.0
    while factor > 0:
        zero = xp.take(column_varies, slices, axis=0) & (xp.take(norms, slices, axis=0) == 0)
        unsettled = xp.any(zero, axis=1)
        if _count(waiting) < 2 or not xp.any(unsettled):
            break
        slices = slices[unsettled]
        factor *= _STEP if has_score < n_selected else _LATER_STEP
        factor = factor if factor >= _SMALLEST else 0.0
        norms = _replaced(norms, slices, norms_at(slices, factor))
        scores = score(norms)
        found.append(xp.where(waiting, scores, xp.zeros_like(scores)))
        waiting = waiting & (found[-1] == 0)
        has_score += _count(found[-1] != 0)
    return found


def _count(flags: Any) -> int:
    """Return how many flags are true, as a Python number, because it decides what comes next."""
    xp = namespace_of(flags)
    return int(xp.sum(xp.astype(flags, xp.int32)))


def _replaced(values: Any, index: Any, rows: Any) -> Any:
    """Replace rows at increasing indices; not in place, because some libraries forbid that."""
    xp = namespace_of(values)
    every = xp.arange(values.shape[0], device=device_of(values))
    place = xp.clip(xp.searchsorted(index, every), max=index.shape[0] - 1)
    is_new = xp.take(index, place) == every
    return xp.where(is_new[:, None], xp.take(rows, place, axis=0), values)


class NormsAtSmallerPenalties:
    """Computes column norms of slices in memory; fewer slices are requested in each call."""

    def __init__(self, problems: SliceProblems, solve: Callable[[SliceProblems], Solution]) -> None:
        self._part, self._slices = problems, np.arange(problems.gram.n_slices)
        self._solve = solve

    def __call__(self, slices: NDArray[np.intp], factor: float) -> NDArray[np.float64]:
        """Return column norms ``(len(slices), q)`` with both penalties times `factor`."""
        if len(slices) < len(self._slices):
            self._part, self._slices = self._part[np.isin(self._slices, slices)], slices
        return norms_under(self._part, factor, self._solve)


def norms_under(
    problems: SliceProblems, factor: float, solve: Callable[[SliceProblems], Solution]
) -> NDArray[np.float64]:
    """Return the column norms of the solutions with both penalties times `factor`."""
    if factor == 0:
        return _norms_without_penalties(problems)
    lam, eta = factor * problems.lam, factor * problems.eta
    return solve(SliceProblems(problems.gram, lam, eta, problems.ridge)).norms


def _norms_without_penalties(problems: SliceProblems) -> Any:
    """Return the column norms of the minimisers for ``lam = eta = 0``: ``S (S + ridge I)^-1``.

    Both factors are functions of ``S``, so they commute, the product is positive semidefinite, and
    the cone constraint has no effect. With ``S = F F^H`` it is ``F (F^H F + ridge I)^-1 F^H``.
    """
    gram = problems.gram.array
    if problems.gram.thin:
        values, turn = eigh(adjoint(gram) @ gram)
        values = np.maximum(values, np.finfo(float).tiny)[:, None, :]
        rows = gram @ turn * (np.sqrt(values) / (values + problems.ridge))
        return column_norms(adjoint(rows))
    if is_device_array(gram):
        xp = namespace_of(gram)
        identity = xp.eye(gram.shape[-1], dtype=gram.dtype, device=device_of(gram))
        return column_norms(xp.linalg.solve(gram + problems.ridge * identity, gram))
    shifted = gram.copy()
    diagonal_of(shifted)[...] += problems.ridge
    return column_norms(np.linalg.solve(shifted, gram))
