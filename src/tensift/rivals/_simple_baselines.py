"""Baselines that every selector should beat: all features, the largest variance, random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tensift._utils.modes import pool_elements
from tensift.rivals._by_element import ElementSelector
from tensift.selection import Constraints, FixedMerits, TensorSelector, choose, rank_features
from tensift.sources import SampleWeights, kept_samples

__all__ = ["AllFeatures", "RandomSelector", "VarianceSelector"]


class AllFeatures(ElementSelector):
    """Keep all features: the baseline that selections are compared with.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Ignored. It exists so that this selector can replace any other.
    constraints : Constraints or None, default=None
        Features to leave out (`exclude`), or to put first (`include`). There is no choice to make
        here, so all other constraints raise an error.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        1 for elements that vary, 0 for constant ones; with `feature_mode` the sums of these.
    order_ : ndarray of int
        Flat row-major feature indices, sorted by score and then by index.
    n_features_ : int
        How many features there are.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Notes
    -----
    A fit takes ``O(n d)``. Constant data raise an error, as in all selectors. Tensors may be
    complex.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection, 2024, which uses it as a baseline.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import AllFeatures
    >>> X = load_digits().data[:200]
    >>> AllFeatures(20).fit_transform(X).shape
    (200, 64)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "n_features_to_select": [
            *TensorSelector._parameter_constraints["n_features_to_select"],
            None,
        ],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str | None = None,
        *,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        varies = (spread > 0).astype(float)
        self._set_scores(varies, ties=np.zeros_like(varies))

    def _n_selected(self, total: int) -> int:
        return vars(self).get("n_features_", total)

    def _set_feature_scores(
        self, scores: NDArray, ties: Sequence[NDArray], rows: Any = None
    ) -> None:
        # Skip the base class, which would warn about the count.
        self.scores_ = scores
        self.order_ = rank_features(scores)
        self.n_features_ = len(self.order_)
        self._fitted_constraints = self.constraints
        limits = self._limits()
        if limits is None:
            return
        others = [
            name
            for name in ("budget", "min_distance", "at_least", "at_most", "together")
            if getattr(limits.constraints, name) is not None
        ]
        if others:
            raise ValueError(
                f"AllFeatures keeps all features that are not excluded, so its constraints cannot "
                f"have {', '.join(others)}; use another selector"
            )
        ranks = np.argsort(self.order_)
        free = limits.size - limits.banned.size
        chosen = choose(lambda: FixedMerits(scores), limits, free, ranks=ranks)
        self.order_, self.n_features_ = chosen.order, chosen.count


class VarianceSelector(ElementSelector):
    """Keep the features with the largest variance.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements, that is, its part of the total variance.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed. Variances are
        those of the observed values.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Population variances over the samples (``ddof=0``).
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Notes
    -----
    A fit takes ``O(n d)``. Scaling all data does not change the order, but scaling single features
    does: if features have different units, their variances cannot be compared. Tensors may be
    complex.

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection, NIPS 2005, which uses
    maximum variance as a baseline.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.rivals import VarianceSelector
    >>> X = np.array([[[0.0, 1.0], [5.0, 0.0]], [[2.0, 1.0], [-5.0, 1.0]]])
    >>> selector = VarianceSelector(2).fit(X)
    >>> selector.scores_
    array([[ 1.  ,  0.  ],
           [25.  ,  0.25]])
    >>> selector.order_
    array([2, 0, 3, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        **TensorSelector._may_be_missing,
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        missing: str = "raise",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.missing = missing

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        self._set_scores(spread**2, spread, kept_samples(samples, weights))


class RandomSelector(ElementSelector):
    """Keep random features: a method whose scores mean nothing does as well.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    random_state : int, RandomState or None, default=None
        The seed of the scores.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Independent and uniform between 0 and 1; 0 for constant features.
    order_ : ndarray of int
        Flat row-major feature indices, best first. All orders of the features that vary are
        equally likely; constant features come last.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        With "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Notes
    -----
    A fit takes ``O(n d)``, to find constant features. Tensors may be complex.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection, 2024, which compares the share of
    correct features with random selection.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import RandomSelector
    >>> X = load_digits().data[:200]
    >>> RandomSelector(20, random_state=0).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.random_state = random_state

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        spread = pool_elements(spread, self._mode_of_features())
        drawn = check_random_state(self.random_state).uniform(size=spread.shape)
        self._set_feature_scores(
            np.where(spread > 0, 1 - drawn, 0.0), [spread], kept_samples(samples, weights)
        )
