"""Known values that are missing in new samples, estimated from the other known ones."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint

__all__ = ["Doubt", "KnownGaps"]


class SingularValues(Protocol):
    """The decomposition of the known values of the samples that an estimate was learned from."""

    right: Any
    squares: Any
    n_samples: float

    def to_numpy(self) -> Self:
        """Return the same with NumPy arrays."""


class Doubt(NamedTuple):
    """Variances that missing known values add, in squared units: of all values, and of theirs."""

    of_all: NDArray[np.float64]
    of_known: NDArray[np.float64]


class KnownGaps:
    """Conditional means of known values that are missing in a new sample, given the others.

    Estimates are linear, so what they make of these means is the conditional mean of all values.
    """

    def __init__(self, known: SingularValues, penalties: NDArray[np.float64]) -> None:
        self._known, self._penalties = known, penalties

    def filled(self, centred: NDArray[Any], weights: Any) -> tuple[NDArray[Any], Doubt | None]:
        """Return centred values ``(m, s)`` without NaN; given weights, also the doubt."""
        known = self._known
        products = (adjoint(known.right) * known.squares) @ known.right
        found, gaps = np.where(np.isnan(centred), 0, centred), np.isnan(centred)
        doubt = None
        if weights is not None:
            doubt = Doubt(np.zeros((len(found), weights.shape[1])), np.zeros(found.shape))
        patterns, which = np.unique(gaps, axis=0, return_inverse=True)
        for number, gap in enumerate(patterns):
            if not gap.any():
                continue
            rows, seen = np.flatnonzero(which.ravel() == number), ~gap
            inner = products[np.ix_(seen, seen)] + np.diag(self._penalties[seen])
            across = np.linalg.solve(inner, products[np.ix_(seen, gap)])
            found[np.ix_(rows, gap)] = found[np.ix_(rows, seen)] @ across
            if doubt is not None:
                left = products[np.ix_(gap, gap)] - products[np.ix_(gap, seen)] @ across
                left /= known.n_samples - 1
                part = np.asarray(weights)[gap]
                doubt.of_all[rows] = np.maximum(
                    np.sum(part.conj() * (left.T @ part), axis=0).real, 0
                )
                doubt.of_known[np.ix_(rows, gap)] = np.maximum(np.diagonal(left).real, 0)
        return found, doubt

    def to_numpy(self) -> KnownGaps:
        """Return the same with NumPy arrays."""
        return KnownGaps(self._known.to_numpy(), self._penalties)
