"""Checks that data vary, and that their squares can be summed."""

from __future__ import annotations

from typing import Any

from tensift._utils.namespace import is_device_array, namespace_of, widest_precision
from tensift.algebra import floating_on_device
from tensift.moments._deviations import spread_above_rounding
from tensift.moments._device_moments import DeviceMoments, row_blocks
from tensift.moments._moments import Moments
from tensift.moments._peaks import largest_observed
from tensift.moments._tensor import GramTensor

__all__ = ["check_magnitude", "refuse_gradients", "usable_gram", "usable_scale"]

# The range of values whose sums of squares neither underflow nor overflow in this precision.
_LIMITS = {"float64": (1e-100, 1e100), "float32": (1e-12, 1e12)}
# A standard deviation below this share of the largest value is rounding: the data are constant.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}


def check_magnitude(samples: Any) -> None:
    """Raise an error if sums of squares of the samples would overflow."""
    if is_device_array(samples):
        xp = namespace_of(samples)
        peaks = [xp.max(xp.abs(floating_on_device(b, "X"))) for b in row_blocks(samples)]
        peak, precision = float(xp.max(xp.stack(peaks))), widest_precision(samples)
    else:
        peak, precision = largest_observed(samples), "float64"
    largest = _LIMITS[precision][1]
    if peak > largest:
        raise ValueError(
            f"X has values above {largest:.0e}, too large for sums of squares; use larger units"
        )


def refuse_gradients(samples: Any) -> None:
    """Raise an error if the library would record all computations for automatic gradients."""
    if getattr(samples, "requires_grad", False):
        raise ValueError("X requires gradients, which fit does not compute; pass X.detach()")


def usable_gram(moments: Moments, scale: str | None = None) -> GramTensor:
    """Return the Gram tensor, scaled as `scale` says; raise an error if the data cannot be used."""
    factor = usable_scale(moments, scale)
    gram = moments.gram()
    return gram if factor == 1 else gram.scaled(factor)


def usable_scale(moments: Moments, scale: str | None = None) -> float:
    """Return the factor that `scale` stands for; raise an error if the data cannot be used."""
    if moments.count < 2:
        seen = "1 sample" if moments.count else "no sample"
        raise ValueError(f"{seen} seen so far; at least 2 are needed")
    on_device = isinstance(moments, DeviceMoments)
    precision = widest_precision(moments.mean) if on_device else "float64"
    if 0 < moments.peak < _LIMITS[precision][0]:
        raise ValueError(
            f"X has no value above {moments.peak:.0e}, too small for sums of squares; "
            "use smaller units"
        )
    if moments.orientation.deviations is None:
        spread, least = moments.spread(), _ROUNDING[precision] * moments.peak
    else:  # features with large values say nothing of the others
        spread, least = spread_above_rounding(moments), 0.0
    largest = float(namespace_of(spread).max(spread)) if on_device else spread.max()
    if largest <= least:
        raise ValueError(
            "X is constant: no feature varies between samples, so there is nothing to learn"
        )
    return 1 / moments.peak if scale == "max" else 1.0
