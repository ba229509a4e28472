"""What can be asked of samples that are not in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift.gram import Moments
from tensift.sources._thinned import ThinnedSamples

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
    rereadable : bool
        Whether they can be looked at more than once.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.sources import source_of
    >>> source = source_of(iter([np.ones((3, 2)), np.zeros((4, 2))]))
    >>> source.reduce(len, lambda one, other: one + other, title="counting samples")
    7
    """

    n_samples: int | None
    sample_shape: tuple[int, ...]
    dtype: np.dtype
    rereadable: bool = True

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

    @abstractmethod
    def moments(
        self,
        measure: Callable[[NDArray], Moments],
        *,
        verbose: bool = False,
        n_jobs: int | None = None,
        rows: ThinnedSamples | None = None,
    ) -> Moments:
        """The moments of all samples, of which `measure` gives those of a chunk.

        `n_jobs` is for sources that are read in this process. `rows` takes in the samples, too.
        """

    @abstractmethod
    def map(self, function: Callable[[NDArray], NDArray]) -> Any:
        """What a function of samples gives for all of them."""


def source_of(X: Any) -> Source | None:
    """The source that `X` is, None for anything that is an array in memory or can become one.

    Memory maps and views of them, HDF5 and Zarr arrays and what can be sliced like them, Dask
    arrays, iterators over chunks and what gives one are sources. Lists, data frames, sparse
    matrices and the arrays of any library are in memory.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift.sources import source_of
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "samples.npy")
    >>> np.save(file, np.zeros((100, 8, 6)))
    >>> source = source_of(np.load(file, mmap_mode="r"))
    >>> source.n_samples, source.sample_shape
    (100, (8, 6))
    >>> source_of(np.load(file)) is None
    True
    >>> folder.cleanup()
    """
    from tensift.sources._chunks import StoredSource
    from tensift.sources._dask import DaskSource, dask_array_of
    from tensift.sources._iterators import iterable_source
    from tensift.sources._rows import SlicedRows, is_lazy, rows_of_map

    if isinstance(X, Source):
        return X
    if type(X) in (np.ndarray, np.memmap):
        rows = rows_of_map(X)
        return None if rows is None else StoredSource(rows)
    if isinstance(X, np.ndarray | list | tuple | Moments):
        return None
    array = dask_array_of(X)
    if array is not None:
        return DaskSource(array)
    if is_lazy(X):
        return StoredSource(SlicedRows(X))
    return iterable_source(X)
