"""Base class of selectors that see samples as they are, element by element, with weights."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from tensift._utils.sklearn_compat import fit_context
from tensift.rivals._spread import spread_of_elements
from tensift.selection import TensorSelector
from tensift.sources import SampleWeights

__all__ = ["ElementSelector"]


class ElementSelector(TensorSelector):
    """Base class of selectors that take samples of any shape, real or complex, with weights.

    A subclass implements `_fit_elements`, which selects from checked samples.
    """

    @fit_context
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score and select the features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without infinity, and without NaN unless a parameter allows it. Tensors may be
            complex.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts: 3 like three copies of it, 0 like its absence.
        groups : array-like of shape (n,), optional
            The group of each sample. All groups then count equally.

        Returns
        -------
        self
        """
        self._fit_elements(*spread_of_elements(self, X, sample_weight, groups))
        return self

    @abstractmethod
    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        """Select from samples, given the standard deviations of their elements."""
