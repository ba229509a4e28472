"""What many resamples keep, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.metrics import StabilityEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tensift.plotting import StabilityDisplay

__all__ = ["StabilitySelection", "check_threshold"]

# Of the index, as Nogueira, Sechidis and Brown read it after Fleiss.
_POOR, _EXCELLENT = 0.4, 0.75
_ROUNDING = 1e-9
_NAMES = {"half": "half-samples", "bootstrap": "bootstrap samples"}


@dataclass(frozen=True, eq=False, repr=False)
class StabilitySelection:
    """Features that a selector keeps whatever the samples: the result of `stability_selection`.

    Attributes
    ----------
    estimator : estimator
        The selector, fitted on all samples.
    supports : ndarray of bool, shape (n_resamples, n_features)
        What it keeps on each resample.
    feature_shape : tuple of int
        How features are laid out: as a sample, or as the indices of their mode.
    resampling : {"half", "bootstrap"}
        How resamples were drawn.
    threshold : float
        The share of the resamples that must keep a selected feature.
    stability : StabilityEstimate
        Nogueira's index, with its variance and its interval of 95 %.
    random_state : int
        The seed of the resamples.
    notes : tuple of str
        What was warned of on resamples.

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

    @property
    def n_resamples(self) -> int:
        """The number of resamples."""
        return len(self.supports)

    @property
    def n_kept(self) -> float:
        """How many features a resample keeps, on average."""
        return float(np.count_nonzero(self.supports)) / len(self.supports)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The share of the resamples that keep each feature, laid out as the features are."""
        return self.supports.mean(axis=0).reshape(self.feature_shape)

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Whether each feature is selected, laid out as the features are."""
        return self.probabilities >= self.threshold - _ROUNDING

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """Flat row-major indices of all features, those that are kept most often first.

        Features that are kept equally often are in the order of the selector on all samples.
        """
        flat = self.probabilities.ravel()
        order = np.asarray(getattr(self.estimator, "ranking_", np.arange(flat.size)))
        if order.shape != flat.shape:  # scikit-learn's rankings are places, of any length
            order = np.arange(flat.size)
        return order[np.argsort(-flat[order], kind="stable")]

    @property
    def selected(self) -> NDArray[np.intp]:
        """Flat indices of the features whose probability reaches the threshold, best first."""
        return self.ranking[: np.count_nonzero(self.support)]

    @property
    def index(self) -> float:
        """The stability: 1 where all resamples agree, 0 on average where selections are random."""
        return self.stability.value

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval of `index`.

        It supposes independent resamples. Resamples of the same samples are not quite, so it is
        rather too narrow.
        """
        return self.stability.low, self.stability.high

    @property
    def error_bound(self) -> float:
        """At most so many wrongly selected features are expected (Meinshausen and Bühlmann).

        It is ``q^2 / ((2 threshold - 1) d)``, for resamples that keep ``q`` of ``d`` features on
        average. Meinshausen and Bühlmann call noise features wrong, and suppose that selections
        among these are exchangeable and that the selector does no worse than chance. For the pairs
        of halves that are drawn here it holds without these assumptions, by Shah and Samworth, if
        those features are called wrong that a random half-sample keeps with probability ``q / d``
        at most, the average. Samples are supposed to be independent in any case. NaN for
        bootstrap samples, of which none of this is known.
        """
        if self.resampling != "half":
            return math.nan
        return self.n_kept**2 / ((2 * self.threshold - 1) * self.probabilities.size)

    @property
    def reason(self) -> str:
        """What was found, in words."""
        return "\n".join([self._counts(), self._agreement(), *self._errors(), *self.notes])

    def _counts(self) -> str:
        sizes = np.unique(self.supports.sum(axis=1))
        kept = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return (
            f"{type(self.estimator).__name__} keeps {kept} of {self.probabilities.size} features "
            f"on each of {self.n_resamples} {_NAMES[self.resampling]}; {len(self.selected)} are "
            f"kept by {self.threshold:.0%} or more."
        )

    def _agreement(self) -> str:
        if math.isnan(self.index):
            return "Stability has no value where all features are kept: that leaves no choice."
        if self.index < _POOR:
            word = "poor"
        else:
            word = "excellent" if self.index > _EXCELLENT else "fair to good"
        low, high = self.interval
        return (
            f"Stability {self.index:z.2f} ({low:z.2f} to {high:z.2f}), {word}: 1 is always the "
            "same, 0 what chance would give."
        )

    def _errors(self) -> list[str]:
        bound, count = self.error_bound, len(self.selected)
        if math.isnan(bound) or not count:
            return []
        if bound >= count:
            return [
                f"The bound on wrongly selected features, {bound:.1f}, says nothing of "
                f"{count}; fewer features or a higher threshold lower it."
            ]
        return [
            f"At most {bound:.1f} of them are expected to be kept by half-samples no more often "
            "than the average feature."
        ]

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return (
            f"<StabilitySelection: {len(self.selected)} of {self.probabilities.size} features, "
            f"threshold {self.threshold:g}, index {self.index:.3f}>"
        )

    def at(self, threshold: float) -> StabilitySelection:
        """The same resamples under another threshold.

        Parameters
        ----------
        threshold : float in (0.5, 1]
            The share of the resamples that must keep a feature.

        Returns
        -------
        StabilitySelection
        """
        check_threshold(threshold)
        return replace(self, threshold=float(threshold))

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict a feature, most probable first, for ``csv.DictWriter`` or ``pandas.DataFrame``.

        Returns
        -------
        list of dict
            The flat index, the index along every mode, the probability, whether the feature is
            selected, whether it is kept on all samples, and its score there if there are scores.
        """
        on_all = np.asarray(self.estimator.get_support())
        scores = self.scores
        places = np.unravel_index(self.ranking, self.feature_shape)
        rows: list[dict[str, Any]] = []
        for flat, *place in zip(self.ranking.tolist(), *(p.tolist() for p in places), strict=True):
            row: dict[str, Any] = {"feature": flat}
            row |= {f"mode_{mode}": i for mode, i in enumerate(place)}
            row["probability"] = float(self.probabilities.flat[flat])
            row["selected"] = bool(self.support.flat[flat])
            row["kept_on_all"] = bool(on_all[flat])
            if scores is not None:
                row["score"] = float(scores.flat[flat])
            rows.append(row)
        return rows

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """The scores on all samples, laid out as the features are, if the selector has any."""
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
            The names of the modes of features.
        coords : mapping of str to array-like, optional
            The names along a mode, by the mode's name.
        title : str, optional
            A line above all; by default how many features are selected, and the index.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        StabilityDisplay
        """
        from tensift.plotting import StabilityDisplay  # which `import tensift` does without

        return StabilityDisplay(
            self.probabilities,
            scores=self.scores,
            threshold=self.threshold,
            stability=self.stability,
            n_kept=self.n_kept,
            title=title,
            dims=dims,
            coords=coords,
        ).plot(figure)


def check_threshold(threshold: Any) -> None:
    """Refuse what is no threshold."""
    if not isinstance(threshold, Real) or not 0.5 < float(threshold) <= 1:
        raise ValueError(
            "threshold must be a share of the resamples above 0.5 and at most 1, such as 0.75; "
            f"got {threshold!r}"
        )
