"""A few samples of a Dask array, picked out where its chunks are measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.gram import Moments
from tensift.sources._dask_moments import merged
from tensift.sources._thinned import ThinnedSamples

__all__ = ["MomentsAndPicked", "Picker", "merged_with_picked", "moments_alone", "picked_alone"]


@dataclass(frozen=True)
class Picker:
    """Picks samples from chunks; of chunks that start who knows where, it counts them.

    Parameters
    ----------
    starts : tuple of int or None
        Where chunks start, if their lengths are known.
    first, stride : int
        The first sample of all to pick, and every how many-th after it.
    """

    starts: tuple[int, ...] | None
    first: int = 0
    stride: int = 1

    @classmethod
    def of(cls, rows: ThinnedSamples, lengths: tuple[int, ...]) -> Picker:
        """Picks what `rows` wants of chunks of these lengths."""
        starts = tuple(accumulate(lengths, initial=0))
        return cls(starts[:-1], *rows.next_rows(starts[-1]))

    def __call__(self, chunk: Any, number: int) -> NDArray | int:
        """The samples to pick from a chunk, or how many it has."""
        if self.starts is None:
            return len(chunk)
        first = (self.first - self.starts[number]) % self.stride
        return np.array(np.asarray(chunk)[first :: self.stride])


@dataclass(frozen=True)
class MomentsAndPicked:
    """Moments of chunks, and what was picked from each of them, by their numbers."""

    moments: Moments
    picked: dict[int, Any]


# Tasks. None changes what it is given: it may be given again, to whoever computes it anew.


def merged_with_picked(one: MomentsAndPicked, other: MomentsAndPicked) -> MomentsAndPicked:
    """Moments of the samples of both, and what was picked from both."""
    return MomentsAndPicked(merged(one.moments, other.moments), one.picked | other.picked)


def moments_alone(found: MomentsAndPicked) -> Moments:
    """What stays on the workers."""
    return found.moments


def picked_alone(found: MomentsAndPicked) -> dict[int, Any]:
    """What is brought here."""
    return found.picked
