"""Select features by their weight in the encoder of a decomposition."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tensift._utils.sklearn_compat import fit_context_of_meta_estimator
from tensift.decomposition._base import TensorDecomposition
from tensift.decomposition._sparse_tensor_pca import SparseTensorPCA
from tensift.labels import groups_of
from tensift.selection import Constraints, TensorSelector
from tensift.sources import SampleWeights, kept_samples
from tensift.stpca import Scoring

__all__ = ["SelectFromDecomposition"]


class SelectFromDecomposition(TensorSelector):
    """Select the features with the largest weights in the encoder of a decomposition.

    The score of a feature is the norm of its weights in all coordinates,
    ``score(l, h)^2 = sum_j |M[j, h]|^2 ||Q_j[l, :]||^2``. It equals the score of `STPCASelector`
    for the operators ``U_j Q_j^H``, because decoders are orthonormal.

    Parameters
    ----------
    estimator : SparseTensorPCA, TensorPCA or None, default=None
        The decomposition. It is cloned and fitted. None: ``SparseTensorPCA()``. Use one that is
        sparse, with ``sparsity="features"`` or "entries", so that it drops features.
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"geometry", "reconstruct", "top"}, default="geometry"
        The rule that selects once features have scores, as in `STPCASelector`.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. The decomposition is fitted to this shape.

    Attributes
    ----------
    estimator_ : SparseTensorPCA or TensorPCA
        The fitted decomposition.
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map.
    order_ : ndarray of int
        Flat row-major feature indices, best first. Equal scores are ordered by the features'
        standard deviations, then by index.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    feature_shape_, n_features_in_
        As in `STPCASelector`.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Examples
    --------
    >>> from tensift import SelectFromDecomposition, SparseTensorPCA
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> decomposition = SparseTensorPCA(n_components=2, sparsity="features", lam=0.1)
    >>> selector = SelectFromDecomposition(decomposition, n_features_to_select=20).fit(X)
    >>> selector.transform(X).shape
    (1797, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "estimator": "no_validation",
    }

    def __init__(
        self,
        estimator: TensorDecomposition | None = None,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "geometry",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    @property
    def _allows_missing(self) -> bool:
        """Whether the decomposition takes NaN for a value that was not observed."""
        return getattr(self.estimator, "missing", "raise") == "allow"

    @fit_context_of_meta_estimator
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the decomposition and rank the features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without infinity, and without NaN unless the decomposition has
            ``missing="allow"``. Tensors may be complex.
        y : None
            Ignored.
        sample_weight, groups : array-like of shape (n,), optional
            How much each sample counts, and groups that count equally, as in `STPCASelector.fit`.

        Returns
        -------
        self
        """
        if not isinstance(self.estimator, TensorDecomposition | None):
            raise ValueError(
                f"estimator must be a SparseTensorPCA, a TensorPCA or None, got {self.estimator!r}"
            )
        weights = SampleWeights.of(sample_weight, groups_of(X, groups))
        samples = self._validate_samples(X, reset=True, weights=weights)
        used = None if weights is None else weights.used
        self._note_missing(samples)
        estimator = SparseTensorPCA() if self.estimator is None else clone(self.estimator)
        shape = estimator.feature_shape
        if shape is not None and tuple(shape) != self.feature_shape_:
            raise ValueError(
                f"feature_shape={tuple(shape)} of the estimator does not fit samples of shape "
                f"{self.feature_shape_}; pass feature_shape to SelectFromDecomposition instead"
            )
        self.estimator_ = estimator.fit(samples, None, None if used is None else used.values)
        spread = Scoring.spread_of(estimator._moments)
        self._set_scores(estimator.scores_, spread, kept_samples(samples, used))
        return self

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the share of the energy of centred samples that the decomposition reconstructs.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, usually held out.
        y : None
            Ignored.

        Returns
        -------
        float
            At most 1.
        """
        check_is_fitted(self)
        return self.estimator_.score(self._validate_samples(X, reset=False, min_samples=1))
