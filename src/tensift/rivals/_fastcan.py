"""FastCan without labels: features that correlate with the principal components."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift._utils.stacks import squared_modulus
from tensift._utils.warnings import warn_user
from tensift.rivals._fibres import leading_components, orthonormal_basis
from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints, TensorSelector

__all__ = ["FastCanSelector"]

_DEPENDENT = 1e-12  # what is left of a feature that depends on others, as a share of its energy


class FastCanSelector(GreedySelector):
    """Select features whose canonical correlations with the principal components are largest.

    The target is the leading principal components of the samples. Features are picked one after
    another: always the one that adds most to the sum of squared canonical correlations between the
    picked features and the components. All components count alike, whatever their variance.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    n_components : int or None, default=None
        The number of principal components. None: as many as features are selected, at most the
        rank of the samples.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, with
        the canonical correlations of all its elements together.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        What a feature added to the sum of squared canonical correlations when it was picked, but
        at most the score of the feature before it. For others, what they would add at the end.
    order_ : ndarray of int
        Flat row-major feature indices: the picked features in order, then the others.
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
    The picks are those of ``FastCan`` in fastcan with the principal components as the target, which
    is how its documentation selects without labels. There are two differences. fastcan skips
    features that rounding errors show to depend on picked ones; we skip those of which less than
    1e-12 of their variance is left. Once all features depend on picked ones, fastcan stops with an
    error or goes on by rounding errors, and we order the others by their deviation.

    A fit takes ``O(s n d)`` for ``s`` picks, times the length of a fibre with `feature_mode`, and a
    decomposition of the samples once. Tensors may be complex.

    References
    ----------
    S. Zhang, Z.-Q. Lang: Orthogonal least squares based fast feature selection for linear
    classification. Pattern Recognition 123, 2022.

    S. Zhang, T. Wang, K. Worden, L. Sun, E. J. Cross: Canonical-correlation-based fast feature
    selection for structural health monitoring. Mechanical Systems and Signal Processing 223, 2025.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import FastCanSelector
    >>> X = load_digits().data[:200]
    >>> FastCanSelector(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        n_components: int | None = None,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        left = values.reshape(len(values), -1).copy()
        target = leading_components(left, self.n_components or count)[0]
        if self.n_components is not None and self.n_components > target.shape[1]:
            warn_user(
                f"n_components={self.n_components} is more than the rank of X; {target.shape[1]} "
                "is used"
            )
        return _Uncorrelated(values, left, target)


class _Uncorrelated(PickRule):
    """What is left of features ``(n, size * width)`` that is uncorrelated with the picked ones."""

    least = _DEPENDENT

    def __init__(self, values: NDArray, left: NDArray, target: NDArray) -> None:
        super().__init__(values)
        self._left, self._target = left, target
        self._width = left.shape[1] // self.size
        self._products = target.conj().T @ left
        self._least = _DEPENDENT * self._lengths()

    def _worth(self) -> NDArray[np.float64]:
        """Return the squared canonical correlations of each feature with the target."""
        lengths = self._lengths()
        varies = lengths > self._least
        if self._width == 1:
            squares = squared_modulus(self._products).sum(axis=0)
            return np.divide(squares, lengths, out=np.zeros(self.size), where=varies)
        left = np.where(varies, self._left, 0)
        fibres = np.moveaxis(left.reshape(len(left), self.size, -1), 1, 0)
        bases, values, _ = np.linalg.svd(fibres, full_matrices=False)
        bases *= (values > 1e-6 * values.max(axis=1, keepdims=True))[:, None, :]
        gains: NDArray[np.float64] = squared_modulus(self._target.conj().T @ bases).sum(axis=(1, 2))
        return gains

    def _take(self, feature: int) -> None:
        """Take a feature out of all others."""
        own = self._left[:, feature * self._width : (feature + 1) * self._width]
        basis = orthonormal_basis(own, float(np.linalg.norm(own)))
        shares = basis.conj().T @ self._left
        self._left -= basis @ shares
        self._products -= (self._target.conj().T @ basis) @ shares

    def _lengths(self) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = squared_modulus(self._left).sum(axis=0)
        return sums
