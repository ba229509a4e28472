"""Band selection by maximum-variance PCA (MVPCA)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift._utils.stacks import squared_modulus
from tensift.rivals._by_element import ElementSelector
from tensift.rivals._fibres import centred_fibres, leading_components
from tensift.selection import Constraints, TensorSelector
from tensift.sources import SampleWeights, kept_samples

__all__ = ["MVPCASelector"]


class MVPCASelector(ElementSelector):
    """Keep the bands with the largest loadings on the principal components.

    The score of a band is the sum of its squared loadings, that is, of the squared entries of the
    eigenvectors of the covariance matrix times the eigenvalues.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    n_components : int or None, default=None
        The number of leading components that count. None: all of them, as in the paper. More than
        the rank of the samples count as the rank.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature, such as the bands of a scene whose pixels are samples. An
        int: every index along that mode is a feature, and its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The variance of a feature that the components explain.
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

    See Also
    --------
    VarianceSelector : The same selection with ``n_components=None``.

    Notes
    -----
    The squared loadings of a band on all components add up to its variance, the diagonal of the
    covariance matrix. So the method as published is selection by variance, and it computes that
    here. Fewer components leave out what a band shares with no other, such as noise.

    The paper then drops bands whose distribution is close to that of a band before. This second
    step is not part of what is compared as MVPCA, and not of this selector.

    A fit takes ``O(n d)``, and ``O(n d min(n, d))`` with fewer components. Tensors may be complex.

    References
    ----------
    C.-I Chang, Q. Du, T.-L. Sun, M. L. G. Althouse: A joint band prioritization and
    band-decorrelation approach to band selection for hyperspectral image classification. IEEE
    Transactions on Geoscience and Remote Sensing 37(6), 1999.

    Examples
    --------
    Two bands share their signal, the third is noise with more variance than either:

    >>> import numpy as np
    >>> from tensift.rivals import MVPCASelector
    >>> pixels = np.array([[2, 2, 2.5], [2, 2, -2.5], [-2, -2, 2.5], [-2, -2, -2.5]])
    >>> MVPCASelector(1).fit(pixels).scores_
    array([4.  , 4.  , 6.25])
    >>> MVPCASelector(1, n_components=1).fit(pixels).scores_.round(6)
    array([4., 4., 0.])
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
        selection: str = "top",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.selection = selection
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        scores = spread**2
        if self.n_components is not None:
            columns = centred_fibres(samples, spread, None, weights)[:, :, 0]
            left = leading_components(columns, self.n_components)[0]
            explained = squared_modulus(left.conj().T @ columns).sum(axis=0)
            share = explained / squared_modulus(columns).sum()
            scores = (scores.sum() * share).reshape(scores.shape)
        self._set_scores(scores, spread, kept_samples(samples, weights))
