"""Collect the content of the page in one dict, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift._version import __version__
from tensift.comparison import SelectorComparison
from tensift.datasets import TensorDataset
from tensift.labels import Names, unlabelled
from tensift.report._code import Source, name_of_mode
from tensift.report._encoding import encode_samples
from tensift.report._missed import Missed, missed_of
from tensift.report._suggestion import Suggestion, measures_of, rows_looked_at, suggestion_of
from tensift.report._views import View, view_of_method, view_of_selector, view_of_stability
from tensift.selection import HeldConstraints, TensorSelector, held_constraints
from tensift.sources import in_memory
from tensift.stability import StabilitySelection

__all__ = ["Content", "build_content"]

# The size of the whole page; the number of samples is chosen to reach it.
_TARGET_BYTES = 720_000
_BYTES_OF_TEMPLATE = 90_000


class FeatureColumn(TypedDict):
    """A value for every feature, as text: what it costs, or the groups that it is in."""

    title: str
    number: bool
    cells: list[str]


class Content(TypedDict):
    """The content of the page."""

    title: str
    version: str
    geometry: dict[str, Any]
    selectable: int
    samples: dict[str, Any]
    suggestion: Suggestion
    views: list[View]
    comparison: dict[str, Any] | None
    stability: list[str] | None
    missed: Missed | None
    constraints: list[str]
    features: list[FeatureColumn]
    facts: list[list[str]]


def build_content(
    selector: TensorSelector | None,
    data: TensorDataset | ArrayLike,
    comparison: SelectorComparison | None,
    alternatives: Mapping[str, TensorSelector] | None,
    stability: StabilitySelection | None,
    title: str | None,
    source: Source,
) -> Content:
    """Check that the parts belong together, and collect them in one dict."""
    shape, mode = _features(selector, comparison)
    selector = None if selector is None else selector.to_numpy()
    if selector is not None:
        labelled = selector._unlabelled(data, fitted=True)
    else:
        labelled = unlabelled(data, names=None if comparison is None else comparison.names)
    dataset = _dataset(data, to_numpy(in_memory(labelled.samples)), shape)
    names = _names(selector, comparison, labelled.names, shape)
    views = []
    if selector is not None:
        views.append(view_of_selector("", "chosen", selector, source))
    for name, other in (alternatives or {}).items():
        _check_alternative(name, other, shape, mode)
        views.append(view_of_selector(name, "alternative", other.to_numpy(), source))
    if comparison is not None:
        views += [view_of_method(method, comparison, source) for method in comparison.features]
    if stability is not None:
        _check_stability(stability, shape if mode is None else (shape[mode],))
        views.append(view_of_stability(stability, source))
    if not views:
        raise ValueError("no method of comparison succeeded, so there is nothing to show")
    views[0]["name"] = views[0]["name"] or _own_name(selector)
    geometry = _geometry(names, mode, _first_feature(selector, comparison))
    lacks = hasattr(selector, "missing_") or getattr(comparison, "n_observed", None) is not None
    missed = None
    if selector is not None:
        fitted = int(selector.get_support().sum())
        looked_at = rows_looked_at(selector, dataset, missing=lacks)
        missed = missed_of(looked_at, selector.order_, fitted, mode, selector._deviations)
    used = sum(len(v["scores"]["values"]) + len(v["ranking"]["values"]) for v in views)
    used += 0 if missed is None else 2 * len(missed["predicted"])
    selectable = _n_selectable(selector, comparison)
    held = _held(selector, comparison)
    columns = _feature_columns(held)
    used += sum(len(cell) + 3 for column in columns for cell in column["cells"])
    channel, trace = geometry["mode"], geometry["trace"]
    budget = _TARGET_BYTES - _BYTES_OF_TEMPLATE - used
    return Content(
        title=title or dataset.name or "Selected features",
        version=__version__,
        geometry=geometry,
        selectable=selectable,
        samples=encode_samples(dataset, channel, trace, budget, missing=lacks),
        suggestion=suggestion_of(selector, dataset, mode, selectable, missing=lacks),
        views=views,
        comparison=None if comparison is None else _comparison(comparison),
        stability=None if stability is None else stability.reason.splitlines(),
        missed=missed,
        constraints=_constraints(held),
        features=columns,
        facts=[
            [str(key), str(value)]
            for key, value in (measures_of(selector, dataset, mode) | dict(source.facts)).items()
        ],
    )


def _features(
    selector: TensorSelector | None, comparison: SelectorComparison | None
) -> tuple[tuple[int, ...], int | None]:
    """Return the shape of a sample and the feature mode, which must be the same everywhere."""
    if comparison is not None and not isinstance(comparison, SelectorComparison):
        raise TypeError(
            f"comparison must be a result of compare_selectors; got {type(comparison).__name__}"
        )
    if selector is None:
        if comparison is None:
            raise ValueError("selector is None; pass a fitted selector, or a comparison")
        return tuple(comparison.feature_shape), comparison.feature_mode
    if not isinstance(selector, TensorSelector):
        raise TypeError(
            f"selector must be a fitted selector of tensift; got {type(selector).__name__}"
        )
    check_is_fitted(selector)
    shape, mode = tuple(selector.feature_shape_), selector._mode_of_features()
    if comparison is not None and (comparison.feature_shape, comparison.feature_mode) != (
        shape,
        mode,
    ):
        raise ValueError(
            f"comparison has samples of shape {comparison.feature_shape} and feature_mode="
            f"{comparison.feature_mode}, selector has {shape} and {mode}; they must be the same"
        )
    return shape, mode


def _names(
    selector: TensorSelector | None,
    comparison: SelectorComparison | None,
    of_data: Names | None,
    shape: tuple[int, ...],
) -> Names:
    """Return the names of the data, else those that were fitted, else numbers of modes."""
    if of_data is not None and of_data.shape == shape:
        return of_data
    if selector is not None:
        return selector._names_to_show()
    assert comparison is not None
    return comparison.names or Names(shape)


def _dataset(data: Any, samples: Any, shape: tuple[int, ...]) -> TensorDataset:
    """Return the samples of `data` as a dataset; rows get the shape of the features."""
    if not isinstance(data, TensorDataset):
        array = np.asanyarray(samples)
        if array.ndim == 2 and array.shape[1] == np.prod(shape):
            array = array.reshape(-1, *shape)
        name = getattr(data, "name", None)  # of a DataArray
        data = TensorDataset(array, name=name if isinstance(name, str) else "")
    if data.feature_shape != shape or data.n_samples == 0:
        raise ValueError(
            f"data has {data.n_samples} samples of shape {data.feature_shape}; give at least one "
            f"of the shape that was fitted, {shape}"
        )
    return data


def _check_alternative(
    name: str, other: TensorSelector, shape: tuple[int, ...], mode: int | None
) -> None:
    if not isinstance(other, TensorSelector):
        raise TypeError(
            f"alternatives[{name!r}] must be a fitted selector; got {type(other).__name__}"
        )
    check_is_fitted(other)
    if (tuple(other.feature_shape_), other._mode_of_features()) != (shape, mode):
        raise ValueError(
            f"alternatives[{name!r}] has other features than selector: samples of shape "
            f"{tuple(other.feature_shape_)}, feature_mode={other._mode_of_features()}"
        )


def _check_stability(found: StabilitySelection, layout: tuple[int, ...]) -> None:
    if not isinstance(found, StabilitySelection):
        raise TypeError(
            f"stability must be a result of stability_selection; got {type(found).__name__}"
        )
    if found.feature_shape != layout:
        raise ValueError(
            f"stability has features of shape {found.feature_shape}, the selection {layout}; they "
            "must be the same"
        )


def _own_name(selector: TensorSelector | None) -> str:
    """Return a name for the selection: its orientation and basis, if it has them."""
    if selector is None:
        return ""
    parameters = selector.get_params(deep=False)
    if "orientation" not in parameters:
        return type(selector).__name__
    spec = parameters["basis"]
    specs = spec if isinstance(spec, list) else [spec]
    words = [part if isinstance(part, str) else "matrix" for part in specs]
    return f"orientation {name_of_mode(selector, selector.orientation_)}, {', '.join(words)}"


def _first_feature(selector: TensorSelector | None, comparison: SelectorComparison | None) -> int:
    """Return the flat index of the feature that was selected first."""
    if selector is not None:
        return int(selector.order_[0])
    assert comparison is not None
    return int(next(iter(comparison.orders.values()))[0])


def _geometry(names: Names, mode: int | None, first: int) -> dict[str, Any]:
    """Choose the modes to draw as axes, and name modes and their indices.

    The axes of images are the two longest modes. The axis of traces is the longest mode besides
    the channels. All other modes are shown one index at a time, first that of the first feature.
    """
    shape = names.shape
    modes = range(len(shape))
    if mode is not None and len(shape) == 1:
        mode = None  # in a vector, elements and indices of the mode are the same
    free = [m for m in modes if m != mode]
    longest = sorted(free, key=lambda m: (-shape[m], m))
    axes = sorted(longest[: 2 if mode is None else 1])
    further = [m for m in free if m not in axes]
    return {
        "shape": list(shape),
        "mode": mode,
        "trace": axes[0] if mode is not None else None,
        "axes": axes,
        "further": further,
        "start": [int(np.unravel_index(first, shape)[m]) if mode is None else 0 for m in further],
        "titles": [names.title(m) for m in modes],
        "names": [names.name(m) for m in modes],
        "units": [names.unit(m) for m in modes],
        "labels": [
            [names.label(m, i) for i in range(shape[m])] if names.is_named(m) else None
            for m in modes
        ],
        "columns": _columns(names if mode is None else names.only([mode])),
    }


def _columns(names: Names) -> list[dict[str, Any]]:
    """Return the columns of ``ranking.csv`` for the modes of the features."""
    found = []
    for mode, (title, label) in enumerate(names.columns()):
        cells = None if label is None else [str(cell) for cell in names.cells(mode)]
        found.append({"title": title, "label": label, "cells": cells})
    return found


def _n_selectable(selector: TensorSelector | None, comparison: SelectorComparison | None) -> int:
    """Return the number of features, without those that were never observed."""
    if selector is not None:
        return selector._n_observed(selector.order_.shape[0])
    assert comparison is not None
    seen = comparison.n_observed
    return comparison.n_features if seen is None else seen


def _held(
    selector: TensorSelector | None, comparison: SelectorComparison | None
) -> HeldConstraints | None:
    """Return what constraints did to the selection, or else to the first of the comparison."""
    held = None if selector is None else held_constraints(selector)
    if held is None and comparison is not None:
        held = next(iter(comparison.held.values()), None)
    return held


def _feature_columns(held: HeldConstraints | None) -> list[FeatureColumn]:
    """Return what constraints say about single features: further columns of ``ranking.csv``."""
    columns = []
    if held is not None and held.costs is not None:
        costs = [repr(cost) for cost in held.costs.tolist()]
        columns.append(FeatureColumn(title="cost", number=True, cells=costs))
    if held is not None and held.groups is not None:
        columns.append(FeatureColumn(title="group", number=False, cells=held.groups))
    return columns


def _constraints(held: HeldConstraints | None) -> list[str]:
    """Return which constraints held, one sentence for each; none without constraints."""
    words = () if held is None else held.words
    return [f"{text[0].upper()}{text[1:]}." for text in words]


def _comparison(found: SelectorComparison) -> dict[str, Any]:
    agreement = [[None if np.isnan(v) else round(float(v), 3) for v in r] for r in found.agreement]
    return {
        "table": found.to_table(),
        "methods": list(found.methods),
        "agreement": agreement,
        "sentences": [*found.conclusions(), *found.notes],
        "count": found.n_features_to_select,
    }
