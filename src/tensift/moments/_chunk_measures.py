"""What estimators compute from every chunk of samples, as functions that can be pickled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import Pool
from tensift._utils.stacks import squared_modulus
from tensift.algebra import self_correlation
from tensift.moments._missing import is_missing, refuse_mixed
from tensift.moments._moments import Moments, along_samples
from tensift.moments._observed_moments import ObservedMoments
from tensift.moments._orientation import Orientation
from tensift.moments._peaks import checked_peak
from tensift.sources import SampleWeights

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
    """Computes the moments of chunks, for all kept slices or for some of them."""

    orientation: Orientation
    slices: slice | None = None
    missing: bool = False  # whether NaN stands for a value that was not observed

    def __call__(self, chunk: NDArray, weights: SampleWeights | None = None) -> Moments:
        """Return the moments of a chunk."""
        return self.add(self.blank(), chunk, weights=weights)

    def blank(self) -> Moments:
        """Return moments of no samples."""
        kind = ObservedMoments if self.missing else Moments
        return kind(self.orientation, self.slices)

    def add(
        self,
        moments: Moments,
        chunk: NDArray,
        pool: Pool | None = None,
        weights: SampleWeights | None = None,
    ) -> Moments:
        """Check a chunk and add it to moments."""
        samples = _in_shape(chunk, self.orientation.feature_shape)
        return moments.update(samples, pool, weights=_values(weights))

    def add_more(
        self, moments: Moments, chunk: NDArray, pool: Pool, weights: SampleWeights | None = None
    ) -> None:
        """Add a chunk that others will follow; call ``moments.flush`` after the last."""
        samples = _in_shape(chunk, self.orientation.feature_shape)
        moments.update(samples, pool, weights=_values(weights), more_follows=True)


def moments_of_chunk(chunk: NDArray, orientation: Orientation) -> Moments:
    """Return the moments of a chunk of samples."""
    return MomentsOfChunk(orientation)(chunk)


def _values(weights: SampleWeights | None) -> NDArray[np.float64] | None:
    return None if weights is None else weights.values


def correlations_of_chunk(
    chunk: NDArray,
    feature_shape: tuple[int, ...],
    modes: Sequence[int],
    deviations: NDArray[np.float64] | None = None,
    weights: SampleWeights | None = None,
    *,
    missing: bool = False,
) -> list[NDArray]:
    """Return the uncentred self-correlations ``X_(k) X_(k)^T`` of some modes of a chunk.

    With `deviations`, those of the samples divided by them.
    """
    samples = checked_chunk(chunk, feature_shape, missing=missing)
    if missing and is_missing(samples).any():
        refuse_mixed("eigen")
    samples = samples if deviations is None else samples / deviations
    samples = samples.astype(complex if np.iscomplexobj(samples) else float, copy=False)
    if weights is not None:
        samples = samples * along_samples(np.sqrt(weights.values), samples)
    return [self_correlation(samples, mode + 1) for mode in modes]


def energies_of_chunk(
    chunk: NDArray, orientation: Orientation, mean: NDArray, operators: NDArray
) -> list[NDArray]:
    """Return the energy of a chunk, and the energy that operators do not reconstruct."""
    samples = checked_chunk(chunk, orientation.feature_shape)
    return energies_of(orientation, mean, samples, operators)


def energies_of(
    orientation: Orientation, mean: NDArray, samples: NDArray, operators: NDArray
) -> list[NDArray]:
    """Return the energy of checked samples, and the energy that operators do not reconstruct.

    The operators are those of the kept slices; a kept slice of a conjugate pair counts twice.
    """
    slices = orientation.to_slices(samples - mean)
    return [
        orientation.multiplicity @ squared_modulus(part).sum(axis=(1, 2))
        for part in (slices, slices - operators @ slices)
    ]


def add_all(one: list[NDArray], other: list[NDArray]) -> list[NDArray]:
    """Add the results of two chunks, element by element."""
    return [a + b for a, b in zip(one, other, strict=True)]


def checked_chunk(
    chunk: NDArray, feature_shape: tuple[int, ...], *, missing: bool = False
) -> NDArray:
    """Return a chunk in its tensor shape; raise `UnusableSample` if a value cannot be used."""
    samples = _in_shape(chunk, feature_shape)
    checked_peak(samples, 0, missing=missing)
    return samples


def _in_shape(chunk: NDArray, feature_shape: tuple[int, ...]) -> NDArray:
    samples = np.asarray(chunk)
    if samples.dtype.kind not in "biufc":
        raise ValueError(f"X has dtype {samples.dtype}, which is not numeric; pass numbers")
    return samples.reshape(len(samples), *feature_shape)
