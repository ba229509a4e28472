"""Samples back from the features that were kept."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import (
    check_same_kind,
    device_of,
    is_complex,
    is_device_array,
    namespace_of,
    refuse_device_array,
    to_numpy,
)
from tensift.labels import Labelled, Names, is_recording, is_xarray, kept_recording, kept_values
from tensift.moments import check_finite
from tensift.selection._estimate_in_units import (
    Estimate,
    EstimateInUnits,
    EstimateWhereObserved,
)
from tensift.selection._keep_on_device import selected_on_device
from tensift.selection._knows_gaps import KnowsGaps
from tensift.selection._linear_estimate import LinearEstimate
from tensift.selection._reconstruction_curve import (
    ReconstructionCurve,
    errors_of_chunk,
    errors_of_samples,
)
from tensift.sources import EvenSubsample, KeptSamples, SampleWeights, Source, source_of

__all__ = ["RestoringSelector"]


@dataclass(frozen=True)
class _Learned:
    """An estimate, and what it was learned from."""

    samples: EvenSubsample
    order: Any
    count: int
    noise: NDArray[np.float64] | None
    estimate: Estimate

    def to_numpy(self) -> None:
        """Forget the estimate, which can be learned again from samples on the host."""


class RestoringSelector(SelectorMixin, KnowsGaps):
    """A selector that restores samples from the features that it keeps.

    It keeps a copy of some evenly spaced samples. `_samples_to_learn_from` is the only place that
    says where they are.
    """

    order_: Any
    _samples: EvenSubsample | None
    _learned: _Learned | None

    @abstractmethod
    def _n_selected(self, total: int) -> int:
        """Return how many of all features are kept."""

    @abstractmethod
    def _fitted_mode(self) -> int | None:
        """Return the mode of the scored features."""

    # Samples to learn from

    def _learn_shape(self, shape: tuple[int, ...], names: Names | None = None) -> None:
        super()._learn_shape(shape, names)
        self._samples = self._learned = None  # those of an earlier fit
        self.__dict__.pop("_gapless", None)

    def _keep_samples(self, samples: Any, weights: SampleWeights | None = None) -> None:
        """Keep a copy of evenly spaced samples: the user may write to the array later."""
        self._samples = EvenSubsample(self.feature_shape_)
        if samples.shape[0]:
            self._samples.add(samples, weights)

    def _keep_rows(self, kept: KeptSamples) -> None:
        """Keep evenly spaced samples that nobody writes to, without a copy."""
        self._samples = EvenSubsample.of(kept)

    def _samples_to_learn_from(self) -> EvenSubsample | None:
        """Return the evenly spaced samples; None if there are none."""
        return vars(self).get("_samples")

    def _checked_samples(self, what_for: str) -> EvenSubsample:
        check_is_fitted(self)
        samples = self._samples_to_learn_from()
        if samples is None or samples.count == 0:
            raise ValueError(
                f"{what_for} looks at samples, but {type(self).__name__} has none, since it was "
                "fitted on Moments that were merged or updated; fit it on samples, or on what "
                "collect_moments returns"
            )
        return samples

    def _learned_estimate(self, noise: NDArray[np.float64] | None) -> Estimate:
        """Return the estimate for the features kept now; it is learned when first asked for."""
        samples = self._checked_samples("reconstruct")
        count = self._n_selected(self.order_.shape[0])
        known = vars(self).get("_learned")
        if (
            known is None
            or known.samples is not samples
            or known.order is not self.order_
            or known.count != count
            or not _same(known.noise, noise)
        ):
            learned, scales = self._estimate_from(count, noise), self._scales_of_elements()
            whole: LinearEstimate | EstimateInUnits = learned
            if scales is not None:
                whole = EstimateInUnits(learned, scales, self._elements_of(count)[0])
            estimate: Estimate = whole
            missing = vars(self).get("missing_")
            if missing is not None and missing.n_never:
                estimate = EstimateWhereObserved(whole, missing.never.ravel())
            known = self._learned = _Learned(samples, self.order_, count, noise, estimate)
        return known.estimate

    def _estimate_from(self, count: int, noise: NDArray[np.float64] | None) -> LinearEstimate:
        """Learn an estimate from the first `count` features."""
        samples = self._filled(self._checked_samples("reconstruct")).distinct()
        xp = namespace_of(samples.rows)
        elements, kept_shape = self._elements_of(count)
        flat = xp.reshape(samples.rows, (len(samples), self.n_features_in_))
        if noise is not None and noise.ndim:
            mode = self._fitted_mode()
            if mode is not None:
                axes = [-1 if axis == mode else 1 for axis in range(len(kept_shape))]
                noise = np.broadcast_to(noise.reshape(axes), kept_shape).reshape(-1)
        elif noise is not None:
            noise = np.full(math.prod(kept_shape), float(noise))
        observed = samples.observed
        if observed is not None:
            observed = observed.reshape(len(observed), -1)
        scales = self._scales_of_elements()
        if noise is not None and scales is not None:
            noise = noise / scales[elements]
        deviations = None if self._deviations is None else self._deviations.ravel()
        known = replace(samples, rows=flat, observed=observed)
        return LinearEstimate(known, elements, noise, deviations)

    def _scales_of_elements(self) -> NDArray[np.float64] | None:
        """Return what each element was divided by; None if they were left as they are."""
        scales = None if self.names_ is None else self.names_.scales
        return None if scales is None else np.broadcast_to(scales, self.feature_shape_).reshape(-1)

    def _elements_of(self, count: int) -> tuple[Any, tuple[int, ...]]:
        """Return the elements of the first `count` features, and their shape in a sample."""
        mode, shape = self._fitted_mode(), self.feature_shape_
        if is_device_array(self.order_):
            xp, kept = namespace_of(self.order_), selected_on_device(self.order_, count)
            if mode is None:
                return kept, (count,)
            elements = xp.arange(self.n_features_in_, device=device_of(self.order_))
        else:
            xp, kept = np, np.sort(self.order_[:count])
            if mode is None:
                return kept, (count,)
            elements = np.arange(self.n_features_in_)
        found = xp.take(xp.reshape(elements, shape), kept, axis=mode)
        return xp.reshape(found, (-1,)), tuple(found.shape)

    # Samples back from features

    def reconstruct(
        self, Z: ArrayLike, return_std: bool = False, noise: float | ArrayLike | None = None
    ) -> Any:
        """Estimate whole samples from their selected features.

        Parameters
        ----------
        Z : array-like
            What `transform` returned: an array, or samples that are not in memory, which are read
            one chunk at a time. A Dask array gives Dask arrays that are not computed yet.
            Recordings of MNE-Python give recordings of all fitted channels, in their units.
        return_std : bool, default=False
            Whether to return the standard deviation of the error of every element, too.
        noise : float or array-like of shape (k,), optional
            The standard deviation of the noise with which the selected features are measured: one
            number, or one for each of them in the order of `transform`. By default they are exact.

        Returns
        -------
        samples : array of shape (n, d_1, ..., d_m), or (n, d) for rows
            The estimates, in double precision where the device has it. Selected features are as
            given, unless they have noise: then they are estimated like all others. NaN for elements
            that were never observed.
        deviations : array of the same shape
            Only with ``return_std=True``. Zero for selected features without noise. For complex
            samples, the root of the mean squared modulus of the error.

        Notes
        -----
        The estimate is the mean plus a ridge regression of all elements on the selected ones (with
        mode features, on all elements of the selected indices). It is learned from evenly spaced
        samples of the fitted ones, at most 2048 (`tensift.sources.even_subsample`), when it is
        first asked for. Generalised cross-validation chooses one ridge for all elements, so
        elements should have the same units. After a fit with ``scale="feature"`` it is learned
        from features divided by their deviations, and estimates have the units of the samples
        again. With `noise`, the estimate is the conditional mean of a Gaussian model.

        Deviations are those of new samples. They are larger for samples that differ more from the
        ones learned from, and errors on left-out samples have a mean square of one in their units.
        For samples that are about Gaussian, ``estimate ± 1.645 deviation`` covers 90 %. They do
        not hold for samples of another kind than the fitted ones.

        The selector keeps a copy of the samples it learns from, which is part of its pickle.

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> X = load_digits().data
        >>> selector = GeometrySelector(n_features_to_select=20).fit(X[:1000])
        >>> Z = selector.transform(X[1000:])
        >>> restored, deviation = selector.reconstruct(Z, return_std=True)
        >>> restored.shape, deviation.shape
        ((797, 8, 8), (797, 8, 8))
        >>> inside = abs(restored - X[1000:]) <= 1.645 * deviation
        >>> bool(0.88 < inside.mean() < 0.96)
        True
        """
        check_is_fitted(self)
        found = self._unlabelled_kept(Z)
        whole = self._restore(found.samples, return_std, noise)
        if return_std:
            return tuple(self._in_form(one, found) for one in whole)
        return self._in_form(whole, found)

    def _restore(self, Z: Any, return_std: bool, noise: Any) -> Any:
        """Estimate whole samples from features without names."""
        count = self._n_selected(self.order_.shape[0])
        checked = _checked_noise(noise, count)
        mode, (elements, kept_shape) = self._fitted_mode(), self._elements_of(count)
        shapes = (kept_shape, (elements.shape[0],))
        source = source_of(Z)
        if source is not None:
            check_same_kind(None, self._fitted_kind(), type(self).__name__)
            _check_shape(source.sample_shape, shapes)
            estimate = self._learned_estimate(checked)
            rows = len(source.sample_shape) == 1 and (mode is not None or self._rows_in)
            shape = self.feature_shape_
            return _from_source(
                source,
                estimate,
                (-1,) if rows else shape,
                return_std=return_std,
                missing=self._allows_missing,
            )
        if self._takes_device_arrays:
            check_same_kind(Z, self._fitted_kind(), type(self).__name__)
        else:
            refuse_device_array(Z, type(self).__name__)
        values = self._checked_values(Z, "Z")
        rows = values.ndim == 2 and (mode is not None or self._rows_in)
        _check_shape(tuple(values.shape[1:]), shapes)
        estimate = self._learned_estimate(checked)
        xp, number = namespace_of(values), values.shape[0]
        _check_real(is_complex(values), estimate)
        found = estimate.of(xp.reshape(values, (number, elements.shape[0])), return_std=return_std)
        shape = (number, self.n_features_in_) if rows else (number, *self.feature_shape_)
        if not return_std:
            return xp.reshape(found, shape)
        return tuple(xp.reshape(one, shape) for one in found)

    def _unlabelled_kept(self, Z: Any) -> Labelled:
        """Take the names off what `transform` returned."""
        if is_recording(Z) and self.names_ is not None:
            kept = to_numpy(self.get_support(indices=True))
            return kept_recording(Z, self.names_, kept, self._fitted_mode())
        if is_xarray(Z):
            return kept_values(Z, self._names_or_numbers(), self._fitted_mode())
        return Labelled(getattr(Z, "__tensift_samples__", Z))

    def _in_form(self, whole: Any, found: Labelled) -> Any:
        """Give whole samples the form of the features they were made from."""
        if found.form is None:
            return whole
        shaped = whole.reshape(whole.shape[0], *self.feature_shape_)
        return found.form.restored(shaped, self._names_or_numbers())

    def reconstruction_curve(
        self, X: ArrayLike, counts: Sequence[int] | None = None
    ) -> ReconstructionCurve:
        """Return how well the first 1, 2, 4, ... features of `order_` restore samples.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples that the selector was not fitted on. On fitted ones, errors are too small.
            With ``missing="allow"`` errors are those of the observed values.
            Memory maps, HDF5, Zarr and Dask arrays, and iterators over chunks are read once.
        counts : sequence of int, optional
            The numbers of features, each larger than the one before. By default 1, 2, 4, ... and
            the number that is kept.

        Returns
        -------
        ReconstructionCurve

        See Also
        --------
        tensift.metrics.reconstruction_error : The error of any features, cross-validated.

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> X = load_digits().data
        >>> selector = GeometrySelector(n_features_to_select=20).fit(X[:1000])
        >>> curve = selector.reconstruction_curve(X[1000:])
        >>> curve.counts
        array([ 1,  2,  4,  8, 16, 20])
        >>> bool(curve.errors[0] > 0.8 and curve.errors[-1] < 0.35)
        True
        """
        check_is_fitted(self)
        total = self.order_.shape[0]
        wanted = _checked_counts(counts, self._n_selected(total), total)
        self._checked_samples("reconstruction_curve")
        source = self._source_of(X, fitted=True)
        learned = (self._estimate_from(count, None) for count in wanted)
        known = [self._elements_of(count)[0] for count in wanted]
        if source is None:
            samples = self._validate_samples(X, reset=False, min_samples=1)
            sums = errors_of_samples(samples, zip(learned, known, strict=True))
            number = samples.shape[0]
        else:
            check_same_kind(None, self._fitted_kind(), type(self).__name__)
            self._check_shape(source.sample_shape)
            measure = partial(
                errors_of_chunk,
                feature_shape=self.feature_shape_,
                estimates=list(zip(learned, known, strict=True)),
                missing=self._allows_missing,
            )
            sums, number = source.reduce(measure, _added, title="restoring samples")
        curve = ReconstructionCurve.of(wanted, sums, number, self.feature_shape_, self._deviations)
        return replace(curve, names=self.names_)


def _added(one: Any, other: Any) -> Any:
    return one[0] + other[0], one[1] + other[1]


def estimates_of_chunk(
    chunk: NDArray,
    estimate: Estimate,
    shape: tuple[int, ...],
    return_std: bool,
    missing: bool,
) -> NDArray:
    """Return the estimates for a chunk of known values, and the deviations side by side."""
    values = check_finite(chunk, "Z", allow_nan=missing)
    _check_real(np.iscomplexobj(values), estimate)
    values = values.reshape(len(values), -1)
    found = estimate.of(values, return_std=return_std)
    shape = tuple(estimate.size if length == -1 else length for length in shape)
    parts = [part.reshape(len(values), *shape) for part in (found if return_std else (found,))]
    return np.stack(parts, axis=1) if return_std else parts[0]


def _from_source(
    source: Source,
    estimate: Estimate,
    shape: tuple[int, ...],
    *,
    return_std: bool,
    missing: bool,
) -> Any:
    """Estimate samples chunk by chunk; the source is read once."""
    found = source.map(
        partial(
            estimates_of_chunk,
            estimate=estimate,
            shape=shape,
            return_std=return_std,
            missing=missing,
        )
    )
    if not return_std:
        return found
    samples, deviations = found[:, 0], found[:, 1]
    return samples, deviations.real


def _check_shape(given: tuple[int, ...], allowed: tuple[tuple[int, ...], ...]) -> None:
    if given not in allowed:
        raise ValueError(
            f"Z has samples of shape {given}, but transform returns {allowed[0]}; pass what "
            "transform returns for the features that are kept now"
        )


def _check_real(given_complex: bool, estimate: Estimate) -> None:
    if given_complex and not estimate.is_complex:
        raise ValueError(
            "Z is complex, but the fitted samples are real; pass what transform returns"
        )


def _checked_noise(noise: Any, count: int) -> NDArray[np.float64] | None:
    """Return the noise as a number or one for each feature; None if there is none."""
    if noise is None:
        return None
    try:
        values = np.array(noise, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"noise must be a number or {count} numbers, got {noise!r}") from None
    if values.ndim and values.shape != (count,):
        raise ValueError(
            f"noise has shape {values.shape}, but {count} features are kept; pass one number, or "
            "one for each kept feature in the order of transform"
        )
    if not np.all(values >= 0) or not np.all(np.isfinite(values)):
        raise ValueError(
            "noise is a standard deviation and must be finite and not negative, got "
            f"{values.min() if values.ndim else float(values)}"
        )
    return values if values.any() else None


def _checked_counts(counts: Sequence[int] | None, kept: int, total: int) -> list[int]:
    if counts is None:
        return [*(1 << k for k in range((kept - 1).bit_length())), kept]
    given = list(np.ravel(counts))
    if not given or not all(isinstance(one, Integral) for one in given):
        raise ValueError(f"counts must be one or more whole numbers, got {counts!r}")
    wanted = [int(one) for one in given]
    if wanted[0] < 1 or wanted[-1] > total or any(np.diff(wanted) <= 0):
        raise ValueError(
            f"counts must increase and lie between 1 and {total}, the number of features; got "
            f"{wanted}"
        )
    return wanted


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
