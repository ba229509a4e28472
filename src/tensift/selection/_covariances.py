"""How features vary together, as far as choosing among them asks for it.

Nothing here is as wide as it is high in features: covariances are made of rows of samples, or of
the Gram matrices of slices, one feature with all at a time. Code is in functions of the array API
standard, NumPy's among them; features are given by arrays of one index, which stay on their device.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from tensift._utils.modes import pool_elements
from tensift._utils.namespace import (
    device_of,
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    widened,
    widest_precision,
)
from tensift._utils.stacks import squared_modulus
from tensift.moments import GramTensor, Orientation, variances

__all__ = [
    "Covariances",
    "Deflation",
    "RowCovariances",
    "SliceCovariances",
    "Span",
    "covariances_of_slices",
]

# What an element may vary by, as a share of its largest value, and still be constant.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}
_DEPENDENT = 1e4  # epsilons of a feature's own norm that may be left of it by those before
_VECTORS = 64  # that are kept as one matrix
_PRODUCTS = 2**22  # numbers that are made at once
_SQUARES = 2**18  # the same, of numbers that are soon made


class Deflation(Protocol):
    """Takes features out of covariances, one after another."""

    def take(self, feature: Any, pivot: Any) -> Any:
        """Covariances ``(d,)`` with what was left of a feature, over the root of `pivot`.

        So much, squared, of the variance of every feature is taken out, exactly all that the
        feature explains if `pivot` is its variance that was left, less if it is damped.
        """


class Span(Protocol):
    """What features explain by least squares, those before included."""

    def add(self, features: Any) -> Any:
        """The variance ``(k,)`` of all features that each of `features` explains in addition."""


class Covariances(Protocol):
    """Covariances of ``d`` features, times a constant."""

    variances: Any

    def deflation(self, scale: Any) -> Deflation:
        """Takes features out; all are multiplied by `scale` ``(d,)``."""

    def span(self) -> Span:
        """Measures what features explain."""


class RowCovariances:
    """Covariances of features from the samples themselves.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one, and holds
        all its elements of all samples.
    """

    def __init__(self, rows: Any, feature_mode: int | None = None) -> None:
        self._set(_unfolded(_centred(widened(rows)), feature_mode))

    @classmethod
    def of_columns(cls, columns: Any) -> RowCovariances:
        """Covariances of features whose centred values are the columns of a matrix, now its own."""
        covariances = cls.__new__(cls)
        covariances._set(columns)
        return covariances

    def _set(self, columns: Any) -> None:
        xp = namespace_of(columns)
        peak = xp.max(_largest(columns))
        # Squares of tiny numbers would vanish, those of huge ones overflow.
        peak = xp.where(peak > 0, peak, xp.ones_like(peak))
        self.unit = peak**2  # of the sums of squares
        columns /= peak
        self._columns = columns
        self.variances = _sums_of_squares(columns)

    def deflation(self, scale: Any) -> Deflation:
        """Takes features out; all are multiplied by `scale` ``(d,)``."""
        return _RowDeflation(self._columns, scale)

    def span(self) -> Span:
        """Measures what features explain."""
        return _RowSpan(self._columns)


class _RowDeflation:
    """The covariances that are left are products of rows with vectors, which are all it keeps."""

    def __init__(self, columns: Any, scale: Any) -> None:
        self._columns, self._scale = columns, scale
        self._taken = _Vectors()

    def take(self, feature: Any, pivot: Any) -> Any:
        xp = namespace_of(self._columns)
        column = xp.take(self._columns, feature, axis=1)[:, 0] * xp.take(self._scale, feature)
        vector = self._taken.subtracted_from(column) / xp.sqrt(pivot)
        self._taken.append(vector)
        return self._scale * xp.matmul(_conjugate(vector), self._columns)


class _RowSpan:
    """By an orthonormal basis of features, in which those that depend on others are zero."""

    def __init__(self, columns: Any) -> None:
        self._columns = columns
        self._basis = _Vectors()

    def add(self, features: Any) -> Any:
        xp = namespace_of(self._columns)
        chosen = xp.take(self._columns, features, axis=1)
        found = []
        for k in range(chosen.shape[1]):
            column = chosen[:, k]
            left = self._basis.subtracted_from(self._basis.subtracted_from(column))
            norm, least = _norm(left), _DEPENDENT * xp.finfo(column.dtype).eps * _norm(column)
            unit = left / xp.where(norm > least, norm, xp.ones_like(norm))
            found.append(xp.where(norm > least, unit, xp.zeros_like(unit)))
            self._basis.append(found[-1])
        return _energies(_conjugate(xp.stack(found)), self._columns)


class _Vectors:
    """Vectors ``u`` of which ``sum_u u u^H`` times another is subtracted from it.

    They are the rows of matrices of one size, as some libraries compile code for every size.
    """

    def __init__(self) -> None:
        self._matrices: list[Any] = []
        self._count = 0

    def append(self, vector: Any) -> None:
        xp = namespace_of(vector)
        row = self._count % _VECTORS
        self._count += 1
        if row == 0:
            shape = (_VECTORS, vector.shape[0])
            self._matrices.append(xp.zeros(shape, dtype=vector.dtype, device=device_of(vector)))
        if is_device_array(vector):  # of which some cannot be written to
            rows = xp.arange(_VECTORS, device=device_of(vector))[:, None]
            self._matrices[-1] = xp.where(rows == row, vector[None, :], self._matrices[-1])
        else:
            self._matrices[-1][row] = vector

    def subtracted_from(self, vector: Any) -> Any:
        xp = namespace_of(vector)
        for matrix in self._matrices:
            vector = vector - xp.matmul(xp.matmul(_conjugate(matrix), vector), matrix)
        return vector


class SliceCovariances:
    """Covariances of elements from the Gram matrices of slices, where samples are not known.

    Elements are sums over the slices of the transform domain, of which different ones count as
    uncorrelated: what they have in common is not in the Gram matrices. Variances are those known.

    Parameters
    ----------
    orientation : Orientation
        How elements make slices.
    gram : GramTensor
        Of the slices.
    spread : array in the shape of a sample
        The standard deviation of every element.
    """

    def __init__(self, orientation: Orientation, gram: GramTensor, spread: Any) -> None:
        self._orientation, self._gram = orientation, _scaled_to_one(gram)
        values = orientation.expand(variances(self._gram))
        xp = namespace_of(values)
        values = xp.reshape(values, (*orientation.other_shape, orientation.size))
        for axis, transform in enumerate(orientation.transforms):
            if transform.name != "identity":
                weights = squared_modulus(_inverse_matrix(transform, values))
                moved = xp.matmul(xp.moveaxis(values, axis, -1), xp.matrix_transpose(weights))
                values = xp.moveaxis(moved, -1, axis)
        self._factor = _factor_to(spread, self._laid_out(values))
        self.variances = self._factor**2 * self._laid_out(values)

    def deflation(self, scale: Any) -> Deflation:
        """Takes features out; all are multiplied by `scale` ``(d,)``."""
        return _SliceDeflation(self, scale)

    def span(self) -> Span:
        """Measures what features explain."""
        return _SliceSpan(self)

    def of(self, feature: Any) -> Any:
        """The covariances ``(d,)`` of all features with one."""
        orientation, gram = self._orientation, self._gram
        xp = namespace_of(gram.array)
        own_factor = xp.take(self._factor, feature)
        places: list[Any] = []
        for size in reversed(orientation.feature_shape if orientation.transforms else ()):
            places.insert(0, feature % size)
            feature = feature // size
        own = places.pop(orientation.mode) if places else feature  # of a single slice
        row = xp.take(gram.array, own, axis=1)
        if gram.thin:
            row = xp.matmul(row, _conjugate(xp.matrix_transpose(gram.array)))
        values = xp.reshape(orientation.expand(row[:, 0, :]), (*orientation.other_shape, -1))
        for axis, (place, transform) in enumerate(zip(places, orientation.transforms, strict=True)):
            weights = xp.take(_inverse_matrix(transform, values), place, axis=0)
            shape = [1] * values.ndim
            shape[axis] = -1
            values = values * xp.reshape(weights, tuple(shape))
        values = _conjugate(values)
        for axis, transform in enumerate(orientation.transforms):
            values = transform.inverse(values, axis=axis)
        if orientation.real_data and is_complex(values):
            values = xp.real(values)
        return own_factor * self._factor * self._laid_out(_conjugate(values))

    def _laid_out(self, values: Any) -> Any:
        """Values of the slices' shape in the order of features."""
        xp = namespace_of(values)
        return xp.reshape(xp.moveaxis(values, -1, self._orientation.mode), (-1,))


