"""The interface of samples that are not in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift.sources._sample_weights import SampleWeights

__all__ = ["Source", "in_memory", "source_of"]

Measured = TypeVar("Measured")


class Source(ABC):
    """Samples that are read in chunks, of which only a few are in memory at a time.

    Attributes
    ----------
    n_samples : int or None
        The number of samples; None if it is unknown before the end.
    sample_shape : tuple of int
        The shape of one sample as stored: a tensor, or a row.
    dtype : dtype
        The type of the stored values.
    rereadable : bool
        Whether the samples can be read more than once.
    names : tensift.labels.Names or None
        What the modes of a sample are called, if that is known.
    weights : SampleWeights or None
        The weights of the samples, for `reduce`; see `weigh`.

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
    names: Any = None
    weights: SampleWeights | None = None

    def weigh(self, weights: SampleWeights | None) -> None:
        """Give samples weights, or take them away; those of weight zero are then left out."""
        self.weights = weights
        if weights is not None and self.n_samples is not None:
            weights.check_length(self.n_samples)

    @abstractmethod
    def reduce(
        self,
        measure: Callable[..., Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Read all samples once: call `measure` on every chunk and `merge` the results.

        `measure` takes an ndarray of samples and, if samples have weights, those of weight zero
        are left out and the others passed as ``weights=``. `merge` may change and return its first
        argument, but must not change its second. The order of merging depends only on the chunks.
        """

    @abstractmethod
    def map(self, function: Callable[[NDArray], NDArray]) -> Any:
        """Apply a function of samples to all of them."""


def source_of(X: Any) -> Source | None:
    """Return a source that reads `X`; None if `X` is in memory.

    Sources are made of memory maps and views of them, HDF5 and Zarr arrays and others that can be
    sliced like them, Dask arrays, datasets and loaders of PyTorch, and iterators or iterables over
    chunks. Lists, data frames, sparse matrices and the arrays of any library are in memory.

    Labels in datasets and loaders of PyTorch are left out. A loader that shuffles is read in the
    order of its dataset, so that results do not depend on chance.

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
    from tensift.sources._rows import SlicingReader, is_lazy, memmap_reader
    from tensift.sources._torch import torch_source

    X = getattr(
        X, "__tensift_samples__", X
    )  # the samples of a tensift dataset, perhaps a memory map
    if isinstance(X, Source):
        return X
    if type(X) in (np.ndarray, np.memmap):
        reader = memmap_reader(X)
        return None if reader is None else StoredSource(reader)
    if isinstance(X, np.ndarray | list | tuple):
        return None
    array = dask_array_of(X)
    if array is not None:
        return DaskSource(array)
    from_torch = torch_source(X)
    if from_torch is not None:
        return from_torch
    if is_lazy(X):
        return StoredSource(SlicingReader(X))
    return iterable_source(X)


def in_memory(X: Any) -> Any:
    """Return samples as NumPy can convert them: iterators, and what PyTorch reads, as an array.

    Anything else is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.sources import in_memory
    >>> in_memory(iter([np.ones((3, 2)), np.zeros((4, 2))])).shape
    (7, 2)
    """
    from tensift.sources._iterators import iterable_source
    from tensift.sources._torch import torch_source

    source = torch_source(X) or iterable_source(X)
    return X if source is None else source.map(np.asarray)
