"""An order among features with a score of zero: by where they enter as penalties go down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import device_of, is_device_array, namespace_of
from tensift._stacks import diagonal_of
from tensift.solvers import SliceProblems, Solution
from tensift.solvers._problem import column_norms

__all__ = ["SmallerPenalties", "entry_scores", "norms_under"]

# Of both penalties: small steps among the features that will be selected, where each step
# that is too large ranks by scores what it should rank by entry, larger ones after them.
_STEP, _LATER_STEP = 10**-0.1, 10**-1
_SMALLEST = 1e-4


def entry_scores(
    norms: Any,
    score: Callable[[Any], Any],
    varies: Any,
    n_selected: int,
    enters: Callable[[int], Any],
    norms_at: Callable[[Any, float], Any],
) -> list[Any]:
    """Scores under smaller and smaller penalties, for features that have no score yet.

    Both penalties are lowered by a tenth of a decade, step by step, until as many features have
    a score as will be selected, and by a decade from there on, until at most one of the
    features that vary is left without a score. The last step has no penalties: there the operator
    is ``S (S + ridge I)^-1``, in which no feature that varies has a zero column. Only slices with
    zero columns are solved again.

    Parameters
    ----------
    norms : ndarray of shape (p, q)
        Column norms of the solution that has been found.
    score : callable
        From column norms to scores of features.
    varies : ndarray of bool, in the shape of the features
        Features that have a place to enter; the others never do.
    n_selected : int
        How many features will be selected.
    enters : callable
        From the number of features without a score to the columns of slices that vary,
        ``(p, q)``; called once, if at all.
    norms_at : callable
        From numbers of slices, fewer every time, and a factor of both penalties to column norms.

    Returns
    -------
    list of ndarray
        Scores of the features at each step, zero for those with a score at an earlier one: the
        ties of `rank_features`, in order.
    """
    xp = namespace_of(norms)
    scores = score(norms)
    waiting = varies & (scores == 0)
    n_waiting = _count(waiting)
    if n_waiting < 2:
        return []
    varying = enters(n_waiting)
    found: list[Any] = []
    slices = xp.arange(norms.shape[0], device=device_of(norms))
    has_score = _count(scores != 0)
    factor = 1.0
    while factor > 0:
        zero = xp.take(varying, slices, axis=0) & (xp.take(norms, slices, axis=0) == 0)
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
    """How many are true: a number that decides what is done next, so it has to be known here."""
    xp = namespace_of(flags)
    return int(xp.sum(xp.astype(flags, xp.int32)))


def _replaced(values: Any, index: Any, rows: Any) -> Any:
    """Values with other rows at increasing indices; not in place, which some libraries forbid."""
    xp = namespace_of(values)
    every = xp.arange(values.shape[0], device=device_of(values))
    place = xp.clip(xp.searchsorted(index, every), max=index.shape[0] - 1)
    is_new = xp.take(index, place) == every
    return xp.where(is_new[:, None], xp.take(rows, place, axis=0), values)


class SmallerPenalties:
    """Column norms of slices in memory, of which fewer are asked for every time."""

    def __init__(self, problems: SliceProblems, solve: Callable[[SliceProblems], Solution]) -> None:
        self._part, self._slices = problems, np.arange(problems.gram.n_slices)
        self._solve = solve

    def __call__(self, slices: NDArray[np.intp], factor: float) -> NDArray[np.float64]:
        """Column norms ``(len(slices), q)`` under both penalties times `factor`."""
        if len(slices) < len(self._slices):
            self._part, self._slices = self._part[np.isin(self._slices, slices)], slices
        return norms_under(self._part, factor, self._solve)


def norms_under(
    problems: SliceProblems, factor: float, solve: Callable[[SliceProblems], Solution]
) -> NDArray[np.float64]:
    """Column norms of the solutions under both penalties times `factor`."""
    if factor == 0:
        return column_norms(_without_penalties(problems))
    lam, eta = factor * problems.lam, factor * problems.eta
    return solve(SliceProblems(problems.gram, lam, eta, problems.ridge)).norms


def _without_penalties(problems: SliceProblems) -> Any:
    """The minimisers for ``lam = eta = 0``, whose factors commute."""
    gram = problems.gram.dense()
    if is_device_array(gram):
        xp = namespace_of(gram)
        identity = xp.eye(gram.shape[-1], dtype=gram.dtype, device=device_of(gram))
        return xp.linalg.solve(gram + problems.ridge * identity, gram)
    shifted = gram.copy()
    diagonal_of(shifted)[...] += problems.ridge
    return np.linalg.solve(shifted, gram)
