"""Features as matrices: centred values ``(n, features, elements)``, and what they span."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tensift._utils.stacks import squared_modulus
from tensift.moments import largest_modulus
from tensift.rivals._spread import with_roots
from tensift.sources import SampleWeights

__all__ = [
    "centred_fibres",
    "correlations",
    "energies",
    "leading_components",
    "orthonormal_basis",
    "unit_columns",
    "without_constants",
]

_DEPENDENT = 1e-10  # columns that keep a smaller share of their length depend on others
_DENSE = 512  # rows or columns up to which a full decomposition is as cheap as a partial one
_LEAST = 1e-6  # singular values below this share of the largest are not found from Gram matrices


def centred_fibres(
    samples: NDArray,
    spread: NDArray,
    feature_mode: int | None,
    weights: SampleWeights | None = None,
) -> NDArray:
    """Centre samples and divide them by their largest value; return ``(n, features, elements)``.

    Elements whose `spread` is 0 become exactly 0. Samples with weights are multiplied by the roots
    of these.
    """
    kind = complex if np.iscomplexobj(samples) else float
    values = samples.astype(kind) / largest_modulus(samples)
    values = with_roots(values, weights)
    values[:, spread == 0] = 0
    values /= np.abs(values).max()  # so that squares of small values do not underflow
    if feature_mode is None:
        return values.reshape(len(values), -1, 1)
    moved = np.moveaxis(values, feature_mode + 1, 1)
    return np.ascontiguousarray(moved).reshape(*moved.shape[:2], -1)


def without_constants(values: NDArray) -> tuple[NDArray, NDArray[np.intp]]:
    """Return the features that vary, and their indices."""
    kept = np.flatnonzero(energies(values) > 0)
    return values[:, kept], kept


def energies(values: NDArray) -> NDArray[np.float64]:
    """Return the sum of squares of every feature of ``(n, features, elements)``."""
    sums: NDArray[np.float64] = squared_modulus(values).sum(axis=(0, 2))
    return sums


def orthonormal_basis(columns: NDArray, length: float) -> NDArray:
    """Return an orthonormal basis of the span of columns.

    Directions whose length is a tiny share of `length` are rounding errors and are left out.
    """
    if columns.shape[1] == 1:
        norm = float(np.linalg.norm(columns))
        return columns / norm if norm > _DEPENDENT * length else columns[:, :0]
    left, values, _ = scipy.linalg.svd(columns, full_matrices=False)
    basis: NDArray = left[:, values > _DEPENDENT * length]
    return basis


def leading_components(rows: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """Return the leading left and right singular vectors, at most `count` and at most the rank."""
    n, d = rows.shape
    if min(n, d) <= _DENSE:
        left, values, right = scipy.linalg.svd(rows, full_matrices=False)
        count = min(count, int(np.count_nonzero(values > _DEPENDENT * values[0])))
        return left[:, :count], right[:count]
    small = min(n, d)
    gram = rows @ rows.conj().T if n <= d else rows.conj().T @ rows
    first = max(0, small - count)
    squares, vectors = scipy.linalg.eigh(gram, subset_by_index=[first, small - 1])
    squares, vectors = squares[::-1], vectors[:, ::-1]
    kept = squares > _LEAST**2 * squares[0]
    values, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    if n <= d:
        return vectors, (vectors.conj().T @ rows) / values[:, None]
    return (rows @ vectors) / values, vectors.conj().T


def unit_columns(values: NDArray) -> NDArray:
    """Return one column of length 1 for every feature, with all its elements of all samples."""
    columns: NDArray = values.transpose(0, 2, 1).reshape(-1, values.shape[1])
    return columns / np.sqrt(energies(values))


def correlations(columns: NDArray, some: slice) -> NDArray[np.float64]:
    """Return the modulus of the correlations of all features with some, from `unit_columns`.

    Fibres are compared element by element, so one number relates two of them.
    """
    return np.minimum(np.abs(columns.conj().T @ columns[:, some]), 1.0)
