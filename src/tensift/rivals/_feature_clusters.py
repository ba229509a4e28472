"""One feature of each cluster of correlated features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from tensift.rivals._fibres import correlations, energies, unit_columns
from tensift.rivals._greedy import GreedySelector, PickRule, Picks
from tensift.selection import Constraints

__all__ = ["FeatureClusterSelector"]

_MOST = 30_000  # features, whose pairs take 3.6 GB


class FeatureClusterSelector(GreedySelector):
    """Cluster correlated features, and select the feature with the largest variance of each.

    Features are joined by hierarchical clustering (Ward) with the distance ``1 - |correlation|``.
    The tree is cut into as many clusters as features are to be selected.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        features are compared element by element.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The height in the tree below which a feature represents a cluster of its own. The feature
        that represents all has the height of the root.
    order_ : ndarray of int
        Flat row-major feature indices: the first ``k`` represent ``k`` clusters, for every ``k``.
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
    This is the recipe of scikit-learn's example "Permutation Importance with Multicollinear or
    Correlated Features", with two differences. Correlations are Pearson's, not Spearman's. Each
    cluster is represented by the feature with the largest variance, not by the first one.

    If a cluster is split, the feature that represents it represents one of the two parts. So
    selections of different sizes are nested. With constraints, features are taken by their score,
    always the next one that constraints allow; the tree does not change. A fit takes ``O(n d^2)``
    and memory for ``d^2 / 2`` numbers. Tensors may be complex.

    References
    ----------
    J. H. Ward: Hierarchical Grouping to Optimize an Objective Function. Journal of the American
    Statistical Association 58(301), 1963.

    Examples
    --------
    Two pairs of features that are nearly equal:

    >>> import numpy as np
    >>> from tensift.rivals import FeatureClusterSelector
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 100))
    >>> X = np.stack([a, 2 * a + 0.1 * noise, b, 2 * b + 0.1 * noise], axis=1)
    >>> FeatureClusterSelector(2).fit(X).get_support(indices=True)
    array([1, 3])
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _pick(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Picks:
        features, heights = self._representatives(values)
        return Picks(features, heights, np.zeros(len(features)))

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        return _Heights(values, *self._representatives(values))

    def _representatives(self, values: NDArray) -> tuple[list[int], list[float]]:
        """Return all features as clusters are split, and the heights at which they are."""
        size = values.shape[1]
        if size > _MOST:
            raise ValueError(
                f"X has {size} features that vary, and FeatureClusterSelector compares all pairs, "
                f"at most of {_MOST} features; select from fewer, for instance with feature_mode"
            )
        if size == 1:
            return [0], [1.0]
        distances = 1 - correlations(unit_columns(values), slice(None))
        np.fill_diagonal(distances, 0)
        tree = linkage(squareform(distances, checks=False), method="ward")
        return _from_the_root(tree, energies(values))


class _Heights(PickRule):
    """The height in the tree below which a feature represents a cluster of its own."""

    tie, least = 0.0, None

    def __init__(self, values: NDArray, features: list[int], heights: list[float]) -> None:
        super().__init__(values)
        self._heights = np.zeros(self.size)
        self._heights[features] = heights
        # The feature that represents all comes before the one that the first split adds.
        self._heights[features[0]] = np.nextafter(heights[0], np.inf)

    def _worth(self) -> NDArray[np.float64]:
        return self._heights

    def _take(self, feature: int) -> None:
        """Nothing changes: the tree is known."""


def _from_the_root(
    tree: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[list[int], list[float]]:
    """Return features in the order in which they become representatives as clusters are split."""
    size = len(variances)
    represents = np.empty(2 * size - 1, int)  # the feature of every node
    represents[:size] = np.arange(size)
    loser = np.empty(size - 1, int)  # the one that steps down at every merge
    for merge, (one, other) in enumerate(tree[:, :2].astype(int)):
        pair = sorted((represents[one], represents[other]), key=lambda j: (-variances[j], j))
        represents[size + merge], loser[merge] = pair
    features = [int(represents[-1]), *loser[::-1].tolist()]
    return features, [float(tree[-1, 2]), *tree[::-1, 2].tolist()]
