"""Features as users name them: by index, by mask, by coordinates, or by name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, to_numpy

__all__ = ["FeatureFinder"]


class FeatureFinder:
    """Turns what users give for features into flat indices.

    Parameters
    ----------
    shape : tuple of int
        The grid of features: the shape of a sample, or the length of the mode.
    names : array-like of str
        The names of all features, flat.
    """

    def __init__(self, shape: tuple[int, ...], names: Iterable[Any]) -> None:
        self.shape = shape
        self.size = math.prod(shape)
        self._given_names = names

    def some(self, given: Any, argument: str) -> list[int]:
        """Return the features that an argument gives, in its order; repeated ones once."""
        return list(dict.fromkeys(self._several(given, argument)))

    def is_one(self, given: Any) -> bool:
        """Whether a tuple is the coordinates of one feature, and not several features."""
        return isinstance(given, tuple) and len(self.shape) > 1 and all(map(_is_whole, given))

    def values(self, given: Any, argument: str) -> NDArray[Any]:
        """Return one value per feature, given in the shape of the features or flat."""
        array = np.asarray(to_numpy(given))
        if array.shape not in (self.shape, (self.size,)):
            raise ValueError(
                f"{argument} has shape {array.shape}, but must have one value for each feature: "
                f"shape {self._shapes()}"
            )
        return array.ravel()

    def pairs(self, given: Mapping[Any, Any], argument: str) -> Iterator[tuple[int, Any]]:
        """Yield the features of a mapping and their values; none may have two."""
        keys: dict[int, Any] = {}
        for key, value in given.items():
            feature = self.one(key, argument)
            if feature in keys:
                raise ValueError(
                    f"{argument} has the feature {self.names[feature]!r} twice, as "
                    f"{keys[feature]!r} and as {key!r}; give it once"
                )
            keys[feature] = key
            yield feature, value

    def _several(self, given: Any, argument: str) -> list[int]:
        if given is None:
            return []
        if isinstance(given, str) or _is_whole(given):
            return [self.one(given, argument)]
        if self.is_one(given):
            return [self.one(given, argument)]
        if is_device_array(given) or hasattr(given, "__array__"):
            return self._from_array(np.asarray(to_numpy(given)), argument)
        if isinstance(given, Mapping | Iterator) or not isinstance(given, Iterable):
            raise ValueError(
                f"{argument} must be features (a list of indices, names or tuples of coordinates, "
                f"or a mask), got {given!r}"
            )
        items = list(given)
        if items and all(isinstance(item, bool | np.bool_) for item in items):
            return self._from_array(np.array(items), argument)
        found = []
        for item in items:
            if getattr(item, "ndim", 0):
                found += self._from_array(np.asarray(to_numpy(item)), argument)
            else:
                found.append(self.one(item, argument))
        # The order in which a set is read may differ from run to run.
        return sorted(found) if isinstance(given, set | frozenset) else found

    def _from_array(self, array: NDArray[Any], argument: str) -> list[int]:
        if array.dtype == bool:
            if array.shape not in (self.shape, (self.size,)):
                raise ValueError(
                    f"{argument} is a mask of shape {array.shape}, but a mask of the features has "
                    f"shape {self._shapes()}"
                )
            return np.flatnonzero(array).tolist()
        if array.size == 0:
            return []
        if array.dtype.kind in "iu" and array.ndim == 2 and array.shape[1] == len(self.shape) > 1:
            return [self.one(tuple(row), argument) for row in array.tolist()]
        if array.ndim > 1 or array.dtype.kind not in "iuUOT":
            raise ValueError(
                f"{argument} is an array of {array.dtype} with shape {array.shape}; give a list of "
                "indices, one row of coordinates per feature, names, or a boolean mask"
            )
        return [self.one(item, argument) for item in array.reshape(-1).tolist()]

    def one(self, item: Any, argument: str) -> int:
        """Return the feature that an index, a tuple of coordinates or a name stands for."""
        if isinstance(item, str):
            return self._by_name(item, argument)
        if isinstance(item, tuple):
            return self._by_coordinates(item, argument)
        if not _is_whole(item):
            raise ValueError(
                f"{argument} has {item!r}, which is no feature; give an index, a name, a tuple of "
                "coordinates, or a boolean mask of all features"
            )
        if not -self.size <= item < self.size:
            raise ValueError(
                f"{argument} has the feature {item}, but there are {self.size} features; give an "
                f"index from 0 to {self.size - 1}, or from -{self.size} to -1"
            )
        return int(item) % self.size

    def _by_coordinates(self, item: tuple[Any, ...], argument: str) -> int:
        if len(self.shape) == 1:
            raise ValueError(
                f"{argument} has the coordinates {item}, but features have one axis here; give an "
                "index"
            )
        if len(item) != len(self.shape) or not all(map(_is_whole, item)):
            raise ValueError(
                f"{argument} has the coordinates {item}, but a feature has {len(self.shape)} whole "
                f"numbers as coordinates, for the shape {self.shape}"
            )
        if any(not -length <= i < length for i, length in zip(item, self.shape, strict=True)):
            raise ValueError(
                f"{argument} has the coordinates {item}, which are outside the shape {self.shape}"
            )
        inside = [int(i) % length for i, length in zip(item, self.shape, strict=True)]
        return int(np.ravel_multi_index(inside, self.shape))

    def _by_name(self, name: str, argument: str) -> int:
        places = self._places.get(name, [])
        if not places:
            near = difflib.get_close_matches(name, self._places, n=3)
            known = near or list(self._places)[:3]
            hint = "did you mean" if near else "names are, for instance,"
            raise ValueError(
                f"{argument} has the name {name!r}, which no feature has; {hint} "
                f"{', '.join(map(repr, known))}{'?' if near else ''}"
            )
        if len(places) > 1:
            raise ValueError(
                f"{argument} has the name {name!r}, which {len(places)} features have; give their "
                "indices"
            )
        return places[0]

    @cached_property
    def names(self) -> list[str]:
        """The names of all features."""
        return [str(name) for name in self._given_names]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self.names):
            places.setdefault(name, []).append(place)
        return places

    def _shapes(self) -> str:
        return " or ".join(str(shape) for shape in dict.fromkeys([self.shape, (self.size,)]))


def _is_whole(item: Any) -> bool:
    return isinstance(item, Integral) and not isinstance(item, bool | np.bool_)
