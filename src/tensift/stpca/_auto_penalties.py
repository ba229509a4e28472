"""Choose the penalties without labels: as strong as the reconstruction allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import namespace_of
from tensift.solvers import SliceSolver, Solution
from tensift.stpca.execution import SliceExecutor

__all__ = ["PenaltyChoice", "choose_penalties"]

_SHARE = 0.9  # the share of the shared variance that operators must explain, minus penalties
# Assume that features share at least this much of the variance. If they share less, operators
# explain most features by themselves, and a target relative to the shared part means nothing.
_LEAST_SHARED = 0.1
_TOLERANCE = 0.03  # of `_SHARE`; selections hardly change within it
_SMALLEST, _LARGEST = 1e-6, 1.0
_STEP = 4.0  # factor between fractions, until one explains too much and one too little
_COARSE = [1e-4 * _STEP**k for k in range(7)]  # where the share is estimated first
_NEAR = 1.5  # factor between fractions from which on the share is interpolated
_MOST_ROUNDS = 8  # of requests for estimates
# Strong penalties turn the eigenvectors of operators away from those of S. Then estimates are
# corrected by a solution whose share is known within this.
_STRONG, _ROUGHLY = 0.05, 0.005
_APART = 0.4  # logarithms of fractions that are drawn differ by at least this
_MOST_TRIES = 12


@dataclass(frozen=True)
class PenaltyChoice:
    """How the penalties were chosen: the strongest that still explain 90 % of the shared variance.

    The shared variance of a feature is the part that the other features of its slice explain, by
    least squares. The rest is noise that only the feature itself could explain, so it is not
    counted. The explained variance is how far the objective falls below its value without
    operators (which is the variance of the slice). It includes the cost of the penalties, and it
    falls as they grow. It is estimated from the spectra of the slices until the penalties are
    found; then the slices are solved. The search ends within 0.03 of the 90 %.

    Attributes
    ----------
    lam, eta : float
        The penalties that were chosen, or given.
    fraction : float
        The chosen penalties as a fraction of upper bounds of their critical values: twice the
        longest column of a Gram matrix for lam, twice its largest eigenvalue for eta.
    tried, shares : ndarray
        Fractions, increasing, and for each the explained variance divided by the shared variance:
        of the solution at `fraction`, estimated elsewhere.
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
    >>> print(f"{choice.fraction:.2g} of what leaves no score above zero")
    0.062 of what leaves no score above zero
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

    A penalty that is None is chosen; if both are, they are the same fraction of the upper bounds
    of their critical values. The share that an optimum explains never grows with a penalty, and
    the spectra of the slices tell it to a few thousandths (`SliceExecutor.estimates`). So the
    fraction is found without solving, and slices are solved once. If penalties are strong, a rough
    solution corrects the estimates first. If the final solution should explain too much or too
    little after all, the search goes on with solutions.
    """
    executor.prepare(n_jobs)
    bounds = executor.bounds(n_jobs)
    energy, shared = executor.energies(n_samples)
    shared = max(shared, _LEAST_SHARED * energy)

    def penalties(fraction: float) -> tuple[float, float]:
        return (
            _rounded(fraction * bounds.lam) if lam is None else lam,
            _rounded(fraction * bounds.eta) if eta is None else eta,
        )

    def estimated(fractions: list[float]) -> dict[float, float]:
        lams, etas = np.array([penalties(fraction) for fraction in fractions]).T
        objectives = executor.estimates(solver.objective_ridge, lams, etas, n_jobs)
        return dict(zip(fractions, (energy - objectives) / shared, strict=True))

    def solved(fraction: float, solver: SliceSolver) -> tuple[Solution, float]:
        solution = executor.solve(solver, *penalties(fraction), n_jobs, callback)
        objective = solution.objective
        return solution, (energy - float(namespace_of(objective).sum(objective))) / shared

    estimates = _Estimates(estimated)
    fraction: float | None = estimates.crossing()
    assert fraction is not None
    if fraction > _STRONG and solver.name == "exact":
        roughly = replace(solver, tol=max(solver.tol, _ROUGHLY * shared / energy))
        estimates.correct(fraction, solved(fraction, roughly)[1])
        fraction = estimates.crossing()
    shares: dict[float, float] = {}
    kept: tuple[float, Solution] | None = None  # only the best one, because operators can be large
    while fraction is not None:
        solution, shares[fraction] = solved(fraction, solver)
        if kept is None or _value(fraction, shares) > _value(kept[0], shares):
            kept = fraction, solution
        fraction = _next_fraction(fraction, shares, estimates)
    assert kept is not None
    fraction, solution = kept
    chosen = penalties(fraction)
    reason = _reason(chosen, (lam is None, eta is None), fraction, shares)
    estimates.move_to(fraction, shares[fraction])
    curve = {one: share for one, share in estimates.shares().items() if _is_apart(one, shares)}
    curve |= shares
    tried = np.array(sorted(curve))
    found = np.array([curve[one] for one in tried])
    choice = PenaltyChoice(*chosen, fraction, tried, found, _SHARE, shared / energy, reason)
    return solution, choice


class _Estimates:
    """Estimated shares by fraction, the closer to the target the denser.

    They are requested several at a time, because a request may read all samples again.

    Parameters
    ----------
    estimated : callable
        Returns the shares at some fractions.
    """

    def __init__(self, estimated: Callable[[list[float]], dict[float, float]]) -> None:
        self._estimated = estimated
        self._known = estimated(_COARSE)
        self._error = 0.0

    def shares(self) -> dict[float, float]:
        """Return the shares at all fractions so far, corrected."""
        return {one: share + self._error for one, share in self._known.items()}

    def correct(self, fraction: float, share: float) -> None:
        """Shift all estimates by the error of one of them."""
        if fraction not in self._known:
            self._known |= self._estimated([fraction])
        self._error = share - self._known[fraction]

    def move_to(self, fraction: float, share: float) -> None:
        """Shift the curve through all estimates to a share, without another estimate."""
        known = sorted(self._known)
        there = np.interp(np.log(fraction), np.log(known), [self._known[one] for one in known])
        self._error = share - float(there)

    def crossing(self) -> float:
        """Return the largest fraction that explains enough, by interpolation; else the smallest."""
        for _ in range(_MOST_ROUNDS):
            low, high = self._bracket()
            if low is None and min(self._known) > _SMALLEST:
                wanted = [_SMALLEST * _STEP**k for k in range(4)]
            elif high is None and max(self._known) < _LARGEST:
                wanted = [_LARGEST]
            elif low is None or high is None:
                return low or _SMALLEST
            elif high / low > _NEAR:
                wanted = [_rounded(one) for one in np.geomspace(low, high, 5)[1:-1]]
            else:
                break
            self._known |= self._estimated(wanted)
        low, high = self._bracket()
        assert low is not None
        return low if high is None else _between(low, high, self.shares())

    def _bracket(self) -> tuple[float | None, float | None]:
        """Return the largest fraction that explains enough, and the smallest larger one."""
        shares = self.shares()
        low = max((one for one, share in shares.items() if share >= _SHARE), default=None)
        high = min((one for one in shares if low is not None and one > low), default=None)
        return low, high


def _between(low: float, high: float, shares: dict[float, float]) -> float:
    """Interpolate the logarithm of the fraction linearly in the share."""
    way = (shares[low] - _SHARE) / (shares[low] - shares[high])
    way = min(max(way, 0.1), 0.9)  # stay off both ends
    return _rounded(math.exp((1 - way) * math.log(low) + way * math.log(high)))


def _is_apart(fraction: float, shares: dict[float, float]) -> bool:
    """Whether a fraction is far from those that were solved, so that estimates keep their order."""
    return all(abs(math.log(fraction / one)) > _APART for one in shares)


def _rounded(value: float) -> float:
    """Round to three digits, to hide rounding of sums that depends on how samples are chunked."""
    return float(f"{value:.3g}")


def _value(fraction: float, shares: dict[float, float]) -> tuple[bool, float]:
    """Sort key of fractions: first those that explain enough (the largest is best), then others."""
    enough = shares[fraction] >= _SHARE - _TOLERANCE
    return enough, fraction if enough else -fraction


def _next_fraction(last: float, shares: dict[float, float], estimates: _Estimates) -> float | None:
    """Return the fraction to solve at next; None if one is good enough or none can be better."""
    if len(shares) == _MOST_TRIES or any(abs(s - _SHARE) <= _TOLERANCE for s in shares.values()):
        return None
    low = max((one for one, share in shares.items() if share > _SHARE), default=0.0)
    high = min((one for one, share in shares.items() if share < _SHARE), default=math.inf)
    if low >= high or low == _LARGEST or high == _SMALLEST:
        return None  # the paper's iteration need not be monotone
    estimates.correct(last, shares[last])
    estimate = estimates.crossing()
    if low < estimate < high:
        return estimate
    if high == math.inf:
        return min(_STEP * low, _LARGEST)
    if low == 0:
        return max(high / _STEP, _SMALLEST)
    between = _between(low, high, shares)
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
    what = f"{' and '.join(names)}, {fraction:.2g} of penalties that make every score zero"
    share = shares[fraction]
    if share < _SHARE - _TOLERANCE:
        return (
            f"{what}: they explain {share:.0%} of the variance that features share; no smaller "
            f"fraction that was tried explains {_SHARE:.0%}"
        )
    return (
        f"{what}: the strongest penalties that still explain {_SHARE:.0%} of the variance that "
        f"features share ({share:.0%})"
    )
