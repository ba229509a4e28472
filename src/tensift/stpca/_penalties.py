"""Turn the parameters `lam` and `eta` into the penalties of the problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.stpca.execution import SliceExecutor

__all__ = ["AUTO", "absolute_penalties", "check_fractions", "given_penalties", "is_auto"]


AUTO = "auto"
_USUAL = 1e6  # smaller penalties are never refused
_HUGE = 1e12  # times the critical value


def is_auto(value: Any) -> bool:
    """Whether a parameter is to be chosen automatically."""
    return isinstance(value, str) and value == AUTO


def check_fractions(units: str, given: Mapping[str, ArrayLike]) -> None:
    """Raise an error for fractions above 1; `given` maps parameter names to penalties."""
    if units != "relative":
        return
    for name, values in given.items():
        if is_auto(values):
            continue
        largest = np.max(values)
        if largest > 1:
            raise ValueError(
                f"{name} must be at most 1 with penalty_units='relative', where it is a fraction "
                f"of the critical value that makes all scores zero, got {largest:g}; try 0.1, or "
                "use penalty_units='absolute'"
            )


def given_penalties(
    units: str, lam: float | str, eta: float | str, executor: SliceExecutor
) -> tuple[float | None, float | None]:
    """Return the penalties of the problem; None for those to be chosen automatically."""
    if is_auto(lam) and is_auto(eta):
        return None, None
    one, other = (0.0 if is_auto(value) else float(value) for value in (lam, eta))
    found = absolute_penalties(units, {"lam": one, "eta": other}, executor)
    return (
        None if is_auto(lam) else float(found[0]),
        None if is_auto(eta) else float(found[1]),
    )


def absolute_penalties(
    units: str, given: Mapping[str, ArrayLike], executor: SliceExecutor
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the penalties of the problem: as given, or times their critical values.

    `given` maps the names of the parameters for lam and eta, in this order, to their values.
    """
    lam, eta = (np.asarray(values, dtype=float) for values in given.values())
    if units == "absolute":
        _refuse_huge_penalties(dict(zip(given, (lam, eta), strict=True)), executor)
        return lam, eta
    critical = executor.critical()
    return critical.lam * lam, critical.eta * eta


def _refuse_huge_penalties(given: Mapping[str, NDArray], executor: SliceExecutor) -> None:
    """Raise an error for penalties so large that sums with them would lose all other terms."""
    if all(values.max(initial=0.0) <= _USUAL for values in given.values()):
        return  # no need to look at the data
    bounds = executor.bounds()
    for (name, values), critical in zip(given.items(), (bounds.lam, bounds.eta), strict=True):
        largest = float(values.max(initial=0.0))
        if largest > _USUAL and largest > _HUGE * float(critical) > 0:
            raise ValueError(
                f"{name}={largest:g} is too large for these data: from {float(critical):.3g} on, "
                "all scores are zero; give a smaller value"
            )
