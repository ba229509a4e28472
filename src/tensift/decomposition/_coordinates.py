"""Map samples to their coordinates in the chosen components of slices, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint
from tensift.moments import Orientation

__all__ = ["Coordinates"]

_MAX_DIRECT = 64  # up to this many coordinates, one product with the samples is faster
_DECODED_BYTES = 2**25  # coordinates that are decoded at once
_ENCODED_BYTES = 2**20  # samples that are encoded at once


@dataclass(frozen=True)
class Coordinates:
    """Components of slices, sorted by energy, each with its encoder ``q`` and its decoder ``u``.

    A component maps a sample ``x`` of its slice to the coordinate ``z = q^H x``. It adds ``u z`` to
    the reconstruction. If the transforms are unitary up to a factor, coordinates are divided by the
    root of that factor. They then have the norm of the reconstruction in the original domain.

    For real data, slices can come in conjugate pairs, with conjugate coordinates. We store the two
    as the real numbers ``sqrt(2) Re z`` and ``sqrt(2) Im z``, which have the same norm.

    Parameters
    ----------
    orientation : Orientation
        How samples become slices.
    encoder, decoder : ndarray of shape (p', q, k)
        The encoders and decoders of the kept slices.
    energy : ndarray of shape (p', k)
        The part of the sum of squares of its slice that each component explains.
    chosen : ndarray of bool, of shape (p', k)
        Which components have coordinates.
    """

    orientation: Orientation
    encoder: NDArray
    decoder: NDArray
    energy: NDArray[np.float64]
    chosen: NDArray[np.bool_]

    @cached_property
    def _components(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The kept slice and the number of every chosen component, by decreasing energy."""
        slots, numbers = np.nonzero(self.chosen)
        order = np.argsort(-self.energy[slots, numbers], kind="stable")
        return slots[order], numbers[order]

    @cached_property
    def _component_of(self) -> NDArray[np.intp]:
        """The component of every coordinate. A component of a conjugate pair has two of them."""
        slots, _ = self._components
        return np.repeat(np.arange(len(slots)), self._per_component[slots])

    @property
    def _per_component(self) -> NDArray[np.intp]:
        """The number of coordinates of a component, for each kept slice: 1 or 2."""
        return self.orientation.multiplicity

    @cached_property
    def _is_real_part(self) -> NDArray[np.bool_]:
        """Whether a coordinate is the only one of its component, or its real part."""
        return np.diff(self._component_of, prepend=-1) > 0

    @cached_property
    def _factor(self) -> NDArray[np.float64]:
        """The factor that ``z`` is multiplied by, for every component."""
        slots, _ = self._components
        return np.sqrt(self._per_component[slots] / (self.orientation.unitary_factor or 1.0))

    @property
    def count(self) -> int:
        """The number of coordinates."""
        return len(self._component_of)

    @property
    def slices(self) -> NDArray[np.intp]:
        """The slice of every coordinate. The imaginary part of a pair is in the second slice."""
        kept = self.orientation.kept_slices[self._components[0][self._component_of]]
        return np.where(self._is_real_part, kept, self.orientation.conjugate_of[kept])

    @property
    def numbers(self) -> NDArray[np.intp]:
        """For every coordinate, the number of its component in its slice."""
        return self._components[1][self._component_of]

    @property
    def explained(self) -> NDArray[np.float64]:
        """The sum of squares that every coordinate explains. A pair shares it equally."""
        energy = self.energy[self._components][self._component_of]
        return energy / (self.orientation.unitary_factor or 1.0)

    def encode(self, samples: NDArray, mean: NDArray) -> NDArray:
        """Return the coordinates ``(n, K)`` of samples ``(n, d_1, ..., d_m)`` minus `mean`."""
        # In blocks that fit in the cache: allocating memory for all centred samples costs more.
        rows = max(1, _ENCODED_BYTES // (8 * mean.size))
        blocks = [
            self._encode(samples[start : start + rows] - mean)
            for start in range(0, len(samples), rows)
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _encode(self, samples: NDArray) -> NDArray:
        if self.count <= _MAX_DIRECT:
            return samples.reshape(len(samples), -1) @ self._weights_as_columns
        values = adjoint(self.encoder) @ self.orientation.to_slices(samples)
        values = values[self._components].T * self._factor
        if not self.orientation.stays_real:
            return values
        columns = values.real[:, self._component_of]
        if self.count > values.shape[1]:
            columns[:, ~self._is_real_part] = values.imag[
                :, self._component_of[~self._is_real_part]
            ]
        return columns

    @cached_property
    def _weights_as_columns(self) -> NDArray:
        return np.ascontiguousarray(self.weights().reshape(self.count, -1).T)

    def weights(self) -> NDArray:
        """Return the weights ``(K, d_1, ..., d_m)`` of a sample's elements in each coordinate."""
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
        wide = np.repeat(columns, self._per_component[slots])
        first = np.diff(wide, prepend=-1) > 0
        first = first.reshape(-1, *[1] * (weights.ndim - 1))
        return np.where(first, weights.real[wide], weights.imag[wide])

    def decode(self, coordinates: NDArray) -> NDArray:
        """Return centred samples ``(n, d_1, ..., d_m)`` from coordinates ``(n, K)``."""
        samples = [self._decode(block) for block in self._blocks(coordinates)]
        return samples[0] if len(samples) == 1 else np.concatenate(samples)

    def _blocks(self, coordinates: NDArray) -> Iterator[NDArray]:
        rows = max(1, _DECODED_BYTES // (16 * self.chosen.size))
        for start in range(0, max(1, len(coordinates)), rows):
            yield coordinates[start : start + rows]

    def _decode(self, coordinates: NDArray) -> NDArray:
        values = coordinates[:, self._is_real_part]
        if self.count > values.shape[1]:
            values = values.astype(complex)
            values[:, self._component_of[~self._is_real_part]] += (
                1j * coordinates[:, ~self._is_real_part]
            )
        in_slices = np.zeros((*self.chosen.shape, len(values)), dtype=values.dtype)
        in_slices[self._components] = (values / self._factor).T
        return self.orientation.from_slices(self.decoder @ in_slices)
