"""Penalties that nobody has to set: as large as the reconstruction allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import namespace_of
from tensift.selectors._slice_solver import SliceSolver
from tensift.selectors._slices import Slices
from tensift.solvers import Solution

__all__ = ["FIRST_FRACTION", "PenaltyChoice", "choose_penalties"]

FIRST_FRACTION = 0.01  # of the critical values: where the search begins, and often where it ends
_SHARE = 0.9  # of the energy that features share, which operators explain net of the penalties
_LEAST_SHARED = 0.1  # of all energy: where features share less, operators explain them singly
_TOLERANCE = 0.03  # in that share: selections hardly change within it
_SMALLEST, _LARGEST = 1e-6, 1.0
_STEP = 4.0  # between fractions, until one explains too much and one too little
_MOST_TRIES = 12


@dataclass(frozen=True)
class PenaltyChoice:
    """How penalties were chosen: what was tried, what came of it, and why these.

    Without any operator, the objective of a slice is its energy. What it falls below that is what
    operators explain, net of what the penalties charge for them; it falls as penalties grow. What
    there is to explain is the energy that features share: what the other features of its slice
    explain of each. Noise of its own that a feature has could only be explained by the feature
    itself. Chosen are the largest penalties under which operators explain nine tenths, up to 0.03,
    of what features share.

    Attributes
    ----------
    lam, eta : float
        The penalties that were chosen, or given.
    fraction : float
        The fraction of their critical values that the chosen ones are; of bounds of these where
        slices have more than 256 features.
    tried, shares : ndarray
        The fractions that were tried, increasing, and what operators explain under each, as a
        share of what features share.
    target : float
        The share that was looked for.
    shared : float
        What features share, as a share of all energy; at least 0.1 is looked for.
    reason : str
        Why, in words.

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
    slices: Slices,
    solver: SliceSolver,
    n_samples: int,
    lam: float | None,
    eta: float | None,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> tuple[Solution, PenaltyChoice]:
    """Solve slices under the largest penalties that leave most of what is shared explained.

    Those that are None are chosen, as the same fraction of their critical values. The share that
    an optimum explains never grows with a penalty, so the fraction is found between one that
    explains too much and one that explains too little.
    """
    critical = slices.about_critical()
    energy, shared = slices.energies(n_samples)
    shared = max(shared, _LEAST_SHARED * energy)
    shares: dict[float, float] = {}
    kept: tuple[float, Solution] | None = None  # the best of them; operators may take much memory

    def penalties(fraction: float) -> tuple[float, float]:
        return (
            _rounded(fraction * critical.lam) if lam is None else lam,
            _rounded(fraction * critical.eta) if eta is None else eta,
        )

    fraction: float | None = FIRST_FRACTION
    while fraction is not None:
        solution = slices.solve(solver, *penalties(fraction), n_jobs, callback)
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
    """Three digits: the rounding of sums, which depends on chunks, shall not be in them."""
    return float(f"{value:.3g}")


def _value(fraction: float, shares: dict[float, float]) -> tuple[bool, float]:
    """Enough explained before anything else; then as much penalty as possible, or as little."""
    enough = shares[fraction] >= _SHARE - _TOLERANCE
    return enough, fraction if enough else -fraction


def _next_fraction(shares: dict[float, float]) -> float | None:
    """Where to look next, None if what was found is good enough or nothing better can be."""
    if len(shares) == _MOST_TRIES or any(abs(s - _SHARE) <= _TOLERANCE for s in shares.values()):
        return None
    more = [fraction for fraction, share in shares.items() if share > _SHARE]
    less = [fraction for fraction, share in shares.items() if share < _SHARE]
    if not less:
        return min(_STEP * max(more), _LARGEST) if max(more) < _LARGEST else None
    if not more:
        return max(min(less) / _STEP, _SMALLEST) if min(less) > _SMALLEST else None
    low, high = max(more), min(less)
    if low >= high:  # an iteration that stops early need not be monotone
        return None
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
            f"{what}: operators explain {share:.0%} of what features share, net of the penalties; "
            f"no smaller fraction that was tried explains {_SHARE:.0%}"
        )
    return (
        f"{what}: about the largest under which operators explain {_SHARE:.0%} of what features "
        f"share, net of the penalties ({share:.0%}; {len(shares)} tried)"
    )
