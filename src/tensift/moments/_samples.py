"""How every estimator checks its samples: tensors, or rows with a given tensor shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import validate_data

from tensift._utils.arrays import as_array, refuse_masked
from tensift._utils.namespace import (
    Kind,
    check_same_kind,
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    refuse_device_array,
)
from tensift._utils.sklearn_compat import StrOptions
from tensift.algebra import floating_on_device
from tensift.labels import (
    Labelled,
    Names,
    SampleDims,
    is_loaded_recording,
    mode_number,
    names_or_numbers,
    unlabelled,
)
from tensift.moments._device_moments import row_blocks
from tensift.moments._missing import MISSING, hint_at_missing, warn_of_groups
from tensift.moments._moments import Moments
from tensift.sources import SampleWeights, Source, in_memory, scaled_source, source_of

__all__ = [
    "TensorEstimator",
    "check_finite",
    "check_finite_on_device",
    "n_axes",
    "sample_axes",
]


class TensorEstimator(BaseEstimator):
    """An estimator on samples ``(n, d_1, ..., d_m)``.

    Samples are tensors, or 2-D rows whose tensor shape is given by the parameter
    ``feature_shape``. A subclass has that parameter and calls `_validate_samples`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"feature_shape": [None, tuple, list]}
    _may_be_missing: ClassVar[dict[str, Any]] = {"missing": [StrOptions(set(MISSING))]}

    _takes_device_arrays: ClassVar[bool] = False  # arrays of other libraries than NumPy

    feature_shape: tuple[int, ...] | None
    sample_dim: SampleDims = None  # for subclasses without this parameter
    # A subclass with the parameter `missing` adds `_may_be_missing` to its constraints.
    names_: Names | None
    _deviations: NDArray[np.float64] | None = None  # what features are divided by, if anything

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self._allows_missing
        return tags

    @property
    def _allows_missing(self) -> bool:
        """Whether NaN stands for a value that was not observed."""
        return getattr(self, "missing", "raise") == "allow"

    def _validate_samples(
        self,
        X: Any,
        *,
        reset: bool,
        min_samples: int = 2,
        weights: SampleWeights | None = None,
        scaled: bool = True,
    ) -> Any:
        """Check samples and return them in their tensor shape, ``(n, d_1, ..., d_m)``.

        With ``reset`` their shape and names are stored; otherwise they must fit the stored ones.
        Samples of weight zero are left out. Channels of recordings are divided by the scale of
        their type, unless ``scaled`` is False.
        """
        found = self._unlabelled(X, fitted=not reset)
        X = found.samples
        if isinstance(X, Moments):
            raise ValueError(
                f"X is Moments, but {type(self).__name__} needs samples; pass the samples that "
                "the moments were collected from"
            )
        X = in_memory(X)
        refuse_masked(X)
        if isinstance(X, list | tuple):
            # scikit-learn turns objects into numbers in arrays, but not in lists of arrays.
            X = as_array(X)
        if not self._takes_device_arrays:
            refuse_device_array(X, type(self).__name__)
        elif not reset:
            check_same_kind(X, self._fitted_kind(), type(self).__name__)
        rows_of_complex = self.feature_shape is not None
        allowed = self._allows_missing
        if is_device_array(X):
            with self._hint_at_missing():
                _check_on_device(X, min_samples, rows_of_complex=rows_of_complex)
            if reset:
                self.__dict__.pop("feature_names_in_", None)
        elif sample_axes(X) > 2 or (rows_of_complex and np.iscomplexobj(X)):
            with self._hint_at_missing():
                X = _check_tensor(X, min_samples, allow_nan=allowed)
        else:
            with self._hint_at_missing():
                X = validate_data(
                    self,
                    X,
                    reset=reset,
                    dtype="numeric",
                    ensure_min_samples=min_samples,
                    ensure_all_finite="allow-nan" if allowed else True,
                )
        shape = tuple(X.shape[1:])
        if reset:
            self._learn_shape(shape, found.names)
        else:
            self._check_shape(shape)
        shape = (X.shape[0], *self.feature_shape_)
        if is_device_array(X):
            samples = namespace_of(X).reshape(X, shape)
        else:
            samples = X.reshape(shape)
            if found.scales is not None and scaled:
                samples = samples / found.scales
        if weights is None:
            return samples
        samples = _with_weight(samples, weights)
        if reset and allowed and not is_device_array(samples):
            names = vars(self).get("names_")
            warn_of_groups(samples, weights.used, names, self._mode_of_features())
        return samples

    def _mode_of_features(self) -> int | None:
        """Return the mode along which features lie; None if they are elements."""
        return None

    @contextmanager
    def _hint_at_missing(self, name: str = "X") -> Iterator[None]:
        """Say in the error about NaN what to do."""
        try:
            yield
        except ValueError as error:
            first = str(error).partition("\n")[0]
            if not first.startswith(f"Input {name} contains NaN"):
                raise
            raise ValueError(f"Input {name} contains NaN; {hint_at_missing(self)}") from None

    def _fitted_kind(self) -> Kind | None:
        """Return the kind of array that was fitted; None for NumPy arrays."""
        return None

    def _unlabelled(self, X: Any, *, fitted: bool, every: bool = False) -> Labelled:
        """Take the names off samples; with `fitted`, order them like the fitted ones.

        With `every`, samples that a recording marks as bad are not left out.
        """
        names = vars(self).get("names_") if fitted else None
        return unlabelled(X, self.sample_dim, names, every=every)

    def _source_of(self, X: Any, *, fitted: bool = False, scaled: bool = True) -> Source | None:
        """Return a source that reads `X` and knows its names; None if `X` is in memory."""
        if is_loaded_recording(X):
            return None
        found = self._unlabelled(X, fitted=fitted)
        source = source_of(found.samples)
        if source is None:
            return None
        if found.names is not None:
            source.names = found.names
        if found.scales is None or not scaled:
            return source
        shape = self.feature_shape_ if fitted else found.names.shape  # type: ignore[union-attr]
        if math.prod(shape) != math.prod(source.sample_shape):
            return source  # the caller says that samples have another shape
        return scaled_source(source, found.scales, shape)

    def _names_to_show(self) -> Names:
        """Return what pictures and tables call the fitted modes: their names, if they have some."""
        return vars(self).get("names_") or Names(self.feature_shape_)

    def _names_or_numbers(self) -> Names:
        """Return the names of the fitted modes; ``mode_0``, ``mode_1``, ... if they have none."""
        return names_or_numbers(self.names_, self.feature_shape_)

    def _mode_number(self, argument: str, mode: Any) -> int:
        """Return the number of a mode that is given by number or by name."""
        return mode_number(argument, mode, len(self.feature_shape_), self.names_)

    def _learn_source(self, source: Source) -> None:
        """Store the shape of samples that are not in memory."""
        is_complex_row = np.dtype(source.dtype).kind == "c" and len(source.sample_shape) == 1
        if is_complex_row and self.feature_shape is None:
            raise ValueError(
                "Complex data not supported in rows; pass tensors, or give feature_shape"
            )
        self._learn_shape(source.sample_shape, source.names)
        self.__dict__.pop("feature_names_in_", None)

    def _learn_shape(self, shape: tuple[int, ...], names: Names | None = None) -> None:
        """Store the tensor shape of samples that are passed with `shape`, and their names."""
        self.feature_shape_ = self._tensor_shape(shape)
        if names is not None and names.sensors is not None and names.shape != self.feature_shape_:
            raise ValueError(
                f"feature_shape={self.feature_shape_} does not fit recordings, whose samples have "
                f"the shape {names.shape}; leave it out"
            )
        self.names_ = names if names is not None and names.shape == self.feature_shape_ else None
        self.n_features_in_ = math.prod(self.feature_shape_)
        self._rows_in = len(shape) == 1
        self._deviations = None

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise an error if samples have another shape than the fitted ones."""
        if shape not in (self.feature_shape_, self._row_shape()):
            raise ValueError(
                f"X has samples of shape {shape}, but {type(self).__name__} was fitted on samples "
                f"of shape {self.feature_shape_}"
            )

    def _tensor_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tensor shape: `feature_shape` if it is given, else `shape` itself."""
        if self.feature_shape is None:
            return shape
        wanted = tuple(self.feature_shape)
        if not wanted or not all(isinstance(d, Integral) and d > 0 for d in wanted):
            raise ValueError(
                f"feature_shape must be a tuple of positive integers, got {self.feature_shape!r}"
            )
        wanted = tuple(int(d) for d in wanted)
        if shape not in (wanted, (math.prod(wanted),)):
            raise ValueError(
                f"feature_shape={wanted} has {math.prod(wanted)} elements, but the samples in X "
                f"have shape {shape}; give the shape of one sample, or None to take it from X"
            )
        return wanted

    def _row_shape(self) -> tuple[int, ...]:
        """Return the shape of a sample as a row if rows are allowed, else the tensor shape."""
        allowed = self._rows_in or self.feature_shape is not None
        return (self.n_features_in_,) if allowed else self.feature_shape_


