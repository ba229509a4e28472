"""What the displays read from a fitted decomposition."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tensift.labels import Names

__all__ = ["FittedDecomposition", "in_percent", "take_samples"]


@dataclass(frozen=True)
class FittedDecomposition:
    """The components of a decomposition: their slices, and what they explain.

    ``names`` belong to the modes of a sample, ``slice_names`` to the modes across which slices are
    counted, if there are any. Coordinates along a mode name its slices only if no transform mixes
    them.
    """

    names: Names
    slice_names: Names | None
    shares: NDArray[np.float64]
    slices: NDArray[np.intp]
    numbers: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        estimator: Any,
        dims: Sequence[str] | None,
        coords: Mapping[str, Any] | None,
    ) -> FittedDecomposition:
        """Read a fitted decomposition."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "component_slices_"):
            raise TypeError(
                "estimator must be a TensorPCA or a SparseTensorPCA, got "
                f"{type(estimator).__name__}"
            )
        names = estimator._names_to_show().with_given(dims, coords)
        return cls(
            names,
            _slice_names(names, estimator.orientation_, estimator.get_params(deep=False)),
            np.asarray(estimator.explained_variance_ratio_),
            np.asarray(estimator.component_slices_),
            np.asarray(estimator.component_numbers_),
        )

    @property
    def n_coordinates(self) -> int:
        """How many coordinates `transform` gives."""
        return len(self.shares)

    def check_coordinates(self, coordinates: Sequence[int]) -> list[int]:
        """The requested coordinates, all of which must exist."""
        _refuse_single("coordinates", coordinates)
        for wanted in coordinates:
            if not isinstance(wanted, Integral) or not 0 <= wanted < self.n_coordinates:
                raise ValueError(
                    f"coordinates has {wanted!r}, but the decomposition has {self.n_coordinates} "
                    "coordinates, counted from 0"
                )
        return [int(wanted) for wanted in coordinates]

    def describe(self, coordinate: int) -> str:
        """The slice of a coordinate and its number there, in words."""
        number = f"no. {self.numbers[coordinate]}"
        if self.slice_names is None:
            return number
        index = np.unravel_index(self.slices[coordinate], self.slice_names.shape)
        return f"{self.slice_names.describe([int(place) for place in index])}, {number}"


def in_percent(share: float) -> str:
    """A share in words, such as ``12.3 %``."""
    percent = 100 * share
    return f"{percent:.3g} %" if percent == 0 or abs(percent) >= 0.01 else "< 0.01 %"


def take_samples(X: Any, samples: Sequence[int]) -> Any:
    """The requested samples, all of which must exist; rows of a data frame keep their names."""
    _refuse_single("samples", samples)
    rows = X if hasattr(X, "iloc") else np.asarray(X)
    for wanted in samples:
        if not isinstance(wanted, Integral) or not -len(rows) <= wanted < len(rows):
            raise ValueError(f"samples has {wanted!r}, which is not one of the {len(rows)} in X")
    chosen = [int(wanted) for wanted in samples]
    return rows.iloc[chosen] if hasattr(rows, "iloc") else rows[chosen]


def _refuse_single(argument: str, given: Any) -> None:
    """Refuse a single number, which could be an index or a count."""
    if isinstance(given, Integral):
        raise ValueError(
            f"{argument} must be a sequence, got {given}; give [{given}] for that one, or "
            f"range({given}) for the first {given}"
        )


def _slice_names(names: Names, mode: int, parameters: Mapping[str, Any]) -> Names | None:
    """The names of the modes across which slices are counted, and their transforms."""
    others = [other for other in range(len(names.shape)) if other != mode]
    if not others:
        return None
    specs = parameters["basis"]
    if not isinstance(specs, list | tuple):
        specs = [specs] * len(others)
    kept = names.only(others)
    dims: list[Hashable] = []
    coords: dict[Hashable, Any] = {}
    units: dict[Hashable, str] = {}
    for place, spec in enumerate(specs):
        dim = kept.dims[place]
        if isinstance(spec, str) and spec == "identity":
            dims.append(dim)
            if dim in kept.coords:
                coords[dim] = kept.coords[dim]
            if dim in kept.units:
                units[dim] = kept.units[dim]
        else:
            dims.append(f"{dim} ({spec if isinstance(spec, str) else 'transformed'})")
    return Names(kept.shape, tuple(dims), coords, units)
