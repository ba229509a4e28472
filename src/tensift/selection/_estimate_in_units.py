"""Estimates as users want them: in their units, and NaN where nothing was ever observed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensift.selection._linear_estimate import LinearEstimate

__all__ = ["Estimate", "EstimateInUnits", "EstimateWhereObserved"]


class EstimateInUnits:
    """Scales what is known, and gives estimates and deviations their units back.

    Parameters
    ----------
    estimate : LinearEstimate
        Learned from scaled samples.
    scales : ndarray of shape (d,)
        What each element was divided by.
    elements : ndarray of int of shape (k,)
        The elements that are known.
    """

    def __init__(
        self, estimate: LinearEstimate, scales: NDArray[np.float64], elements: NDArray[np.intp]
    ) -> None:
        self.estimate, self.scales, self.elements = estimate, scales, elements

    @property
    def size(self) -> int:
        """The number of elements of a sample."""
        return self.estimate.size

    @property
    def is_complex(self) -> bool:
        """Whether the samples were complex."""
        return self.estimate.is_complex

    @property
    def mean(self) -> NDArray:
        """The mean of every element."""
        return np.asarray(self.estimate.mean * self.scales)

    def of(self, known: NDArray, *, return_std: bool) -> Any:
        """Return the estimates of all elements, and their deviations if asked for."""
        found = self.estimate.of(known / self.scales[self.elements], return_std=True)
        values, deviations = (one * self.scales for one in found)
        exact = self.estimate.deviation[self.elements] == 0
        given, place = known[:, exact], self.elements[exact]
        values[:, place] = np.where(np.isnan(given), values[:, place], given)  # without rounding
        return (values, deviations) if return_std else values


class EstimateWhereObserved:
    """Says NaN, and no deviation either, of elements that were never observed.

    Parameters
    ----------
    estimate : LinearEstimate or EstimateInUnits
        The estimate of the others.
    never : ndarray of bool of shape (d,)
        The elements that were never observed.
    """

    def __init__(
        self, estimate: LinearEstimate | EstimateInUnits, never: NDArray[np.bool_]
    ) -> None:
        self.estimate, self.never = estimate, never

    @property
    def size(self) -> int:
        """The number of elements of a sample."""
        return self.estimate.size

    @property
    def is_complex(self) -> bool:
        """Whether the samples were complex."""
        return self.estimate.is_complex

    @property
    def mean(self) -> NDArray:
        """The mean of every element."""
        return np.where(self.never, np.nan, self.estimate.mean)

    def of(self, known: NDArray, *, return_std: bool) -> Any:
        """Return the estimates of all elements, and their deviations if asked for."""
        found = self.estimate.of(known, return_std=return_std)
        for part in found if return_std else (found,):
            part[:, self.never] = np.nan
        return found


Estimate: TypeAlias = LinearEstimate | EstimateInUnits | EstimateWhereObserved
