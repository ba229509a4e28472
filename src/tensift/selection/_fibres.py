"""Features as matrices of centred values: elements, or fibres for indices along a mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import (
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    widened,
)
from tensift._utils.stacks import adjoint, squared_modulus
from tensift.sources import KeptSamples

__all__ = ["Fibres"]

_ROUNDING = {"float64": 1e-13, "float32": 1e-5}  # deviation of a constant, as a share of its value
_LEAST_DEVIATION = 1e-3  # of the largest
_WIDEST = 64  # values of a fibre; longer ones are seen through so many principal components


class Fibres:
    """How samples become centred features ``(n, d, t)``: learned once, applied to any samples.

    Samples are arrays or, if they have weights, `KeptSamples`. With `centred`, their mean is not
    looked for.

    Attributes
    ----------
    deviation : array of shape (d,)
        The root of the energy of every feature; exactly zero for constants.
    varies : array of bool
        Features that vary enough: by more than 1e-3 of the largest deviation.
    energy : array of shape ()
        The energy of all features.
    mean_energy : array of shape ()
        The mean energy of an element that varies; 1 if none does.
    """

    def __init__(self, rows: Any, feature_mode: int | None, *, centred: bool = False) -> None:
        self._mode = feature_mode
        kept = KeptSamples.of(rows)
        values = self._unfolded(kept.rows)
        xp = namespace_of(values)
        self._mean = _mean(values, kept.shares)
        if centred:
            self._mean = xp.zeros_like(self._mean)
        largest = xp.max(xp.abs(values), axis=0)
        values = values - self._mean
        left = xp.max(xp.abs(values), axis=0)
        self._changes = left > _ROUNDING[precision_of(values)] * largest
        left = xp.where(self._changes, left, xp.zeros_like(left))
        # Squares of tiny numbers would vanish, those of huge ones overflow.
        peak = xp.max(left)
        self._unit = xp.where(peak > 0, peak, xp.ones_like(peak))
        self._rotation = None
        values = _times_roots(self._scaled(values), kept)
        energies = xp.sum(squared_modulus(values), axis=0)
        self.deviation = xp.sqrt(xp.sum(energies, axis=1))
        self.varies = self.deviation > _LEAST_DEVIATION * xp.max(self.deviation)
        self.energy = xp.sum(energies)
        number = xp.clip(xp.sum(xp.astype(self._changes, energies.dtype)), min=1.0)
        mean = self.energy / number
        self.mean_energy = xp.where(mean > 0, mean, xp.ones_like(mean))
        if values.shape[2] > _WIDEST:
            self._rotation = _leading_directions(values, _WIDEST)

    def of(self, rows: Any) -> Any:
        """Samples, centred and scaled like those it was made from, as ``(n, d, t)``.

        Samples with weights are multiplied by the roots of these.
        """
        kept = KeptSamples.of(rows)
        values = _times_roots(self._scaled(self._unfolded(kept.rows) - self._mean), kept)
        if self._rotation is None:
            return values
        xp = namespace_of(values)
        rotated = xp.matmul(xp.permute_dims(values, (1, 0, 2)), self._rotation)
        return xp.permute_dims(rotated, (1, 0, 2))

    def energy_of(self, rows: Any) -> Any:
        """The energy of samples about the mean, with all values of long fibres."""
        kept = KeptSamples.of(rows)
        values = _times_roots(self._scaled(self._unfolded(kept.rows) - self._mean), kept)
        return namespace_of(values).sum(squared_modulus(values))

    def _scaled(self, centred: Any) -> Any:
        xp = namespace_of(centred)
        return xp.where(self._changes, centred / self._unit, xp.zeros_like(centred))

    def _unfolded(self, rows: Any) -> Any:
        refuse_masked(rows, "rows")
        rows = widened(rows if is_device_array(rows) else np.asarray(rows))
        xp = namespace_of(rows)
        if self._mode is None:
            return xp.reshape(rows, (rows.shape[0], -1, 1))
        moved = xp.moveaxis(rows, self._mode + 1, 1)
        return xp.reshape(moved, (*moved.shape[:2], -1))


def _mean(values: Any, shares: Any) -> Any:
    xp = namespace_of(values)
    if shares is None:
        return xp.mean(values, axis=0)
    shares = _like(values, shares[:, None, None])
    away = values - values[:1, ...]  # sums of large equal parts would lose digits
    return values[0, ...] + xp.mean(shares * away, axis=0)


def _times_roots(values: Any, kept: KeptSamples) -> Any:
    """Return values of samples, multiplied by the roots of their weights."""
    shares = kept.shares
    return values if shares is None else values * _like(values, np.sqrt(shares)[:, None, None])


def _like(values: Any, numbers: Any) -> Any:
    return moved_to(values, numbers) if is_device_array(values) else numbers


def _leading_directions(values: Any, count: int) -> Any:
    """Orthonormal ``(d, t, count)`` that hold most of the energy of every feature ``(n, t)``."""
    xp = namespace_of(values)
    columns = xp.permute_dims(values, (1, 0, 2))
    n, width = columns.shape[1:]
    if width <= n:
        return xp.linalg.eigh(xp.matmul(adjoint(columns), columns))[1][:, :, width - count :]
    energies, vectors = xp.linalg.eigh(xp.matmul(columns, adjoint(columns)))
    count = min(count, n)
    energies, vectors = energies[:, n - count :], vectors[:, :, n - count :]
    directions = xp.matmul(adjoint(columns), vectors)
    least = n * xp.finfo(energies.dtype).eps * xp.max(energies, axis=1, keepdims=True)
    positive = (energies > least)[:, None, :]
    lengths = xp.sqrt(xp.where(positive, energies[:, None, :], xp.ones_like(energies[:, None, :])))
    return xp.where(positive, directions / lengths, xp.zeros_like(directions))
