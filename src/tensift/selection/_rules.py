"""The rules that select features once these have scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, moved_to, to_numpy
from tensift.selection._column_subsets import ColumnSubsetOrder
from tensift.selection._count import SuggestedCount, count_by_neighbours
from tensift.selection._count_by_reconstruction import count_by_reconstruction
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._greedy import FixedMerits
from tensift.selection._limited_choice import Chosen, choose
from tensift.selection._limits import FeatureLimits
from tensift.selection._order import rank_features
from tensift.sources import KeptSamples

__all__ = [
    "RULES",
    "KeptUnderConstraints",
    "Selection",
    "limited_selection",
    "select_features",
    "selection_by",
]

RULES = ("geometry", "reconstruct", "top")


@dataclass(frozen=True)
class KeptUnderConstraints:
    """Which counts a fitted order can be cut to, if it was made under constraints.

    Attributes
    ----------
    asked : int
        The number of features that was asked for.
    kept : int
        The number that was kept, which is smaller if a budget ran out.
    stops : tuple of int
        The counts at which the beginning of the order meets all constraints.
    """

    asked: int
    kept: int
    stops: tuple[int, ...]

    def of(self, count: int) -> int:
        """Return how many features to keep if `count` are asked for now."""
        if count > self.asked:
            raise ValueError(
                f"n_features_to_select={count} was set after a fit of {self.asked} features under "
                "constraints, which decide what comes next; fit again"
            )
        if count == self.asked or (self.kept < self.asked and count >= self.kept):
            return self.kept
        if count not in self.stops:
            raise ValueError(
                f"n_features_to_select={count} was set after a fit under constraints, but the "
                f"first {count} features do not meet them; fit again"
            )
        return count


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
    limited : KeptUnderConstraints or None
        Which counts the order can be cut to, if there are constraints.
    """

    order: Any
    curve: Any = None
    suggested: SuggestedCount | None = None
    limited: KeptUnderConstraints | None = None


def select_features(
    rule: str,
    scores: Any,
    ties: Sequence[Any],
    rows: Any,
    feature_mode: int | None,
    count_of: Callable[[SuggestedCount | None], int],
    *,
    suggest: bool,
    limits: FeatureLimits | None = None,
    n_jobs: int | None = None,
) -> Selection:
    """Order features by a rule.

    Parameters
    ----------
    rule : {"geometry", "reconstruct", "top"}
        "geometry" keeps samples recognisable (`GeometryOrder`), "reconstruct" predicts the other
        features (`ColumnSubsetOrder`), "top" takes the largest scores (`rank_features`).
    scores, ties : arrays of one value per feature
        As in `rank_features`. Only "top" uses `ties`.
    rows : array of samples, KeptSamples or None
        Needed by all rules but "top", and for a suggestion.
    feature_mode : int or None
        What a feature is.
    count_of : callable
        Returns the number of features to select, given the suggestion.
    suggest : bool
        Whether to suggest a number of features.
    limits : FeatureLimits, optional
        The constraints.
    n_jobs : int or None
        Threads for "geometry" and its suggestion. The result does not depend on it.
    """
    geometry = suggested = None
    kept = None if rows is None else KeptSamples.of(rows)
    if rule == "geometry" or (suggest and rule == "top"):
        geometry = Geometry(kept, feature_mode, n_jobs)
    if suggest and kept is not None:
        whole = replace(kept, observed=None)  # estimates are taken as they are
        if geometry is None:
            suggested = count_by_reconstruction(whole, feature_mode, limits)
        else:
            suggested = count_by_neighbours(whole, feature_mode, geometry, limits)
    count = count_of(suggested)
    if rule == "top":
        order = rank_features(scores, ties)
        if limits is None:
            return Selection(order, suggested=suggested)
        return _limited_top(scores, order, limits, count, suggested)

    def make() -> GeometryOrder | ColumnSubsetOrder:
        if geometry is None:
            return ColumnSubsetOrder(kept, feature_mode, scores)
        return GeometryOrder(geometry, scores)

    return selection_by(make, count, suggested, limits, None if geometry is None else geometry.kept)


def selection_by(
    make: Callable[[], GeometryOrder | ColumnSubsetOrder],
    count: int,
    suggested: SuggestedCount | None,
    limits: FeatureLimits | None,
    features: NDArray[np.intp] | None,
) -> Selection:
    """Select by a greedy order; `features` are those that it looks at."""
    if limits is None:
        order = make()
        order.extend(count)
        return Selection(order.ranking(), order.curve, suggested)
    chosen = choose(make, limits, count, features=features)
    curve = chosen.rule.curve_of(chosen.features)
    return limited_selection(chosen, count, suggested, curve, like=curve)


def limited_selection(
    chosen: Chosen[Any], asked: int, suggested: SuggestedCount | None, curve: Any, *, like: Any
) -> Selection:
    """Return what `choose` found as a selection.

    Parameters
    ----------
    chosen : Chosen
        The features.
    asked : int
        How many were asked for.
    suggested : SuggestedCount or None
        The suggestion, if the number was not given.
    curve : array or None
        The curve of the rule.
    like : array
        The order is put on its device.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import Constraints
    >>> from tensift.selection import FixedMerits, choose, limited_selection
    >>> scores = np.arange(5.0)
    >>> limits = Constraints(budget=2).resolve((5,))
    >>> chosen = choose(lambda: FixedMerits(scores), limits, 3)
    >>> limited_selection(chosen, 3, None, None, like=scores).limited.kept
    2
    """
    order = moved_to(like, chosen.order) if is_device_array(like) else chosen.order
    limited = KeptUnderConstraints(asked, chosen.count, chosen.stops)
    return Selection(order, curve, suggested, limited)


def _limited_top(
    scores: Any, order: Any, limits: FeatureLimits, count: int, suggested: SuggestedCount | None
) -> Selection:
    values, places = np.ravel(to_numpy(scores)), np.argsort(to_numpy(order))
    chosen = choose(lambda: FixedMerits(values), limits, count, ranks=places)
    return limited_selection(chosen, count, suggested, None, like=scores)