class _SliceDeflation:
    """Keeps the covariances that were taken out."""

    def __init__(self, covariances: SliceCovariances, scale: Any) -> None:
        self._covariances, self._scale = covariances, scale
        self._taken: list[Any] = []

    def take(self, feature: Any, pivot: Any) -> Any:
        xp = namespace_of(self._scale)
        left = self._scale * self._covariances.of(feature) * xp.take(self._scale, feature)
        for taken in self._taken:
            left = left - taken * _conjugate(xp.take(taken, feature))
        self._taken.append(left / xp.sqrt(pivot))
        return self._taken[-1]


class _SliceSpan:
    def __init__(self, covariances: SliceCovariances) -> None:
        whole = covariances.variances
        self._whole = self._left = whole
        self._deflation = covariances.deflation(namespace_of(whole).ones_like(whole))

    def add(self, features: Any) -> Any:
        xp = namespace_of(self._whole)
        eps = xp.finfo(self._whole.dtype).eps
        gained = []
        for k in range(features.shape[0]):
            feature = features[k : k + 1]
            left, whole = xp.take(self._left, feature), xp.take(self._whole, feature)
            # Over infinity nothing is taken out: the feature depends on those before.
            pivot = xp.where(left > _DEPENDENT * eps * whole, left, xp.full_like(left, math.inf))
            taken = squared_modulus(self._deflation.take(feature, pivot))
            self._left = self._left - taken
            gained.append(xp.sum(taken))
        return xp.stack(gained)


