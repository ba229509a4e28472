"""The result of a stability selection: how often features are selected, and what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names, labelled_dataset, names_or_numbers
from tensift.metrics import StabilityEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tensift.plotting import StabilityDisplay

__all__ = ["StabilitySelection", "check_threshold"]

# Limits of the index: below is poor, above is excellent (Nogueira, Sechidis, Brown; Fleiss).
_POOR, _EXCELLENT = 0.4, 0.75
_ROUNDING = 1e-9
_NAMES = {"half": "half-samples", "bootstrap": "bootstrap samples"}
_OF_GROUPS = {"half": "halves", "bootstrap": "bootstrap samples"}


@dataclass(frozen=True, eq=False, repr=False)
class StabilitySelection:
    """Features that a selector keeps on most resamples: the result of `stability_selection`.

    Attributes
    ----------
    estimator : estimator
        The selector, fitted on all samples.
    supports : ndarray of bool, shape (n_resamples, n_features)
        Masks of the features that it selects on each resample.
    feature_shape : tuple of int
        The shape of the features: that of a sample, or the length of the feature mode.
    resampling : {"half", "bootstrap"}
        How resamples were drawn.
    threshold : float
        A feature is selected if at least this share of the resamples keeps it.
    stability : StabilityEstimate
        Nogueira's index, with its variance and its 95 % interval.
    random_state : int
        The seed of the resamples.
    notes : tuple of str
        Warnings that fits on resamples have raised.
    n_groups : int or None
        The number of groups that were drawn as a whole; None if samples were drawn.
    names : Names or None
        The names of the features, if the samples have names.
    n_features : int or None
        The number of features, without those that were never observed; None if all were.

    Examples
    --------
    >>> from tensift import STPCASelector, stability_selection
    >>> from tensift.datasets import load_digits
    >>> found = stability_selection(STPCASelector(20), load_digits().data, n_resamples=10)
    >>> found.probabilities.shape, found.supports.shape
    ((8, 8), (10, 64))
    >>> bool((found.probabilities.ravel()[found.selected] >= 0.75).all())
    True
    >>> found.at(0.9).threshold
    0.9
    """

    estimator: Any
    supports: NDArray[np.bool_]
    feature_shape: tuple[int, ...]
    resampling: str
    threshold: float
    stability: StabilityEstimate
    random_state: int = 0
    notes: tuple[str, ...] = ()
    n_groups: int | None = None
    names: Names | None = None
    n_features: int | None = None

    @property
    def _total(self) -> int:
        """The number of features that can be selected."""
        return self.supports.shape[1] if self.n_features is None else self.n_features

    @property
    def n_resamples(self) -> int:
        """The number of resamples."""
        return len(self.supports)

    @property
    def n_kept(self) -> float:
        """The mean number of features that a resample keeps."""
        return float(np.count_nonzero(self.supports)) / len(self.supports)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The share of the resamples that keep each feature, in the shape of the features."""
        return self.supports.mean(axis=0).reshape(self.feature_shape)

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Whether each feature is selected, in the shape of the features."""
        return self.probabilities >= self.threshold - _ROUNDING

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """Flat C-order indices of all features, those that are kept most often first.

        Ties are in the order of the selector that was fitted on all samples.
        """
        flat = self.probabilities.ravel()
        order = np.asarray(getattr(self.estimator, "order_", np.arange(flat.size)))
        if order.shape != flat.shape:  # not the order of the features
            order = np.arange(flat.size)
        return order[np.argsort(-flat[order], kind="stable")]

    @property
    def selected(self) -> NDArray[np.intp]:
        """Flat indices of the features whose probability reaches the threshold, best first."""
        return self.ranking[: np.count_nonzero(self.support)]

    @property
    def index(self) -> float:
        """The stability: 1 if all resamples agree, 0 on average if selections are random."""
        return self.stability.value

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval of `index`.

        It assumes independent resamples. Resamples of the same data are not quite independent,
        so the interval is somewhat too narrow.
        """
        return self.stability.low, self.stability.high

    @property
    def error_bound(self) -> float:
        """An upper bound on the expected number of false selections.

        It is ``q^2 / ((2 threshold - 1) d)``, for resamples that keep ``q`` of ``d`` features on
        average. Shah and Samworth prove it for pairs of halves as drawn here: a selection is
        false if a random half-sample keeps the feature with probability ``q / d`` (the average)
        or less. Meinshausen and Bühlmann prove it for noise features, assuming that these are
        exchangeable and that the selector is not worse than chance. Both assume independent
        samples. NaN for bootstrap samples, for which no bound is known.
        """
        if self.resampling != "half":
            return math.nan
        return self.n_kept**2 / ((2 * self.threshold - 1) * self._total)

    @property
    def reason(self) -> str:
        """The result in sentences."""
        return "\n".join([self._counts(), self._agreement(), *self._errors(), *self.notes])

    def _counts(self) -> str:
        sizes = np.unique(self.supports.sum(axis=1))
        kept = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return (
            f"{type(self.estimator).__name__} keeps {kept} of {self._total} features "
            f"on each of {self.n_resamples} {self._resamples}; {len(self.selected)} "
            f"{'is' if len(self.selected) == 1 else 'are'} kept by {self.threshold:.0%} or more."
        )

    @property
    def _resamples(self) -> str:
        if self.n_groups is None:
            return _NAMES[self.resampling]
        return f"{_OF_GROUPS[self.resampling]} of {self.n_groups} groups"

    def _agreement(self) -> str:
        if math.isnan(self.index):
            return "Stability is undefined, because every resample keeps all features."
        if self.index < _POOR:
            word = "poor"
        else:
            word = "excellent" if self.index > _EXCELLENT else "fair to good"
        low, high = self.interval
        return (
            f"Stability {self.index:z.2f} ({low:z.2f} to {high:z.2f}), {word}; 1 means always the "
            "same features, 0 means no better than chance."
        )

    def _errors(self) -> list[str]:
        bound, count = self.error_bound, len(self.selected)
        if math.isnan(bound) or not count:
            return []
        if bound >= count:
            return [
                f"The bound on false selections, {bound:.1f}, is too high to be useful for {count} "
                f"feature{'' if count == 1 else 's'}; select fewer features or raise the threshold."
            ]
        return [
            f"Expect at most {bound:.1f} false selections (an upper bound): features that "
            "half-samples keep no more often than the average feature."
        ]

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return (
            f"<StabilitySelection: {len(self.selected)} of {self._total} features, "
            f"threshold {self.threshold:g}, index {self.index:.3f}>"
        )

    def at(self, threshold: float) -> StabilitySelection:
        """Return the result of the same resamples for another threshold.

        Parameters
        ----------
        threshold : float in (0.5, 1]
            A feature is selected if at least this share of the resamples keeps it.

        Returns
        -------
        StabilitySelection
        """
        check_threshold(threshold)
        return replace(self, threshold=float(threshold))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict per feature, most probable first, for ``csv`` or ``pandas``.

        Returns
        -------
        list of dict
            The flat index, the index along every mode, the names or numbers along the modes, the
            probability, whether the feature is selected, whether the fit on all samples keeps it,
            and its score there, if any.
        """
        on_all = np.asarray(self.estimator.get_support())
        scores = self.scores
        rows: list[dict[str, Any]] = []
        names = self.names or Names(self.feature_shape)
        taken = ("feature", "probability", "selected", "kept_on_all", "score", "name")
        table = names.table(self.ranking, taken)
        for rank, flat in enumerate(self.ranking.tolist()):
            row: dict[str, Any] = {"feature": flat}
            row |= {title: column[rank] for title, column in table.items()}
            row["probability"] = float(self.probabilities.flat[flat])
            row["selected"] = bool(self.support.flat[flat])
            row["kept_on_all"] = bool(on_all[flat])
            if scores is not None:
                row["score"] = float(scores.flat[flat])
            rows.append(row)
        return rows

    def to_xarray(self) -> Any:
        """Return the result as a Dataset of xarray, with the names and coordinates of features.

        Returns
        -------
        xarray.Dataset
            ``probability``; ``rank``, the place in `ranking`, 0 for the best; ``selected``;
            ``kept_on_all``, whether the fit on all samples keeps the feature; ``score`` there, if
            there are scores.

        Examples
        --------
        >>> from tensift import GeometrySelector, stability_selection
        >>> from tensift.datasets import load_digits
        >>> found = stability_selection(GeometrySelector(20), load_digits(), n_resamples=4)
        >>> found.to_xarray().probability.dims
        ('row', 'column')
        """
        shape, scores = self.feature_shape, self.scores
        places = np.empty(len(self.ranking), dtype=np.intp)
        places[self.ranking] = np.arange(len(places))
        values = {
            "probability": self.probabilities,
            "rank": places.reshape(shape),
            "selected": self.support,
            "kept_on_all": np.asarray(self.estimator.get_support()).reshape(shape),
        }
        if scores is not None:
            values["score"] = scores
        names = names_or_numbers(self.names, shape)
        attrs = {
            "selector": type(self.estimator).__name__,
            "resampling": self.resampling,
            "threshold": self.threshold,
            "stability": self.index,
        }
        return labelled_dataset({k: (names.dims, v) for k, v in values.items()}, names, attrs)

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """The scores on all samples in the shape of the features, or None if there are none."""
        scores = getattr(self.estimator, "scores_", None)
        if scores is None or np.size(scores) != self.probabilities.size:
            return None
        return np.asarray(scores, dtype=float).reshape(self.feature_shape)

    def plot(
        self,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        title: str | None = None,
        figure: Figure | None = None,
    ) -> StabilityDisplay:
        """Draw scores, probabilities and the index.

        Parameters
        ----------
        dims : sequence of str, optional
            Other names of the feature modes than those of the samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        title : str, optional
            The title. By default the number of selected features and the index.
        figure : matplotlib Figure, optional
            An empty figure to draw in; its size is adapted. By default a new one.

        Returns
        -------
        StabilityDisplay
        """
        from tensift.plotting import StabilityDisplay

        return StabilityDisplay(
            self.probabilities,
            scores=self.scores,
            threshold=self.threshold,
            stability=self.stability,
            n_kept=self.n_kept,
            title=title,
            names=self.names,
            dims=dims,
            coords=coords,
        ).plot(figure)


def check_threshold(threshold: Any) -> None:
    """Raise ValueError if this is not a threshold."""
    if not isinstance(threshold, Real) or not 0.5 < float(threshold) <= 1:
        raise ValueError(
            "threshold must be a share of the resamples above 0.5 and at most 1, such as 0.75; "
            f"got {threshold!r}"
        )
