"""What can be asked of samples that are not in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift.gram import Moments

__all__ = ["Source", "source_of"]

Measured = TypeVar("Measured")


class Source(ABC):
    """Samples along the first axis, in chunks of which few are in memory at a time.

    Attributes
    ----------
    n_samples : int or None
        How many there are; None if only the end will tell.
    sample_shape : tuple of int
        The shape of one sample as it is stored: a tensor, or a row.
    dtype : dtype
        Of the stored values.
    """

    n_samples: int | None
    sample_shape: tuple[int, ...]
    dtype: np.dtype

    @abstractmethod
    def reduce(
        self,
        measure: Callable[[NDArray], Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Look at all samples once: measure every chunk, and merge what was measured.

        `measure` gets an ndarray of samples. `merge` may change and return its first argument,
        never its second. The order of merging depends on the chunks alone.
        """

    def moments(self, measure: Callable[[NDArray], Moments], *, verbose: bool = False) -> Moments:
        """The moments of all samples, of which `measure` gives those of a chunk."""
        return self.reduce(measure, Moments.merge, title="reading samples", verbose=verbose)


def source_of(X: Any) -> Source | None:
    """The source that `X` is, None for anything that is an array in memory or can become one."""
    from tensift.sources._dask import DaskSource, dask_array_of

    array = dask_array_of(X)
    if array is not None:
        return DaskSource(array)
    return None
