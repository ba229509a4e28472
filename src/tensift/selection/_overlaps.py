"""How much features repeat each other: ``b_ij = <K_i, K_j>`` with ``K_j = X_j X_j^T``."""

from __future__ import annotations

import math
from typing import Any

from tensift._utils.namespace import namespace_of

__all__ = ["energies_of", "overlaps_of"]

_MOST_VALUES = 2**25  # of all K_j together, if they are kept
_BLOCK_VALUES = 2**20  # squared together


def energies_of(values: Any) -> Any:
    """Return the sums of squares over samples ``(n, ...)``, without an array of all squares."""
    xp = namespace_of(values)
    count = values.shape[0]
    step = max(1, _BLOCK_VALUES // max(1, math.prod(values.shape[1:])))
    total = xp.zeros_like(values[0, ...])
    for start in range(0, count, step):
        total = total + xp.sum(values[start : min(start + step, count), ...] ** 2, axis=0)
    return total


def overlaps_of(values: Any) -> FibreOverlaps | GramOverlaps:
    """Return the cheaper of two ways to compute overlaps, for values ``(n, features, t)``."""
    n_samples, n_features, depth = values.shape
    by_fibres = n_features * n_samples * n_features * depth**2
    by_grams = n_samples**2 * n_features * (depth + n_features)
    fits = n_features * n_samples**2 <= _MOST_VALUES
    return GramOverlaps(values) if fits and by_grams < by_fibres else FibreOverlaps(values)


class FibreOverlaps:
    """``||X_i^T X_j||^2``: one product with all features for each ``j``."""

    def __init__(self, values: Any) -> None:
        n_samples, self._n_features, self._depth = values.shape
        xp = namespace_of(values)
        self._values = values
        self._flat = xp.reshape(values, (n_samples, -1))
        self.squares = self._squares()

    def _squares(self) -> Any:
        xp = namespace_of(self._values)
        if self._depth == 1:
            return energies_of(self._values)[:, 0] ** 2
        return xp.stack([self._norm_of_gram(j) for j in range(self._n_features)])

    def _norm_of_gram(self, feature: int) -> Any:
        xp = namespace_of(self._values)
        fibre = self._values[:, feature, :]
        left, right = (fibre.T, fibre) if self._depth <= fibre.shape[0] else (fibre, fibre.T)
        return xp.sum(xp.matmul(left, right) ** 2)

    def with_feature(self, feature: Any) -> Any:
        """Return ``b_ij`` for all features ``i``; `feature` is an array without axes."""
        xp = namespace_of(self._values)
        fibre = xp.take(self._values, feature[None], axis=1)[:, 0, :]
        sums = xp.sum(xp.matmul(self._flat.T, fibre) ** 2, axis=1)
        return xp.sum(xp.reshape(sums, (self._n_features, self._depth)), axis=1)


class GramOverlaps:
    """Inner products of whole matrices ``K_j``: for few features with many values each."""

    def __init__(self, values: Any) -> None:
        n_samples, n_features, _ = values.shape
        xp = namespace_of(values)
        by_feature = xp.permute_dims(values, (1, 0, 2))
        grams = xp.matmul(by_feature, xp.matrix_transpose(by_feature))
        self._grams = xp.reshape(grams, (n_features, n_samples**2))
        self.squares = xp.sum(self._grams**2, axis=1)

    def with_feature(self, feature: Any) -> Any:
        """Return ``b_ij`` for all features ``i``; `feature` is an array without axes."""
        xp = namespace_of(self._grams)
        return xp.matmul(self._grams, xp.take(self._grams, feature[None], axis=0)[0, :])
