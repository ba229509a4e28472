"""The squared error of the classifiers of CPUFS, as a function of the vectors of one mode.

The vectors of all other modes are fixed. The outputs ``P_r u_r`` of cluster ``r`` are then linear
in its vector ``u_r`` of this mode, so that the error is a least squares problem for every cluster.
``P_r (n, d_k)`` are the data contracted with the cluster's vectors of all other modes. Symbols are
those of the documentation of `CPUFS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ClassifierLoss",
    "LossAlongMode",
    "LossFromData",
    "LossFromGram",
    "contract_others",
    "outer_rows",
]

_Map = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass
class LossAlongMode:
    """``||H - F||^2`` as a function of the vectors ``(c, d_k)`` of one mode."""

    outputs: _Map  # H^T
    half_gradient: _Map  # P_r^T (H_r - F_r) in row r


class ClassifierLoss(ABC):
    """The squared error on given samples, along any mode.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Samples.
    shape : tuple of int
        The shape of one sample.
    n_clusters : int
        ``c``.
    """

    def __init__(self, rows: NDArray[np.float64], shape: tuple[int, ...], n_clusters: int) -> None:
        self.rows, self.shape = rows, shape
        # Contract only if one matrix per cluster is not larger than what it is contracted from.
        # It would be with few features in the other modes, or with a single mode.
        least = max(n_clusters, 2)
        self._contracts = [(rows.shape[1] // size) ** 2 >= least for size in shape]

    @abstractmethod
    def set_labels(self, labels: NDArray, sample_factor: NDArray) -> NDArray[np.float64]:
        """Use the labels ``F (n, c)`` from now on; return ``C^T X`` for `sample_factor` ``C``."""

    @abstractmethod
    def along(self, mode: int, vectors: Sequence[NDArray]) -> LossAlongMode:
        """Return the error along a mode, for the classifiers `vectors`."""

    @abstractmethod
    def outputs(self, vectors: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return ``(X W^T)^T (c, n)``; `vectors` may be those of classifiers or of factors."""


class LossFromGram(ClassifierLoss):
    """The error from the Gram matrix of features, which is faster for many samples.

    ``P_r^T P_r`` is the Gram matrix with both of its indices contracted. Both matrices are
    symmetric, so a quarter of the Gram matrix is enough: one row per pair of features in the other
    modes, one column per pair in this mode.
    """

    def __init__(self, rows: NDArray[np.float64], shape: tuple[int, ...], n_clusters: int) -> None:
        super().__init__(rows, shape, n_clusters)
        self._gram = rows.T @ rows
        self._paired = [
            _PairedGram(self._gram, shape, mode) if contracts else None
            for mode, contracts in enumerate(self._contracts)
        ]

    def set_labels(self, labels: NDArray, sample_factor: NDArray) -> NDArray[np.float64]:
        products = np.hstack([labels, sample_factor]).T @ self.rows  # one pass over the data
        self._products, other = np.split(products, [labels.shape[1]])
        return other

    def along(self, mode: int, vectors: Sequence[NDArray]) -> LossAlongMode:
        fold, gram = self._paired[mode], self._gram
        linear = contract_others(self._products, vectors, mode)
        if fold is not None:
            forms = fold.contract(outer_rows([*vectors[:mode], *vectors[mode + 1 :]]))

        def half_gradient(own: NDArray) -> NDArray:
            if fold is None:
                images = contract_others(
                    outer_rows(_replaced(vectors, mode, own)) @ gram, vectors, mode
                )
            else:
                images = (forms @ own[:, :, None])[:, :, 0]
            return images - linear

        return LossAlongMode(lambda own: self.outputs(_replaced(vectors, mode, own)), half_gradient)

    def outputs(self, vectors: Sequence[NDArray]) -> NDArray[np.float64]:
        return outer_rows(vectors) @ self.rows.T


