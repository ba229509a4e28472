"""What every selector should beat: all features, those that vary most, and any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state

from tensift.base import check_magnitude, thinned
from tensift.gram._moments import largest_modulus
from tensift.selectors._base import TensorSelector
from tensift.selectors._ranking import rank_features
from tensift.selectors._scoring import pool_elements
from tensift.selectors._vectorised import _spread

__all__ = ["AllFeatures", "RandomSelector", "VarianceSelector", "spread_of_elements"]


class AllFeatures(TensorSelector):
    """Keep all features: what a selection is measured against.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Ignored; here so that the selector can take the place of any other.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        1 for elements that vary, 0 for the others; with `feature_mode` their sums.
    ranking_ : ndarray of int
        Flat row-major feature indices, in order of the scores and then of the indices.
    n_features_ : int
        How many features there are.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    ``O(n d)``. Constant data are refused, as by all selectors. Tensors may be complex.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection, 2024, which has it as the baseline.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import AllFeatures
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
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn which features vary.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without NaN or infinity.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        varies = (spread_of_elements(self, X)[0] > 0).astype(float)
        self._set_scores(varies, ties=np.zeros_like(varies))
        return self

    def _n_selected(self, total: int) -> int:
        return total

    def _set_feature_scores(
        self, scores: NDArray, ties: Sequence[NDArray], rows: Any = None
    ) -> None:
        self.scores_ = scores  # without a word on how many were asked for
        self.ranking_ = rank_features(scores)
        self.n_features_ = len(self.ranking_)


class VarianceSelector(TensorSelector):
    """Keep the features with the largest variance.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, scored by
        the sum over its elements, which is its share of the total variance.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Variances over the samples (of the population, ``ddof=0``).
    ranking_ : ndarray of int
        Flat row-major feature indices, best first.
    n_features_ : int
        How many features are kept.
    explained_energy_, suggested_count_
        Of "diverse" and "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    ``O(n d)``. The scale of the data does not change the ranking, that of single features does:
    where these have different units, variance says nothing. Tensors may be complex.

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection, NIPS 2005, which has maximum
    variance as its baseline.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selectors import VarianceSelector
    >>> X = np.array([[[0.0, 1.0], [5.0, 0.0]], [[2.0, 1.0], [-5.0, 1.0]]])
    >>> selector = VarianceSelector(2).fit(X)
    >>> selector.scores_
    array([[ 1.  ,  0.  ],
           [25.  ,  0.25]])
    >>> selector.ranking_
    array([2, 0, 3, 1])
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Compute the variances of the features.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without NaN or infinity.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        spread, samples = spread_of_elements(self, X)
        self._set_scores(spread**2, spread, thinned(samples))
        return self


class RandomSelector(TensorSelector):
    """Keep features at random: what is left of a method if its scores mean nothing.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    random_state : int, RandomState or None, default=None
        Seed of the order.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Independent and uniform between 0 and 1; 0 for features that do not vary.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first: all orders of the features that vary are
        equally likely, and the others come last.
    n_features_ : int
        How many features are kept.
    explained_energy_, suggested_count_
        Of "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    ``O(n d)``, to find what does not vary. Tensors may be complex.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection, 2024, where chance is the value that proportions of
    correct features are read against.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import RandomSelector
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
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Draw an order of the features that vary.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without NaN or infinity.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        spread, samples = spread_of_elements(self, X)
        spread = pool_elements(spread, self._mode_of_features())
        drawn = check_random_state(self.random_state).uniform(size=spread.shape)
        self._set_feature_scores(np.where(spread > 0, 1 - drawn, 0.0), [spread], thinned(samples))
        return self


def spread_of_elements(
    selector: TensorSelector, X: ArrayLike
) -> tuple[NDArray[np.float64], NDArray]:
    """The standard deviation of every element of samples, real or complex, and these, checked."""
    samples = selector._validate_samples(X, reset=True)
    check_magnitude(samples)
    peak = largest_modulus(samples)
    kind = complex if np.iscomplexobj(samples) else float
    rows = samples.reshape(len(samples), -1).astype(kind)
    spread = peak * _spread(rows / (peak or 1))  # squares of tiny values would vanish
    if not spread.any():
        raise ValueError("X is constant: no feature varies between samples, nothing to learn")
    return spread.reshape(selector.feature_shape_), samples
