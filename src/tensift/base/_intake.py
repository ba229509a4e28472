"""What estimators measure of every chunk of samples; in functions that can be sent to workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._pool import Pool
from tensift._stacks import squared_modulus
from tensift.algebra._bases import self_correlation
from tensift.gram import Moments, Orientation
from tensift.gram._moments import checked_peak

__all__ = [
    "MomentsOfChunk",
    "add_all",
    "checked_chunk",
    "correlations_of_chunk",
    "energies_of",
    "energies_of_chunk",
    "moments_of_chunk",
]


@dataclass(frozen=True)
class MomentsOfChunk:
    """Measures the moments of chunks, of all kept slices or of some."""

    orientation: Orientation
    slices: slice | None = None

    def __call__(self, chunk: NDArray) -> Moments:
        """The moments of a chunk."""
        return self.add(self.blank(), chunk)

    def blank(self) -> Moments:
        """Moments of no chunk."""
        return Moments(self.orientation, self.slices)

    def add(self, moments: Moments, chunk: NDArray, pool: Pool | None = None) -> Moments:
        """Take a chunk into the moments of others; it is checked on the way."""
        return moments.update(_in_shape(chunk, self.orientation.feature_shape), pool)

    def add_more(self, moments: Moments, chunk: NDArray, pool: Pool) -> None:
        """Take in a chunk after which others follow; `settle` the moments in the end."""
        samples = _in_shape(chunk, self.orientation.feature_shape)
        moments.update(samples, pool, more_follows=True)


def moments_of_chunk(chunk: NDArray, orientation: Orientation) -> Moments:
    """The moments of a chunk of samples."""
    return MomentsOfChunk(orientation)(chunk)


def correlations_of_chunk(
    chunk: NDArray, feature_shape: tuple[int, ...], modes: Sequence[int]
) -> list[NDArray]:
    """Uncentred self-correlations of some modes of a chunk of samples."""
    samples = checked_chunk(chunk, feature_shape)
    samples = samples.astype(complex if np.iscomplexobj(samples) else float, copy=False)
    return [self_correlation(samples, mode + 1) for mode in modes]


def energies_of_chunk(
    chunk: NDArray, orientation: Orientation, mean: NDArray, operators: NDArray
) -> list[NDArray]:
    """The energy of a chunk of samples, and what operators of the kept slices miss of it."""
    samples = checked_chunk(chunk, orientation.feature_shape)
    return energies_of(orientation, mean, samples, operators)


def energies_of(
    orientation: Orientation, mean: NDArray, samples: NDArray, operators: NDArray
) -> list[NDArray]:
    """The energy of checked samples, and what operators of the kept slices miss of it."""
    slices = orientation.to_slices(samples - mean)
    return [
        orientation.multiplicity @ squared_modulus(part).sum(axis=(1, 2))
        for part in (slices, slices - operators @ slices)
    ]


def add_all(one: list[NDArray], other: list[NDArray]) -> list[NDArray]:
    """Sums of what two chunks gave."""
    return [a + b for a, b in zip(one, other, strict=True)]


def checked_chunk(chunk: NDArray, feature_shape: tuple[int, ...]) -> NDArray:
    """A chunk of samples in their tensor shape, if it has finite numbers of moderate size."""
    samples = _in_shape(chunk, feature_shape)
    checked_peak(samples, 0)
    return samples


def _in_shape(chunk: NDArray, feature_shape: tuple[int, ...]) -> NDArray:
    samples = np.asarray(chunk)
    if samples.dtype.kind not in "biufc":
        raise ValueError(f"X has dtype {samples.dtype}, which is not numeric; pass numbers")
    return samples.reshape(len(samples), *feature_shape)
