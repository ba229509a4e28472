"""Sums over the samples in which a feature, or two of them together, were observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, eigh, squared_modulus
from tensift.moments._moments import along_samples

__all__ = ["FeatureSums", "PairSums", "nearest_semidefinite", "rarest"]


class FeatureSums:
    """How often every element was observed, its sum and squares relative to a reference.

    ``times`` counts observations, and ``number`` is the sum of their weights.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.samples = 0
        self.total: float = 0
        self.times = np.zeros(shape, dtype=np.intp)
        self.number = np.zeros(shape)
        self.reference: NDArray[Any] = np.zeros(shape)
        self.sum: NDArray[Any] = np.zeros(shape)
        self.square = np.zeros(shape)

    def add(self, samples: NDArray, weights: NDArray[np.float64] | None = None) -> None:
        """Add samples with NaN where nothing was observed."""
        observed = ~np.isnan(samples)
        new = FeatureSums(samples.shape[1:])
        new.samples = new.total = len(samples)
        new.times = observed.sum(axis=0)
        new.number = new.times.astype(float)
        values = np.where(observed, samples, 0).astype(
            complex if np.iscomplexobj(samples) else float
        )
        if weights is None:
            new.reference = values.sum(axis=0) / np.maximum(new.times, 1)
            left = np.where(observed, values - new.reference, 0)
            new.sum, new.square = left.sum(axis=0), squared_modulus(left).sum(axis=0)
        else:
            own = along_samples(weights, samples)
            new.total, new.number = float(weights.sum()), (own * observed).sum(axis=0)
            new.reference = (own * values).sum(axis=0) / _or_one(new.number)
            left = np.where(observed, values - new.reference, 0)
            new.sum, new.square = (
                (own * left).sum(axis=0),
                (own * squared_modulus(left)).sum(axis=0),
            )
        self.merge(new)

    def merge(self, other: FeatureSums) -> None:
        """Add the sums of other samples, which are not changed."""
        self.reference = np.where(self.number == 0, other.reference, self.reference)
        shift = other.reference - self.reference
        self.square = (
            self.square
            + other.square
            + 2 * (shift * np.conj(other.sum)).real
            + squared_modulus(shift) * other.number
        )
        self.sum = self.sum + other.sum + shift * other.number
        self.number = self.number + other.number
        self.times = self.times + other.times
        self.samples += other.samples
        self.total += other.total

    @property
    def mean(self) -> NDArray[Any]:
        """The mean of the observed values; zero where there are none."""
        mean = self.reference + self.sum / _or_one(self.number)
        return np.asarray(np.where(self.number > 0, mean, 0))

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of the observed values; zero where there are none."""
        number = _or_one(self.number)
        return np.maximum(self.square / number - squared_modulus(self.sum / number), 0)


class PairSums:
    """Pairwise sums within slices: how often, sums and products, relative to a reference.

    With ``x_a`` a value of feature ``a`` less its reference, they are

        number_ab = #{i: a and b observed}, sums_ab = sum_i x_ia, squares_ab = sum_i |x_ia|^2,
        products_ab = sum_i x_ia x_ib^*

    over the samples in which both were observed. With weights all of these are weighted sums, and
    ``times_ab`` is how often both were observed. The reference is near the mean, so that no large
    sums are subtracted from each other.

    Parameters
    ----------
    n_slices, size : int
        The number of slices and of their features.
    complex_values : bool
        Whether values are complex.
    """

    def __init__(self, n_slices: int, size: int, *, complex_values: bool) -> None:
        kind = complex if complex_values else float
        self.reference = np.zeros((n_slices, size), kind)
        self.times = np.zeros((n_slices, size, size), dtype=np.int32)
        self.number = np.zeros((n_slices, size, size))
        self.sums = np.zeros((n_slices, size, size), kind)
        self.squares = np.zeros((n_slices, size, size))
        self.products = np.zeros((n_slices, size, size), kind)

    @classmethod
    def of_complete(
        cls,
        count: int,
        total: float,
        mean: NDArray,
        scatter: NDArray,
        present: NDArray[np.bool_],
    ) -> PairSums:
        """Return those of samples in which the features `present` ``(p, q)`` were observed.

        `total` is the sum of the weights of the `count` samples.
        """
        found = cls(*mean.shape, complex_values=np.iscomplexobj(scatter))
        found.reference = np.where(present, mean, 0).astype(scatter.dtype)
        both = present[:, :, None] & present[:, None, :]
        found.times, found.number = count * both.astype(np.int32), total * both.astype(float)
        found.products = scatter.copy()
        own = np.diagonal(scatter, axis1=1, axis2=2).real
        found.squares = own[:, :, None] * present[:, None, :]
        return found

    def add(self, slices: NDArray, weights: NDArray[np.float64] | None = None) -> None:
        """Add samples ``(p, q, n)`` with NaN where nothing was observed."""
        observed = ~np.isnan(slices)
        number = observed.sum(axis=2)
        new = (number > 0) & (np.diagonal(self.times, axis1=1, axis2=2) == 0)
        if new.any():
            means = np.where(observed, slices, 0).sum(axis=2) / np.maximum(number, 1)
            self.reference[new] = means[new]
        values = np.where(observed, slices - self.reference[:, :, None], 0)
        flags = observed.astype(float)
        times = flags @ np.swapaxes(flags, 1, 2)
        self.times += times.astype(np.int32)
        own = flags if weights is None else weights * flags
        self.number += times if weights is None else own @ np.swapaxes(flags, 1, 2)
        self.sums += values @ np.swapaxes(own, 1, 2)
        self.squares += squared_modulus(values) @ np.swapaxes(own, 1, 2)
        self.products += (values if weights is None else weights * values) @ adjoint(values)

    def merge(self, other: PairSums) -> None:
        """Add the sums of other samples, which are not changed."""
        never = np.diagonal(self.times, axis1=1, axis2=2) == 0
        self.reference = np.where(never, other.reference, self.reference)
        sums, squares, products = other.about(self.reference)
        self.times = self.times + other.times
        self.number = self.number + other.number
        self.sums = self.sums + sums
        self.squares = self.squares + squares
        self.products = self.products + products

    def about(self, reference: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return `sums`, `squares` and `products` for another reference."""
        shift = (self.reference - reference)[:, :, None]
        sums = self.sums + shift * self.number
        number = squared_modulus(shift) * self.number
        squares = self.squares + 2 * (shift.conj() * self.sums).real + number
        products = self.products + shift * adjoint(self.sums) + self.sums * adjoint(shift)
        return sums, squares, products + shift * adjoint(shift) * self.number

    def covariances(self, mean: NDArray) -> tuple[NDArray, NDArray[np.bool_]]:
        """Return covariances ``(p, q, q)``, and the slices where all pairs have the same samples.

        In the other slices a covariance is the correlation of two features over the samples that
        have both, times their deviations over all observed values. For features that follow from
        each other this is exact, while the covariance over these samples alone has the error of
        their variances in it.
        """
        _, squares, products = self.about(mean)
        times = np.diagonal(self.times, axis1=1, axis2=2)
        seen = times > 0
        both = seen[:, :, None] & seen[:, None, :]
        most = times.max(axis=1)[:, None, None]
        is_whole = np.asarray(((self.times == most) | ~both).all((1, 2)))
        found = products / _or_one(self.number)
        gappy = ~is_whole
        own = np.diagonal(self.number, axis1=1, axis2=2)
        variances = np.maximum(np.diagonal(squares, axis1=1, axis2=2) / _or_one(own), 0)
        deviation = np.sqrt(variances)[gappy]
        lengths = np.sqrt(np.maximum(squares[gappy], 0))
        lengths = lengths * np.swapaxes(lengths, 1, 2)
        correlation = np.zeros_like(found[gappy])
        np.divide(products[gappy], lengths, out=correlation, where=lengths > 0)
        found[gappy] = correlation * deviation[:, :, None] * deviation[:, None, :]
        return found, is_whole


