"""Samples without their names, the names, and how to put the names back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tensift.labels._names import Names

__all__ = ["Form", "Labelled", "SampleDims"]

SampleDims = Hashable | Sequence[Hashable] | None  # a dimension or several that count samples


class Form(Protocol):
    """What samples were before they became an array; gives results the same form."""

    def selected(self, kept: Any, features: NDArray, mode: int | None) -> Any:
        """Return what `transform` keeps.

        Parameters
        ----------
        kept : array
            ``(n, k)`` for elements, ``(n, d_1, ..., k, ..., d_m)`` for indices of a mode.
        features : ndarray of int
            The kept features, flat and increasing.
        mode : int or None
            The mode of the features.
        """

    def coordinates(self, values: Any, dim: str) -> Any:
        """Return one row of numbers per sample, such as its coordinates in components."""

    def restored(self, values: Any, names: Names) -> Any:
        """Return whole samples ``(n, d_1, ..., d_m)``."""


@dataclass(frozen=True)
class Labelled:
    """Samples as the mathematics takes them, and what they were.

    Estimators take it in place of samples: ``fit(Labelled(array, names))``.

    Attributes
    ----------
    samples : array-like or Source
        Samples along the first axis.
    names : Names or None
        The names of the feature modes, if they have some.
    form : Form or None
        Gives results the form of the samples; None if arrays are returned.
    scales : ndarray or None
        What samples are divided by before anything is learned from them, broadcast over one sample
        or over all of them. None if they are left as they are.
    groups : ndarray of shape (n,) or None
        Which recording each sample is from, if there are several: its key or its place.
    """

    samples: Any
    names: Names | None = None
    form: Form | None = None
    scales: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return np.asarray(self.samples, dtype=dtype, copy=copy)

    def in_one_unit(self) -> Labelled:
        """Return samples that are divided by `scales`, for functions that know no units."""
        if self.scales is None or self.names is None:
            return self
        return Labelled(
            np.asarray(self.samples) / self.scales, self.names.in_one_unit(), groups=self.groups
        )