def _with_weight(samples: Any, weights: SampleWeights) -> Any:
    """Return the samples whose weight is not zero."""
    mask = weights.check_length(samples.shape[0]).positive
    if mask.all():
        return samples
    if is_device_array(samples):
        places = moved_to(samples, np.flatnonzero(mask))
        return namespace_of(samples).take(samples, places, axis=0)
    return samples[mask]


def n_axes(X: Any) -> int:
    """Return the number of axes of any array-like, data frame or sparse matrix."""
    return len(X.shape) if hasattr(X, "shape") else as_array(X).ndim


def sample_axes(X: Any) -> int:
    """Return the number of axes of samples; raise an error if there is none for features."""
    axes = n_axes(X)
    if axes < 2:
        raise ValueError(
            f"Expected 2D array, got {'1D' if axes else 'scalar'} array instead: samples go along "
            f"the first axis and features after it, but X has shape {np.shape(X)}. Reshape your "
            "data: X[:, None] if it is one feature, X[None] if it is one sample"
        )
    return axes


def _check_tensor(X: Any, min_samples: int, *, allow_nan: bool = False) -> NDArray:
    """Check samples with more than two axes, or complex rows."""
    X = check_finite(X, allow_nan=allow_nan)
    _check_lengths(X.shape, min_samples)
    return X


