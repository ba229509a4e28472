"""An order among features with a score of zero: by where they enter as penalties go down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import diagonal_of
from tensift.selectors._scoring import variances
from tensift.solvers import SliceProblems, Solution
from tensift.solvers._problem import column_norms

__all__ = ["entry_scores"]

# Of both penalties: small steps among the features that will be selected, where each step
# that is too large ranks by scores what it should rank by entry, larger ones after them.
_STEP, _LATER_STEP = 10**-0.1, 10**-1
_SMALLEST = 1e-4


def entry_scores(
    problems: SliceProblems,
    norms: NDArray[np.float64],
    score: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    varies: NDArray[np.bool_],
    n_selected: int,
    solve: Callable[[SliceProblems], Solution],
) -> list[NDArray[np.float64]]:
    """Scores under smaller and smaller penalties, for features that have no score yet.

    Both penalties are lowered by a tenth of a decade, step by step, until as many features have
    a score as will be selected, and by a decade from there on, until at most one of the
    features that vary is left without a score. The last step has no penalties: there the operator
    is ``S (S + ridge I)^-1``, in which no feature that varies has a zero column. Only slices with
    zero columns are solved again.

    Parameters
    ----------
    problems : SliceProblems
        The problems that are solved.
    norms : ndarray of shape (p, q)
        Column norms of their solution.
    score : callable
        From column norms to scores of features.
    varies : ndarray of bool, in the shape of the features
        Features that have a place to enter; the others never do.
    n_selected : int
        How many features will be selected.
    solve : callable
        The solver.

    Returns
    -------
    list of ndarray
        Scores of the features at each step, zero for those with a score at an earlier one: the
        ties of `rank_features`, in order.
    """
    norms = norms.copy()
    enters = variances(problems.gram) > 0
    waiting = varies & (score(norms) == 0)
    found: list[NDArray[np.float64]] = []
    part, slices = problems, np.arange(problems.gram.n_slices)
    has_score = np.count_nonzero(score(norms))
    factor = 1.0
    while factor > 0:
        unsettled = np.any(enters[slices] & (norms[slices] == 0), axis=1)
        if np.count_nonzero(waiting) < 2 or not unsettled.any():
            break
        if not unsettled.all():
            slices, part = slices[unsettled], part[unsettled]
        factor *= _STEP if has_score < n_selected else _LATER_STEP
        if factor >= _SMALLEST:
            lam, eta = factor * problems.lam, factor * problems.eta
            smaller = SliceProblems(part.gram, lam, eta, problems.ridge)
            norms[slices] = column_norms(solve(smaller).operators)
        else:
            factor = 0.0
            norms[slices] = column_norms(_without_penalties(part))
        found.append(np.where(waiting, score(norms), 0.0))
        waiting &= found[-1] == 0
        has_score += np.count_nonzero(found[-1])
    return found


def _without_penalties(problems: SliceProblems) -> NDArray:
    """The minimisers for ``lam = eta = 0``, whose factors commute."""
    gram = problems.gram.dense()
    shifted = gram.copy()
    diagonal_of(shifted)[...] += problems.ridge
    return np.linalg.solve(shifted, gram)
