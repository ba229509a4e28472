"""Features that keep samples recognisable: agreement of neighbours, and greedy alignment.

A feature is worth keeping if samples that look alike agree on it. With ``X_j`` the centred values
of feature ``j`` (``n x t``: ``t = 1`` for an element, the fibre for an index along a mode),
``K_j = X_j X_j^T``, and ``W`` a graph of neighbours with degrees ``D`` (see `_neighbours`):

- **Agreement** ``v_j = <X_j, W X_j> / <X_j, D X_j>``, with ``W`` from the other half of the
  features and ``X_j`` centred by degree. It is the share of a feature's variation on which samples
  agree that look alike in other features: 1 for a feature that follows from the rest, 0 for noise,
  with a standard error of at most about ``1 / sqrt(2.5 n)``.
- **Target** ``T = Y Y^T``, what the samples look like together (`target_of`).
- **Alignment**: features are added one at a time, so that the next one maximises

      sum_{j in S} w_j <K_j, T> / sqrt(||sum_{j in S} K_j||^2 + kappa),    kappa = mean_j ||K_j||^2

  where ``w_j = v_j^2``, times the square root of the score if there are scores. Features are first
  divided by the square root of their deviation. The denominator prices redundancy, and ``kappa``
  keeps features that hardly vary from starting the list. Features on which neighbours agree no
  more than on noise are picked after all others: they would dilute what the others show, but
  little, so that the ratio alone prefers them to features that repeat each other.

  With ``a_j = ||Y^T X_j||^2``, ``b_ij = ||X_i^T X_j||^2``, ``A`` and ``B`` the sums so far and
  ``r_j = sum_{i in S} b_ij``, the next feature maximises
  ``(A + w_j a_j) / sqrt(B + 2 r_j + b_jj + kappa)``. A pick takes one product of all features with
  the new one, ``O(n d)``. If all products of features are known or cost less (see `_overlaps`), it
  takes ``O(d)``.

**Weights.** Copies of a sample are one sample whose weight is their number, also if nobody gave
weights: a copy would be the nearest neighbour of the sample and agree with it on noise. With
weights ``w_i``, ``X_j`` is centred by the weighted mean and its rows are multiplied by
``sqrt(w_i)``, so all inner products are those of repeated samples. Each sample has the same number
of neighbours, among distinct samples, and the edge between ``i`` and ``k`` is multiplied by
``w_i w_k``: all copies of one would be linked to all copies of the other. Only ratios of weights
matter, and errors are those of ``(sum w)^2 / sum w^2`` samples.

Related work: the Laplacian score (He, Cai, Niyogi 2005) and spectral feature selection (Zhao, Liu
2007) score features on a graph of raw distances; MCFS (Cai, Zhang, He 2010) regresses spectral
embeddings; kernel-target alignment (Cristianini et al. 2001) and BAHSIC (Song et al. 2012) use
labels. New here: neighbours among whitened components, agreement cross-fitted over features, and
redundancy priced in the denominator of one alignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.computed_once import computed_once
from tensift._utils.namespace import (
    device_of,
    indices_like,
    is_device_array,
    moved_or_same,
    namespace_of,
    precision_of,
    to_numpy,
)
from tensift._utils.pool import Pool
from tensift._utils.threads import one_blas_thread
from tensift.selection._agreement import cross_fitted_agreement, standard_error
from tensift.selection._feature_blocks import feature_blocks
from tensift.selection._gaps import effective_sizes, with_observed_deviations
from tensift.selection._given_samples import fibres_of, fibres_of_flags, with_weights
from tensift.selection._neighbours import neighbour_graph, target_of
from tensift.selection._overlaps import energies_of, overlaps_of
from tensift.sources import KeptSamples

__all__ = ["Geometry", "feature_agreement"]

_LEAST_DEVIATION = 1e-3  # of the largest; features below it are left out
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}  # deviations of constants, as a share of them
_DIRECTIONS = 50  # components that neighbours to be kept are found in


def feature_agreement(
    samples: Any, feature_mode: int | None = None, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return for each feature how far samples agree on it that look alike in other features.

    It is the share of the feature's variation that neighbours have in common, where neighbours come
    from a half of the features that does not contain it. `GeometrySelector` weights features by
    its square.

    Parameters
    ----------
    samples : array of shape (n, d_1, ..., d_m)
        Samples, real or complex, of any array library.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Returns
    -------
    ndarray of shape (n_features,)
        About 0 for noise, 1 for a feature that follows from the others, on the host. 0 for features
        that hardly vary.

    Examples
    --------
    Twelve features carry three groups of samples, the others are noise:

    >>> import numpy as np
    >>> from tensift.selection import feature_agreement
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 100))
    >>> X[:, :12] += 4 * rng.normal(size=(3, 12))[rng.integers(0, 3, 200)]
    >>> agreement = feature_agreement(X)
    >>> bool(agreement[:12].mean() > 0.15), bool(abs(agreement[12:].mean()) < 0.05)
    (True, True)
    """
    refuse_masked(samples, "samples")
    return Geometry(with_weights(samples, sample_weight), feature_mode).agreement


