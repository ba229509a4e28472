"""Fit a selector on each group alone: which features serve all groups, and which only some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tensift.datasets import TensorDataset
from tensift.labels import Names, groups_of, unlabelled
from tensift.metrics import check_data
from tensift.selection import TensorSelector
from tensift.sources import SampleWeights, group_codes, takes_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tensift.plotting import GroupSelectionDisplay

__all__ = ["GroupSelection", "select_by_group"]


@dataclass(frozen=True, eq=False, repr=False)
class GroupSelection:
    """What a selector keeps for each group of samples alone: the result of `select_by_group`.

    Attributes
    ----------
    estimator : TensorSelector
        The selector, fitted on all groups, which count equally if it takes weights.
    groups : tuple of str
        The names of the groups.
    n_samples : ndarray of int, shape (n_groups,)
        The number of samples of each group.
    supports : ndarray of bool, shape (n_groups, n_features)
        Masks of the features that are kept for each group.
    scores : ndarray of shape (n_groups, n_features)
        The scores of the features in each group.
    names : Names or None
        What features are called, if the samples said so.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.stability import select_by_group
    >>> digits = load_digits()
    >>> found = select_by_group(GeometrySelector(20), digits, np.arange(1797) // 600)
    >>> found.shares.shape, found.supports.shape
    ((8, 8), (3, 64))
    >>> bool((found.shares.ravel()[found.serve_all] == 1).all())
    True
    """

    estimator: TensorSelector
    groups: tuple[str, ...]
    n_samples: NDArray[np.intp]
    supports: NDArray[np.bool_]
    scores: NDArray[np.float64]
    names: Names | None = None

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of the groups that keep each feature, in the shape of the features."""
        return self.supports.mean(axis=0).reshape(self.estimator.scores_.shape)

    @property
    def serve_all(self) -> NDArray[np.intp]:
        """Flat indices of the features that all groups keep."""
        return np.flatnonzero(self.supports.all(axis=0))

    @property
    def serve_some(self) -> NDArray[np.intp]:
        """Flat indices of the features that some groups keep, but not all."""
        return np.flatnonzero(self.supports.any(axis=0) & ~self.supports.all(axis=0))

    def __str__(self) -> str:
        kept = int(np.count_nonzero(self.estimator.get_support()))
        return (
            f"{type(self.estimator).__name__} keeps {kept} features for all {len(self.groups)} "
            f"groups together; alone, all groups keep {len(self.serve_all)}, and only some keep "
            f"{len(self.serve_some)} more."
        )

    def __repr__(self) -> str:
        return f"<GroupSelection: {len(self.groups)} groups, {self.supports.shape[1]} features>"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict per group and feature, for ``csv`` or ``pandas``.

        Returns
        -------
        list of dict
            The group, the flat index of the feature, its name if there is one, whether the group
            keeps it, its score there, and whether all groups together keep it.
        """
        together = np.asarray(self.estimator.get_support())
        names = self._names_of_features()
        return [
            {
                "group": group,
                "feature": feature,
                "name": names[feature],
                "kept": bool(self.supports[number, feature]),
                "score": float(self.scores[number, feature]),
                "kept_together": bool(together[feature]),
            }
            for number, group in enumerate(self.groups)
            for feature in range(self.supports.shape[1])
        ]

    def _names_of_features(self) -> list[str]:
        if self.names is None:
            return [str(feature) for feature in range(self.supports.shape[1])]
        mode = self.estimator._mode_of_features()
        return [str(name) for name in self.names.of_features(mode)]

    def plot(
        self,
        *,
        names: Sequence[str] | None = None,
        max_features: int = 60,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> GroupSelectionDisplay:
        """Draw groups as rows and features as columns.

        Parameters
        ----------
        names : sequence of str, optional
            The names of all features. By default those of the samples, or indices.
        max_features : int, default=60
            The largest number of features to draw, those first that most groups keep.
        title : str, optional
            The title. By default how many features all groups keep.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        GroupSelectionDisplay
        """
        from tensift.plotting import GroupSelectionDisplay

        return GroupSelectionDisplay(
            self.supports,
            self.estimator.get_support(),
            groups=self.groups,
            names=self._names_of_features() if names is None else list(names),
            order=self.estimator.order_,
            title=title,
        ).plot(ax, max_features=max_features)


def select_by_group(
    estimator: TensorSelector,
    X: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> GroupSelection:
    """Fit a selector on each group of samples alone, and on all together.

    It shows which channels serve all subjects, and which only some of them.

    Parameters
    ----------
    estimator : TensorSelector
        The selector. It is not changed.
    X : array-like of shape (n, d_1, ..., d_m), or a dataset or DataArray with names
        Samples in memory, without infinity, and without NaN unless the selector has
        ``missing="allow"``.
    groups : array-like of shape (n,) or "recordings"
        The group of each sample, such as its subject; or "recordings", if `X` are several. Each
        needs at least two samples.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts. The selector must take weights.

    Returns
    -------
    GroupSelection

    Notes
    -----
    The number of features is that of all groups together, also if it is chosen automatically. If
    the selector takes weights, all groups count equally there.

    Examples
    --------
    >>> from tensift import GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.stability import select_by_group
    >>> digits = load_digits()
    >>> people = [f"writer {number // 600}" for number in range(1797)]
    >>> found = select_by_group(GeometrySelector(20), digits, people)
    >>> found.groups
    ('writer 0', 'writer 1', 'writer 2')
    """
    if not isinstance(estimator, TensorSelector):
        raise TypeError(
            "estimator must be a selector, such as GeometrySelector(8); got "
            f"{estimator if isinstance(estimator, type) else type(estimator).__name__}"
        )
    given = unlabelled(X, getattr(estimator, "sample_dim", None)).in_one_unit()
    allowed = getattr(estimator, "missing", "raise") == "allow"
    data = check_data(given.samples, allow_nan=allowed)
    groups = groups_of(X, groups)
    codes = group_codes(groups)
    weights = SampleWeights.of(sample_weight, groups)
    assert weights is not None
    weights.check_length(len(data))
    weighs = takes_weights(estimator)
    if sample_weight is not None and not weighs:
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight; leave it out, or use another "
            "selector"
        )
    labels = [str(name) for name in np.unique(np.asarray(groups)).tolist()]
    parts = [np.flatnonzero((codes == code) & weights.positive) for code in range(len(labels))]
    for label, part in zip(labels, parts, strict=True):
        if len(part) < 2:
            raise ValueError(
                f"group {label!r} has {len(part)} sample(s) that count; each group needs at least "
                "2, and dozens to be useful"
            )
    more: dict[str, Any] = {"sample_weight": weights.values} if weighs else {}
    if weighs and has_fit_parameter(estimator, "groups"):
        more["groups"] = groups
    together = _copy_of(estimator).fit(_named(data, given.names), **more)
    alone = _copy_of(estimator, int(np.count_nonzero(together.get_support())))
    supports, scores = [], []
    for label, part in zip(labels, parts, strict=True):
        own = {"sample_weight": weights.values[part]} if weighs else {}
        try:
            fitted = clone(alone).fit(_named(data[part], given.names), **own)
        except ValueError as error:
            raise ValueError(f"group {label!r}: {str(error).splitlines()[0]}") from None
        supports.append(np.asarray(fitted.get_support()))
        scores.append(np.ravel(fitted.scores_))
    return GroupSelection(
        together,
        tuple(labels),
        np.array([len(part) for part in parts]),
        np.array(supports),
        np.array(scores),
        together.names_,
    )


def _named(data: NDArray[Any], names: Names | None) -> Any:
    """Return samples with the names of their modes, if there are some."""
    if names is None:
        return data
    coords = {str(dim): values for dim, values in names.coords.items()}
    return TensorDataset(data, dims=tuple(map(str, names.dims)), coords=coords)


def _copy_of(estimator: TensorSelector, count: int | None = None) -> Any:
    """Return a copy for samples along the first axis, perhaps with a number of features."""
    copy = clone(estimator)
    changed: dict[str, Any] = {} if count is None else {"n_features_to_select": count}
    if "sample_dim" in copy.get_params(deep=False):
        changed["sample_dim"] = None
    return copy.set_params(**changed)
