"""What estimators measure of every chunk of samples; in functions that can be sent to workers."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from tensift._stacks import squared_modulus
from tensift.algebra._bases import self_correlation
from tensift.base._data_checks import check_magnitude
from tensift.base._samples import check_finite
from tensift.gram import Moments, Orientation

__all__ = [
    "add_all",
    "checked_chunk",
    "correlations_of_chunk",
    "energies_of",
    "energies_of_chunk",
    "moments_of_chunk",
]


def moments_of_chunk(chunk: NDArray, orientation: Orientation) -> Moments:
    """The moments of a chunk of samples."""
    return Moments(orientation).update(checked_chunk(chunk, orientation.feature_shape))


def correlations_of_chunk(
    chunk: NDArray, feature_shape: tuple[int, ...], modes: Sequence[int]
) -> list[NDArray]:
    """Uncentred self-correlations of some modes of a chunk of samples."""
    samples = checked_chunk(chunk, feature_shape)
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
    samples = check_finite(chunk)
    check_magnitude(samples)
    return samples.reshape(len(samples), *feature_shape)