class Geometry:
    """What samples look like together, and which features show it.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m), or KeptSamples
        Samples, real or complex, of any array library. If some values are estimates, deviations are
        those of the observed ones. Estimates vary less than these, and what they do not tell counts
        as variation on which samples do not agree.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one.
    n_jobs : int or None, default=None
        Threads over features and halves of them, for samples on the host. The result does not
        depend on it.

    Attributes
    ----------
    n_samples, n_features : int
        The number of distinct samples, and of features.
    effective_size : float
        The number of equally weighted samples that say as much.
    n_observed : float or ndarray of shape (n_features,)
        That number for the samples in which each feature was observed; for fibres, an element of
        it on average.
    shares : ndarray of shape (n_samples,) or None
        The weights of the samples, scaled to a mean of one.
    is_constant : bool
        Whether no feature varies by more than rounding.
    kept : ndarray of int
        The features that vary enough to take part.
    deviation : ndarray of shape (len(kept),)
        Their standard deviations, as shares of the largest absolute value.
    agreement : ndarray of shape (n_features,)
        The cross-fitted agreement of every feature, on the host; 0 for those that hardly vary.
    values : array of shape (n, len(kept), t)
        The centred and scaled values of the features that take part, multiplied by the roots of
        the weights of the samples.
    """

    def __init__(self, rows: Any, feature_mode: int | None, n_jobs: int | None = None) -> None:
        kept = KeptSamples.of(rows).distinct()
        self.n_jobs = None if is_device_array(kept.rows) else n_jobs
        # One thread for BLAS: with sixteen, most products, being small, take ten times as long.
        with Pool(self.n_jobs) as pool:
            self._look(kept, feature_mode, pool)

    def _look(self, kept: KeptSamples, feature_mode: int | None, pool: Pool) -> None:
        raw = fibres_of(kept.rows, feature_mode)
        xp = namespace_of(raw)
        self.n_samples, self.n_features, _ = raw.shape
        self.effective_size, self.shares = kept.effective_size, kept.shares
        self.n_observed: Any = self.effective_size
        told: NDArray[np.float64] = np.ones(self.n_features)
        if kept.observed is not None:
            observed = fibres_of_flags(kept.observed, feature_mode, raw.shape)
            self.n_observed = effective_sizes(observed, self.shares).mean(axis=1)
            raw, told = with_observed_deviations(raw, observed, self.shares)
        values, peak, largest = _centred(raw, self.shares, pool)
        del raw  # as large as the values, and not needed while these are looked at
        self.is_constant = peak <= _ROUNDING[precision_of(values)] * largest
        if peak > 0:
            values /= peak  # squares must neither overflow nor vanish
        if self.shares is not None:
            values *= moved_or_same(values, np.sqrt(self.shares)[:, None, None])
        energies = xp.sum(energies_of(values), axis=1)
        deviation = np.sqrt(np.asarray(to_numpy(energies), float) / self.n_samples)
        self.kept = np.flatnonzero(deviation > _LEAST_DEVIATION * deviation.max())
        if self.kept.size < self.n_features:
            values = xp.take(values, indices_like(values, self.kept), axis=1)
            deviation = deviation[self.kept]
        self.deviation = deviation
        self.agreement = np.zeros(self.n_features)
        self._components = self._products = None
        if self.kept.size:
            components, agreement = cross_fitted_agreement(values, deviation, self.shares, pool)
            self.agreement[self.kept] = agreement * told[self.kept]
            self._components = components.of_all()
            root = np.sqrt(deviation)
            values /= moved_or_same(values, root[:, None])
            if components.products is not None:
                roots = moved_or_same(values, np.repeat(root, values.shape[2]))
                self._products = components.products
                self._products /= roots[:, None]
                self._products /= roots
        self.values = values

    @computed_once
    def target(self) -> NDArray[np.float64]:
        """``Y`` with ``T = Y Y^T``, on the host."""
        if self._components is None:  # nothing varies, so samples do not look like anything
            return np.zeros((self.n_samples, 1))
        with one_blas_thread():
            return target_of(self._components, neighbour_graph(self._components, self.shares))

    @computed_once
    def directions(self) -> NDArray[np.float64]:
        """The leading whitened components with rows of length 1: their products are cosines."""
        if self._components is None:
            return np.zeros((self.n_samples, 1))
        components = self._components[:, :_DIRECTIONS]
        lengths = np.linalg.norm(components, axis=1, keepdims=True)
        return np.asarray(components / np.where(lengths > 0, lengths, 1))

    @computed_once
    def aligned(self) -> Any:
        """``a_j = <K_j, T>`` for all features that take part."""
        values = self.values
        xp = namespace_of(values)
        n_samples, _, depth = values.shape
        target = moved_or_same(values, self.target)

        def of_block(block: slice) -> Any:
            part = xp.reshape(values[:, block, :], (n_samples, -1))
            lengths = xp.sum(xp.matmul(target.T, part) ** 2, axis=0)
            return xp.sum(xp.reshape(lengths, (-1, depth)), axis=1)

        with Pool(self.n_jobs) as pool:
            return xp.concat(pool.map(of_block, feature_blocks(values)))

    @computed_once
    def overlaps(self) -> Any:
        """``b_ij = <K_i, K_j>``, computed when asked for."""
        return overlaps_of(self.values, self._products)

    @property
    def n_structured(self) -> int:
        """The number of features on which neighbours agree more than on noise, by two errors."""
        return int(np.count_nonzero(self.agreement > 2 * self.standard_error))

    @property
    def standard_error(self) -> Any:
        """The standard error of the agreement of a feature that is noise; one or one for each."""
        return standard_error(self.n_observed)

    @property
    def is_structured(self) -> NDArray[np.bool_]:
        """Which of the features that take part have more agreement than one standard error."""
        return np.asarray((self.agreement > self.standard_error)[self.kept])

    def alignment(self, order: Any) -> Any:
        """How similar samples look in the first 1, 2, ... features of an order and in all of them.

        It is the cosine between the sum of their ``K_j`` and the target, from 0 to 1.
        """
        values = self.values
        xp = namespace_of(values)
        if not self.kept.size:
            return xp.zeros(order.shape[0], dtype=values.dtype, device=device_of(values))
        place = np.zeros(self.n_features, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        takes_part = np.zeros(self.n_features)
        takes_part[self.kept] = 1
        places = xp.take(indices_like(values, place), order)
        counts = xp.take(moved_or_same(values, takes_part), order)
        totals = xp.cumulative_sum(counts * xp.take(self.aligned, places))
        squares = self.overlaps.squares_of_sums(places, counts)
        lengths = xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))
        cosines = xp.where(squares > 0, totals / lengths, xp.zeros_like(totals))
        return cosines / float(np.linalg.norm(self.target.T @ self.target))


def _centred(raw: Any, shares: NDArray[np.float64] | None, pool: Pool) -> tuple[Any, float, float]:
    """Return values less their means, and the largest absolute value after and before."""
    xp = namespace_of(raw)
    parts = None if is_device_array(raw) else np.empty_like(raw)

    def centre(block: slice) -> tuple[Any, float, float]:
        part = raw[:, block, :]
        if shares is None:
            values = part - xp.mean(part, axis=0, keepdims=True)
        else:
            values = part - part[:1, ...]  # sums of large equal parts would lose digits
            along = moved_or_same(part, shares[:, None, None])
            values = values - xp.mean(along * values, axis=0, keepdims=True)
        sizes = _largest(values), _largest(part)
        if parts is None:
            return values, *sizes
        parts[:, block, :] = values
        return parts, *sizes

    found, peaks, largest = zip(*pool.map(centre, feature_blocks(raw)), strict=True)
    return found[0], max(peaks), max(largest)


def _largest(values: Any) -> float:
    """Return the largest absolute value, without an array of all of them."""
    xp = namespace_of(values)
    return max(float(xp.max(values)), -float(xp.min(values)))
