"""Diverse selection without scores."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

from tensift.selection import rank_diverse


class ScoreFree(SelectorMixin, BaseEstimator):
    """Order features as diverse selection does, with the same score for all."""

    def __init__(self, n_features_to_select=100, *, feature_mode=None):
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode

    def fit(self, X, y=None):
        mode, shape = self.feature_mode, X.shape[1:]
        scores = np.ones(shape if mode is None else shape[mode])
        self.order_ = rank_diverse(X, scores, self.n_features_to_select, feature_mode=mode)
        return self

    def _get_support_mask(self):
        mask = np.zeros(len(self.order_), dtype=bool)
        mask[self.order_[: self.n_features_to_select]] = True
        return mask
