"""What estimators measure of every chunk of samples; in functions that can be sent to workers."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from tensift.algebra._bases import self_correlation
from tensift.base._data_checks import check_magnitude
from tensift.base._samples import check_finite
from tensift.gram import Moments, Orientation

__all__ = ["add_all", "correlations_of_chunk", "moments_of_chunk"]


def moments_of_chunk(chunk: NDArray, orientation: Orientation) -> Moments:
    """The moments of a chunk of samples."""
    return Moments(orientation).update(_checked(chunk, orientation.feature_shape))


def correlations_of_chunk(
    chunk: NDArray, feature_shape: tuple[int, ...], modes: Sequence[int]
) -> list[NDArray]:
    """Uncentred self-correlations of some modes of a chunk of samples."""
    samples = _checked(chunk, feature_shape)
    return [self_correlation(samples, mode + 1) for mode in modes]


def add_all(one: list[NDArray], other: list[NDArray]) -> list[NDArray]:
    """Sums of what two chunks gave."""
    return [a + b for a, b in zip(one, other, strict=True)]


def _checked(chunk: NDArray, feature_shape: tuple[int, ...]) -> NDArray:
    samples = check_finite(chunk)
    check_magnitude(samples)
    return samples.reshape(len(samples), *feature_shape)