def covariances_of_slices(
    orientation: Orientation, gram: GramTensor, spread: Any, feature_mode: int | None
) -> Covariances:
    """Covariances of elements, or of the indices of a mode, from the Gram matrices of slices.

    `spread` are the standard deviations of all elements.
    """
    if feature_mode is None:
        return SliceCovariances(orientation, gram, spread)
    columns = _columns_of_mode(orientation, _scaled_to_one(gram), feature_mode)
    xp = namespace_of(spread)
    known = xp.sqrt(pool_elements(spread**2, feature_mode))
    factor = _factor_to(known, xp.sum(squared_modulus(columns), axis=0))
    return RowCovariances.of_columns(columns * factor)


def _factor_to(spread: Any, variances: Any) -> Any:
    """What features with some variances have to be multiplied by to have known deviations."""
    xp = namespace_of(variances)
    spread = xp.astype(xp.reshape(spread, (-1,)), variances.dtype)
    spread = spread / xp.max(spread)
    positive = (variances > 0) & (spread > 0)
    root = xp.sqrt(xp.where(positive, variances, xp.ones_like(variances)))
    return xp.where(positive, spread / root, xp.zeros_like(root))


def _columns_of_mode(orientation: Orientation, gram: GramTensor, feature_mode: int) -> Any:
    """A matrix whose columns have the covariances of the indices of a mode."""
    xp = namespace_of(gram.array)
    if not orientation.transforms:
        return _columns_of_one_slice(orientation, gram, feature_mode)
    # Elements are sums over slices j with weights W[h, j], and sums over h of their squares stay.
    inverses = [_inverse_matrix(transform, gram.array) for transform in orientation.transforms]
    if feature_mode != orientation.mode:
        axis = feature_mode - (feature_mode > orientation.mode)
        energies = xp.reshape(orientation.expand(gram.trace()), orientation.other_shape)
        own = inverses[axis]
        for other in reversed(range(energies.ndim)):
            if other != axis:
                weights = xp.sum(squared_modulus(inverses[other]), axis=0)
                energies = xp.matmul(xp.moveaxis(energies, other, -1), weights)
        return xp.matrix_transpose(own) * xp.sqrt(xp.clip(energies, min=0.0))[:, None]
    weights = xp.ones((1,), dtype=variances(gram).dtype, device=device_of(gram.array))
    for inverse in inverses:
        own = xp.sum(squared_modulus(inverse), axis=0)
        weights = xp.reshape(weights[:, None] * own[None, :], (-1,))
    kept = moved_to(gram.array, orientation.kept_slices)
    stands_for = xp.astype(moved_to(gram.array, orientation.multiplicity), weights.dtype)
    weights = (xp.take(weights, kept) * stands_for)[:, None, None]
    if gram.thin:
        columns = xp.matrix_transpose(gram.array) * xp.sqrt(weights)
        if orientation.real_data and is_complex(columns):
            columns = xp.concat([xp.real(columns), xp.imag(columns)])
        return xp.reshape(columns, (-1, gram.size))
    whole = xp.sum(gram.array * weights, axis=0)
    if orientation.real_data and is_complex(whole):
        whole = xp.real(whole)
    return _factor(whole)


