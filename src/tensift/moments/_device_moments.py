"""Centred moments of samples on a device, computed and kept there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    in_precision,
    is_complex,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
    widened,
    widest_precision,
)
from tensift._utils.stacks import adjoint, hermitian_part, squared_modulus
from tensift.algebra import floating_on_device
from tensift.moments._moments import Moments, check_weights
from tensift.moments._orientation import Orientation
from tensift.moments._tensor import GramTensor

__all__ = ["DeviceMoments", "energies", "row_blocks"]

_BLOCK_ELEMENTS = 2**23  # the number of values that are processed at once
_FEWEST_ROWS = 256  # with fewer, adding to the Gram matrices costs more than the products


class DeviceMoments(Moments):
    """Moments of samples that are arrays of any library that follows the array API standard.

    They are like `Moments`, but mean, squares and Gram matrices are arrays on the device of the
    samples; `count` and `peak` are Python numbers. Sums are in double precision if the device has
    it. Memory holds one block of samples and a few Gram tensors.

    Parameters
    ----------
    orientation : Orientation
        How samples become slices.

    Attributes
    ----------
    precision : {"float32", "float64"}
        The highest precision of the samples; results have it too.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.moments import DeviceMoments, Orientation
    >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
    >>> moments = DeviceMoments(Orientation((4, 3), 0, make_transforms("identity", [3])))
    >>> moments.update(X[:20]).update(X[20:]).gram().dense().shape
    (3, 4, 4)
    """

    def __init__(self, orientation: Orientation) -> None:
        self.orientation = orientation
        self.count = 0
        self.total: float = 0
        self.peak = 0.0
        self.precision = "float32"
        self.mean: Any = None
        self._squares: Any = None
        self._scatter: Any = None
        self.subsample = None

    def update(
        self,
        samples: Any,
        *options: Any,
        weights: NDArray[np.float64] | None = None,
        **more: Any,
    ) -> DeviceMoments:
        """Add samples ``(n, d_1, ..., d_m)``, one block at a time; weights are on the host."""
        check_weights(weights, samples.shape[0])
        if precision_of(samples) == "float64":
            self.precision = "float64"
        start = 0
        for block in row_blocks(samples, _FEWEST_ROWS):
            stop = start + block.shape[0]
            own = None if weights is None else weights[start:stop]
            self._add(widened(floating_on_device(block, "X")), own)
            start = stop
        return self

    def _add(self, block: Any, weights: NDArray[np.float64] | None) -> None:
        xp = namespace_of(block)
        count = total = block.shape[0]
        peak = float(xp.max(xp.abs(block)))
        if weights is None:
            mean = xp.sum(block, axis=0) / count
            if widest_precision(block) == "float32":
                mean = mean + xp.sum(block - mean, axis=0) / count  # add what rounding lost
            block = block - mean
        else:
            total = float(weights.sum())
            shape = (count, *(1,) * (len(block.shape) - 1))
            share, root = (
                moved_to(block, one.reshape(shape)) for one in (weights / total, np.sqrt(weights))
            )
            mean = xp.sum(share * block, axis=0)
            mean = mean + xp.sum(share * (block - mean), axis=0)
            block = root * (block - mean)
        squares = xp.sum(squared_modulus(block), axis=0)
        columns = self.orientation.to_slices(block)
        self._join(count, total, mean, squares, peak, columns, None)

    def merge(self, other: Moments) -> DeviceMoments:
        """Add the samples of other moments of the same orientation, which are not changed.

        Examples
        --------
        >>> import numpy as np
        >>> from tensift.algebra import make_transforms
        >>> from tensift.moments import DeviceMoments, Orientation
        >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
        >>> orientation = Orientation((4, 3), 0, make_transforms("identity", [3]))
        >>> one, other = (DeviceMoments(orientation).update(part) for part in (X[:20], X[20:]))
        >>> bool(np.allclose(one.merge(other).mean, X.mean(axis=0)))
        True
        """
        if not isinstance(other, DeviceMoments):
            raise TypeError(
                "cannot merge moments on a device with moments on the host; use to_numpy() first"
            )
        if other.count:
            self.precision = max(self.precision, other.precision)  # "float64" is the larger
            self._join(
                other.count,
                other.total,
                other.mean,
                other._squares,
                other.peak,
                None,
                other._scatter,
            )
        return self

    def _join(
        self,
        count: int,
        total: float,
        mean: Any,
        squares: Any,
        peak: float,
        columns: Any,
        scatter: Any,
    ) -> None:
        """Add centred moments of more samples, with the correction for the shift of the mean.

        Two groups of samples with totals n1 and n2 and means m1 and m2 have the joint scatter
        ``S1 + S2 + n1 n2 / (n1 + n2) (m1 - m2) (m1 - m2)^H``: one more column for the product.
        """
        xp = namespace_of(mean)
        self.peak = max(self.peak, peak)
        if self.count:
            weight = self.total * total / (self.total + total)
            shift = mean - self.mean
            squares = self._squares + squares + weight * squared_modulus(shift)
            column = math.sqrt(weight) * self.orientation.to_slices(shift[None, ...])
            columns = column if columns is None else xp.concat([columns, column], axis=2)
            mean = self.mean + shift * (total / (self.total + total))
        self.mean, self._squares = mean, squares
        self.count += count
        self.total += total
        parts = [part for part in (self._scatter, scatter) if part is not None]
        if columns is not None:
            parts.append(xp.matmul(columns, adjoint(columns)))
        self._scatter = sum(parts[1:], start=parts[0])

    def gram(self) -> GramTensor:
        """Return the Gram tensor of the kept slices, dense, in the precision of the sums."""
        return GramTensor(hermitian_part(self._scatter), thin=False)

    def standardised(self, deviations: NDArray[np.float64]) -> DeviceMoments:
        """Return moments whose slices are divided by numbers that the transforms do not mix."""
        scaled = copy(self)
        scaled.orientation = replace(self.orientation, deviations=deviations)
        scaled._scatter = self.gram().divided(scaled.orientation.in_slices(deviations)).array
        return scaled

    def spread(self) -> Any:
        """Return the standard deviation of every feature, in the precision of results."""
        spread = namespace_of(self._squares).sqrt(self._squares / self.total)
        return in_precision(spread, self.precision)

    def to_numpy(self) -> Moments:
        """Return the same moments as NumPy arrays."""
        moments = Moments(self.orientation)
        moments.count, moments.total, moments.peak = self.count, self.total, self.peak
        if self.count:
            moments.mean, moments._squares = to_numpy(self.mean), to_numpy(self._squares)
            moments._scatter = to_numpy(self.gram().array)
        if self.subsample is not None:
            moments.subsample = self.subsample.to_numpy()
        return moments


def row_blocks(samples: Any, fewest: int = 1) -> Iterator[Any]:
    """Yield samples in blocks of bounded size, but with at least `fewest` samples."""
    count = samples.shape[0]
    rows = max(fewest, _BLOCK_ELEMENTS // max(1, math.prod(samples.shape[1:])))
    for start in range(0, count, rows):
        yield samples if rows >= count else samples[start : min(start + rows, count), ...]


def energies(orientation: Orientation, mean: Any, samples: Any, operators: Any) -> tuple[Any, Any]:
    """Return the energy of samples about a mean, and the energy operators do not reconstruct."""
    xp = namespace_of(mean)
    energy = missed = 0.0
    weights = moved_to(mean, orientation.multiplicity, squared_modulus(mean).dtype)
    for block in row_blocks(samples):
        slices = orientation.to_slices(widened(floating_on_device(block, "X")) - mean)
        operators = widened(operators)
        if is_complex(slices) and not is_complex(operators):
            operators = xp.astype(operators, slices.dtype)
        residual = slices - xp.matmul(operators, slices)
        energy += float(xp.sum(weights * xp.sum(squared_modulus(slices), axis=(1, 2))))
        missed += float(xp.sum(weights * xp.sum(squared_modulus(residual), axis=(1, 2))))
    return energy, missed
