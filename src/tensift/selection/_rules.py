"""The rules that select features once these have scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._utils.namespace import is_device_array
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._count import SuggestedCount, count_by_neighbours
from tensift.selection._count_by_reconstruction import suggest_count_by_reconstruction
from tensift.selection._geometry import Geometry, GeometryOrder
from tensift.selection._order import rank_features

__all__ = ["RULES", "Selection", "select_features"]

RULES = ("geometry", "reconstruct", "top")


@dataclass(frozen=True)
class Selection:
    """An order of all features.

    Attributes
    ----------
    order : array of int
        Flat feature indices, best first.
    curve : array or None
        What the first 1, 2, ... selected features reach by the rule; None for "top".
    suggested : SuggestedCount or None
        How many to keep, if that was asked for.
    """

    order: Any
    curve: Any = None
    suggested: SuggestedCount | None = None


def select_features(
    rule: str,
    scores: Any,
    ties: Sequence[Any],
    rows: Any,
    feature_mode: int | None,
    count_of: Callable[[SuggestedCount | None], int],
    *,
    suggest: bool,
) -> Selection:
    """Order features by a rule.

    Parameters
    ----------
    rule : {"geometry", "reconstruct", "top"}
        "geometry" keeps samples recognisable (`GeometryOrder`), "reconstruct" predicts the other
        features (`ColumnSubsetOrder`), "top" takes the largest scores (`rank_features`).
    scores, ties : arrays of one value per feature
        As in `rank_features`. Only "top" uses `ties`.
    rows : array of samples or None
        Needed by all rules but "top", and for a suggestion.
    feature_mode : int or None
        What a feature is.
    count_of : callable
        Returns the number of features to select, given the suggestion.
    suggest : bool
        Whether to suggest a number of features.
    """
    geometry = suggested = None
    if rule == "geometry" or (suggest and rule == "top"):
        rows = rows if is_device_array(rows) else np.asarray(rows)
        geometry = Geometry(rows, feature_mode)
    if suggest and geometry is None:
        suggested = suggest_count_by_reconstruction(rows, feature_mode)
    elif suggest and geometry is not None:
        suggested = count_by_neighbours(rows, feature_mode, geometry)
    count = count_of(suggested)
    if rule == "top":
        return Selection(rank_features(scores, ties), suggested=suggested)
    order: GeometryOrder | ColumnSubsetOrder
    if geometry is None:
        order = ColumnSubsetOrder(rows, feature_mode, scores)
    else:
        order = GeometryOrder(geometry, scores)
    order.extend(count)
    return Selection(order.ranking(), order.curve, suggested)
