"""Collect the moments of samples in one pass; fits then need only the moments."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.checkpoint import fingerprint
from tensift._utils.full_products import full_products
from tensift._utils.namespace import is_device_array
from tensift._version import __version__
from tensift.algebra import make_transform
from tensift.labels import SampleDims, groups_of
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._moments import Moments
from tensift.moments._oriented import OrientedEstimator
from tensift.moments._resume import PassCheckpoint
from tensift.sources import (
    ChunkedSource,
    SampleWeights,
    SlicingReader,
    StoredSource,
)

__all__ = ["collect_moments"]


@full_products
def collect_moments(
    X: ArrayLike,
    orientation: int | str = 0,
    basis: Any = "identity",
    *,
    feature_shape: tuple[int, ...] | None = None,
    sample_dim: SampleDims = None,
    missing: str = "raise",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
) -> Moments:
    """Read samples once and return their moments, which is all that `fit` needs.

    ``fit`` of `STPCASelector`, `TensorPCA` and `SparseTensorPCA`, and `stpca_path`, take the
    result in place of the samples. One pass over a large file is then enough for any number of
    fits. With a checkpoint, a pass that was interrupted can be continued.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m) or (n, d), or a source
        Samples in memory, a memory map, an HDF5 or Zarr array, an iterator over chunks of
        samples, or a Dask array.
    orientation, basis, feature_shape, sample_dim, missing, random_state
        As in `STPCASelector`. With ``basis="eigen"`` the samples are read twice.
    sample_weight, groups : array-like of shape (n,), optional
        How much each sample counts, and groups that count equally, as in `STPCASelector.fit`.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.
    checkpoint : path-like, optional
        A file to which the moments so far are written every few seconds. A call with the same
        samples, weights and parameters continues from there and returns exactly the same numbers.
        A file of other ones is refused; samples are compared by shape, dtype, and some of their
        values. Processes that use one file do not damage it, but they share no work: each
        reads it once, and the last to write wins.
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
    >>> moments = collect_moments(np.load(file, mmap_mode="r"), basis="dct")
    >>> moments.count
    500
    >>> weak, strong = (STPCASelector(5, lam=lam).fit(moments) for lam in (0.1, 10))
    >>> weak.scores_.shape
    (8, 6)
    >>> folder.cleanup()
    """
    collector = _Collector(
        orientation, basis, feature_shape, sample_dim, missing, random_state, n_jobs, verbose
    )
    collector._validate_params()
    weights = SampleWeights.of(sample_weight, groups_of(X, groups))
    if checkpoint is not None and missing == "allow":
        raise ValueError(
            "checkpoint cannot be used with missing='allow', whose sums it does not hold; leave "
            "one of them out"
        )
    if checkpoint is not None:
        source = _readable_here(X, collector)
        digest = collector.fingerprint(source, weights)
        collector._take_in(source, PassCheckpoint(checkpoint, digest), weights)
    else:
        collector._take_in(X, weights=weights)
    return collector._moments


def _readable_here(X: Any, collector: _Collector) -> ChunkedSource:
    """Return a source that this process reads itself; checkpoints work only with those."""
    if is_device_array(X):
        raise ValueError(
            "checkpoint cannot be used with X on a device; leave it out, or pass NumPy arrays"
        )
    source = collector._source_of(X)
    if source is None:
        source = StoredSource(SlicingReader(collector._first_samples(X, 2)[0]))
        source.names = collector.names_
    if not isinstance(source, ChunkedSource):
        raise ValueError(
            "checkpoint needs samples that this process reads, but X is a Dask array; leave "
            "checkpoint out"
        )
    return source


class _Collector(OrientedEstimator):
    """An estimator that only collects moments."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrientedEstimator._parameter_constraints,
        **OrientedEstimator._may_be_missing,
    }
    _takes_device_arrays = True

    def __init__(
        self,
        orientation: int | str,
        basis: Any,
        feature_shape: tuple[int, ...] | None,
        sample_dim: SampleDims,
        missing: str,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
        verbose: bool | int,
    ) -> None:
        self.orientation = orientation
        self.basis = basis
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _needs_subsample(self) -> bool:
        return True  # a later fit on the moments may need it

    def _solve(self, samples: SamplesInMemory | None) -> None:
        """Do nothing: only the moments are needed."""

    def fingerprint(self, source: ChunkedSource, weights: SampleWeights | None) -> str:
        """Return a digest of everything that the moments depend on."""
        self._learn_source(source)
        self._resolve_orientation()
        others = [m for m in range(len(self.feature_shape_)) if m != self.orientation_]
        sizes = [self.feature_shape_[mode] for mode in others]
        many = isinstance(self.basis, list | tuple) and not all(map(callable, self.basis))
        specs = list(self.basis) if many else [self.basis] * len(sizes)
        parts = [
            one if isinstance(one, str) else make_transform(one, size).matrix
            for one, size in zip(specs, sizes, strict=False)
        ]
        if isinstance(self.random_state, np.random.RandomState):
            raise ValueError(
                "random_state must be an int with a checkpoint, so that another call can repeat it"
            )
        shape, mode = self.feature_shape_, self.orientation_
        if weights is not None:
            parts.append(weights.values)
            if weights.groups is not None:
                parts.append(weights.groups)
        return fingerprint(__version__, shape, mode, self.random_state, *parts, *source.probe())
