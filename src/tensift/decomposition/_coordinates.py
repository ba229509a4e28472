"""From samples to their coordinates in chosen components of slices, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint
from tensift.gram import Orientation

__all__ = ["Coordinates"]

_FEW = 64  # coordinates are read off samples by one product; more go through the transform
_BLOCK_BYTES = 2**25  # of coordinates that are taken back at once
_CACHED_BYTES = 2**20  # of samples that are encoded at once


@dataclass(frozen=True)
class Coordinates:
    """Components of slices in the order of their energy, each with its encoder and its decoder.

    Component i of a slice turns the samples of the slice into coordinates ``z = q^H x`` and these
    into its part ``u z`` of the reconstruction. If the transforms are unitary up to a factor,
    coordinates are divided by the root of that factor, so that they have the norm of the
    reconstruction in the original domain.

    Slices of real data that are conjugate in pairs have conjugate coordinates. The two are given
    as the real numbers ``sqrt(2) Re z`` and ``sqrt(2) Im z``, which have the same norm.

    Parameters
    ----------
    orientation : Orientation
        How samples become slices.
    encoder, decoder : ndarray of shape (p', q, k)
        Of the kept slices.
    energy : ndarray of shape (p', k)
        What every component explains of the sum of squares of its slice.
    chosen : ndarray of bool, of shape (p', k)
        Which components there are coordinates of.
    """

    orientation: Orientation
    encoder: NDArray
    decoder: NDArray
    energy: NDArray[np.float64]
    chosen: NDArray[np.bool_]

    @cached_property
    def _components(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Kept slice and number of every chosen component, by decreasing energy."""
        slots, numbers = np.nonzero(self.chosen)
        order = np.argsort(-self.energy[slots, numbers], kind="stable")
        return slots[order], numbers[order]

    @cached_property
    def _columns(self) -> NDArray[np.intp]:
        """The component of every coordinate: those of pairs have two."""
        slots, _ = self._components
        return np.repeat(np.arange(len(slots)), self._width[slots])

    @property
    def _width(self) -> NDArray[np.intp]:
        """How many coordinates a component of each kept slice has."""
        return self.orientation.multiplicity

    @cached_property
    def _first(self) -> NDArray[np.bool_]:
        """Whether a coordinate is the only one of its component, or the real part."""
        return np.diff(self._columns, prepend=-1) > 0

    @cached_property
    def _factor(self) -> NDArray[np.float64]:
        """What ``z`` is multiplied by, for every component."""
        slots, _ = self._components
        return np.sqrt(self._width[slots] / (self.orientation.unitary_factor or 1.0))

    @property
    def count(self) -> int:
        """The number of coordinates."""
        return len(self._columns)

    @property
    def slices(self) -> NDArray[np.intp]:
        """The slice of every coordinate; the imaginary part of a pair goes to the second."""
        kept = self.orientation.kept_slices[self._components[0][self._columns]]
        return np.where(self._first, kept, self.orientation.conjugate_of[kept])

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of every coordinate's component in its slice."""
        return self._components[1][self._columns]

    @property
    def explained(self) -> NDArray[np.float64]:
        """The sum of squares that every coordinate explains; of a pair, half of what both do."""
        energy = self.energy[self._components][self._columns]
        return energy / (self.orientation.unitary_factor or 1.0)

    def encode(self, samples: NDArray, mean: NDArray) -> NDArray:
        """Coordinates ``(n, K)`` of samples ``(n, d_1, ..., d_m)``, less their `mean`."""
        # Blocks that stay in cache: fresh memory for all centred samples would cost more.
        rows = max(1, _CACHED_BYTES // (8 * mean.size))
        blocks = [
            self._encode(samples[start : start + rows] - mean)
            for start in range(0, len(samples), rows)
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _encode(self, samples: NDArray) -> NDArray:
        if self.count <= _FEW:
            return samples.reshape(len(samples), -1) @ self._weights_as_columns
        values = adjoint(self.encoder) @ self.orientation.to_slices(samples)
        values = values[self._components].T * self._factor
        if not self.orientation.stays_real:
            return values
        columns = values.real[:, self._columns]
        if self.count > values.shape[1]:
            columns[:, ~self._first] = values.imag[:, self._columns[~self._first]]
        return columns

    @cached_property
    def _weights_as_columns(self) -> NDArray:
        return np.ascontiguousarray(self.weights().reshape(self.count, -1).T)

    def weights(self) -> NDArray:
        """What every coordinate multiplies the elements of samples by, ``(K, d_1, ..., d_m)``."""
        return np.concatenate(
            [self._weights(block) for block in self._blocks(np.arange(len(self._factor)))]
        )

    def _weights(self, components: NDArray[np.intp]) -> NDArray:
        slots, numbers = (index[components] for index in self._components)
        slices = np.zeros((*self.encoder.shape[:2], len(components)), dtype=self.encoder.dtype)
        columns = np.arange(len(components))
        slices[slots, :, columns] = self.encoder[slots, :, numbers] * self._factor[components, None]
        weights = self.orientation.adjoint_of_slices(slices).conj()
        if not self.orientation.stays_real:
            return weights
        wide = np.repeat(columns, self._width[slots])
        first = np.diff(wide, prepend=-1) > 0
        first = first.reshape(-1, *[1] * (weights.ndim - 1))
        return np.where(first, weights.real[wide], weights.imag[wide])

    def decode(self, coordinates: NDArray) -> NDArray:
        """Centred samples ``(n, d_1, ..., d_m)`` from coordinates ``(n, K)``."""
        samples = [self._decode(block) for block in self._blocks(coordinates)]
        return samples[0] if len(samples) == 1 else np.concatenate(samples)

    def _blocks(self, coordinates: NDArray) -> Iterator[NDArray]:
        rows = max(1, _BLOCK_BYTES // (16 * self.chosen.size))
        for start in range(0, max(1, len(coordinates)), rows):
            yield coordinates[start : start + rows]

    def _decode(self, coordinates: NDArray) -> NDArray:
        values = coordinates[:, self._first]
        if self.count > values.shape[1]:
            values = values.astype(complex)
            values[:, self._columns[~self._first]] += 1j * coordinates[:, ~self._first]
        in_slices = np.zeros((*self.chosen.shape, len(values)), dtype=values.dtype)
        in_slices[self._components] = (values / self._factor).T
        return self.orientation.from_slices(self.decoder @ in_slices)
