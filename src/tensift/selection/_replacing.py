"""What if a kept feature fails: what is lost, and what comes closest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import to_numpy
from tensift.selection._geometry import Geometry
from tensift.selection._kept_sets import (
    AlignedSet,
    ExplainingSet,
    KeptSet,
    best_additions,
    best_feature,
)
from tensift.selection._limited_changes import limited_additions, room_for, substitutes
from tensift.selection._limits import FeatureLimits
from tensift.selection._restoring import RestoringSelector

__all__ = ["Replacement", "Replacements", "ReplacingSelector"]

_WHO = "a judgement of features"


class Replacement(NamedTuple):
    """What becomes of a kept feature that fails.

    Attributes
    ----------
    feature : int
        The kept feature: its flat index, or its index along ``feature_mode``.
    substitute : int
        The feature that comes closest, of those that are not kept; -1 if there is none, because all
        are kept or constraints allow no other.
    lost : float
        The share of the measure that is lost if nothing takes its place. Negative if the others
        are better without it, which alignment allows.
    lost_with_substitute : float
        The share that is lost with the substitute; negative if it is even better.

    Examples
    --------
    >>> from tensift.selection import Replacement
    >>> Replacement(3, 5, 0.25, 0.125).substitute
    5
    """

    feature: int
    substitute: int
    lost: float
    lost_with_substitute: float


@dataclass(frozen=True, eq=False)
class Replacements(Sequence[Replacement]):
    """What becomes of every kept feature if it fails: a sequence of `Replacement`.

    Attributes
    ----------
    feature : ndarray of int, shape (k,)
        The kept features, increasing.
    substitute : ndarray of int, shape (k,)
        For each of them the feature that comes closest; -1 if all features are kept, or constraints
        allow no other.
    lost, lost_with_substitute : ndarray of shape (k,)
        The shares of the measure that are lost without and with the substitute. NaN if the kept
        features have nothing of it.
    measure : {"alignment", "explained variance"}
        What is lost.

    Examples
    --------
    The third feature is a copy of the first:

    >>> import numpy as np
    >>> from tensift import ColumnSubsetSelector
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 2] = X[:, 0]
    >>> found = ColumnSubsetSelector(2).fit(X).replacements()
    >>> found.feature, found.substitute
    (array([0, 1]), array([2, 2]))
    >>> found[0].lost_with_substitute < 1e-9 < found[0].lost
    True
    """

    feature: NDArray[np.intp]
    substitute: NDArray[np.intp]
    lost: NDArray[np.float64]
    lost_with_substitute: NDArray[np.float64]
    measure: str

    def __len__(self) -> int:
        return len(self.feature)

    @overload
    def __getitem__(self, place: int) -> Replacement: ...
    @overload
    def __getitem__(self, place: slice) -> list[Replacement]: ...
    def __getitem__(self, place: int | slice) -> Replacement | list[Replacement]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        return Replacement(
            int(self.feature[place]),
            int(self.substitute[place]),
            float(self.lost[place]),
            float(self.lost_with_substitute[place]),
        )

    def __iter__(self) -> Iterator[Replacement]:
        return (self[k] for k in range(len(self)))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per kept feature; None for a substitute that does not exist.

        Returns
        -------
        list of dict
        """
        rows = []
        for one in self:
            row: dict[str, Any] = one._asdict()
            row["substitute"] = None if one.substitute < 0 else one.substitute
            rows.append(row)
        return rows


