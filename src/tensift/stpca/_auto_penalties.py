"""Choose the penalties without labels: as strong as the reconstruction allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import namespace_of
from tensift.solvers import SliceSolver, Solution
from tensift.stpca.execution import SliceExecutor

__all__ = ["FIRST_FRACTION", "PenaltyChoice", "choose_penalties"]

FIRST_FRACTION = 0.01  # where the search begins, as a fraction of the critical values
_SHARE = 0.9  # the share of the shared variance that operators must explain, minus penalties
# Assume that features share at least this much of the variance. If they share less, operators
# explain most features by themselves, and a target relative to the shared part means nothing.
_LEAST_SHARED = 0.1
_TOLERANCE = 0.03  # of `_SHARE`; selections hardly change within it
_SMALLEST, _LARGEST = 1e-6, 1.0
_STEP = 4.0  # factor between fractions, until one explains too much and one too little
_MOST_TRIES = 12


@dataclass(frozen=True)
class PenaltyChoice:
    """How the penalties were chosen: the strongest that still explain 90 % of the shared variance.

    The shared variance of a feature is the part that the other features of its slice explain, by
    least squares. The rest is noise that only the feature itself could explain, so it is not
    counted. The explained variance is how far the objective falls below its value without
    operators (which is the variance of the slice). It includes the cost of the penalties, and it
    falls as they grow. The search ends within 0.03 of the 90 %.

    Attributes
    ----------
    lam, eta : float
        The penalties that were chosen, or given.
    fraction : float
        The chosen penalties as a fraction of their critical values; of upper bounds of these if
        slices have more than 256 features.
    tried, shares : ndarray
        The fractions that were tried, increasing, and for each the explained variance divided by
        the shared variance.
    target : float
        The share to be explained, 0.9.
    shared : float
        The shared variance divided by the variance of all features; 0.1 if it is less.
    reason : str
        Why, in one sentence.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> choice = STPCASelector(20).fit(load_digits().data).choice_.penalties
    >>> print(f"{choice.fraction:.2g} of {len(choice.tried)} tried")
    0.061 of 4 tried
    >>> bool(choice.shares[choice.tried.searchsorted(choice.fraction)] >= 0.87)
    True
    """

    lam: float
    eta: float
    fraction: float
    tried: NDArray[np.float64]
    shares: NDArray[np.float64]
    target: float
    shared: float
    reason: str


def choose_penalties(
    executor: SliceExecutor,
    solver: SliceSolver,
    n_samples: float,
    lam: float | None,
    eta: float | None,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> tuple[Solution, PenaltyChoice]:
    """Solve slices under the strongest penalties that still explain 90 % of the shared variance.

    A penalty that is None is chosen; if both are, they are the same fraction of their critical
    values. The share that an optimum explains never grows with a penalty. The search therefore
    brackets the fraction between one that explains too much and one that explains too little.
    """
    critical = executor.critical_or_bounds()
    energy, shared = executor.energies(n_samples)
    shared = max(shared, _LEAST_SHARED * energy)
    shares: dict[float, float] = {}
    kept: tuple[float, Solution] | None = None  # only the best one, because operators can be large

    def penalties(fraction: float) -> tuple[float, float]:
        return (
            _rounded(fraction * critical.lam) if lam is None else lam,
            _rounded(fraction * critical.eta) if eta is None else eta,
        )

    fraction: float | None = FIRST_FRACTION
    while fraction is not None:
        solution = executor.solve(solver, *penalties(fraction), n_jobs, callback)
        objective = solution.objective
        shares[fraction] = (energy - float(namespace_of(objective).sum(objective))) / shared
        if kept is None or _value(fraction, shares) > _value(kept[0], shares):
            kept = fraction, solution
        fraction = _next_fraction(shares)
    assert kept is not None
    tried = np.array(sorted(shares))
    fraction, solution = kept
    chosen = penalties(fraction)
    reason = _reason(chosen, (lam is None, eta is None), fraction, shares)
    found = np.array([shares[one] for one in tried])
    choice = PenaltyChoice(*chosen, fraction, tried, found, _SHARE, shared / energy, reason)
    return solution, choice


def _rounded(value: float) -> float:
    """Round to three digits, to hide rounding of sums that depends on how samples are chunked."""
    return float(f"{value:.3g}")


def _value(fraction: float, shares: dict[float, float]) -> tuple[bool, float]:
    """Sort key of fractions: first those that explain enough (the largest is best), then others."""
    enough = shares[fraction] >= _SHARE - _TOLERANCE
    return enough, fraction if enough else -fraction


def _next_fraction(shares: dict[float, float]) -> float | None:
    """Return the fraction to try next; None if one is good enough or none can be better."""
    if len(shares) == _MOST_TRIES or any(abs(s - _SHARE) <= _TOLERANCE for s in shares.values()):
        return None
    more = [fraction for fraction, share in shares.items() if share > _SHARE]
    less = [fraction for fraction, share in shares.items() if share < _SHARE]
    if not less:
        return min(_STEP * max(more), _LARGEST) if max(more) < _LARGEST else None
    if not more:
        return max(min(less) / _STEP, _SMALLEST) if min(less) > _SMALLEST else None
    low, high = max(more), min(less)
    if low >= high:  # the paper's iteration need not be monotone
        return None
    # Interpolate the logarithm of the fraction linearly in the share, but stay off both ends.
    way = (shares[low] - _SHARE) / (shares[low] - shares[high])
    way = min(max(way, 0.1), 0.9)
    between = _rounded(math.exp((1 - way) * math.log(low) + way * math.log(high)))
    return between if low < between < high else None


def _reason(
    chosen: tuple[float, float],
    automatic: tuple[bool, bool],
    fraction: float,
    shares: dict[float, float],
) -> str:
    names = [
        f"{name} = {value:.3g}"
        for name, value, own in zip(("lam", "eta"), chosen, automatic, strict=True)
        if own
    ]
    what = f"{' and '.join(names)}, {fraction:.2g} of the critical value{'s'[: len(names) - 1]}"
    share = shares[fraction]
    if share < _SHARE - _TOLERANCE:
        return (
            f"{what}: they explain {share:.0%} of the variance that features share; no smaller "
            f"fraction that was tried explains {_SHARE:.0%}"
        )
    return (
        f"{what}: the strongest penalties that still explain {_SHARE:.0%} of the variance that "
        f"features share ({share:.0%}; {len(shares)} tried)"
    )
