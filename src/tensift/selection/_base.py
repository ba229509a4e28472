"""Base class of all selectors: rank features, select them, name them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tensift._utils.modes import pool_elements
from tensift._utils.namespace import (
    check_same_kind,
    is_device_array,
    namespace_of,
    refuse_device_array,
    to_numpy,
)
from tensift._utils.sklearn_compat import (
    Interval,
    StrOptions,
    check_feature_names_in,
    output_format,
    output_is_frame,
)
from tensift._utils.warnings import warn_user
from tensift.labels import (
    is_recording,
    labelled_dataset,
    picked_recording,
    plain_form,
)
from tensift.moments import (
    TensorEstimator,
    lazy_source,
    n_axes,
)
from tensift.selection._channel_picks import PicksChannels
from tensift.selection._constrained import ConstrainedSelector
from tensift.selection._constraints import Constraints
from tensift.selection._count import SuggestedCount
from tensift.selection._gaps import without_gaps
from tensift.selection._keep_in_memory import put_back, select_in_chunk, select_in_memory
from tensift.selection._keep_on_device import keep_on_device, put_back_on_device, selected_on_device
from tensift.selection._replacing import ReplacingSelector
from tensift.selection._rules import RULES, KeptUnderConstraints, Selection, select_features
from tensift.sources import SampleWeights

__all__ = ["TensorSelector"]


class TensorSelector(PicksChannels, ConstrainedSelector, ReplacingSelector):
    """Base of all selectors: a subclass scores features, this class does the rest.

    Samples are an array ``(n, d_1, ..., d_m)``, or 2-D rows whose tensor shape is given by
    ``feature_shape``. A feature is an element of a sample or, with ``feature_mode=k``, an index
    along mode ``k`` (a channel, a band). Rows in, rows out: 2-D samples stay 2-D in `transform`.

    A subclass has the parameters ``n_features_to_select``, ``feature_mode`` and ``feature_shape``
    and calls `_set_scores` at the end of its ``fit``. If it also passes samples, it can have the
    parameter ``selection``, the rule that selects once features have scores: "geometry",
    "reconstruct" or "top". It can then also choose the number of features ("auto"). With the
    parameter ``constraints`` a selection respects them (`Constraints`).

    Examples
    --------
    A selector that keeps the features with the largest mean:

    >>> import numpy as np
    >>> from tensift.selection import TensorSelector
    >>> class LargestMean(TensorSelector):
    ...     def __init__(self, n_features_to_select=1, feature_mode=None, feature_shape=None):
    ...         self.n_features_to_select = n_features_to_select
    ...         self.feature_mode = feature_mode
    ...         self.feature_shape = feature_shape
    ...
    ...     def fit(self, X, y=None):
    ...         X = self._validate_samples(X, reset=True)
    ...         self._set_scores(X.mean(axis=0), ties=X.std(axis=0))
    ...         return self
    >>> X = np.arange(24.0).reshape(4, 2, 3)
    >>> LargestMean(n_features_to_select=2).fit_transform(X).shape
    (4, 2)
    >>> LargestMean(feature_mode=0).fit_transform(X).shape
    (4, 1, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorEstimator._parameter_constraints,
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"auto"}),
        ],
        "selection": [StrOptions(set(RULES))],
        "constraints": [None, Constraints],
        "feature_mode": [None, Integral, str],
    }

    n_features_to_select: Any  # a number, a share, or "auto"
    selection: str = "top"  # for subclasses without this parameter
    _own_rule: str | None = None  # for subclasses that select by another rule, with its name
    feature_mode: int | str | None
    selection_curve_: Any
    suggested_count_: SuggestedCount
    _scored_mode: int | None
    _limited: KeptUnderConstraints

    @abstractmethod
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Score the features of `X`."""

    def _validate_samples(
        self,
        X: Any,
        *,
        reset: bool,
        min_samples: int = 2,
        weights: SampleWeights | None = None,
        scaled: bool = True,
    ) -> NDArray:
        samples = super()._validate_samples(
            X, reset=reset, min_samples=min_samples, weights=weights, scaled=scaled
        )
        self._mode_of_features()  # raise an error for an impossible feature_mode now, not later
        if reset:
            self._keep_samples(samples, None if weights is None else weights.used)
        return samples

    def _mode_of_features(self) -> int | None:
        """`feature_mode` as a non-negative number, or None."""
        if self.feature_mode is None:
            return None
        return self._mode_number("feature_mode", self.feature_mode)

    def _fitted_mode(self) -> int | None:
        """Return the mode of the scored features; raise an error if `feature_mode` changed."""
        mode = self._mode_of_features()
        if "_scored_mode" in vars(self) and mode != self._scored_mode:
            raise ValueError(
                f"feature_mode was changed from {self._scored_mode} to {self.feature_mode} after "
                "fit, but it decides what is scored; fit again"
            )
        return mode

    # Scores and ranking

    def _set_scores(self, scores: NDArray, ties: NDArray, rows: Any = None) -> None:
        """Store scores of elements as scores of features, and rank the features.

        `rows` are samples that show which features are alike: all, or some evenly spaced ones
        (`tensift.sources.kept_samples`, with weights if they have some).
        """
        mode = self._mode_of_features()
        self._set_feature_scores(pool_elements(scores, mode), [pool_elements(ties, mode)], rows)

    def _set_feature_scores(
        self, scores: NDArray, ties: Sequence[NDArray], rows: Any = None
    ) -> None:
        """Store scores of features, and select among them; `rows` are samples."""
        self.scores_ = scores
        self._scored_mode = self._mode_of_features()
        total, wanted = math.prod(scores.shape), self.n_features_to_select
        never = self._never_observed()
        if never is not None:
            self.scores_ = scores = np.where(never.reshape(scores.shape), 0.0, scores)
        if rows is not None:
            rows = without_gaps(rows)
        if rows is None and (self.selection != "top" or wanted == "auto"):
            raise ValueError(
                f"selection={self.selection!r} with n_features_to_select={wanted!r} looks at "
                f"samples, but {type(self).__name__} has none; fit on samples or on what "
                "collect_moments returns, or use selection='top' and a number of features"
            )
        selected = select_features(
            self.selection,
            scores,
            ties,
            rows,
            self._scored_mode,
            partial(self._checked_count, total),
            suggest=wanted == "auto",
            limits=self._limits(),
            n_jobs=getattr(self, "n_jobs", None),
        )
        self._keep_selection(selected)

    def _keep_selection(self, selected: Selection) -> None:
        """Store an order of features and how many of them are kept."""
        self.__dict__.pop("selection_curve_", None)
        self.__dict__.pop("suggested_count_", None)
        self.__dict__.pop("_limited", None)
        self._fitted_constraints = self.constraints
        self.order_ = selected.order
        never = self._never_observed()
        if never is not None:  # they come last, whatever the rule made of them
            self.order_ = np.append(self.order_[~never[self.order_]], np.flatnonzero(never))
        if selected.suggested is not None:
            seen = self._n_observed(selected.order.shape[0])
            self.suggested_count_ = selected.suggested.among(seen)
        if selected.curve is not None:
            self.selection_curve_ = selected.curve
        if selected.limited is not None:
            self._limited = selected.limited
        self.n_features_ = self._n_selected(selected.order.shape[0])

    def _n_selected(self, total: int) -> int:
        count = self._count(total, vars(self).get("suggested_count_"))
        limited = vars(self).get("_limited")
        return count if limited is None else limited.of(count)

    def _has_columns(self) -> bool:
        """Whether samples were rows of a data frame, which names every element."""
        return "feature_names_in_" in vars(self)

    def _shape_and_names(self) -> tuple[tuple[int, ...], Any]:
        """Return the grid of features, and their names in the samples, if they have some."""
        mode, shape = self._mode_of_features(), tuple(self.feature_shape_)
        if self.names_ is not None and not self._has_columns():
            return (shape if mode is None else (shape[mode],)), self.names_.of_features(mode)
        if mode is not None:
            return (shape[mode],), None
        names = vars(self).get("feature_names_in_")
        if names is None and self._rows_in:
            names = [f"x{j}" for j in range(math.prod(shape))]
        return shape, names

    def _checked_count(self, total: int, suggested: SuggestedCount | None) -> int:
        """Return how many features to select; warn if there are fewer."""
        wanted = self.n_features_to_select
        seen = self._n_observed(total)
        if wanted != "auto" and wanted > seen:
            which = "there are" if seen == total else "that were ever observed"
            warn_user(
                f"n_features_to_select={wanted} is more than the {seen} features {which}; all are "
                "kept"
            )
        return self._count(total, suggested)

    def _count(self, total: int, suggested: SuggestedCount | None) -> int:
        wanted = self.n_features_to_select
        total = self._n_observed(total)
        if wanted == "auto":
            if suggested is None:
                raise ValueError(
                    "n_features_to_select='auto' was set after fit, which chooses it; fit again"
                )
            return suggested.count
        return min(int(wanted), total) if wanted >= 1 else max(1, round(wanted * total))

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        self._fitted_mode()
        ranking = self.order_
        count = self._n_selected(ranking.shape[0])
        if is_device_array(ranking):
            return namespace_of(ranking).argsort(ranking) < count  # their places in the ranking
        mask = np.zeros(len(ranking), dtype=bool)
        mask[ranking[:count]] = True
        return mask

    def get_support(self, indices: bool = False) -> Any:
        """Return the selected features, as a mask or as indices.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return indices instead of a mask.

        Returns
        -------
        array
            A flat row-major mask of all features, or increasing indices. It has the library and the
            device of the fitted samples.
        """
        if not indices:
            return self._get_support_mask()
        check_is_fitted(self)
        self._fitted_mode()
        if not is_device_array(self.order_):
            return np.flatnonzero(self._get_support_mask())
        return selected_on_device(self.order_, self._n_selected(self.order_.shape[0]))

    def to_numpy(self) -> Self:
        """Return this selector with NumPy arrays, copied from the device of the fitted samples.

        Returns
        -------
        TensorSelector
            A fitted selector for NumPy arrays, with the same results. This object itself if it was
            fitted on NumPy arrays.

        Examples
        --------
        >>> from tensift import STPCASelector
        >>> from tensift.datasets import load_digits
        >>> selector = STPCASelector(n_features_to_select=20).fit(load_digits().data)
        >>> selector.to_numpy() is selector
        True
        """
        check_is_fitted(self)
        if not is_device_array(self.order_):
            return self
        on_host = copy(self)
        for name, value in vars(self).items():
            move = getattr(value, "to_numpy", None)
            on_host.__dict__[name] = to_numpy(value) if move is None else move()
        return on_host

    def to_xarray(self) -> Any:
        """Return the selection as a Dataset of xarray, with the names and coordinates of features.

        Returns
        -------
        xarray.Dataset
            ``score``; ``rank``, the place in `order_`, 0 for the best; ``selected``. They have the
            dimensions of a sample or, with mode features, that of the mode. Modes without a name
            are called ``mode_0``, ``mode_1``, ...

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> found = GeometrySelector(n_features_to_select=20).fit(load_digits()).to_xarray()
        >>> found.score.dims
        ('row', 'column')
        >>> int(found.selected.sum())
        20
        """
        check_is_fitted(self)
        mode, names = self._fitted_mode(), self._names_or_numbers()
        names = names if mode is None else names.only([mode])
        places = np.empty(self.order_.shape[0], dtype=np.intp)
        places[to_numpy(self.order_)] = np.arange(len(places))
        support = to_numpy(self.get_support())
        values = {
            "score": (names.dims, np.reshape(to_numpy(self.scores_), names.shape)),
            "rank": (names.dims, places.reshape(names.shape)),
            "selected": (names.dims, support.reshape(names.shape)),
        }
        return labelled_dataset(values, names, {"selector": type(self).__name__})

    # Selecting features

    def transform(self, X: ArrayLike) -> Any:
        """Keep the selected features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples. Memory maps, HDF5 and Zarr arrays, and iterators over chunks of samples are
            read one chunk at a time.

        Returns
        -------
        ndarray
            ``(n, k)`` for element features, in row-major order of the features. For mode features
            ``(n, d_1, ..., k, ..., d_m)``, and ``(n, k * rest)`` if `X` is made of rows. For a
            Dask array, a Dask array that is not computed yet. For a DataArray of xarray, a
            DataArray with the coordinates of what is kept. If channels are the features, recordings
            of MNE-Python keep their kind and get only the selected channels, which are found by
            name: `X` may have others, in any order.
        """
        check_is_fitted(self)
        if is_recording(X) and self._has_channels() and output_format(self) == "default":
            assert self.names_ is not None
            return picked_recording(X, self.names_, self.get_support(indices=True))
        found = self._unlabelled(X, fitted=True, every=True)
        kept = self._keep(found.samples)
        form = found.form
        if output_format(self) == "xarray" and (form is None or is_recording(X)):
            form = plain_form(kept.shape[0], self._names_or_numbers())
        if form is None or output_is_frame(self):
            return kept
        return form.selected(kept, to_numpy(self.get_support(indices=True)), self._fitted_mode())

    def _keep(self, X: Any) -> Any:
        """Keep the selected features of samples without names."""
        source = lazy_source(self, X, scaled=False)
        if source is not None:
            mask, mode = self._get_support_mask(), self._fitted_mode()
            shape, rows = self.feature_shape_, len(source.sample_shape) == 1
            kept = source.map(
                partial(
                    select_in_chunk,
                    feature_shape=shape,
                    mask=mask,
                    mode=mode,
                    rows=rows,
                    missing=self._allows_missing,
                )
            )
            self._refuse_tensor_frames(kept)
            return kept
        rows = n_axes(X) == 2
        samples = self._validate_samples(X, reset=False, min_samples=1, scaled=False)
        mode = self._fitted_mode()
        if is_device_array(samples):
            if output_is_frame(self):
                raise ValueError(
                    "set_output asks for a data frame, but arrays on a device stay there; use "
                    "set_output(transform='default'), or to_numpy() and NumPy arrays"
                )
            return keep_on_device(samples, self.get_support(indices=True), mode, rows=rows)
        mask = self._get_support_mask()
        kept = select_in_memory(samples, mask, mode, rows)
        self._refuse_tensor_frames(kept)
        return kept

    def _refuse_tensor_frames(self, kept: Any) -> None:
        if kept.ndim > 2 and output_is_frame(self):
            raise ValueError(
                "set_output asks for a data frame, but with feature_mode the features of tensors "
                "stay tensors; pass 2-D rows and feature_shape, or use set_output('default')"
            )

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Put selected features back in their places, with zeros everywhere else.

        Parameters
        ----------
        X : array-like
            What `transform` returned.

        Returns
        -------
        ndarray of shape (n, d_1, ..., d_m), or (n, d) for rows
            A DataArray with the coordinates of the fitted features if `X` is one; a recording of
            MNE-Python if `X` is one.
        """
        check_is_fitted(self)
        found = self._unlabelled_kept(X)
        whole = self._put_back(found.samples)
        return self._in_form(whole, found)

    def _put_back(self, X: Any) -> Any:
        """Put selected features without names back in their places."""
        mode = self._fitted_mode()
        if self._takes_device_arrays:
            check_same_kind(X, self._fitted_kind(), type(self).__name__)
        else:
            refuse_device_array(X, type(self).__name__)
        kept_shape: tuple[int, ...] = (self._n_selected(self.order_.shape[0]),)
        if mode is not None:
            kept_shape = (
                *self.feature_shape_[:mode],
                *kept_shape,
                *self.feature_shape_[mode + 1 :],
            )
        samples = self._checked_values(X, "X")
        rows = samples.ndim == 2 and (mode is not None or self._rows_in)
        shape = tuple(samples.shape[1:])
        if shape not in (kept_shape, (math.prod(kept_shape),)):
            raise ValueError(f"X has samples of shape {shape}, but transform returns {kept_shape}")
        if is_device_array(samples):
            samples = namespace_of(samples).reshape(samples, (samples.shape[0], *kept_shape))
            selected = self.get_support(indices=True)
            return put_back_on_device(samples, selected, self.feature_shape_, mode, rows=rows)
        mask = self._get_support_mask()
        return put_back(samples, mask, self.feature_shape_, mode, rows=rows)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Return the names of the selected features, in the order of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all features: elements in row-major order, or the indices of the mode. The
            default is the names seen in `fit`, such as ``"Cz"`` for a channel or
            ``"row=2,column=5"`` for an element, else names such as ``x3`` (rows) or ``x0_3``
            (tensors).

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        mask = to_numpy(self._get_support_mask())
        mode = self._fitted_mode()
        if input_features is None and self.names_ is not None and not self._has_columns():
            return self.names_.of_features(mode)[mask]
        if self._rows_in:
            names = check_feature_names_in(self, input_features)
            if mode is None:
                return names[mask]
            return np.compress(mask, names.reshape(self.feature_shape_), axis=mode).ravel()
        if input_features is None:
            shape = self.feature_shape_ if mode is None else (self.feature_shape_[mode],)
            names = ["x" + "_".join(map(str, index)) for index in np.ndindex(*shape)]
        else:
            names = list(np.asarray(input_features, dtype=object).ravel())
            if len(names) != len(mask):
                raise ValueError(
                    f"input_features has {len(names)} names, but there are {len(mask)} features"
                )
        return np.asarray(names, dtype=object)[mask]
