"""What data must be like for anything to be learned from them."""

from __future__ import annotations

from typing import Any

from tensift._namespace import is_device_array, namespace_of, widest_precision
from tensift.algebra._arrays import floating_on_device
from tensift.gram import DeviceMoments, GramTensor, Moments
from tensift.gram._device_moments import row_blocks
from tensift.gram._moments import largest_modulus

__all__ = ["check_magnitude", "refuse_gradients", "usable_gram", "usable_scale"]

# Of values whose squares and their sums can be held, in the precision that sums are made in.
_LIMITS = {"float64": (1e-100, 1e100), "float32": (1e-12, 1e12)}
# What features may vary by, as a share of the largest value, and still be constant.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}


def check_magnitude(samples: Any) -> None:
    """Refuse samples whose sums of squares would overflow."""
    if is_device_array(samples):
        xp = namespace_of(samples)
        peaks = [xp.max(xp.abs(floating_on_device(b, "X"))) for b in row_blocks(samples)]
        peak, precision = float(xp.max(xp.stack(peaks))), widest_precision(samples)
    else:
        peak, precision = largest_modulus(samples), "float64"
    largest = _LIMITS[precision][1]
    if peak > largest:
        raise ValueError(
            f"X has values above {largest:.0e}, too large for sums of squares; use larger units"
        )


def refuse_gradients(samples: Any) -> None:
    """Refuse arrays whose library would record everything that is computed from them."""
    if getattr(samples, "requires_grad", False):
        raise ValueError("X requires gradients, which a fit does not follow; pass X.detach()")


def usable_gram(moments: Moments, scale: str | None = None) -> GramTensor:
    """The Gram tensor of the data, scaled if so wished, if there is something to learn from."""
    factor = usable_scale(moments, scale)
    gram = moments.gram()
    return gram if factor == 1 else gram.scaled(factor)


def usable_scale(moments: Moments, scale: str | None = None) -> float:
    """What the data are multiplied by, if there is something to learn from."""
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
    spread = moments.spread()
    largest = float(namespace_of(spread).max(spread)) if on_device else spread.max()
    if largest <= _ROUNDING[precision] * moments.peak:
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return 1 / moments.peak if scale == "max" else 1.0
