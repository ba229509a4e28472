"""Penalties as users give them and as they stand in the problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.selectors._slices import Slices

__all__ = ["AUTO", "absolute_penalties", "check_fractions", "given_penalties", "is_auto"]


AUTO = "auto"


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == AUTO


def check_fractions(penalty: str, given: Mapping[str, ArrayLike]) -> None:
    """Refuse fractions above 1; `given` has penalties by the names of their parameters."""
    if penalty != "relative":
        return
    for name, values in given.items():
        if is_auto(values):
            continue
        largest = np.max(values)
        if largest > 1:
            raise ValueError(
                f"{name} has to be at most 1 with penalty='relative', where it is a fraction of "
                f"the critical value above which nothing is left, got {largest:g}; try 0.1, or "
                "use penalty='absolute'"
            )


def given_penalties(
    penalty: str, lam: float | str, eta: float | str, slices: Slices
) -> tuple[float | None, float | None]:
    """The penalties of the problem, None for those that are left to be chosen."""
    if is_auto(lam) and is_auto(eta):
        return None, None
    one, other = (0.0 if is_auto(value) else float(value) for value in (lam, eta))
    found = absolute_penalties(penalty, one, other, slices)
    return (
        None if is_auto(lam) else float(found[0]),
        None if is_auto(eta) else float(found[1]),
    )


def absolute_penalties(
    penalty: str, lam: ArrayLike, eta: ArrayLike, slices: Slices
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The penalties of the problem: those given, or these fractions of the critical values."""
    lam, eta = np.asarray(lam, dtype=float), np.asarray(eta, dtype=float)
    if penalty == "absolute":
        return lam, eta
    critical = slices.critical()
    return critical.lam * lam, critical.eta * eta
