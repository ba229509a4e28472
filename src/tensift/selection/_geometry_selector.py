"""Selection by geometry alone: no model, no penalties, no scores from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.namespace import Kind, is_device_array, kind_of, moved_to
from tensift._utils.sklearn_compat import Interval, StrOptions, fit_context
from tensift.labels import SampleDims, groups_of
from tensift.moments import FeatureScale, Moments, take_in_subsample
from tensift.selection._base import TensorSelector
from tensift.selection._constraints import Constraints
from tensift.selection._count import count_by_neighbours
from tensift.selection._gaps import without_gaps
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._rules import selection_by
from tensift.sources import SampleWeights

__all__ = ["GeometrySelector"]


class GeometrySelector(TensorSelector):
    """Select features that keep samples recognisable.

    Samples look alike if they are near each other in whitened principal components. A feature is
    worth keeping if samples that look alike agree on it. Features are chosen one after another, so
    that samples look as alike in the chosen features as in all of them; features that repeat
    others add little.

    There is nothing to solve: the method looks at no more than 2048 evenly spaced samples, and is
    the fastest good choice. `STPCASelector` uses the same rule with the scores of a model that
    says which features reconstruct which.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default="auto"
        How many features to keep, or which share of them. "auto" keeps the smallest number that
        preserves 98 % of what any number preserves of the similarities between samples
        (`tensift.selection.suggest_count`).
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int, str or None, default=None
        None: every element is a feature. A mode, by number or, if the samples have names, by name:
        every index along it is a feature.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    sample_dim : hashable, list of these or None, default=None
        The dimension of a DataArray that counts samples, or several: ``("y", "x")`` if every pixel
        of a scene is a sample. None: the first.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed (see Notes).
    scale : {"feature"} or None, default=None
        "feature" divides every feature by its standard deviation in the samples that are looked
        at, for features in different units: then their units do not count. With `feature_mode`, all
        elements of a feature are divided by the same number. None leaves the data as they are.
    n_jobs : int or None, default=None
        The number of threads, -1 for as many as cores. The result does not depend on it. It has no
        effect on a device.
    verbose : bool or int, default=False
        Show progress on standard error while files are read.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The agreement of each feature, from 0 to 1: the share of its variation on which samples
        agree that look alike in other features. It is near 0 for noise, and 1 for a feature that
        follows from the others.
    order_ : ndarray of int
        Flat row-major feature indices: the chosen features in the order in which they were chosen,
        then the others by what they would add next.
    n_features_ : int
        How many features are kept.
    selection_curve_ : ndarray
        At ``t - 1`` how similar samples look in the first ``t`` features and in all of them, from
        0 to 1 (the alignment).
    suggested_count_ : SuggestedCount
        With "auto": the number of features and why it was chosen.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.
    missing_ : MissingValues
        With ``missing="allow"``: what was missing in the samples that are looked at.

    See Also
    --------
    tensift.stpca.STPCASelector : The same rule, weighted by the scores of a sparse model.
    tensift.rivals.ColumnSubsetSelector : Features from which the others can be predicted.

    Notes
    -----
    A fit takes ``O(n^2 d + n d k)`` for ``n`` samples that are looked at, ``d`` elements and ``k``
    selected features. `tensift.sources.even_subsample` says which samples these are; they are the
    same for arrays, files, iterators, Dask arrays and moments. Tensors may be complex.

    Copies of a sample count as one sample whose weight is their number. So weights and copies give
    the same result. All samples have the same number of neighbours; weights count in how strongly
    neighbours are linked, and in all means and products.

    With ``missing="allow"`` NaN stands for a value that was not observed, at random, and gets its
    conditional mean given the rest of the sample (`tensift.moments.conditional_means`). Features
    keep the deviation of their observed values; what the estimates do not tell counts as variation
    on which samples do not agree. Features that were never observed in the samples that are looked
    at have a score of 0, come last and are not selected. `transform` passes NaN through.

    References
    ----------
    The rule is new. Related work, from which it differs by neighbours in whitened components,
    agreement cross-fitted over features, and one alignment that prices redundancy:

    X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection. NIPS 2005.

    Z. Zhao, H. Liu: Spectral Feature Selection for Supervised and Unsupervised Learning. ICML 2007.

    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola: On Kernel-Target Alignment. NIPS
    2001, which needs labels.

    Examples
    --------
    >>> from tensift import GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> selector = GeometrySelector(n_features_to_select=20).fit(X)
    >>> selector.transform(X).shape
    (1797, 20)
    >>> bool(selector.scores_.min() >= 0 and selector.scores_.max() <= 1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in TensorSelector._parameter_constraints.items()
            if name != "selection"
        },
        **TensorSelector._may_be_missing,
        "sample_dim": "no_validation",
        "scale": [StrOptions({"feature"}), None],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "verbose": ["verbose"],
    }
    _takes_device_arrays = True
    selection = "geometry"

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        constraints: Constraints | None = None,
        feature_mode: int | str | None = None,
        feature_shape: tuple[int, ...] | None = None,
        sample_dim: SampleDims = None,
        missing: str = "raise",
        scale: str | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.scale = scale
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context
    def fit(
        self,
        X: ArrayLike | Moments,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Look at samples, and choose features.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), a source, or Moments
            Samples, without NaN or infinity. Tensors may be complex. Of memory maps, HDF5, Zarr and
            Dask arrays only the samples that are looked at are read. Of recordings of MNE-Python,
            the good data channels are taken, and each type of channel is divided by its spread, so
            that units do not decide (`tensift.labels.Sensors`).
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts: 3 like three copies of it, 0 like its absence.
        groups : array-like of shape (n,), optional
            The group of each sample, such as its subject. All groups then count equally: weights
            are scaled to the same sum in each. An automatic number of features is judged on whole
            groups that the features were not chosen on.

        Returns
        -------
        self
        """
        self.__dict__.pop("missing_", None)
        weights = SampleWeights.of(sample_weight, groups_of(X, groups))
        kept = take_in_subsample(self, X, weights=weights, verbose=bool(self.verbose))
        if self._samples_to_learn_from() is None:  # they came from a source or moments, as copies
            self._keep_rows(kept)
        self._note_missing(kept.rows)
        mode = self._scored_mode = self._mode_of_features()
        if self.scale == "feature":
            own = None if kept.weights is None else SampleWeights(kept.weights)
            self._deviations = FeatureScale(mode).of_samples(kept.rows, own)
            kept = self._kept_in_units(kept)
        kept = without_gaps(kept)
        geometry = Geometry(kept, mode, self.n_jobs)
        if geometry.is_constant:
            raise ValueError("X is constant: no feature varies between samples, nothing to learn")
        suggested, limits = None, self._limits()
        if self.n_features_to_select == "auto":
            whole = replace(kept, observed=None)  # estimates are taken as they are
            suggested = count_by_neighbours(whole, mode, geometry, limits)
        count = self._checked_count(geometry.n_features, suggested)
        selected = selection_by(
            lambda: GeometryOrder(geometry), count, suggested, limits, geometry.kept
        )
        shape = self.feature_shape_ if mode is None else (self.feature_shape_[mode],)
        scores = np.clip(geometry.agreement, 0, 1).reshape(shape)
        self.scores_ = moved_to(kept.rows, scores) if is_device_array(kept.rows) else scores
        self._keep_selection(selected)
        return self

    def _scores_of_rule(self) -> None:
        """Return None: agreements weight features, but there are no scores from elsewhere."""

    def _fitted_kind(self) -> Kind | None:
        return kind_of(self.scores_)