def _or_one(number: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of weights to divide by: one where there are none."""
    return np.where(number > 0, number, 1.0)


def nearest_semidefinite(matrices: NDArray, is_whole: NDArray[np.bool_]) -> tuple[NDArray, float]:
    """Set negative eigenvalues to zero; return the matrices, and the share of energy in these.

    Parameters
    ----------
    matrices : ndarray of shape (p, q, q)
        Hermitian matrices.
    is_whole : ndarray of bool, shape (p,)
        Matrices that are positive semidefinite already, and are left as they are.
    """
    if is_whole.all():
        return matrices, 0.0
    found = matrices.copy()
    values, vectors = eigh((matrices[~is_whole] + adjoint(matrices[~is_whole])) / 2)
    kept = np.maximum(values, 0)
    found[~is_whole] = (vectors * kept[:, None, :]) @ adjoint(vectors)
    # Hermitian to the last bit, as solvers expect.
    found[~is_whole] = (found[~is_whole] + adjoint(found[~is_whole])) / 2
    total = float(np.abs(values).sum()) + float(np.trace(found[is_whole].sum(axis=0)).real)
    clipped = float((kept - values).sum())
    return found, clipped / total if total > 0 else 0.0


def rarest(times: NDArray, seen: NDArray[np.bool_]) -> tuple[int, tuple[int, int, int]] | None:
    """Return how often the rarest pair of features that were seen was observed, and the pair."""
    both = seen[:, :, None] & seen[:, None, :]
    if not both.any():
        return None
    place = int(np.argmin(np.where(both, times, np.inf)))
    at = tuple(int(i) for i in np.unravel_index(place, times.shape))
    return int(times[at]), at  # type: ignore[return-value]