def _check_lengths(shape: tuple[int, ...], min_samples: int) -> None:
    if shape[0] < min_samples:
        raise ValueError(
            f"X has {shape[0]} sample(s) (shape={shape}) while a minimum of {min_samples} is "
            "required; samples go along the first axis"
        )
    if 0 in shape:
        raise ValueError(f"X has a mode of length zero (shape={shape}), so it has no features")


def _check_on_device(X: Any, min_samples: int, *, rows_of_complex: bool) -> None:
    """Raise an error if a device array cannot hold samples; nothing is copied to the host."""
    shape = tuple(X.shape)
    if len(shape) < 2:
        raise ValueError(
            f"X has shape {shape}; it needs at least two axes, the first of which counts samples"
        )
    _check_lengths(shape, min_samples)
    if len(shape) == 2 and is_complex(X) and not rows_of_complex:
        raise ValueError("Complex data not supported in rows; pass tensors, or give feature_shape")
    check_finite_on_device(X)


def check_finite_on_device(X: Any, name: str = "X") -> Any:
    """Return a device array unchanged; raise an error if it has NaN or infinity."""
    floating_on_device(X[:0, ...], name)
    xp = namespace_of(X)
    if not xp.isdtype(X.dtype, ("real floating", "complex floating")):
        return X
    for block in row_blocks(X):
        if not xp.all(xp.isfinite(block)):
            found = "NaN" if xp.any(xp.isnan(block)) else "infinity"
            raise ValueError(f"Input {name} contains {found}; pass finite numbers only")
    return X


def check_finite(X: Any, name: str = "X", *, allow_nan: bool = False) -> Any:
    """Return a numeric array without NaN or infinity, checked by scikit-learn; or complex."""
    finite: Any = "allow-nan" if allow_nan else True
    refuse_masked(X, name)
    refuse_device_array(X, "this function")
    if getattr(getattr(X, "dtype", None), "kind", "f") not in "biufcOSU":
        raise ValueError(f"{name} has dtype {X.dtype}, which is not numeric; pass numbers")
    if not np.iscomplexobj(X):
        return check_array(
            X, allow_nd=True, ensure_min_samples=0, input_name=name, ensure_all_finite=finite
        )
    X = np.asarray(X)
    check_array(
        np.stack([X.real, X.imag]).reshape(2, -1),
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
        ensure_all_finite=finite,
    )
    return X