def _columns_of_one_slice(orientation: Orientation, gram: GramTensor, mode: int) -> Any:
    """Columns with the covariances of a mode's indices, all modes being one or taken as one."""
    xp = namespace_of(gram.array)
    shape = orientation.feature_shape
    before, size, after = math.prod(shape[:mode]), shape[mode], math.prod(shape[mode + 1 :])
    if gram.thin:
        values = xp.reshape(gram.array[0, ...], (before, size, after, -1))
        return xp.reshape(xp.moveaxis(values, 1, -1), (-1, size))
    whole = xp.reshape(gram.array[0, ...], (before, size, after, before, size, after))
    parts = [whole[i, :, j, i, :, j] for i in range(before) for j in range(after)]
    return _factor(sum(parts))


def _factor(matrix: Any) -> Any:
    """A matrix ``F`` whose ``F^H F`` is the conjugate of a positive semidefinite one."""
    xp = namespace_of(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    roots = xp.sqrt(xp.clip(values, min=0.0))
    return xp.matrix_transpose(vectors * roots[None, :])


def _centred(rows: Any) -> Any:
    """Samples less their mean, exactly zero where they differ by rounding alone."""
    xp = namespace_of(rows)
    centred = rows - xp.mean(rows, axis=0)
    varies = _largest(centred) > _ROUNDING[widest_precision(rows)] * _largest(rows)
    if is_device_array(rows):
        return xp.where(varies, centred, xp.zeros_like(centred))
    centred[:, ~varies] = 0  # one copy of the rows is enough
    return centred


def _largest(rows: Any) -> Any:
    """The largest absolute value of every column."""
    xp = namespace_of(rows)
    if is_complex(rows):
        return xp.max(xp.abs(rows), axis=0)
    return xp.maximum(xp.max(rows, axis=0), -xp.min(rows, axis=0))


def _sums_of_squares(columns: Any) -> Any:
    """Of every column, without a second matrix of all squares; of equal columns equal ones."""
    xp = namespace_of(columns)
    count = columns.shape[0]
    step = max(1, _SQUARES // columns.shape[1])
    parts = (columns[start : min(start + step, count), ...] for start in range(0, count, step))
    return sum(xp.sum(squared_modulus(part), axis=0) for part in parts)


def _unfolded(rows: Any, feature_mode: int | None) -> Any:
    """Samples as a matrix with a column for every feature."""
    xp = namespace_of(rows)
    if feature_mode is None:
        return xp.reshape(rows, (rows.shape[0], -1))
    return xp.reshape(xp.moveaxis(rows, feature_mode + 1, -1), (-1, rows.shape[feature_mode + 1]))


def _energies(rows: Any, columns: Any) -> Any:
    """Sums of squares of the rows of a product, of which only a part is made at a time."""
    xp = namespace_of(columns)
    size, step = columns.shape[1], max(1, _PRODUCTS // rows.shape[0])
    parts = (columns[:, start : min(start + step, size)] for start in range(0, size, step))
    products = (xp.matmul(rows, part) for part in parts)
    return sum(xp.sum(squared_modulus(product), axis=1) for product in products)


def _norm(vector: Any) -> Any:
    xp = namespace_of(vector)
    return xp.sqrt(xp.sum(squared_modulus(vector)))


def _conjugate(values: Any) -> Any:
    return namespace_of(values).conj(values) if is_complex(values) else values


def _scaled_to_one(gram: GramTensor) -> GramTensor:
    """A Gram tensor whose largest entry has modulus one; covariances are known to a factor."""
    xp = namespace_of(gram.array)
    array = widened(gram.array)
    peak = xp.max(xp.abs(array))
    return GramTensor(array / xp.where(peak > 0, peak, xp.ones_like(peak)), gram.thin)


def _inverse_matrix(transform: Any, like: Any) -> Any:
    if is_device_array(like):
        return transform.moved("inverse_matrix", like)
    return np.asarray(transform.inverse_matrix)
