"""Choose among selections without labels: by neighbours kept and their agreement together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from tensift.metrics._alignment import Alignment
from tensift.metrics._neighbour_agreement import NeighbourAgreement
from tensift.metrics._neighbours import NEIGHBOURS, Neighbourhoods
from tensift.metrics._whitened import Likeness

__all__ = ["Judge", "SelectionJudgement", "judge_selections", "mean_ranks"]


@dataclass(frozen=True, eq=False)
class SelectionJudgement:
    """Several selections of the same samples, judged without labels.

    Attributes
    ----------
    neighbours_kept, neighbour_agreement : ndarray of shape (n_selections,)
        The measures of each selection; larger is better.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import SelectionJudgement
    >>> found = SelectionJudgement(np.array([0.4, 0.5, 0.1]), np.array([0.6, 0.7, 0.3]))
    >>> found.ranks
    array([2., 1., 3.])
    >>> found.best
    1
    """

    neighbours_kept: np.ndarray
    neighbour_agreement: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        """The mean of both ranks of each selection; 1 is first in both measures."""
        return mean_ranks(self.neighbours_kept, self.neighbour_agreement)

    @property
    def best(self) -> int:
        """The selection with the least mean rank; if several have it, that of larger values."""
        ranks, values = self.ranks, self.neighbours_kept + self.neighbour_agreement
        return min(range(len(ranks)), key=lambda place: (ranks[place], -values[place]))


def judge_selections(
    X: ArrayLike,
    selections: Iterable[ArrayLike],
    *,
    feature_mode: int | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> SelectionJudgement:
    """Judge which of several selections keeps samples most recognisable, without labels.

    Two measures decide together: `neighbours_kept` and `neighbour_agreement`. Each ranks the
    selections, and the sum of both ranks counts. A selection that only suits one measure does not
    win: copies of one good feature agree, but keep few neighbours.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features. To be fair to methods that fit their samples closely, use
        samples on which the selections were not made.
    selections : iterable of array-like
        The selections: each holds indices without duplicates (flat C-order, or along
        ``feature_mode``), or is a boolean mask of all features. Compare selections of equal size,
        because more features keep more.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Returns
    -------
    SelectionJudgement
        Both measures, mean ranks, and the best selection.

    Notes
    -----
    Ten neighbours are compared, or n/4 if there are fewer than 40 samples. The whitened components
    of the samples are computed once for all selections.

    Examples
    --------
    Twenty-one pixels of the digits: from the upper rows, spread over the image, from the middle.

    >>> import numpy as np
    >>> from tensift.datasets import load_digits
    >>> from tensift.metrics import judge_selections
    >>> X = load_digits().data[:400]
    >>> found = judge_selections(X, [np.arange(21), np.arange(1, 64, 3), np.arange(21, 42)])
    >>> found.ranks
    array([2. , 1.5, 2.5])
    >>> found.best
    1
    """
    judge = Judge(X, feature_mode, sample_weight)
    chosen = [judge.check(f"selections[{k}]", one) for k, one in enumerate(selections)]
    if not chosen:
        raise ValueError("selections must contain at least one selection")
    return SelectionJudgement(
        np.array([judge.neighbours_kept(features) for features in chosen]),
        np.array([judge.neighbour_agreement(features) for features in chosen]),
    )


class Judge:
    """Measures of many selections of the same samples, whose components it computes once.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features.
    feature_mode : int or str, optional
        The mode whose indices are the features.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.metrics import Judge, alignment
    >>> X = load_digits().data[:400]
    >>> judge = Judge(X)
    >>> judge.alignment([20, 30, 40]) == alignment(X, [20, 30, 40])
    True
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_mode: int | str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self._likeness = likeness = Likeness(X, feature_mode, sample_weight)
        # Among few samples, ten neighbours would be almost all of them.
        count = min(NEIGHBOURS, max(1, likeness.n_samples // 4))
        self._neighbourhoods = Neighbourhoods(likeness, count)
        self._agreement = NeighbourAgreement(likeness)
        self._alignment = Alignment(likeness)

    def check(self, name: str, features: ArrayLike) -> np.ndarray:
        """Return feature indices, given indices or a mask; errors call them by this name."""
        return self._likeness.check(name, features)

    def neighbours_kept(self, features: ArrayLike) -> float:
        """Return the share of neighbours that a selection keeps; see `neighbours_kept`."""
        return self._neighbourhoods.kept(self.check("features", features))

    def neighbour_agreement(self, features: ArrayLike) -> float:
        """Return how far neighbours agree on the features; see `neighbour_agreement`."""
        return self._agreement.of(self.check("features", features))

    def alignment(self, features: ArrayLike) -> float:
        """Return the alignment of a selection with all features; see `alignment`."""
        return self._alignment.of(self.check("features", features))


def mean_ranks(*measures: ArrayLike) -> np.ndarray:
    """Return the mean rank of every candidate over measures of which larger values are better.

    Parameters
    ----------
    *measures : array-like of shape (n_candidates,)
        One value per candidate, without NaN.

    Returns
    -------
    ndarray of shape (n_candidates,)
        1 for a candidate that is first in all measures. Equal values share the mean of their ranks.

    Examples
    --------
    >>> from tensift.metrics import mean_ranks
    >>> mean_ranks([0.9, 0.5, 0.5], [3, 4, 1])
    array([1.5 , 1.75, 2.75])
    """
    return np.asarray(np.mean([rankdata(-np.asarray(one, float)) for one in measures], axis=0))
