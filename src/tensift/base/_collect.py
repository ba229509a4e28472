"""One pass over samples, after which they are not needed any more."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._checkpoint import fingerprint
from tensift._namespace import is_device_array
from tensift._version import __version__
from tensift.algebra import make_transform
from tensift.base._intake import MomentsOfChunk
from tensift.base._oriented import OrientedEstimator
from tensift.gram import Moments, Orientation
from tensift.sources import Source, source_of
from tensift.sources._chunks import ChunkedSource, StoredSource
from tensift.sources._resume import PassCheckpoint
from tensift.sources._rows import SlicedRows
from tensift.sources._thinned import ThinnedSamples

__all__ = ["collect_moments"]


def collect_moments(
    X: ArrayLike,
    orientation: int = 0,
    transform: Any = "identity",
    *,
    feature_shape: tuple[int, ...] | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
) -> Moments:
    """Read samples once, and keep all that `STPCASelector` and its relatives want to know.

    ``fit`` of `STPCASelector`, `TensorPCA` and `SparseTensorPCA`, and `stpca_path`, take the
    result in place of the samples. So one pass over a large file serves any number of fits, and
    with a checkpoint it survives whatever ends the process.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m) or (n, d), or a source
        Samples in memory, a memory map, an HDF5 or Zarr array, an iterator over chunks of
        samples, or a Dask array.
    orientation, transform, feature_shape, random_state
        As in `STPCASelector`. With ``transform="eigen"`` the samples are read twice.
    n_jobs : int or None, default=None
        Threads that make the products. The result does not depend on it.
    checkpoint : path-like, optional
        A file to which everything known so far is written every few seconds. A call with the
        same samples and parameters goes on from there, to the same bits; a file of others is
        refused. Samples are known again by their shape, type, and some of their values.
    verbose : bool or int, default=False
        Show progress on standard error.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift import STPCASelector, collect_moments
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "samples.npy")
    >>> np.save(file, np.random.default_rng(0).normal(size=(500, 8, 6)))
    >>> moments = collect_moments(np.load(file, mmap_mode="r"), transform="dct")
    >>> moments.count
    500
    >>> weak, strong = (STPCASelector(5, lam=lam).fit(moments) for lam in (0.1, 10))
    >>> weak.scores_.shape
    (8, 6)
    >>> folder.cleanup()
    """
    collector = _Collector(
        orientation=orientation,
        transform=transform,
        feature_shape=feature_shape,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    collector._validate_params()
    collector.checkpoint = checkpoint
    source = source_of(X)
    if checkpoint is not None and is_device_array(X):
        raise ValueError("checkpoint is for samples on the host; leave it out on a device")
    if checkpoint is not None and source is None:
        source = StoredSource(SlicedRows(collector._first_samples(X, 2)))
    if checkpoint is not None and not isinstance(source, ChunkedSource):
        raise ValueError("checkpoint is for samples that are read here; a Dask array is not")
    collector._take_in(X if source is None else source)
    return collector._moments


class _Collector(OrientedEstimator):
    """Takes in samples and does no more."""

    _takes_device_arrays = True

    def __init__(
        self,
        orientation: int,
        transform: Any,
        feature_shape: tuple[int, ...] | None,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
        verbose: bool | int,
    ) -> None:
        self.orientation = orientation
        self.transform = transform
        self.feature_shape = feature_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    checkpoint: str | os.PathLike[str] | None = None
    _kept: PassCheckpoint | None = None

    def _solve(self, samples: NDArray | None) -> None:
        """Nothing: the moments are all that is wanted."""

    def _take_in_source(self, source: Source) -> None:
        if self.checkpoint is not None and isinstance(source, ChunkedSource):
            self._learn_shape(source.sample_shape)
            self._kept = PassCheckpoint(self.checkpoint, self._key(source))
        super()._take_in_source(source)

    def _key(self, source: ChunkedSource) -> str:
        """What the moments depend on."""
        sizes = [self.feature_shape_[mode] for mode in self._other_modes()]
        spec = self.transform
        many = isinstance(spec, list | tuple) and not all(map(callable, spec))
        specs = list(spec) if many else [spec] * len(sizes)
        parts = [
            one if isinstance(one, str) else make_transform(one, size).matrix
            for one, size in zip(specs, sizes, strict=False)
        ]
        if isinstance(self.random_state, np.random.RandomState):
            raise ValueError("random_state must be an int with a checkpoint: it has to be known")
        shape, mode = self.feature_shape_, self.orientation_
        return fingerprint(__version__, shape, mode, self.random_state, *parts, *source.probe())

    def _correlations_of(self, source: Source) -> list[NDArray]:
        modes = self._other_modes()
        found = None if self._kept is None else self._kept.correlations(modes)
        if found is None:
            found = super()._correlations_of(source)
            if self._kept is not None:
                self._kept.keep_correlations(modes, found)
        return found

    def _moments_of(
        self, source: Source, orientation: Orientation, rows: ThinnedSamples | None = None
    ) -> Moments:
        if self._kept is None:
            return super()._moments_of(source, orientation, rows)
        chunks: Any = source
        moments: Moments = chunks.moments(
            MomentsOfChunk(orientation), kept=self._kept, **self._reading()
        )
        return moments
