"""How well the first features of an order restore samples, for several numbers of features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    is_complex,
    is_device_array,
    namespace_of,
    to_numpy,
    widened,
)
from tensift._utils.stacks import squared_modulus
from tensift.labels import Names, labelled_dataset, names_or_numbers
from tensift.moments import check_finite, is_missing
from tensift.selection._linear_estimate import LinearEstimate

__all__ = ["ReconstructionCurve", "errors_of_chunk", "errors_of_samples"]

_BLOCK_VALUES = 2**22  # estimated together


@dataclass(frozen=True)
class ReconstructionCurve:
    """The errors of samples that are restored from the first features of an order.

    Attributes
    ----------
    counts : ndarray of int, shape (c,)
        The numbers of features.
    errors : ndarray of shape (c,)
        The squared error of all elements, as a share of the squared distance to the mean that was
        learned: 0 is perfect, 1 is as good as the mean. After a fit with ``scale="feature"`` both
        are sums over elements divided by their deviations, so that units do not count.
    element_errors : ndarray of shape (c, d_1, ..., d_m)
        The mean squared error of every element, in squared units of the samples. Elements of the
        features themselves have none. NaN for elements without any observed value.
    element_variances : ndarray of shape (d_1, ..., d_m)
        The mean squared distance of every element to the mean that was learned.
    n_samples : int
        The number of samples that were restored.
    names : Names or None
        The names of the modes of a sample, if the fitted samples have some.

    Examples
    --------
    The third feature is the sum of the first two:

    >>> import numpy as np
    >>> from tensift import ColumnSubsetSelector
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> curve = ColumnSubsetSelector(2).fit(X[:100]).reconstruction_curve(X[100:])
    >>> curve.errors.round(2)
    array([0.27, 0.  ])
    >>> curve.element_shares.shape
    (2, 3)
    """

    counts: NDArray[np.intp]
    errors: NDArray[np.float64]
    element_errors: NDArray[np.float64]
    element_variances: NDArray[np.float64]
    n_samples: int
    names: Names | None = None

    @classmethod
    def of(
        cls,
        counts: Sequence[int],
        sums: NDArray[np.float64],
        n_samples: int,
        feature_shape: tuple[int, ...],
        deviations: NDArray[np.float64] | None = None,
    ) -> ReconstructionCurve:
        """Make a curve of sums of squares ``(c + 2, d)``, as `errors_of_samples` returns them.

        `deviations` are what elements are divided by in the errors of all of them.
        """
        sums, observed = sums[:-1], sums[-1]
        if not observed.any():
            raise ValueError("X has no value that is not NaN; pass samples that were observed")
        in_units = sums if deviations is None else sums / deviations.ravel() ** 2
        total = float(in_units[-1].sum())
        if total == 0:
            raise ValueError("X equals the fitted mean everywhere: there is nothing to reconstruct")
        means = np.full(sums.shape, np.nan)
        np.divide(sums, observed, out=means, where=observed > 0)
        means = means.reshape(len(sums), *feature_shape)
        errors = in_units[:-1].sum(axis=1) / total
        return cls(np.array(counts, dtype=np.intp), errors, means[:-1], means[-1], n_samples)

    @property
    def element_shares(self) -> NDArray[np.float64]:
        """The error of every element as a share of its variance; NaN for those that are constant.

        An array of shape ``(c, d_1, ..., d_m)``.
        """
        varies = self.element_variances > 0
        shares: NDArray[np.float64] = np.full(self.element_errors.shape, np.nan)
        np.divide(self.element_errors, self.element_variances, out=shares, where=varies)
        return shares

    def to_xarray(self) -> Any:
        """Return the curve as a Dataset of xarray, with the names and coordinates of elements.

        Returns
        -------
        xarray.Dataset
            ``error`` along ``n_features``; ``element_error`` and ``element_share`` along
            ``n_features`` and the dimensions of a sample; ``element_variance`` along these.

        Examples
        --------
        >>> from tensift import ColumnSubsetSelector
        >>> from tensift.datasets import load_digits
        >>> X = load_digits()
        >>> curve = ColumnSubsetSelector(4).fit(X).reconstruction_curve(X)
        >>> dict(curve.to_xarray().element_share.sizes)
        {'n_features': 3, 'row': 8, 'column': 8}
        """
        names = names_or_numbers(self.names, tuple(self.element_variances.shape))
        of_elements = ("n_features", *names.dims)
        values = {
            "error": (("n_features",), self.errors),
            "element_error": (of_elements, self.element_errors),
            "element_share": (of_elements, self.element_shares),
            "element_variance": (names.dims, self.element_variances),
        }
        found = labelled_dataset(values, names, {"n_samples": self.n_samples})
        return found.assign_coords(n_features=self.counts)

    def to_rows(self) -> list[dict[str, float]]:
        """Return one row per count: the number of features and the error.

        Returns
        -------
        list of dict
        """
        return [
            {"n_features": int(count), "error": float(error)}
            for count, error in zip(self.counts, self.errors, strict=True)
        ]


def errors_of_samples(
    samples: Any, estimates: Iterable[tuple[LinearEstimate, Any]]
) -> NDArray[np.float64]:
    """Return sums of squared errors ``(c, d)``, and below them those of the mean, and counts.

    `estimates` have the elements that they know of a sample. Values that are NaN have no error; the
    counts say how many have one.
    """
    flat = widened(namespace_of(samples).reshape(samples, (samples.shape[0], -1)))
    xp, sums, mean = namespace_of(flat), [], None
    step = max(1, _BLOCK_VALUES // flat.shape[1])
    starts = range(0, flat.shape[0], step)
    for estimate, known in estimates:
        if is_complex(flat) and not estimate.is_complex:
            raise ValueError("X is complex, but the fitted samples are real; pass real samples")
        squares = xp.zeros_like(squared_modulus(flat[0, :]))
        for start in starts:
            block = flat[start : min(start + step, flat.shape[0]), :]
            left = block - estimate.of(xp.take(block, known, axis=1))
            squares = squares + xp.sum(squared_modulus(_where_known(left)), axis=0)
        sums.append(np.asarray(to_numpy(squares), float))
        mean = estimate.mean
    squares = xp.zeros_like(squared_modulus(flat[0, :]))
    for start in starts:
        block = flat[start : min(start + step, flat.shape[0]), :]
        squares = squares + xp.sum(squared_modulus(_where_known(block - mean)), axis=0)
    observed = np.full(flat.shape[1], float(flat.shape[0]))
    if not is_device_array(flat):
        observed = np.count_nonzero(~is_missing(flat), axis=0).astype(float)
    return np.stack([*sums, np.asarray(to_numpy(squares), float), observed])


def _where_known(errors: Any) -> Any:
    """Return zeros in place of NaN, which stands for values that were not observed."""
    return errors if is_device_array(errors) else np.where(is_missing(errors), 0, errors)


def errors_of_chunk(
    chunk: NDArray,
    feature_shape: tuple[int, ...],
    estimates: Sequence[tuple[LinearEstimate, Any]],
    missing: bool = False,
) -> tuple[NDArray[np.float64], int]:
    """Return the sums of squares of a chunk of samples, and its number of samples."""
    samples = check_finite(chunk, allow_nan=missing)
    samples = samples.reshape(len(samples), math.prod(feature_shape))
    return errors_of_samples(samples, estimates), len(samples)
