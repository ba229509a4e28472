"""What data must be like for anything to be learned from them."""

from __future__ import annotations

from numpy.typing import NDArray

from tensift.gram import GramTensor, Moments
from tensift.gram._moments import largest_modulus

__all__ = ["check_magnitude", "usable_gram", "usable_scale"]

_SMALLEST, _LARGEST = 1e-100, 1e100  # of values whose squares and their sums can be held


def check_magnitude(samples: NDArray) -> None:
    """Refuse samples whose sums of squares would overflow."""
    if largest_modulus(samples) > _LARGEST:
        raise ValueError(
            f"X has values above {_LARGEST:.0e}, too large for sums of squares; use larger units"
        )


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
    if 0 < moments.peak < _SMALLEST:
        raise ValueError(
            f"X has no value above {moments.peak:.0e}, too small for sums of squares; "
            "use smaller units"
        )
    if moments.spread().max() <= 1e-13 * moments.peak:
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return 1 / moments.peak if scale == "max" else 1.0
