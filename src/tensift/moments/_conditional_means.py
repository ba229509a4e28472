"""Estimates of values that were not observed, from those that were, by a few common factors.

Samples are taken to be Gaussian with few factors: ``x = mu + W z + noise``, with ``z ~ N(0, I)``
and noise of variance ``s`` in every element. With ``W_i`` the rows of ``W`` that sample ``i`` has,

    z_i | observed ~ N(C_i W_i^T (x_i - mu_i), s C_i),    C_i = (W_i^T W_i + s I)^-1

and what is missing is estimated by its conditional mean, ``mu + W E z_i``. Factors and noise are
found by a fixed number of steps of the EM algorithm. The uncertainty of ``z_i``, larger for samples
with few values, enters each step, so that factors do not fit noise. Samples may have weights: all
sums over samples are weighted. Copies are one sample whose weight is their number.

Covariances of pairs, over the samples that have both, would need no model but are noisier:
selections by them agreed less with those of complete data.

References
----------
M. E. Tipping, C. M. Bishop: Probabilistic principal component analysis. Journal of the Royal
Statistical Society B 61(3), 1999.

A. Ilin, T. Raiko: Practical approaches to principal component analysis in the presence of missing
values. Journal of Machine Learning Research 11, 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import eigh
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._missing import MissingValues, is_missing
from tensift.sources import KeptSamples

__all__ = ["conditional_means", "filled_for"]

_FACTORS = 30  # more cost more than they gain
_SAMPLES_PER_FACTOR = 8
_STEPS = 15
_MOST_SAMPLES = 2048  # that factors are learned from, evenly spaced; and that are filled together
_BLOCK_VALUES = 2**22  # of products of factors, together
_LEAST_NOISE = 1e-8  # variance, as a share of the mean variance
_ROUNDING = 1e-13  # deviation of a constant, as a share of its largest value


def conditional_means(samples: NDArray, weights: NDArray[np.float64] | None = None) -> NDArray:
    """Return samples with estimates where they have NaN; observed values stay as they are.

    Elements that were never observed become zero, and samples without any value become the mean.

    Parameters
    ----------
    samples : ndarray of shape (n, d_1, ..., d_m)
        Real or complex samples; NaN stands for a value that was not observed.
    weights : ndarray of shape (n,), optional
        How much each sample counts, all positive. Only their ratios matter.

    Returns
    -------
    ndarray of the same shape
        In double precision. The samples themselves if nothing is missing.

    Examples
    --------
    The second column is twice the first:

    >>> import numpy as np
    >>> from tensift.moments import conditional_means
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> X = np.column_stack([x, 2 * x, -x])
    >>> X[0, 1] = np.nan
    >>> bool(abs(conditional_means(X)[0, 1] - 2 * x[0]) < 0.01)
    True
    """
    missing = np.isnan(samples)
    if not missing.any():
        return samples
    # Copies get the same estimates to the last bit, so that they stay copies.
    chosen, places = np.unique(KeptSamples(samples).first_occurrences(), return_inverse=True)
    if len(chosen) < len(samples):
        places = np.ravel(places)
        weights = np.bincount(places, weights).astype(float)
        return conditional_means(samples[chosen], weights)[places]
    flat = samples.reshape(len(samples), -1)
    if np.iscomplexobj(flat):
        parts = np.concatenate([flat.real, flat.imag], axis=1)
        parts[np.isnan(parts.real) | np.tile(missing.reshape(flat.shape), 2)] = np.nan
        filled = _filled(parts, weights)
        width = flat.shape[1]
        return np.asarray(filled[:, :width] + 1j * filled[:, width:]).reshape(samples.shape)
    return _filled(flat.astype(float), weights).reshape(samples.shape)


def filled_for(basis: Any, given: SamplesInMemory) -> SamplesInMemory:
    """Return samples without gaps if a basis would mix missing values with others.

    Samples without any value are left out. All other samples are returned as they are.
    """
    bases = basis if isinstance(basis, list | tuple) else [basis]
    plain = all(isinstance(one, str) and one == "identity" for one in bases)
    samples = given.rows
    if plain or samples.ndim == 2 or not is_missing(samples).any():
        return given
    MissingValues.in_rows(samples).check()
    some = ~is_missing(samples).reshape(len(samples), -1).all(axis=1)
    if given.weights is None:
        return SamplesInMemory(conditional_means(samples[some]))
    weights = given.weights.take(some)
    return SamplesInMemory(conditional_means(samples[some], weights.values), weights)


def _filled(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return real rows ``(n, d)`` with estimates in place of NaN."""
    observed = ~np.isnan(rows)
    first = np.where(observed, rows, 0)
    if weights is None:
        mean = first.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    else:
        number = weights @ observed
        mean = (weights @ first) / np.where(number > 0, number, 1)
    values = np.where(observed, rows - mean, 0)
    # Rounding must not make constants vary.
    largest = np.abs(first).max(axis=0)
    varies = np.abs(values).max(axis=0) > _ROUNDING * largest
    gaps = ~observed & varies
    wanted = gaps.any(axis=1)
    found = np.where(observed, rows, mean)
    if not wanted.any():
        return found
    unit = float(np.abs(values[:, varies]).max())
    values, seen = values[:, varies] / unit, observed[:, varies]
    stride = -(-len(rows) // _MOST_SAMPLES)
    own = None if weights is None else weights[::stride]
    factors = _Factors(values[::stride], seen[::stride], own)
    columns = np.flatnonzero(varies)
    for start in range(0, len(rows), _MOST_SAMPLES):
        block = slice(start, start + _MOST_SAMPLES)
        estimates = mean[columns] + unit * factors.estimates(values[block], seen[block])
        found[block, columns] = np.where(seen[block], rows[block, columns], estimates)
    return found


class _Factors:
    """Factors of centred values ``(n, d)``, zero where they were not observed."""

    def __init__(
        self,
        values: NDArray[np.float64],
        observed: NDArray[np.bool_],
        sample_weights: NDArray[np.float64] | None,
    ) -> None:
        self._values, self._observed = values, observed.astype(float)
        self._shares: NDArray[np.float64] | None = None  # weights with a mean of one
        if sample_weights is not None:
            self._shares = (sample_weights / sample_weights.mean())[:, None]
        n_samples, size = values.shape
        self._total = float(self._weighed(self._observed).sum())
        self._energy = float(self._weighed(values**2).sum())
        count = max(1, min(_FACTORS, n_samples // _SAMPLES_PER_FACTOR, size // 2))
        variance = self._energy / self._total
        self._least = _LEAST_NOISE * variance
        self._noise = variance / 2
        self._weights = self._start(count) * np.sqrt(observed.size / self._total)
        for _ in range(_STEPS):
            self._step()

    def estimates(
        self, values: NDArray[np.float64], observed: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the conditional means of all values of some samples."""
        means, _ = self._expected(values, observed.astype(float))
        return np.asarray(means @ self._weights.T)

    def _start(self, count: int) -> NDArray[np.float64]:
        """Return the leading principal components, times their deviations."""
        values = self._values
        if self._shares is not None:
            values = np.sqrt(self._shares) * values
        n_samples, size = values.shape
        if size <= n_samples:
            energies, vectors = eigh((values.T @ values)[None])
            deviations = np.sqrt(np.maximum(energies[0, size - count :], 0) / n_samples)
            return np.asarray(vectors[0][:, size - count :] * deviations)
        found = eigh((values @ values.T)[None])
        return np.asarray(values.T @ found[1][0][:, n_samples - count :] / np.sqrt(n_samples))

    def _expected(
        self, values: NDArray[np.float64], observed: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the means ``(n, r)`` and the covariances ``(n, r, r)`` of the factors."""
        count = self._weights.shape[1]
        products = _squares(self._weights)
        inner = (observed @ products).reshape(-1, count, count)
        inverse = np.asarray(np.linalg.inv(inner + self._noise * np.eye(count)))
        means = (inverse @ (values @ self._weights)[:, :, None])[:, :, 0]
        return means, self._noise * inverse

    def _step(self) -> None:
        """Improve factors and noise by one step of the EM algorithm."""
        means, covariances = self._expected(self._values, self._observed)
        n_samples, count = means.shape
        second = (means[:, :, None] * means[:, None, :] + covariances).reshape(n_samples, -1)
        second, means = self._weighed(second), self._weighed(means)
        shared = (self._values.T @ means)[:, :, None]
        weights = np.empty_like(self._weights)
        explained = 0.0
        least = self._least * np.eye(count)
        step = max(1, _BLOCK_VALUES // count**2)
        for start in range(0, len(weights), step):
            part = slice(start, start + step)
            inner = (self._observed[:, part].T @ second).reshape(-1, count, count)
            weights[part] = np.linalg.solve(inner + least, shared[part])[:, :, 0]
            quadratic = weights[part][:, None, :] @ inner @ weights[part][:, :, None]
            explained += 2 * float((weights[part] * shared[part][:, :, 0]).sum())
            explained -= float(quadratic.sum())
        self._weights = weights
        self._noise = max((self._energy - explained) / self._total, self._least)

    def _weighed(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows, one for each sample, times the weights of the samples."""
        return rows if self._shares is None else self._shares * rows


def _squares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products of all pairs of factors, ``(d, r * r)``."""
    return (weights[:, :, None] * weights[:, None, :]).reshape(len(weights), -1)