class LossFromData(ClassifierLoss):
    """The error from the data, which is faster for few samples: one pass gives all ``P_r``."""

    def __init__(self, rows: NDArray[np.float64], shape: tuple[int, ...], n_clusters: int) -> None:
        super().__init__(rows, shape, n_clusters)
        samples = rows.reshape(-1, *shape)
        # One row for every feature of the other modes, because those are contracted.
        self._others_first = [
            np.ascontiguousarray(np.moveaxis(samples, mode + 1, 1).reshape(len(rows) * size, -1).T)
            if contracts
            else None
            for mode, (size, contracts) in enumerate(zip(shape, self._contracts, strict=True))
        ]

    def set_labels(self, labels: NDArray, sample_factor: NDArray) -> NDArray[np.float64]:
        self._labels = np.ascontiguousarray(labels.T)
        return sample_factor.T @ self.rows

    def along(self, mode: int, vectors: Sequence[NDArray]) -> LossAlongMode:
        others_first, rows, labels = self._others_first[mode], self.rows, self._labels
        if others_first is None:

            def outputs(own: NDArray) -> NDArray:
                return outer_rows(_replaced(vectors, mode, own)) @ rows.T

            def contract_with_errors(errors: NDArray) -> NDArray:
                return contract_others(errors @ rows, vectors, mode)
        else:
            others = outer_rows([*vectors[:mode], *vectors[mode + 1 :]])
            parts = (others @ others_first).reshape(len(others), len(rows), -1)

            def outputs(own: NDArray) -> NDArray:
                return (parts @ own[:, :, None])[:, :, 0]

            def contract_with_errors(errors: NDArray) -> NDArray:
                return (errors[:, None, :] @ parts)[:, 0]

        return LossAlongMode(outputs, lambda own: contract_with_errors(outputs(own) - labels))

    def outputs(self, vectors: Sequence[NDArray]) -> NDArray[np.float64]:
        return self.along(len(vectors) - 1, vectors).outputs(vectors[-1])


class _PairedGram:
    """The Gram matrix ``(d, d)`` with one row per pair of features in the other modes.

    Columns are pairs of features in one mode.
    """

    def __init__(self, gram: NDArray, shape: tuple[int, ...], mode: int) -> None:
        size = shape[mode]
        features = np.moveaxis(np.arange(len(gram)).reshape(shape), mode, -1).reshape(-1, size)
        self._first, self._second = np.triu_indices(len(features))
        left, right = np.triu_indices(size)
        one, other = features[self._first], features[self._second]
        self._pairs = gram[one[:, left], other[:, right]] + gram[other[:, left], one[:, right]]
        self._pairs[self._first == self._second] /= 2  # all other rows stand for two pairs
        self._place = np.empty((size, size), dtype=np.intp)
        self._place[left, right] = self._place[right, left] = np.arange(len(left))

    def contract(self, others: NDArray) -> NDArray[np.float64]:
        """Return ``P_r^T P_r (c, d_k, d_k)`` for vectors ``(c, d / d_k)`` of the other modes."""
        pairs = others[:, self._first] * others[:, self._second]
        return (pairs @ self._pairs)[:, self._place]


def _replaced(vectors: Sequence[NDArray], mode: int, own: NDArray) -> list[NDArray]:
    return [*vectors[:mode], own, *vectors[mode + 1 :]]


def outer_rows(factors: Sequence[NDArray]) -> NDArray[np.float64]:
    """Return ``(c, d)``: row ``r`` is the outer product of the rows ``r`` of all factors."""
    return reduce(
        lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), factors
    )


def contract_others(values: NDArray, factors: Sequence[NDArray], mode: int) -> NDArray:
    """Contract row ``r`` of `values` ``(c, d)`` with row ``r`` of every factor except one."""
    n_rows = len(values)
    for factor in reversed(factors[mode + 1 :]):
        values = values.reshape(n_rows, -1, factor.shape[1]) @ factor[:, :, None]
    for factor in factors[:mode]:
        values = factor[:, None, :] @ values.reshape(n_rows, factor.shape[1], -1)
    return values.reshape(n_rows, -1)
