"""Groups of features, and numbers for groups, as users give them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import to_numpy
from tensift.selection._feature_references import FeatureFinder

__all__ = ["features_by_label", "numbers_by_label"]


def features_by_label(groups: Any, finder: FeatureFinder) -> dict[Any, NDArray[np.intp]]:
    """Return the features of every group, in the order in which the labels appear.

    `groups` is one label per feature, None or NaN for none, or a mapping from labels to features.
    """
    if isinstance(groups, Mapping):
        return {
            label: np.array(finder.some(features, f"group {label!r}"), dtype=np.intp)
            for label, features in groups.items()
        }
    groups = to_numpy(groups)
    if not hasattr(groups, "__array__"):
        groups = _as_objects(groups)  # labels of different types stay as they are
    found: dict[Any, list[int]] = {}
    for feature, label in enumerate(finder.values(groups, "groups").tolist()):
        if not _is_missing(label):
            try:
                found.setdefault(label, []).append(feature)
            except TypeError:
                raise ValueError(f"groups has the label {label!r}, which is not hashable") from None
    return {label: np.array(features, dtype=np.intp) for label, features in found.items()}


def numbers_by_label(given: Any, name: str, groups: Mapping[Any, Any]) -> dict[Any, int]:
    """Return a number for each group: one for all, or a mapping from labels."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(groups, _whole(given, name))
    for label in given:
        if label not in groups:
            known = [str(one) for one in groups]
            near = difflib.get_close_matches(str(label), known, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"groups are {known[:10]}"
            raise ValueError(f"{name} has the group {label!r}, which no feature is in; {hint}")
    return {label: _whole(number, name) for label, number in given.items()}


def _whole(number: Any, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
        raise ValueError(
            f"{name} must be a whole number, zero or more, or a mapping from groups to such "
            f"numbers, got {number!r}"
        )
    return int(number)


def _is_missing(label: Any) -> bool:
    nan = isinstance(label, float) and label != label
    return label is None or nan or type(label).__name__ in ("NAType", "NaTType")  # of pandas


def _as_objects(groups: Any) -> NDArray[Any]:
    """Return a list of labels, flat or nested, as an array; tuples are labels."""
    level = list(groups)
    shape = [len(level)]
    while level and all(isinstance(one, list | np.ndarray) for one in level):
        if len(set(map(len, level))) > 1:
            break
        shape.append(len(level[0]))
        level = [label for one in level for label in one]
    labels = np.empty(len(level), dtype=object)
    for place, label in enumerate(level):
        labels[place] = label
    return labels.reshape(shape)
