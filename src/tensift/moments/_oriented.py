"""Base class of estimators under the star-M product: read samples and keep their moments."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.full_products import full_products
from tensift._utils.namespace import (
    Kind,
    check_same_kind,
    is_complex,
    is_device_array,
    kind_of,
)
from tensift._utils.pool import Pool
from tensift._utils.sklearn_compat import fit_context
from tensift._utils.threads import blas_threads_for
from tensift.labels import groups_of
from tensift.moments._chunk_measures import (
    MomentsOfChunk,
    add_all,
    correlations_of_chunk,
)
from tensift.moments._conditional_means import filled_for
from tensift.moments._data_checks import check_magnitude, refuse_gradients
from tensift.moments._device_moments import DeviceMoments
from tensift.moments._factors_in_passes import FactorsInPasses
from tensift.moments._from_source import moments_of_source
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._in_passes import MomentsInPasses, passes_for
from tensift.moments._missing import MissingValues, is_missing
from tensift.moments._moments import Moments
from tensift.moments._observed_moments import ObservedMoments, empty_moments, moments_like
from tensift.moments._orient_samples import SampleOrienter
from tensift.moments._orientation import (
    Orientation,
    fits_bases,
    make_orientation,
    same_specification,
)
from tensift.moments._results import ResultsOfMoments
from tensift.moments._resume import PassCheckpoint
from tensift.moments._subsample import refuse_weights
from tensift.sources import (
    ChunkedSource,
    EvenSubsample,
    SampleWeights,
    SlicingReader,
    Source,
    StoredSource,
)

__all__ = ["OrientedEstimator"]


class OrientedEstimator(ResultsOfMoments, SampleOrienter):
    """An estimator that turns samples into frontal slices and learns only from their moments.

    `fit` has two steps: compute the moments of the samples (`_take_in`), then the results
    (`_solve`). A subclass has the parameters ``orientation``, ``basis``, ``feature_shape`` and
    ``random_state``, and computes its results from ``self._moments`` in `_solve`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SampleOrienter._parameter_constraints,
        "orientation": [Integral, str],
        "basis": "no_validation",
        "sample_dim": "no_validation",
        "random_state": ["random_state"],
    }
    _solves_in_passes: ClassVar[bool] = False  # whether slices can be solved block by block

    orientation: int | str
    basis: Any
    random_state: int | np.random.RandomState | None
    orientation_: int
    n_samples_seen_: int
    _moments: Moments
    _is_borrowed: bool  # whether the moments belong to the user, and must not be changed
    _oriented_by: tuple[int | str, Any]

    @fit_context
    def fit(
        self,
        X: ArrayLike | Moments,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from all of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), a source, or Moments
            Samples, without NaN or infinity. Tensors may be complex. Memory maps, HDF5 and Zarr
            arrays, Dask arrays, and iterators over chunks of samples are read one chunk at a time.
            Moments (`tensift.collect_moments`) stand for the samples they were collected from. Of
            recordings of MNE-Python, the good data channels are taken, and each type of channel is
            divided by its spread, so that units do not decide (`tensift.labels.Sensors`).
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts: 3 like three copies of it, 0 like its absence.
        groups : array-like of shape (n,), optional
            The group of each sample, such as its subject. All groups then count equally: weights
            are scaled to the same sum in each.

        Returns
        -------
        self
        """
        self._check_parameters()
        samples = self._take_in(X, weights=SampleWeights.of(sample_weight, groups_of(X, groups)))
        self._compute(samples)
        return self

    @fit_context
    def partial_fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        solve: bool = True,
    ) -> Self:
        """Add samples; results equal those of `fit` on all samples so far, up to rounding.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), or a source, as in `fit`
            Any number of samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each of these samples counts, as in `fit`. Samples without weights have 1.
        solve : bool, default=True
            Whether to compute the results now, if at least two samples have been seen. Pass False
            for all chunks of a long stream and call `solve` once at the end.

        Returns
        -------
        self
        """
        self._check_parameters()
        weights = SampleWeights.of(sample_weight, fewest=0)
        if hasattr(self, "_moments"):
            self._take_in_more(X, weights)
        else:
            self._take_in_first(X, weights)
        self._forget_results()
        self.n_samples_seen_ = self._moments.count
        if solve and self._moments.count > 1:
            self._compute(None)
        return self

    @full_products
    def solve(self) -> Self:
        """Compute the results from the samples that `partial_fit` has taken in so far.

        Returns
        -------
        self
        """
        if not hasattr(self, "_moments"):
            raise ValueError("solve needs samples; call partial_fit first")
        self._validate_params()  # they may have changed after the last chunk
        self._check_parameters()
        self._compute(None)
        return self

    def _compute(self, samples: SamplesInMemory | None) -> None:
        """Compute all results anew; `samples` are those of `fit` if they are in memory."""
        self._forget_results()
        missing = self._moments.missing
        if missing is not None:
            missing.check()
            missing.warn(vars(self).get("names_"))
            self.missing_ = missing
        with blas_threads_for(self._moments.orientation.n_slices):
            self._solve(samples)
        if isinstance(self._moments, MomentsInPasses):
            self._moments.forget_samples()

    @abstractmethod
    def _solve(self, samples: SamplesInMemory | None) -> None:
        """Compute all results from the moments; `samples` are those of `fit` if in memory."""

    # Hooks of subclasses

    def _check_parameters(self) -> None:
        """Raise an error if parameters contradict each other."""

    def _check_features(self) -> None:
        """Raise an error if parameters do not fit the shape of samples; called before reading."""

    def _check_orientation(self, orientation: Orientation) -> None:
        """Raise an error if moments were made for another kind of estimator."""

    def _needs_subsample(self) -> bool:
        """Whether `_solve` needs a few evenly spaced samples in addition to the moments."""
        return False

    def _orient(self, *, real: bool, **known: Any) -> Orientation:
        """Resolve the parameters ``orientation`` and ``basis`` for the shape of the samples."""
        self._oriented_by = (self.orientation, self.basis)
        return make_orientation(
            self.feature_shape_,
            self.orientation_,
            self.basis,
            real=real,
            random_state=self.random_state,
            **known,
        )

    # Reading samples

    def _take_in(
        self,
        X: Any,
        checkpoint: PassCheckpoint | None = None,
        weights: SampleWeights | None = None,
    ) -> SamplesInMemory | None:
        """Compute the moments of `X`, and drop those of earlier samples.

        Returns the checked samples if they are in memory.
        """
        self._is_borrowed = isinstance(X, Moments)
        source = None if self._is_borrowed else self._source_of(X)
        samples = None
        if self._is_borrowed:
            refuse_weights(weights)
            self._moments = self._checked_moments(X)
        elif source is not None:
            source.weigh(weights)
            self._moments = self._moments_of_source(source, checkpoint)
        else:
            samples = SamplesInMemory(*self._first_samples(X, min_samples=2, weights=weights))
            self._moments = self._moments_of_array(samples)
        if not self._is_borrowed:
            self._moments.names = self.names_
        self.n_samples_seen_ = self._moments.count
        if samples is None or is_device_array(samples.rows) or not self._allows_missing:
            return samples
        # Only moments know what to do with gaps.
        return None if is_missing(samples.rows).any() else samples

    def _moments_of_array(self, given: SamplesInMemory) -> Moments:
        """Return the moments of samples in memory."""
        self._resolve_orientation()
        before = given
        if self._allows_missing and not is_device_array(given.rows):
            given = filled_for(self.basis, given)
        samples, weights = given.rows, given.weights
        orientation = self._orientation_of_array(given)
        subsample = self._new_subsample()
        blocks = rank = None
        if self._solves_in_passes and not is_device_array(samples):
            rank = _most_columns(len(samples), weights)
            blocks = passes_for(orientation, rank, rereadable=True, in_memory=samples.nbytes)
        if blocks is None:
            blank = empty_moments(orientation, samples, missing=self._allows_missing)
            moments = self._updated(blank, samples, weights)
        elif not self._allows_missing and rank is not None and rank < orientation.size:
            n_jobs = self._reading_options()["n_jobs"]
            moments = FactorsInPasses(given, orientation, blocks, n_jobs=n_jobs)
        else:
            rows = StoredSource(SlicingReader(samples))
            rows.weigh(weights)
            moments = MomentsInPasses(
                rows,
                orientation,
                blocks,
                missing=self._allows_missing,
                **self._reading_options(),
            )
        if given is not before:
            moments.before_filling = MissingValues.in_rows(before.rows)
        if subsample is not None:
            n_jobs = self._reading_options()["n_jobs"]
            with Pool(n_jobs, single=is_device_array(before.rows)) as pool:
                subsample.add(before.rows, before.weights, pool)
        moments.subsample = subsample
        return moments

    def _moments_of_source(self, source: Source, checkpoint: PassCheckpoint | None) -> Moments:
        """Read samples that are not in memory: once, or twice for a data-driven basis."""
        self._learn_source(source)
        self._resolve_orientation()
        orientation = self._orientation_of_source(source, checkpoint)
        subsample = self._new_subsample()
        if self._solves_in_passes and isinstance(source, ChunkedSource):
            rank = _most_columns(source.n_samples, source.weights)
            blocks = passes_for(orientation, rank, rereadable=source.rereadable)
            if blocks is not None:
                return MomentsInPasses(
                    source,
                    orientation,
                    blocks,
                    subsample=subsample,
                    missing=self._allows_missing,
                    **self._reading_options(),
                )
        return moments_of_source(
            source,
            MomentsOfChunk(orientation, missing=self._allows_missing),
            subsample=subsample,
            checkpoint=checkpoint,
            **self._reading_options(),
        )

    def _correlations_of(
        self, source: Source, checkpoint: PassCheckpoint | None, deviations: NDArray | None
    ) -> list[NDArray[Any]]:
        """Return the self-correlations of the transformed modes, by a separate pass."""
        if not source.rereadable:
            raise ValueError(
                "basis='eigen' reads the samples twice, but X is an iterator, which can be read "
                "only once; pass something that can be read again, such as tensift.sources.Chunks "
                "or a class with __iter__"
            )
        modes = [mode for mode in range(len(self.feature_shape_)) if mode != self.orientation_]
        found = None if checkpoint is None else checkpoint.correlations(modes)
        if found is None:
            measure = partial(
                correlations_of_chunk,
                feature_shape=self.feature_shape_,
                modes=modes,
                deviations=deviations,
                missing=self._allows_missing,
            )
            verbose = self._reading_options()["verbose"]
            found = source.reduce(measure, add_all, title="correlating modes", verbose=verbose)
            if checkpoint is not None:
                checkpoint.keep_correlations(modes, found)
        return found

    def _checked_moments(self, moments: Moments) -> Moments:
        """Return the given moments; raise an error if they do not fit the parameters."""
        if isinstance(moments, DeviceMoments) and not self._takes_device_arrays:
            name = type(self).__name__
            raise ValueError(f"X has its moments on a device; pass X.to_numpy() to {name}")
        orientation = moments.orientation
        self._learn_shape(orientation.feature_shape, moments.names)
        self._check_features()
        self._check_orientation(orientation)
        self._resolve_orientation()
        is_default = same_specification((self.orientation, self.basis), (0, "identity"))
        if not is_default and self.orientation_ != orientation.mode:
            raise ValueError(
                f"orientation={self.orientation}, but X is Moments with orientation="
                f"{orientation.mode}; pass the same"
            )
        if not is_default and not fits_bases(self.basis, orientation.transforms):
            names = [transform.name for transform in orientation.transforms]
            raise ValueError(
                f"basis differs from that of X, which is Moments with basis={names}; pass the "
                "same, or leave orientation and basis at their defaults"
            )
        self.orientation_ = orientation.mode
        self._oriented_by = (self.orientation, self.basis)
        return moments

    def _take_in_first(self, X: Any, given: SampleWeights | None) -> None:
        """Begin a stream of samples; there may be only one in this chunk."""
        self._is_borrowed = False
        source = self._source_of(X)
        if source is not None:
            source.weigh(given)
            self._moments = self._stream_of(source)
            return
        samples, weights = self._first_samples(X, min_samples=1, weights=given)
        self._refuse_basis_of_all_samples()
        self._resolve_orientation()
        orientation = self._orientation_of_stream(real=not is_complex(samples), samples=samples)
        blank = empty_moments(orientation, samples, missing=self._allows_missing)
        self._moments = self._updated(blank, samples, weights) if samples.shape[0] else blank
        self._moments.subsample = subsample = self._new_subsample()
        if subsample is not None and samples.shape[0]:
            subsample.add(samples, weights)

    def _stream_of(self, source: Source) -> Moments:
        self._learn_source(source)
        self._refuse_basis_of_all_samples()
        self._resolve_orientation()
        orientation = self._orientation_of_stream(real=np.dtype(source.dtype).kind != "c")
        measure = MomentsOfChunk(orientation, missing=self._allows_missing)
        subsample = self._new_subsample()
        return moments_of_source(source, measure, subsample=subsample, **self._reading_options())

    def _take_in_more(self, X: Any, given: SampleWeights | None) -> None:
        """Add samples to the moments of earlier ones."""
        self._refuse_basis_of_all_samples()
        if not same_specification((self.orientation, self.basis), self._oriented_by):
            raise ValueError(
                "orientation or basis changed since the first chunk, which fixed them; use fit, "
                "or start again with a clone"
            )
        self._refuse_deviations_of_all_samples(self._moments.orientation)
        if isinstance(self._moments, MomentsInPasses):
            raise ValueError(
                "partial_fit after a fit in several passes is not possible: the Gram matrices "
                "were never in memory together; start again with a clone"
            )
        moments = self._moments
        subsample = copy(moments.subsample) if self._needs_subsample() else None
        if self._is_borrowed:
            moments = moments_like(moments).merge(moments)
        source = self._source_of(X, fitted=True)
        if source is not None:
            self._check_source(source)
            source.weigh(given)
            missing = isinstance(moments, ObservedMoments)
            measure = MomentsOfChunk(moments.orientation, missing=missing)
            more = moments_of_source(
                source, measure, subsample=subsample, **self._reading_options()
            )
            moments = moments.merge(more)
        else:
            samples = self._more_samples(X, given)
            weights = None if given is None else given.used
            if samples.shape[0]:
                moments = self._updated(moments, samples, weights)
                if subsample is not None:
                    subsample.add(samples, weights)
        moments.subsample = subsample
        self._moments, self._is_borrowed = moments, False

    def _new_subsample(self) -> EvenSubsample | None:
        return EvenSubsample(self.feature_shape_) if self._needs_subsample() else None

    def _updated(
        self, moments: Moments, samples: NDArray, weights: SampleWeights | None
    ) -> Moments:
        """Add samples in memory to moments."""
        n_jobs = self._reading_options()["n_jobs"]
        with Pool(n_jobs, single=moments.orientation.n_slices == 1) as pool:
            return moments.update(
                samples, pool, weights=None if weights is None else weights.values
            )

    def _reading_options(self) -> dict[str, Any]:
        """Return the options of reading samples, from parameters that the estimator may have."""
        return {
            "verbose": bool(getattr(self, "verbose", False)),
            "n_jobs": getattr(self, "n_jobs", None),
        }

    # Checks

    def _first_samples(
        self, X: Any, min_samples: int, weights: SampleWeights | None = None
    ) -> tuple[Any, SampleWeights | None]:
        """Return the checked samples whose weight is not zero, and their weights."""
        samples = self._validate_samples(X, reset=True, min_samples=min_samples, weights=weights)
        refuse_gradients(samples)
        if samples.shape[0]:
            check_magnitude(samples)
        return samples, None if weights is None else weights.used

    def _more_samples(self, X: Any, weights: SampleWeights | None = None) -> NDArray:
        """Check that more samples have the shape and kind of the fitted ones."""
        samples = self._validate_samples(X, reset=False, min_samples=1, weights=weights)
        refuse_gradients(samples)
        if samples.shape[0]:
            check_magnitude(samples)
        if is_complex(samples) and self._moments.orientation.real_data:
            raise ValueError("X is complex, but earlier samples are real; convert all to one")
        return samples

    def _learn_source(self, source: Source) -> None:
        """Store the shape of samples that are not in memory."""
        super()._learn_source(source)
        self._check_features()

    def _check_source(self, source: Source) -> None:
        """Raise an error if samples have another shape or kind than the fitted ones."""
        self._check_shape(source.sample_shape)
        check_same_kind(None, self._fitted_kind(), type(self).__name__)
        if np.dtype(source.dtype).kind == "c" and self._moments.orientation.real_data:
            raise ValueError("X is complex, but earlier samples are real; convert all to one")

    def _resolve_orientation(self) -> None:
        self.orientation_ = self._mode_number("orientation", self.orientation)

    def _refuse_basis_of_all_samples(self) -> None:
        if self._learns_basis():
            raise ValueError(
                "basis='eigen' is computed from all samples, which partial_fit never sees "
                "together; use fit, or pass the matrix itself as basis"
            )

    def _fitted_kind(self) -> Kind | None:
        return kind_of(self._moments.mean)


def _most_columns(n_samples: int | None, weights: SampleWeights | None) -> int | None:
    """Return how many samples the moments may count; None if it is unknown."""
    if n_samples is None or weights is None:
        return n_samples
    return max(n_samples, math.ceil(weights.values.sum()))
