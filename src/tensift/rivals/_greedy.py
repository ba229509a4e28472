"""Base class of selectors that pick one feature after another."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.modes import pool_elements
from tensift._utils.sklearn_compat import fit_context
from tensift.rivals._fibres import centred_fibres, without_constants
from tensift.rivals._spread import spread_of_elements
from tensift.selection import (
    Selection,
    SuggestedCount,
    TensorSelector,
    rank_features,
    suggest_count,
)
from tensift.sources import even_subsample

__all__ = ["GreedySelector", "Picks"]


class Picks(NamedTuple):
    """The features that were picked, and what the others are worth afterwards."""

    features: list[int]
    gains: list[float]  # of every pick, when it was picked
    left: NDArray[np.float64]  # of all features at the end; not looked at for picks


class GreedySelector(TensorSelector):
    """Base class of selectors that pick one feature after another.

    A subclass has the parameters ``n_features_to_select``, ``feature_mode`` and ``feature_shape``,
    and implements `_pick`. Constant features take no part. The score of a feature is its gain when
    it was picked, but at most the score of the feature before it, so that scores and order agree.
    """

    @fit_context
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Pick features of `X`, one after another.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without NaN or infinity. Tensors may be complex.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        spread, samples = spread_of_elements(self, X)
        mode = self._mode_of_features()
        values, kept = without_constants(centred_fibres(samples, spread, mode))
        spread = pool_elements(spread, mode)
        rows = even_subsample(samples)
        suggested = self._suggest(rows, mode) if self.n_features_to_select == "auto" else None
        count = self._checked_count(spread.size, suggested)
        picks = self._pick(values, min(count, len(kept)), kept)
        scores, places = np.zeros(spread.size), np.zeros(spread.size)
        capped = np.minimum.accumulate(picks.gains)
        scores[kept] = np.clip(picks.left, 0.0, capped[-1])
        features = kept[picks.features]
        scores[features] = capped
        places[features] = np.arange(len(features), 0, -1)  # equal scores: as they were picked
        order = rank_features(scores, [places, spread.ravel()])
        self.scores_, self._scored_mode = scores.reshape(spread.shape), mode
        self._keep_selection(Selection(order, suggested=suggested))
        return self

    def _suggest(self, rows: NDArray, mode: int | None) -> SuggestedCount:
        """Suggest how many features to keep."""
        return suggest_count(rows, mode)

    @abstractmethod
    def _pick(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Picks:
        """Pick at least one feature of ``(n, features, elements)``, of which all vary.

        `count` features, or fewer if no more are worth anything. Gains do not depend on units.
        `kept` are the flat indices of these features among all.
        """
