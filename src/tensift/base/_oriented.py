"""What the estimators under the star-M product share: orienting samples and holding moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from tensift._modes import resolve_mode
from tensift._namespace import Kind, check_same_kind, is_complex, is_device_array, kind_of
from tensift._pool import Pool
from tensift.algebra import ModeTransform, is_data_driven, make_transform, make_transforms
from tensift.base._data_checks import check_magnitude, refuse_gradients
from tensift.base._intake import (
    MomentsOfChunk,
    add_all,
    correlations_of_chunk,
    energies_of,
    energies_of_chunk,
)
from tensift.base._passes import MomentsInPasses, passes_for
from tensift.base._samples import TensorEstimator
from tensift.gram import DeviceMoments, Moments, Orientation
from tensift.gram._device_moments import empty_moments, energies
from tensift.sources import Source, source_of
from tensift.sources._chunks import ChunkedSource, StoredSource
from tensift.sources._rows import SlicedRows
from tensift.sources._thinned import ThinnedSamples, thinned

__all__ = ["OrientedEstimator", "same_specification"]


class OrientedEstimator(TensorEstimator):
    """An estimator that sees samples as frontal slices, and learns from their moments alone.

    A subclass has the parameters ``orientation``, ``transform``, ``feature_shape`` and
    ``random_state``, computes its results from ``self._moments`` in `_solve`, and lists their
    names in ``_results``. After `partial_fit` they are computed when one of them is first read.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorEstimator._parameter_constraints,
        "orientation": [Integral],
        "transform": "no_validation",
        "random_state": ["random_state"],
    }
    _results: ClassVar[tuple[str, ...]] = ()
    _solves_in_passes: ClassVar[bool] = False  # where the Gram matrices are too many for memory

    orientation: int
    random_state: int | np.random.RandomState | None
    orientation_: int
    _moments: Moments
    _thinned: ThinnedSamples | None = None  # of all samples, where `_wants_rows`
    _oriented_by: tuple[int, Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator; those that share a name with a method are no exception."""
        own = {name: vars(self)[name] for name in self._get_param_names()}
        return {**super().get_params(deep=deep), **own}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from all of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), a source, or Moments
            Samples, without NaN or infinity. Tensors may be complex. Memory maps, HDF5 and Zarr
            arrays, and iterators over chunks of samples are read a chunk at a time. Moments
            (`tensift.collect_moments`) stand for the samples that they were collected from.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Take in more samples; results equal those of `fit` on all of them, to rounding.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), or a source, as in `fit`
            Any number of samples.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        first = not hasattr(self, "_moments")
        source = source_of(X)
        samples: Any = None
        if source is not None:
            self._check_source(source, first=first)
        else:
            samples = self._first_samples(X, 1) if first else self._more_samples(X)
        spec = vars(self)["transform"]
        if is_data_driven(spec) and len(self.feature_shape_) > 1:
            raise ValueError(
                "transform='eigen' is computed from all samples, which partial_fit never sees "
                "together; use fit, or pass the matrix itself as transform"
            )
        if not first and not same_specification((self.orientation, spec), self._oriented_by):
            raise ValueError(
                "orientation or transform changed since the first chunk, which fixed them; use "
                "fit, or begin anew with a clone"
            )
        if not first:
            self._own_moments()
        rows = self._rows_to_come(first=first)
        if source is not None:
            real = np.dtype(source.dtype).kind != "c"
            orientation = self._orient(real=real) if first else self._moments.orientation
            more = self._moments_of(source, orientation, rows)
            self._moments = more if first else self._moments.merge(more)
        else:
            if first:
                self._moments = empty_moments(self._orient_samples(samples), samples)
            self._updated(self._moments, samples)
            if rows is not None:
                rows.add(samples)
        self._thinned = rows
        self.n_samples_seen_ = self._moments.count
        self._forget_results()
        return self

    def _fitted_kind(self) -> Kind | None:
        return kind_of(self._moments.mean)

    def _share_reconstructed(self, X: Any, operators: NDArray) -> float:
        """Share of the energy of the slices of `X` that operators of the kept slices reproduce."""
        orientation, mean = self._moments.orientation, self._moments.mean
        source = source_of(X)
        if source is not None:
            self._check_source(source)
            measure = partial(
                energies_of_chunk, orientation=orientation, mean=mean, operators=operators
            )
            energy, missed = source.reduce(measure, add_all, title="reconstructing samples")
        else:
            samples = self._more_samples(X)
            measured = energies if is_device_array(samples) else energies_of
            energy, missed = measured(orientation, mean, samples, operators)
        if energy == 0:
            raise ValueError("X does not vary about the fitted mean: no energy to reconstruct")
        return float(1 - missed / energy)

    def _fit(self, X: Any) -> NDArray | None:
        """Learn from all of `X`, and give it back as samples if they are in memory."""
        self._check_parameters()
        samples = self._take_in(X)
        self._solve_now(samples)
        self._thinned = None
        return samples

    def _check_parameters(self) -> None:
        """Refuse parameters that do not go together."""

    @abstractmethod
    def _solve(self, samples: NDArray | None) -> None:
        """Compute all results from the moments; `samples` are those of `fit`, if they are here."""

    def _wants_rows(self) -> bool:
        """Whether `_solve` asks for `_rows`; where it does not, none are kept."""
        return False

    def _rows(self, samples: Any) -> Any:
        """A few evenly spaced ones of all samples taken in, for `_solve`; see `thinned`.

        The same ones however samples came. None where only moments are known: those given to
        `fit`, or those left of a `fit` that `partial_fit` went on from.
        """
        if samples is not None:
            return thinned(samples)
        kept = self._thinned
        return None if kept is None or kept.count != self._moments.count else kept.rows()

    def _rows_to_come(self, *, first: bool) -> ThinnedSamples | None:
        """What takes in rows of the next samples, besides those before; None if not wanted.

        A copy, so that samples that turn out to be unusable leave no trace.
        """
        if not self._wants_rows():
            return None
        return ThinnedSamples(self.feature_shape_) if first else copy(self._thinned)

    def _solve_now(self, samples: NDArray | None) -> None:
        self._solve(samples)
        self._solved = True
        if isinstance(self._moments, MomentsInPasses):
            self._moments.forget_samples()

    def _first_samples(self, X: Any, min_samples: int) -> NDArray:
        samples = self._validate_samples(X, reset=True, min_samples=min_samples)
        refuse_gradients(samples)
        check_magnitude(samples)
        return samples

    def _more_samples(self, X: Any) -> NDArray:
        """Samples of the shape and kind that were fitted."""
        samples = self._validate_samples(X, reset=False, min_samples=1)
        refuse_gradients(samples)
        check_magnitude(samples)
        if is_complex(samples) and self._moments.orientation.real_data:
            raise ValueError("X is complex, but the samples before it were real; pass one kind")
        return samples

    def _take_in(self, X: Any) -> NDArray | None:
        """Forget everything learned before, and hold the moments of these samples.

        Returns the samples if they are in memory.
        """
        self.__dict__.pop("_borrowed", None)
        self._thinned = None
        if isinstance(X, Moments):
            self._take_in_moments(X)
            return None
        source = source_of(X)
        samples = None
        if source is not None:
            self._take_in_source(source)
        else:
            samples = self._first_samples(X, 2)
            self._forget_results()
            orientation = self._orient_samples(samples)
            blocks = self._blocks_of_slices(orientation, samples)
            if blocks is None:
                self._moments = self._updated(empty_moments(orientation, samples), samples)
            else:
                self._moments = MomentsInPasses(
                    StoredSource(SlicedRows(samples)), orientation, blocks, **self._reading()
                )
        self.n_samples_seen_ = self._moments.count
        return samples

    def _take_in_source(self, source: Source) -> None:
        """Measure samples that are not in memory: once, or twice for a data-driven transform."""
        self._check_source(source, first=True)
        correlations = None
        if is_data_driven(vars(self)["transform"]) and len(self.feature_shape_) > 1:
            if not source.rereadable:
                raise ValueError(
                    "transform='eigen' reads the samples twice, but X is an iterator, which can be "
                    "read once; pass something that can be read again, such as "
                    "tensift.sources.Chunks or a class with __iter__"
                )
            correlations = self._correlations_of(source)
        real = np.dtype(source.dtype).kind != "c"
        orientation = self._orient(real=real, correlations=correlations)
        self._forget_results()
        blocks = self._blocks_of_slices(orientation, source)
        rows = self._rows_to_come(first=True)
        if blocks is None:
            self._moments = self._moments_of(source, orientation, rows)
        else:
            self._moments = MomentsInPasses(
                source, orientation, blocks, rows=rows, **self._reading()
            )
        self._thinned = rows

    def _take_in_moments(self, moments: Moments) -> None:
        """Take the moments of samples for the samples; they are not changed."""
        if isinstance(moments, DeviceMoments) and not self._takes_device_arrays:
            name = type(self).__name__
            raise ValueError(f"X has its moments on a device; pass X.to_numpy() to {name}")
        orientation = moments.orientation
        spec = vars(self)["transform"]
        self._learn_shape(orientation.feature_shape)
        self._check_features()
        self._check_orientation(orientation)
        self._other_modes()
        is_left = same_specification((self.orientation, spec), (0, "identity"))
        if not is_left and self.orientation_ != orientation.mode:
            raise ValueError(
                f"orientation={self.orientation}, but X is Moments of orientation "
                f"{orientation.mode}; give that one"
            )
        if not is_left and not fits_transforms(spec, orientation.transforms):
            names = [transform.name for transform in orientation.transforms]
            raise ValueError(
                f"transform differs from that of X, which is Moments under {names}; give the same, "
                "or leave orientation and transform at their defaults"
            )
        self.orientation_ = orientation.mode
        self._oriented_by = (self.orientation, spec)
        self._forget_results()
        self._moments, self._borrowed = moments, True
        self.n_samples_seen_ = moments.count

    def _own_moments(self) -> None:
        """Have moments that can be changed."""
        if isinstance(self._moments, MomentsInPasses):
            raise ValueError(
                "partial_fit after a fit in several passes is not possible: the Gram matrices were "
                "never in memory together; begin anew with a clone"
            )
        if self.__dict__.pop("_borrowed", False):
            self._moments = Moments(self._moments.orientation).merge(self._moments)

    def _blocks_of_slices(self, orientation: Orientation, data: Any) -> list[slice] | None:
        """Blocks of slices whose Gram matrices fit into memory, if they do not all together."""
        in_process = isinstance(data, ChunkedSource | np.ndarray)
        if not (self._solves_in_passes and in_process):
            return None
        if isinstance(data, Source):
            return passes_for(orientation, data.n_samples, rereadable=data.rereadable)
        return passes_for(orientation, len(data), rereadable=True, in_memory=data.nbytes)

    def _updated(self, moments: Moments, samples: NDArray) -> Moments:
        """Moments after they have taken in samples from memory, by as many workers as allowed."""
        with Pool(getattr(self, "n_jobs", None), single=moments.orientation.n_slices == 1) as pool:
            return moments.update(samples, pool)

    def _reading(self) -> dict[str, Any]:
        """How sources are read."""
        return {
            "verbose": bool(getattr(self, "verbose", False)),
            "n_jobs": getattr(self, "n_jobs", None),
        }

    def _correlations_of(self, source: Source) -> list[NDArray]:
        measure = partial(
            correlations_of_chunk, feature_shape=self.feature_shape_, modes=self._other_modes()
        )
        verbose = self._reading()["verbose"]
        return source.reduce(measure, add_all, title="correlating modes", verbose=verbose)

    def _moments_of(
        self, source: Source, orientation: Orientation, rows: ThinnedSamples | None = None
    ) -> Moments:
        return source.moments(MomentsOfChunk(orientation), rows=rows, **self._reading())

    def _check_source(self, source: Source, *, first: bool = False) -> None:
        """Learn the shape of samples that are not in memory, or refuse those unlike the fitted."""
        if first:
            if len(source.sample_shape) == 1 and self.feature_shape is None:
                self._refuse_complex_rows(source)
            self._learn_shape(source.sample_shape)
            self._check_features()
            self.__dict__.pop("feature_names_in_", None)
            return
        self._check_shape(source.sample_shape)
        check_same_kind(None, self._fitted_kind(), type(self).__name__)
        if np.dtype(source.dtype).kind == "c" and self._moments.orientation.real_data:
            raise ValueError("X is complex, but the samples before it were real; pass one kind")

    def _check_features(self) -> None:
        """Refuse parameters that do not go with the shape of samples, before these are read."""

    def _check_orientation(self, orientation: Orientation) -> None:
        """Refuse moments that were made for another kind of estimator."""

    @staticmethod
    def _refuse_complex_rows(source: Source) -> None:
        if np.dtype(source.dtype).kind == "c":
            raise ValueError(
                "Complex data not supported in rows; pass tensors, or give feature_shape"
            )

    def _forget_results(self) -> None:
        for name in (*self._results, "_solved"):
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        if name in self._results and "_moments" in vars(self) and "_solved" not in vars(self):
            self._validate_params()  # they may have been set after the last chunk
            self._check_parameters()
            self._solve_now(None)
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "_moments" in vars(self)

    def _orient_samples(self, samples: NDArray) -> Orientation:
        return self._orient(real=not is_complex(samples), samples=samples)

    def _other_modes(self) -> list[int]:
        """The modes that are transformed; resolves which one is not."""
        n_modes = len(self.feature_shape_)
        self.orientation_ = resolve_mode("orientation", self.orientation, n_modes)
        return [mode for mode in range(n_modes) if mode != self.orientation_]

    def _orient(
        self,
        *,
        real: bool,
        samples: NDArray | None = None,
        correlations: Sequence[NDArray] | None = None,
    ) -> Orientation:
        """Resolve orientation and transforms; the data-driven one needs samples or correlations."""
        others = self._other_modes()
        spec = vars(self)["transform"]
        if not others and not isinstance(spec, str):
            raise ValueError(
                "transform has nothing to act on: samples have one mode, which is reconstructed; "
                "leave it at 'identity', or give the samples' shape as feature_shape"
            )
        self._oriented_by = (self.orientation, spec)
        transforms = make_transforms(
            spec,
            [self.feature_shape_[axis] for axis in others],
            data=samples,
            axes=[axis + 1 for axis in others],
            correlations=correlations,
            random_state=self.random_state,
        )
        return Orientation(self.feature_shape_, self.orientation_, transforms, real)


def fits_transforms(spec: Any, transforms: Sequence[ModeTransform]) -> bool:
    """Whether transforms were made from a specification, as far as one can tell without data."""
    is_list = isinstance(spec, list | tuple) and not all(map(callable, spec))
    specs = list(spec) if is_list else [spec] * len(transforms)
    if len(specs) != len(transforms):
        return False
    for one, transform in zip(specs, transforms, strict=True):
        if isinstance(one, str):
            if one != transform.name:
                return False
        elif not np.array_equal(make_transform(one, transform.size).matrix, transform.matrix):
            return False
    return True


def same_specification(one: Any, other: Any) -> bool:
    """Whether two specifications of a transform, or tuples of them, say the same."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_specification, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (isinstance(one, str | Integral) and one == other)
