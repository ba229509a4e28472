"""How much features repeat each other: ``b_ij = <K_i, K_j>`` with ``K_j = X_j X_j^T``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from tensift._utils.namespace import device_of, is_device_array, namespace_of
from tensift.selection._feature_blocks import feature_blocks

__all__ = ["energies_of", "overlaps_of"]

_MOST_VALUES = 2**25  # of all K_j together, if they are kept
_MOST_PRODUCTS = 2**22  # of values with values, if they are kept
_FASTER = 16  # one product of matrices, against as many of a matrix with vectors
_WRITING = 600  # the time to write a product, in multiply-adds
_BLOCK_VALUES = 2**20  # squared together
_BLOCK_ON_DEVICE = 2**25  # the same, where few large operations are faster than many small ones
_MUCH = 2**22  # values; so many do not fit into a cache


def energies_of(values: Any) -> Any:
    """Return the sums of squares over samples ``(n, ...)``, without an array of all squares."""
    xp = namespace_of(values)
    count = values.shape[0]
    step = max(1, _block_for(values) // max(1, math.prod(values.shape[1:])))
    total = xp.zeros_like(values[0, ...])
    for start in range(0, count, step):
        total = total + xp.sum(values[start : min(start + step, count), ...] ** 2, axis=0)
    return total


def _block_for(values: Any) -> int:
    return _BLOCK_ON_DEVICE if is_device_array(values) else _BLOCK_VALUES


def overlaps_of(values: Any, products: Any = None) -> Overlaps:
    """Return the cheapest way to compute overlaps, for values ``(n, features, t)``.

    `products` are the products ``X^T X`` of all values, if they are known.
    """
    n_samples, n_features, depth = values.shape
    by_fibres = n_features * n_samples * n_features * depth**2
    by_grams = n_samples**2 * n_features * (depth + n_features)
    fits = n_features * n_samples**2 <= _MOST_VALUES
    if products is None and fits and by_grams < by_fibres:
        return GramOverlaps(values)
    return FibreOverlaps(values, products)


class Overlaps(ABC):
    """Overlaps of features.

    Attributes
    ----------
    squares : array of shape (features,)
        ``b_jj`` of all features.
    """

    squares: Any
    _depth: int

    @abstractmethod
    def with_feature(self, feature: Any) -> Any:
        """Return ``b_ij`` for all features ``i``; `feature` is an array without axes."""

    @abstractmethod
    def between(self, some: Any, others: Any) -> Any:
        """Return ``b_ij`` for features ``i`` in `some` and ``j`` in `others`."""

    def prepare(self, count: int) -> None:
        """Prepare for so many calls of `with_feature`."""
        del count

    def squares_of_sums(self, features: Any, counts: Any) -> Any:
        """Return ``||sum_{i <= k} c_i K_i||^2`` of some features, for all ``k``."""
        xp = namespace_of(self.squares)
        number = features.shape[0]
        step = max(1, _block_for(self.squares) // (number * self._depth**2))
        added = []
        for start in range(0, number, step):
            stop = min(start + step, number)
            overlaps = self.between(features[start:stop], features[:stop])
            before = xp.matmul(xp.tril(overlaps, k=start - 1), counts[:stop])
            own = counts[start:stop] * xp.take(self.squares, features[start:stop])
            added.append(counts[start:stop] * (own + 2 * before))
        return xp.cumulative_sum(xp.concat(added))


class FibreOverlaps(Overlaps):
    """``||X_i^T X_j||^2``, from products of values.

    Attributes
    ----------
    values : array of shape (n, features, t)
        The values.
    """

    def __init__(self, values: Any, products: Any = None) -> None:
        n_samples, self._n_features, self._depth = values.shape
        xp = namespace_of(values)
        self.values = values
        self._flat = xp.reshape(values, (n_samples, -1))
        self._products = products
        self.squares = self._squares()

    def _squares(self) -> Any:
        xp = namespace_of(self.values)
        if self._depth == 1:
            return energies_of(self.values)[:, 0] ** 2
        return xp.stack([self._norm_of_gram(j) for j in range(self._n_features)])

    def _norm_of_gram(self, feature: int) -> Any:
        xp = namespace_of(self.values)
        fibre = self.values[:, feature, :]
        left, right = (fibre.T, fibre) if self._depth <= fibre.shape[0] else (fibre, fibre.T)
        return xp.sum(xp.matmul(left, right) ** 2)

    def prepare(self, count: int) -> None:
        """Compute all products ``X^T X`` if they are small and save time."""
        n_samples, size = self._flat.shape
        one_by_one = count * n_samples * max(_FASTER, 2 * self._depth)
        saves_time = size * (n_samples + _WRITING) <= one_by_one
        if self._products is None and saves_time and size**2 <= _MOST_PRODUCTS:
            self._products = namespace_of(self._flat).matmul(self._flat.T, self._flat)

    @property
    def reads_much(self) -> bool:
        """Whether `with_feature` reads more values than fit into a cache."""
        return self._products is None and math.prod(self.values.shape) >= _MUCH

    def with_feature(self, feature: Any) -> Any:
        """Return ``b_ij`` for all features ``i``; `feature` is an array without axes."""
        xp = namespace_of(self.values)
        if self._products is not None:
            columns = self._columns(feature[None])
            return self._summed(xp.take(self._products, columns, axis=0))[0, :]
        with_block = self.with_features(feature[None])
        return xp.concat([with_block(block)[:, 0] for block in feature_blocks(self.values)])

    def with_features(self, features: Any) -> Callable[[slice], Any]:
        """Return a function from a block of features to their ``b_ij`` with all of some others."""
        xp = namespace_of(self.values)
        others = xp.take(self._flat, self._columns(features), axis=1)

        def with_block(block: slice) -> Any:
            part = self._flat[:, block.start * self._depth : block.stop * self._depth]
            return self._summed(xp.matmul(part.T, others))

        return with_block

    def between(self, some: Any, others: Any) -> Any:
        """Return ``b_ij`` for features ``i`` in `some` and ``j`` in `others`."""
        xp = namespace_of(self.values)
        some, others = self._columns(some), self._columns(others)
        if self._products is not None:
            return self._summed(xp.take(xp.take(self._products, some, axis=0), others, axis=1))
        left, right = (xp.take(self._flat, columns, axis=1) for columns in (some, others))
        return self._summed(xp.matmul(left.T, right))

    def _columns(self, features: Any) -> Any:
        """Return the columns of ``X`` that belong to features."""
        if self._depth == 1:
            return features
        xp = namespace_of(features)
        numbers = xp.arange(self._depth, dtype=features.dtype, device=device_of(features))
        return xp.reshape(features[:, None] * self._depth + numbers[None, :], (-1,))

    def _summed(self, products: Any) -> Any:
        """Return sums of the squares of products of values, over pairs of features."""
        if self._depth == 1:
            return products**2
        xp = namespace_of(products)
        rows, columns = (size // self._depth for size in products.shape)
        shape = (rows, self._depth, columns, self._depth)
        return xp.sum(xp.sum(xp.reshape(products**2, shape), axis=3), axis=1)


class GramOverlaps(Overlaps):
    """Inner products of whole matrices ``K_j``: for few features with many values each."""

    _depth = 1

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

    def between(self, some: Any, others: Any) -> Any:
        """Return ``b_ij`` for features ``i`` in `some` and ``j`` in `others`."""
        xp = namespace_of(self._grams)
        some, others = (xp.take(self._grams, which, axis=0) for which in (some, others))
        return xp.matmul(some, others.T)
