"""All values of samples from a few of them: a linear estimate, and how far it is off.

Let ``Z`` be the centred known values of ``n`` samples, an ``n x s`` matrix, ``f`` the centred
values of one other element, and ``K`` a diagonal matrix of penalties. The estimate for the known
values ``z`` of a new sample, centred by the same mean, is ::

    z w,    w = (Z^H Z + K)^-1 Z^H f

**Penalties.** Without noise ``K = a I``. One ridge ``a`` serves all elements. It minimises the
generalised cross-validation error, summed over the elements that are not known::

    sum_f ||f - Z w_f||^2 / (n - 1 - 1.4 tr(Z (Z^H Z + a I)^-1 Z^H))^2

Both terms are sums over the singular values of ``Z``, so many ridges are tried at once. The factor
1.4 is that of Kim and Gu. It guards against too little ridge where samples are few, and more so
here, since known values were often selected on the same samples, where they predict too well.

**Noise.** A sensor with noise measures ``z + e``, where ``e_j`` has the deviation ``noise_j``. If
samples are Gaussian with covariances ``C``, their conditional mean given the measured values is
``(z + e) (C_zz + D)^-1 C_zf`` with ``D = diag(noise^2)``. With ``C = Z^H Z / (n - 1)`` these are
the ``w`` above for ``K = (n - 1) D``, to which elements that are not known add ``a I``. Known
elements have no error but that of the noise, so ``a`` is not added for them.

**Deviations.** Let ``h_i`` be the leverages, the diagonal of ``1/n + Z (Z^H Z + K)^-1 Z^H``, and
``e_i`` the residuals. An estimate learned without sample ``i`` errs by ``e_i / (1 - h_i)`` on it.
The variance of the error at a new sample grows with the leverage of that sample::

    sigma_f^2 (1 + g),    g = 1/n + z (Z^H Z + K)^-1 z^H

For sample ``i``, and an estimate learned from the others, ``1 + g`` is ``1 / (1 - h_i)``. So
``sigma_f^2 = mean_i |e_i|^2 / (1 - h_i)`` gives errors on left-out samples a mean square of one.
With noise, their square is ``|e_i|^2 / (1 - h_i)^2 + w^H D w`` on average, and ``g`` is larger by
``c = tr((Z^H Z + K)^-1 D)``; ``sigma_f^2`` is the mean of the quotients of both.

**Weights.** Samples with weights ``w_i`` are multiplied by their roots, after the weighted mean was
subtracted. Weights are scaled so that they add up to ``(sum w)^2 / sum w^2``, the number of equally
weighted samples that say as much, which takes the place of ``n``. So only ratios of weights matter.
An estimate without sample ``i`` errs by ``e_i / (1 - h_i)`` with ``h_i = w_i g_i``, and means are
weighted. The variance of this error is ``sigma_f^2 (1 + g_i / (1 - h_i))``.

References
----------
G. H. Golub, M. Heath, G. Wahba: Generalized cross-validation as a method for choosing a good ridge
parameter. Technometrics 21(2), 1979.

Y.-J. Kim, C. Gu: Smoothing spline Gaussian regression: more scalable computation via efficient
approximation. Journal of the Royal Statistical Society B 66(2), 2004 (the factor 1.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    device_of,
    is_complex,
    moved_to,
    namespace_of,
    to_numpy,
    widened,
)
from tensift._utils.stacks import adjoint, squared_modulus
from tensift.selection._known_gaps import KnownGaps
from tensift.sources import KeptSamples

__all__ = ["LinearEstimate"]

# Ridges that are tried, as shares of the mean squared singular value, a quarter of a decade apart.
_LEAST_SHARE = {"float64": -10.0, "float32": -5.0}  # powers of ten
_LARGEST_SHARE = 4.0
_FREEDOM_PRICE = 1.4  # of the degrees of freedom in cross-validation
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}  # deviation of a constant, as a share of its value
_BLOCK_VALUES = 2**22  # of all samples together, centred at a time


class LinearEstimate:
    """Estimates all values of samples from some of them.

    Parameters
    ----------
    rows : array of shape (n, d), or KeptSamples
        Samples to learn from, at least two; real or complex, of any array library.
    known : array of int, shape (s,)
        Which of the values are known of new samples, in increasing order.
    noise : ndarray of shape (s,), optional
        The standard deviations with which known values will be measured; not negative. Without
        them, and where they are zero, known values are exact.
    deviations : ndarray of shape (d,), optional
        Values are divided by these numbers before anything is learned, and results multiplied.

    Attributes
    ----------
    ridge : float
        The ridge ``a``, in squared units of the (divided) samples.
    size : int
        The number of values of a sample, ``d``.
    mean : array of shape (d,)
        The mean of the samples.
    deviation : array of shape (d,)
        ``sigma_f`` of every value. Exactly zero for those that are known without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection._linear_estimate import LinearEstimate
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> estimate = LinearEstimate(X, np.array([0, 1]))
    >>> estimate.of(np.array([[1.0, 2.0]])).round(6)
    array([[1., 2., 3.]])
    """

    def __init__(
        self,
        rows: Any,
        known: Any,
        noise: NDArray[np.float64] | None = None,
        deviations: NDArray[np.float64] | None = None,
    ) -> None:
        kept = KeptSamples.of(rows)
        rows = widened(kept.rows)
        self._known, self._observed = known, kept.observed
        self._n_rows, self.size = rows.shape
        self._n_samples = kept.effective_size if kept.weights is not None else len(kept)
        self._weigh(rows, kept)
        self.mean = self._center = self._mean_of(rows)
        self._deviations = None
        if deviations is not None:
            self._deviations = moved_like(_real_part(rows), deviations)
            rows = rows / self._deviations
            self._center = self._mean_of(rows)
            if noise is not None:
                noise = np.asarray(noise, float) / deviations[to_numpy(known)]
        xp = namespace_of(rows)
        self._set_scale(rows)
        columns = self._times_roots(self._centred(xp.take(rows, known, axis=1)))
        plain = _SingularValues(columns, weights=self._shares, n_samples=self._n_samples)
        others = self._others(rows)
        ridge = _best_ridge(plain, self._blocks(rows, others), self._precision)
        self.ridge = ridge * self._unit**2
        exact = np.zeros(known.shape[0]) if noise is None else np.asarray(noise, float) / self._unit
        self._is_exact = moved_like(rows, exact == 0)
        if not exact.any():
            self._of_others = self._of_known = _Regression(plain, ridge)
        else:
            least = plain.mean_square * 10 ** _LEAST_SHARE[self._precision]
            penalties = (self._n_samples - 1) * exact**2
            self._of_others = _with_noise(plain, columns, penalties + ridge, exact)
            self._of_known = _with_noise(plain, columns, np.maximum(penalties, least), exact)
        self._learn(rows, columns)
        self._observed = None
        self._gaps = KnownGaps(plain, exact**2 * (self._n_samples - 1) + ridge)

    def of(self, values: Any, *, return_std: bool = False) -> Any:
        """Estimate all values ``(m, d)`` from the known ones ``(m, s)``.

        With `return_std` also return the standard deviations of the errors, ``(m, d)``.
        """
        values = widened(values)
        xp = namespace_of(values)
        centred, doubt = self._centred(self._divided(values)), None
        if isinstance(values, np.ndarray) and np.isnan(values).any():
            centred, doubt = self._gaps.filled(centred, self._weights if return_std else None)
            estimates = centred * self._unit + self._center[self._known]
            if self._deviations is not None:
                estimates = estimates * self._deviations[self._known]
            values = np.where(np.isnan(values), estimates, values)
        found = xp.matmul(centred, self._weights) * self._unit + self._center
        if self._deviations is not None:
            found = found * self._deviations
        if isinstance(found, np.ndarray):  # the standard has no assignment by index arrays
            found[:, self._known[self._is_exact]] = values[:, self._is_exact]
        else:
            found = xp.where(self._is_given, xp.take(values, self._place, axis=1), found)
        if not return_std:
            return found
        inflated = xp.sqrt(1 + self._of_others.leverage(centred))[:, None] * self.deviation
        if self._of_known is not self._of_others:
            of_known = xp.sqrt(1 + self._of_known.leverage(centred))[:, None] * self.deviation
            inflated = xp.where(self._is_known, of_known, inflated)
        if doubt is not None:
            units = np.full(self.size, self._unit)
            units = units if self._deviations is None else units * self._deviations
            inflated = np.sqrt(inflated**2 + doubt.of_all * units**2)
            own = np.sqrt(doubt.of_known) * units[self._known]
            inflated[:, self._known] = np.where(own > 0, own, inflated[:, self._known])
        return found, inflated

    @property
    def is_complex(self) -> bool:
        """Whether it was learned from complex samples."""
        return is_complex(self.mean)

    def to_numpy(self) -> LinearEstimate:
        """Return the same estimate with NumPy arrays."""
        on_host = copy(self)
        for name, value in vars(self).items():
            move = getattr(value, "to_numpy", None)
            on_host.__dict__[name] = to_numpy(value) if move is None else move()
        return on_host

    def _weigh(self, rows: Any, kept: KeptSamples) -> None:
        """Find the weights, which add up to the number of samples."""
        self._shares = self._roots = None
        if kept.weights is None:
            return
        shares = kept.weights * (self._n_samples / kept.weights.sum())
        like = _real_part(rows[:1, :1])
        self._shares = moved_like(like, shares)
        self._roots = moved_like(like, np.sqrt(shares))[:, None]

    def _mean_of(self, rows: Any) -> Any:
        xp = namespace_of(rows)
        if self._shares is None:
            return xp.mean(rows, axis=0)
        away = rows - rows[:1, :]  # sums of large equal parts would lose digits
        return rows[0, :] + xp.sum(self._shares[:, None] * away, axis=0) / self._n_samples

    def _times_roots(self, values: Any) -> Any:
        """Return values of the samples to learn from, multiplied by the roots of their weights."""
        return values if self._roots is None else self._roots * values

    def _set_scale(self, rows: Any) -> None:
        """Find values that are constant, and a unit in which squares cannot overflow or vanish."""
        xp = namespace_of(rows)
        self._precision = "float32" if rows.dtype in (xp.float32, xp.complex64) else "float64"
        left, largest = [], []
        for start, stop in _ranges(self._n_rows, self.size):
            block = rows[:, start:stop]
            largest.append(xp.max(xp.abs(block), axis=0))
            left.append(xp.max(xp.abs(block - self._center[start:stop]), axis=0))
        away = xp.concat(left)
        self._changes = away > _ROUNDING[self._precision] * xp.concat(largest)
        peak = float(xp.max(xp.where(self._changes, away, xp.zeros_like(away))))
        self._unit = peak if peak > 0 else 1.0
        indices = xp.arange(self.size, device=device_of(rows))
        last = self._known.shape[0] - 1
        self._place = xp.clip(xp.searchsorted(self._known, indices), max=last)
        self._is_known = xp.take(self._known, self._place) == indices

    def _divided(self, values: Any) -> Any:
        """Return known values divided by their deviations."""
        if self._deviations is None:
            return values
        return values / namespace_of(values).take(self._deviations, self._known)

    def _scaled(self, values: Any, mean: Any) -> Any:
        """Return values in units in which the largest deviation from the mean is one."""
        return (values - mean) / self._unit

    def _centred(self, values: Any) -> Any:
        """Return known values about the mean; zero where all samples were equal.

        A value that never changed says nothing about others, so a new one has no leverage.
        """
        xp = namespace_of(values)
        scaled = self._scaled(values, xp.take(self._center, self._known))
        changes = xp.take(self._changes, self._known)
        return xp.where(changes, scaled, xp.zeros_like(scaled))

    def _blocks(self, rows: Any, wanted: Any = None) -> Iterator[Any]:
        """Yield the scaled values of all samples, some columns at a time; constants are zero."""
        xp = namespace_of(rows)
        for start, stop in _ranges(self._n_rows, self.size):
            block = self._scaled(rows[:, start:stop], self._center[start:stop])
            keep = self._changes[start:stop]
            if wanted is not None:
                keep = keep & wanted[start:stop]
            yield self._times_roots(xp.where(keep, block, xp.zeros_like(block)))

    def _others(self, rows: Any) -> Any:
        """Which values decide about the ridge: those that are not known, if there are any."""
        xp = namespace_of(rows)
        others = ~self._is_known
        return others if bool(xp.any(others)) else xp.ones_like(others)

    def _learn(self, rows: Any, columns: Any) -> None:
        """Compute the weights of the known values, and the deviations."""
        xp = namespace_of(rows)
        weights, deviation = [], []
        self._is_given = self._is_known & xp.take(self._is_exact, self._place)
        for (start, stop), block in zip(
            _ranges(self._n_rows, self.size), self._blocks(rows), strict=True
        ):
            seen = None if self._observed is None else self._observed[:, start:stop]
            weight, square = self._of_others.fit(block, seen)
            if self._of_known is not self._of_others:
                is_known = self._is_known[start:stop]
                weight_known, square_known = self._of_known.fit(block, seen)
                weight = xp.where(is_known, weight_known, weight)
                square = xp.where(is_known, square_known, square)
            is_given = self._is_given[start:stop]
            weights.append(weight)
            deviation.append(xp.where(is_given, xp.zeros_like(square), xp.sqrt(square)))
        self._weights = xp.concat(weights, axis=1)
        self.deviation = xp.concat(deviation) * self._unit
        if self._deviations is not None:
            self.deviation = self.deviation * self._deviations


class _SingularValues:
    """The decomposition ``U S V^H`` of centred columns ``(n, s)``, without what is rounding.

    With `scale`, the columns are multiplied by these numbers first, so that a ridge of one becomes
    a penalty of ``1 / scale_j^2`` on the weight of column ``j``. `weights` are those of samples
    that were multiplied by the roots of these; they add up to `n_samples`.
    """

    def __init__(
        self,
        columns: Any,
        scale: Any = None,
        *,
        weights: Any = None,
        n_samples: float | None = None,
    ) -> None:
        xp = namespace_of(columns)
        self.scale, self.weights = scale, weights
        left, values, right = xp.linalg.svd(
            columns if scale is None else columns * scale, full_matrices=False
        )
        on_host = np.asarray(to_numpy(values), float)
        least = max(columns.shape) * float(xp.finfo(values.dtype).eps)
        rank = int(np.count_nonzero(on_host > least * on_host[:1]))
        self.left, self.right = left[:, :rank], right[:rank, :]
        self.squares = values[:rank] ** 2
        self.values = values[:rank]
        self.n_samples: float = int(left.shape[0]) if n_samples is None else n_samples
        self.is_complete = rank == columns.shape[1]

    @property
    def mean_square(self) -> float:
        """The mean squared singular value; one if all columns are constant."""
        xp = namespace_of(self.squares)
        return float(xp.mean(self.squares)) if self.squares.shape[0] else 1.0

    def energies(self, block: Any) -> tuple[NDArray[np.float64], float]:
        """Return the energy of columns along every left singular vector, and all their energy."""
        xp = namespace_of(block)
        along = xp.sum(squared_modulus(xp.matmul(adjoint(self.left), block)), axis=1)
        return np.asarray(to_numpy(along), float), float(xp.sum(squared_modulus(block)))

    def to_numpy(self) -> _SingularValues:
        """Return the same decomposition with NumPy arrays."""
        on_host = copy(self)
        on_host.__dict__.update({name: to_numpy(value) for name, value in vars(self).items()})
        return on_host


class _Regression:
    """Ridge regression on known values, which may have `noise` when they are measured."""

    def __init__(self, known: _SingularValues, ridge: float, noise: Any = None) -> None:
        xp = namespace_of(known.squares)
        self._known, self._ridge, self._noise = known, ridge, noise
        hat = squared_modulus(known.left)
        share = 1.0 if known.weights is None else known.weights
        beyond = 1 - share / known.n_samples - xp.sum(hat, axis=1)
        # 1 - h_i as a sum of what is not negative; a difference would lose digits.
        self._spared = xp.clip(beyond, min=0.0) + xp.matmul(hat, ridge / (known.squares + ridge))
        self._inflation = 1 / self._spared
        if known.weights is not None:
            self._inflation = 1 + (1 - self._spared) / (known.weights * self._spared)
        if noise is not None:
            self._inflation = self._inflation + self._leverage_of_noise()

    def fit(self, block: Any, observed: NDArray[np.bool_] | None = None) -> tuple[Any, Any]:
        """Return the weights ``(s, b)`` for columns ``(n, b)``, and their ``sigma_f^2``.

        Errors are those of the `observed` values.
        """
        known, xp = self._known, namespace_of(block)
        targets = xp.matmul(adjoint(known.left), block)
        weights = (known.values / (known.squares + self._ridge))[:, None] * targets
        weights = xp.matmul(adjoint(known.right), weights)
        if known.scale is not None:
            weights = known.scale[:, None] * weights
        lost = (self._ridge / (known.squares + self._ridge))[:, None] * targets
        left = (block - xp.matmul(known.left, targets)) + xp.matmul(known.left, lost)
        errors = squared_modulus(left) / (self._spared**2 * self._inflation)[:, None]
        # Errors of samples with weights were multiplied by the roots of these.
        if observed is None:
            variance = xp.sum(errors, axis=0) / known.n_samples
        else:
            number = observed.sum(axis=0) if known.weights is None else known.weights @ observed
            variance = np.where(observed, errors, 0).sum(axis=0) / np.where(number > 0, number, 1)
        if self._noise is not None:
            of_noise = xp.matmul(self._noise**2, squared_modulus(weights))
            share = 1.0 if known.weights is None else known.weights
            variance = variance + of_noise * xp.sum(share / self._inflation) / known.n_samples
        return weights, variance

    def leverage(self, centred: Any) -> Any:
        """Return ``g`` for centred known values ``(m, s)`` of new samples."""
        known, xp = self._known, namespace_of(centred)
        scaled = centred if known.scale is None else centred * known.scale
        along = xp.matmul(scaled, adjoint(known.right))
        found = xp.sum(squared_modulus(along) / (known.squares + self._ridge), axis=1)
        if not known.is_complete:
            beyond = scaled - xp.matmul(along, known.right)
            found = found + xp.sum(squared_modulus(beyond), axis=1) / self._ridge
        return found + 1 / known.n_samples

    def to_numpy(self) -> _Regression:
        """Return the same regression with NumPy arrays."""
        on_host = copy(self)
        on_host.__dict__.update({name: to_numpy(value) for name, value in vars(self).items()})
        on_host._known = self._known.to_numpy()
        return on_host

    def _leverage_of_noise(self) -> Any:
        """Return ``c``, what noise adds to ``g`` on average."""
        known, xp = self._known, namespace_of(self._noise)
        noise = self._noise if known.scale is None else self._noise * known.scale
        shares = squared_modulus(known.right)
        found = xp.sum(shares / (known.squares + self._ridge)[:, None], axis=0)
        if not known.is_complete:
            found = found + xp.clip(1 - xp.sum(shares, axis=0), min=0.0) / self._ridge
        return xp.sum(noise**2 * found)


def _with_noise(
    known: _SingularValues,
    columns: Any,
    penalties: NDArray[np.float64],
    noise: NDArray[np.float64],
) -> _Regression:
    """Return the regression with a penalty for every column, for known values with noise."""
    like = _real_part(columns)
    on_device = moved_like(like, noise)
    if np.ptp(penalties) == 0:  # the singular values without a scale can be used
        return _Regression(known, float(penalties[0]), on_device)
    scaled = _SingularValues(
        columns,
        moved_like(like, 1 / np.sqrt(penalties)),
        weights=known.weights,
        n_samples=known.n_samples,
    )
    return _Regression(scaled, 1.0, on_device)


def _best_ridge(known: _SingularValues, blocks: Iterator[Any], precision: str) -> float:
    """Return the ridge with the least generalised cross-validation error."""
    powers = np.arange(_LEAST_SHARE[precision], _LARGEST_SHARE + 0.125, 0.25)
    ridges = known.mean_square * 10.0**powers
    squares = np.asarray(to_numpy(known.squares), float)
    energy, total = np.zeros(len(squares)), 0.0
    for block in blocks:
        along, whole = known.energies(block)
        energy, total = energy + along, total + whole
    beyond = max(0.0, total - float(energy.sum()))  # error that no ridge can avoid
    lost = ridges[:, None] / (squares + ridges[:, None])
    residual = beyond + lost**2 @ energy
    freedom = known.n_samples - 1 - _FREEDOM_PRICE * (1 - lost).sum(axis=1)
    possible = freedom > 0  # the largest ridge always is, since it leaves almost no freedom
    error = np.full(len(ridges), np.inf)
    error[possible] = residual[possible] / freedom[possible] ** 2
    return float(ridges[np.argmin(error)])


def moved_like(like: Any, values: NDArray[Any]) -> Any:
    """Copy values from the host to the library and device of `like`."""
    if isinstance(like, np.ndarray):
        return values
    return moved_to(like, values, like.dtype if values.dtype.kind == "f" else None)


def _real_part(values: Any) -> Any:
    xp = namespace_of(values)
    return xp.real(values) if xp.isdtype(values.dtype, "complex floating") else values


def _ranges(n_samples: int, size: int) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK_VALUES // n_samples)
    for start in range(0, size, step):
        yield start, min(start + step, size)
