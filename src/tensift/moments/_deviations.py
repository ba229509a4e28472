"""Every feature divided by its standard deviation, so that its units do not count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    in_precision,
    is_complex,
    is_device_array,
    namespace_of,
    to_numpy,
    widest_precision,
)
from tensift.algebra import make_transforms
from tensift.moments._chunk_measures import MomentsOfChunk
from tensift.moments._dask_moments import merged
from tensift.moments._device_moments import DeviceMoments
from tensift.moments._missing import is_missing
from tensift.moments._moments import Moments
from tensift.moments._observed_moments import ObservedMoments
from tensift.moments._orientation import Orientation, divided
from tensift.sources import SampleWeights, Source

__all__ = ["FeatureScale", "orient", "spread_above_rounding"]

# A standard deviation below this share of the mean is rounding: the feature is constant.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}
_ONE = slice(0, 1)  # of the slices; spread and mean are those of all elements
_EQUAL = {"float64": 1e-9, "float32": 1e-5}  # deviations that differ by a smaller share are equal


@dataclass(frozen=True)
class FeatureScale:
    """Divides every feature by its standard deviation.

    Dividing and transforming are done in any order if no transform mixes elements that are
    divided by different numbers. The Gram matrices of all samples can then be divided in the end.
    Otherwise samples are divided before they are transformed, so their deviations must be known.

    Parameters
    ----------
    feature_mode : int or None
        None: every element has a deviation. An int: all elements of an index along this mode
        share one, the root of their mean variance, so that they keep their proportions. Constant
        features are divided by their size.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import FeatureScale
    >>> X = np.array([[[0.0, 4.0], [1.0, 5.0]], [[2.0, 4.0], [1.0, 9.0]]])
    >>> FeatureScale(None).of_samples(X)
    array([[1., 4.],
           [1., 2.]])
    >>> FeatureScale(0).of_samples(X) ** 2
    array([[0.5, 0.5],
           [2. , 2. ]])
    """

    feature_mode: int | None

    def of_samples(self, samples: Any, weights: SampleWeights | None = None) -> NDArray[np.float64]:
        """Return what to divide every element of samples in memory by."""
        values = None if weights is None else weights.values
        orientation = _of_elements(tuple(samples.shape[1:]), real=not is_complex(samples))
        shape = (samples.shape[0], *orientation.feature_shape)
        rows = namespace_of(samples).reshape(samples, shape)
        if is_device_array(samples):
            return self._of_elements(DeviceMoments(orientation).update(rows, weights=values))
        kind = ObservedMoments if is_missing(rows).any() else Moments
        return self._of_elements(kind(orientation, _ONE).update(rows, weights=values))

    def of_source(
        self, source: Source, feature_shape: tuple[int, ...], *, verbose: bool
    ) -> NDArray[np.float64]:
        """Return what to divide every element by, from one pass over samples."""
        real = np.dtype(source.dtype).kind != "c"
        measure = MomentsOfChunk(_of_elements(feature_shape, real=real), _ONE)
        return self._of_elements(
            source.reduce(measure, merged, title="measuring deviations", verbose=verbose)
        )

    def of_moments(self, moments: Moments) -> NDArray[np.float64]:
        """Return what to divide every element by, for samples in their own units."""
        spread, mean = (to_numpy(values) for values in (_spread(moments), moments.mean))
        return self._pooled(np.asarray(spread, float), np.abs(mean))

    def _of_elements(self, moments: Moments) -> NDArray[np.float64]:
        spread, mean = (to_numpy(values)[0] for values in (_spread(moments), moments.mean))
        return self._pooled(np.asarray(spread, float), np.abs(mean))

    def _pooled(self, spread: NDArray, size: NDArray) -> NDArray[np.float64]:
        if self.feature_mode is not None:
            spread = _root_mean_square(spread, self.feature_mode)
            size = _root_mean_square(size, self.feature_mode)
        # Constants too must not depend on units, because "eigen" is a basis of uncentred samples.
        size = np.where(size > 0, size, 1.0)
        return np.where(spread > 0, spread, size)

    def fits(self, orientation: Orientation) -> bool:
        """Whether slices can be divided after the transforms."""
        others = [k for k in range(len(orientation.feature_shape)) if k != orientation.mode]
        for axis, transform in zip(others, orientation.transforms, strict=False):
            if transform.name == "identity" or transform.size == 1:
                continue
            if self.feature_mode in (None, axis) or transform.name == "eigen":
                return False
        return True

    def standardised(self, moments: Moments) -> Moments:
        """Return the moments of the divided samples; the given ones are not changed."""
        if moments.orientation.deviations is not None:
            return moments
        if not self.fits(moments.orientation):
            names = [transform.name for transform in moments.orientation.transforms]
            raise ValueError(
                "scale='feature' divides features before a basis mixes them, but X is Moments "
                f"with basis={names}; pass the samples (without a checkpoint), or use "
                "basis='identity'"
            )
        return moments.standardised(self.of_moments(moments))


def orient(
    make: Callable[..., Orientation],
    scale: FeatureScale | None,
    measure: Callable[[FeatureScale], NDArray[np.float64]],
    known: Callable[[NDArray[np.float64] | None], dict[str, Any]] | None,
) -> Orientation:
    """Return the orientation of samples, with deviations if samples must be divided first.

    Parameters
    ----------
    make : callable
        Returns an orientation, given what is known of the samples.
    scale : FeatureScale or None
        Whether features are divided.
    measure : callable
        Returns their deviations; called only if they are needed now.
    known : callable or None
        Returns what a basis is computed from, given deviations. None: it needs no samples.
    """
    if known is None:
        orientation = make()
        if scale is None or scale.fits(orientation):
            return orientation
        return replace(orientation, deviations=measure(scale))
    deviations = None if scale is None else measure(scale)
    return replace(make(**known(deviations)), deviations=deviations)


def spread_above_rounding(moments: Moments) -> Any:
    """Return the standard deviation of every element of the slices; 0 where it is rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import collect_moments
    >>> from tensift.moments import spread_above_rounding
    >>> spread_above_rounding(collect_moments(np.array([[1.0, 0.1], [5.0, 0.1], [3.0, 0.1]])))
    array([1.63299316, 0.        ])
    """
    deviations, spread = moments.orientation.deviations, _spread(moments)
    if deviations is None:
        return spread
    spread, xp = divided(spread, deviations), namespace_of(spread)
    least = _EQUAL[moments.precision if isinstance(moments, DeviceMoments) else "float64"]
    # Rounding must not order features that were divided by their own deviation.
    return xp.where(xp.abs(spread - 1) < least, xp.ones_like(spread), spread)


def _spread(moments: Moments) -> Any:
    """Return the standard deviation of every element in its own units; 0 where it is rounding."""
    spread = moments.spread()
    if isinstance(moments, DeviceMoments):
        xp = namespace_of(moments.mean)
        least = _ROUNDING[widest_precision(moments.mean)] * xp.abs(moments.mean)
        varies = spread > in_precision(least, moments.precision)
        return xp.where(varies, spread, xp.zeros_like(spread))
    return np.where(spread > _ROUNDING["float64"] * np.abs(moments.mean), spread, 0.0)


def _root_mean_square(values: NDArray, mode: int) -> NDArray[np.float64]:
    """Return the root of the mean square of all values of every index along a mode."""
    others = tuple(axis for axis in range(values.ndim) if axis != mode)
    largest = values.max(axis=others, keepdims=True)
    shares = values / np.where(largest > 0, largest, 1.0)  # whose squares do not underflow
    pooled = largest * np.sqrt(np.mean(shares**2, axis=others, keepdims=True))
    return np.broadcast_to(pooled, values.shape)


def _of_elements(feature_shape: tuple[int, ...], *, real: bool) -> Orientation:
    """Return an orientation in which every element is a slice: moments then cost least."""
    return Orientation((1, *feature_shape), 0, make_transforms("identity", feature_shape), real)