class ReplacingSelector(RestoringSelector):
    """A selector that knows what it loses with a feature, and what to add or take instead."""

    scores_: Any
    selection: str

    def replace(self, feature: int) -> Replacement:
        """Return the best substitute for a kept feature, and what it costs.

        Parameters
        ----------
        feature : int
            A feature that is kept: its flat index, or its index along ``feature_mode``.

        Returns
        -------
        Replacement
            A named tuple ``(feature, substitute, lost, lost_with_substitute)``.

        Notes
        -----
        The measure is that of the rule: with ``selection="geometry"`` the alignment that the
        greedy rule increases, with its weights. With "reconstruct", "top" and methods that give an
        order but no rule, it is the share of the variance of all features that ridge regression on
        the kept ones explains (`tensift.selection.ColumnSubsetOrder`). The substitute is what the
        rule would pick as the next feature. The selector does not change.

        The constraints of the fit hold: a substitute is a feature with which the kept ones still
        meet all of them. An included feature can fail too; it then no longer counts as included.
        A feature of a list of `together` with several features has no substitute, because it would
        leave the others of its list behind. Nor are such features substitutes themselves.

        It looks at the same samples as `reconstruct`. Use `replacements` to ask for several
        features: what they share is then computed only once.

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> selector = GeometrySelector(n_features_to_select=10).fit(load_digits().data)
        >>> feature = int(selector.order_[0])
        >>> found = selector.replace(feature)
        >>> bool(selector.get_support()[found.substitute])
        False
        """
        features = self._kept_features()
        is_number = isinstance(feature, Integral) and not isinstance(feature, bool)
        if not is_number or int(feature) not in features:
            raise ValueError(
                f"feature={feature!r} is not kept; give one of get_support(indices=True), which "
                "are flat indices, or indices along feature_mode"
            )
        if len(features) == self._n_observed(self.order_.shape[0]):
            raise ValueError("all features are kept, so there is none to replace another one")
        return self._replacements(features, [int(feature)])[0]

    def replacements(self) -> Replacements:
        """Return what is lost with every kept feature, and its best substitute.

        Returns
        -------
        Replacements

        See Also
        --------
        replace : The same for one feature; says what the measure is.

        Notes
        -----
        Every feature costs about as much as one pick of the rule, and nothing is fitted again. To
        begin with, rule "geometry" looks at the samples anew, which takes as long as a fit of
        `GeometrySelector`.

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> selector = GeometrySelector(n_features_to_select=10).fit(load_digits().data)
        >>> found = selector.replacements()
        >>> len(found), found.measure
        (10, 'alignment')
        >>> bool((found.lost_with_substitute <= found.lost).all())
        True
        """
        features = self._kept_features()
        return self._replacements(features, features)

    def extend(self, k: int) -> NDArray[np.intp]:
        """Return the best features to add to the kept ones, without changing the selector.

        Parameters
        ----------
        k : int
            How many features to add.

        Returns
        -------
        ndarray of int, shape (k,)
            Flat indices, or indices along ``feature_mode``, in the order in which the rule would
            pick them next. Methods without a rule give those that explain most variance; they may
            differ from the next in `order_`.

        Notes
        -----
        Under constraints, kept features count as included, and a budget has what is left of it.
        Each pick is the best one, by merit, after which there can still be exactly `k` more
        features. If constraints do not allow `k` more, an error says how many they allow.

        Examples
        --------
        >>> from tensift import GeometrySelector
        >>> from tensift.datasets import load_digits
        >>> X = load_digits().data
        >>> few = GeometrySelector(n_features_to_select=10).fit(X)
        >>> many = GeometrySelector(n_features_to_select=13).fit(X)
        >>> bool((few.extend(3) == many.order_[10:13]).all())
        True
        """
        features = self._kept_features()
        seen = self._observed_features()
        left = self._n_observed(self.order_.shape[0]) - len(features)
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be a positive whole number, got {k!r}")
        if k > left:
            raise ValueError(f"k={k} is more than the {left} features that are not kept")
        limits = self._fitted_limits()
        if limits is None:
            added = best_additions(self._kept_set(features), features, int(k), seen)
        else:
            witness = room_for(limits, features, int(k))
            kept = self._kept_set(features)
            added = limited_additions(kept, limits, features, int(k), witness)
        return np.array(added, dtype=np.intp)

    def _observed_features(self) -> NDArray[np.bool_] | None:
        """Return which features were ever observed; None for all."""
        never = self._never_observed()
        return None if never is None else ~never

    def _kept_features(self) -> list[int]:
        self._checked_samples(_WHO)
        return [int(one) for one in to_numpy(self.get_support(indices=True))]

    def _fitted_limits(self) -> FeatureLimits | None:
        """Return the constraints of the fit; None if there were none."""
        return None

    def _scores_of_rule(self) -> Any:
        """Return the scores that weighted the picks of the rule; None if there were none."""
        return self.scores_

    def _kept_set(self, features: Sequence[int]) -> KeptSet:
        """Return what the kept features are worth by the rule."""
        mode = self._fitted_mode()
        rows = self._kept_in_units(self._filled(self._checked_samples(_WHO)))
        kept: KeptSet
        if self.selection == "geometry":
            geometry = Geometry(rows, mode)
            is_constant = geometry.is_constant or not geometry.kept.size
            if not is_constant:
                kept = AlignedSet(geometry, self._scores_of_rule(), features)
        else:
            scores = self._scores_of_rule() if self.selection == "reconstruct" else None
            kept = ExplainingSet(rows, mode, scores, features)
            is_constant = bool((kept.tiers == 2).all())
        if is_constant:
            raise ValueError(
                "the fitted samples are constant: no feature is worth more than another"
            )
        return kept

    def _replacements(self, features: Sequence[int], wanted: Sequence[int]) -> Replacements:
        kept = self._kept_set(features)
        limits, whole, seen = self._fitted_limits(), kept.value, self._observed_features()
        found = []
        for feature in wanted:
            fewer = kept.without(feature)
            allowed = seen if limits is None else substitutes(limits, features, feature)
            substitute = best_feature(fewer, features, allowed)
            less = replaced = fewer.value
            if substitute is not None:
                replaced = float(fewer.values_with()[substitute])
            found.append((-1 if substitute is None else substitute, less, replaced))
        left = np.array([values for _, *values in found])
        lost = 1 - left / whole if whole > 0 else np.full(left.shape, np.nan)
        return Replacements(
            feature=np.array(wanted, dtype=np.intp),
            substitute=np.array([substitute for substitute, *_ in found], dtype=np.intp),
            lost=lost[:, 0],
            lost_with_substitute=lost[:, 1],
            measure="alignment" if self.selection == "geometry" else "explained variance",
        )
