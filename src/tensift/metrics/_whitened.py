"""What samples look like together: cosines between whitened principal components."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.metrics._checks import as_real_rows
from tensift.metrics._features import check_features, check_samples, count_features, kept_elements
from tensift.selection import whitened_components
from tensift.sources import SampleWeights, kept_samples

__all__ = ["Likeness"]

_COMPONENTS = 50


class Likeness:
    """Samples, and how alike they are in the whitened components of all features.

    Many selections of the same samples can be compared with it: it is computed once.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples. At most 2048 evenly spaced ones are used.
    feature_mode : int or str, optional
        The mode whose indices are the features.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Attributes
    ----------
    shares : ndarray of shape (n_samples,) or None
        The weights of the used samples, scaled to a mean of one.
    samples : ndarray of shape (n_samples, d_1, ..., d_m)
        The used samples as they were given.
    rows : ndarray of shape (n_samples, elements)
        The used samples, real, centred and scaled to at most 1. A complex number has two elements.
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_mode: int | str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        data, self.feature_mode = check_samples(X, feature_mode)
        weights = SampleWeights.of(sample_weight)
        if weights is not None:
            data, weights = data[weights.check_length(len(data)).positive], weights.used
        self._shape = data.shape[1:]
        self.n_features = count_features(self._shape, self.feature_mode)
        self._is_complex = np.iscomplexobj(data)
        kept = kept_samples(data, weights)
        self.samples, self.shares = kept.rows, kept.shares
        rows = as_real_rows(self.samples)
        if len(rows) < 2:
            raise ValueError(f"X has {len(rows)} sample(s); neighbours need at least 2")
        rows = rows - rows[:1]  # constant features become exactly zero
        peak = float(np.abs(rows).max())
        if peak == 0:
            raise ValueError("X is constant, so all samples look the same")
        # Scale to at most 1, so that squares neither overflow nor underflow.
        rows = rows / peak
        self.rows = rows - np.average(rows, axis=0, weights=self.shares)

    @property
    def n_samples(self) -> int:
        """The number of samples that are used."""
        return len(self.rows)

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """Whitened components with rows of length 1: their products are cosines."""
        components = whitened_components(self.weighed(self.rows), _COMPONENTS)
        lengths = np.linalg.norm(components, axis=1, keepdims=True)
        return np.asarray(components / np.where(lengths > 0, lengths, 1))

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every feature; its elements count together."""
        squares = (
            np.mean(self.weighed(self.rows) ** 2, axis=0).reshape(-1, *self._shape).sum(axis=0)
        )
        if self.feature_mode is None:
            return np.sqrt(squares.ravel())
        others = tuple(mode for mode in range(squares.ndim) if mode != self.feature_mode)
        return np.asarray(np.sqrt(squares.sum(axis=others)))

    def weighed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one row for each sample, multiplied by the root of its weight."""
        if self.shares is None:
            return values
        return values * np.sqrt(self.shares)[:, None]

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean of one value for each sample."""
        return float(np.average(values, weights=self.shares))

    def check(self, name: str, features: ArrayLike) -> np.ndarray:
        """Return feature indices, given indices or a mask of all features."""
        return check_features(name, features, self.n_features)

    def columns(self, features: np.ndarray) -> NDArray[np.float64]:
        """Return the elements of the features, in the order of their indices."""
        return self.rows[:, self._elements(features)]

    def elementwise(self, values: NDArray[np.float64], features: np.ndarray) -> NDArray[np.float64]:
        """Return one value per column of `columns`, given one value per feature."""
        if self.feature_mode is not None:
            others = [mode for mode in range(len(self._shape)) if mode != self.feature_mode]
            values = np.broadcast_to(np.expand_dims(values, others), self._shape).ravel()
        spread = np.concatenate([values, values]) if self._is_complex else values
        return np.asarray(spread[self._elements(features)])

    def _elements(self, features: np.ndarray) -> NDArray[np.bool_]:
        kept = kept_elements(self._shape, features, self.feature_mode)
        return np.concatenate([kept, kept]) if self._is_complex else kept
