"""Fit a selector on many resamples and count how often it keeps each feature."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tensift._utils.cells import CellStore, run_cells
from tensift._utils.pool import count_workers
from tensift._utils.progress import progress_bar
from tensift._utils.threads import one_library_thread
from tensift.comparison import Method, Samples, is_random
from tensift.labels import Names, groups_of, unlabelled
from tensift.metrics import check_data, selection_stability
from tensift.selection import TensorSelector
from tensift.sources import SampleWeights, takes_weights
from tensift.stability._resamples import Resample, Resampling, settle
from tensift.stability._result import StabilitySelection, check_threshold

__all__ = ["stability_selection"]

_KINDS = ("half", "bootstrap")
_FEWEST_SAMPLES = 4


def stability_selection(
    estimator: Any,
    X: ArrayLike,
    *,
    n_resamples: int = 50,
    resampling: str = "half",
    n_features_to_select: int | float | str | None = None,
    threshold: float = 0.75,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> StabilitySelection:
    """Select the features that a selector keeps on most resamples of the data.

    The selector is fitted on all samples and then on many resamples. A feature is selected if
    enough of the resamples keep it.

    Parameters
    ----------
    estimator : TensorSelector, or any estimator with `fit` and `get_support`
        The selector. It is not changed.
    X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
        At least four samples, without infinity, and without NaN unless the selector has
        ``missing="allow"``. The result keeps the names of a dataset or a DataArray of xarray.
    n_resamples : int, default=50
        The number of resamples, at least two. Half-samples need an even number.
    resampling : {"half", "bootstrap"}, default="half"
        "half": half of the samples without replacement, in pairs that share no sample.
        "bootstrap": as many samples as in X, with replacement; there is no error bound for this.
    n_features_to_select : int, float or str, optional
        Replaces the parameter of the estimator.
    threshold : float in (0.5, 1], default=0.75
        A feature is selected if at least this share of the resamples keeps it. Results change
        little between 0.6 and 0.9.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts in every fit. The estimator must take weights.
    groups : array-like of shape (n,), optional
        The group of each sample, such as its subject, of at least four. Whole groups are drawn, so
        that a feature is stable if it is kept for other groups. All groups count equally in every
        fit if the estimator takes weights; a note says so if it does not.
    random_state : int, default=0
        The seed of the resamples, and the first seed of an estimator whose ``random_state`` is
        None.
    n_jobs : int, default=1
        The number of processes, -1 for one per core. The numerical libraries use one thread in
        each. The result does not depend on it.
    store : path, optional
        A file in which every resample is saved when it is done. A run that was stopped continues
        there, and a run with more resamples only computes the new ones. A file that is not such a
        store is refused. Processes can use one file at the same time; each adds its results, but
        sees those of the others only when it starts.
    verbose : bool, default=False
        Show progress on standard error.

    Returns
    -------
    StabilitySelection

    Notes
    -----
    Automatic choices are made once, on all samples: the number of features, and in
    `STPCASelector` the orientation, the basis, the scale and the penalties. Penalties are
    compared with sums over samples, so half of the samples get half of ``lam_`` and ``eta_``.
    Otherwise a resample is a plain fit.

    Runs with different data and settings can share a `store`: results are saved under the
    checksum of the data, the parameters and tensift's version. If you change the code of your own
    selector, delete the file, because the store does not notice.

    References
    ----------
    N. Meinshausen, P. Bühlmann: Stability selection. Journal of the Royal Statistical Society B
    72, 2010.

    R. D. Shah, R. J. Samworth: Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    >>> from tensift import stability_selection
    >>> from tensift.rivals import VarianceSelector
    >>> from tensift.datasets import load_digits
    >>> found = stability_selection(VarianceSelector(20), load_digits().data, n_resamples=20)
    >>> found.probabilities.shape
    (8, 8)
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    VarianceSelector keeps 20 of 64 features on each of 20 half-samples; 19 are kept by 75% or
    more.
    Stability 0.95 (0.94 to 0.96), excellent; 1 means always the same features, 0 means no better
    than chance.
    Expect at most 12.5 false selections (an upper bound): features that half-samples keep no more
    often than the average feature.
    """
    allowed = getattr(estimator, "missing", "raise") == "allow"
    labelled = unlabelled(X, getattr(estimator, "sample_dim", None)).in_one_unit()
    data, names = check_data(labelled.samples, allow_nan=allowed), labelled.names
    if len(data) < _FEWEST_SAMPLES:
        raise ValueError(
            f"X has {len(data)} sample(s); resampling needs at least {_FEWEST_SAMPLES}, and dozens "
            "to be useful"
        )
    groups = groups_of(X, groups)
    weights = SampleWeights.of(sample_weight, groups)
    if weights is not None:
        weights.check_length(len(data))
        groups = None if groups is None else np.asarray(groups)[weights.positive]
        data, weights = data[weights.positive], weights.used
        _check_units(data, weights)
    _check_number("n_resamples", n_resamples, 2)
    _check_number("random_state", random_state, 0)
    check_threshold(threshold)
    if resampling not in _KINDS:
        raise ValueError(f"resampling must be 'half' or 'bootstrap'; got {resampling!r}")
    if resampling == "half" and n_resamples % 2:
        raise ValueError(
            f"n_resamples={n_resamples} is odd, but half-samples are drawn in pairs; give an even "
            "number"
        )
    method = _method(estimator, n_features_to_select)
    weighs = weights is not None and takes_weights(method.estimator)
    if sample_weight is not None and not weighs:
        raise ValueError(
            f"{method.name} takes no sample_weight; leave it out, or use another selector"
        )
    count_workers(n_jobs)  # a wrong number is an error before the first fit
    kept = CellStore(None if store is None else Path(store))
    with one_library_thread():  # as in the processes that fit resamples
        more: dict[str, Any] = {}
        if weights is not None and weighs:
            more["sample_weight"] = weights.values
            # A number of features that the fit chooses is judged on groups it was not chosen on.
            if weights.groups is not None and has_fit_parameter(method.estimator, "groups"):
                more["groups"] = groups
        drawn = Resampling(data, resampling, int(random_state), weights, weighs, names)
        fitted = drawn.fit(method.seeded(int(random_state)), data, **more)
    shape = _shape_of_features(fitted, data)

    method, scale = settle(fitted, method, drawn)
    checksum = Samples(data, None, weights=weights, names=names).checksum()
    resamples = [
        Resample(
            method,
            scale,
            settings=(checksum, resampling, int(random_state)),
            place=place,
            seed=int(random_state) + (place if method.random else 0),
        )
        for place in range(int(n_resamples))
    ]
    bar = progress_bar("resamples", len(resamples))
    show: Callable[..., None] = bar if verbose else lambda *_: None
    run_cells(
        resamples,
        drawn.compute,
        kept,
        n_jobs=n_jobs,
        report=lambda done, total, left: show(done, left),
    )
    results = [kept[resample.key] for resample in resamples]
    supports = np.zeros((len(results), int(np.prod(shape))), dtype=bool)
    for mask, result in zip(supports, results, strict=True):
        mask[result["features"]] = True
    seen = _observed(fitted, supports.shape[1])
    return StabilitySelection(
        estimator=fitted,
        supports=supports,
        feature_shape=shape,
        resampling=resampling,
        threshold=float(threshold),
        stability=selection_stability(supports[:, seen]),
        random_state=int(random_state),
        notes=(*_on_weights(method, weights, weighs), *_notes(results)),
        n_groups=None if weights is None or weights.groups is None else drawn.n_units,
        names=_names_of_features(fitted, names, shape),
        n_features=None if seen.all() else int(np.count_nonzero(seen)),
    )


def _observed(fitted: Any, total: int) -> NDArray[np.bool_]:
    """Return a flat mask of the features that were ever observed."""
    never = fitted._never_observed() if isinstance(fitted, TensorSelector) else None
    return np.ones(total, dtype=bool) if never is None else ~never


def _check_units(data: NDArray, weights: SampleWeights) -> None:
    """Raise an error if there are too few samples that count, or too few groups."""
    if weights.groups is not None and len(np.unique(weights.groups)) < _FEWEST_SAMPLES:
        raise ValueError(
            f"groups has {len(np.unique(weights.groups))} group(s); drawing whole groups needs at "
            f"least {_FEWEST_SAMPLES}"
        )
    if len(data) < _FEWEST_SAMPLES:
        raise ValueError(
            f"sample_weight is positive for {len(data)} sample(s); resampling needs at least "
            f"{_FEWEST_SAMPLES}"
        )


def _on_weights(method: Method, weights: SampleWeights | None, weighs: bool) -> tuple[str, ...]:
    if weights is None or weighs:
        return ()
    return (
        f"{method.name} takes no weights: whole groups were drawn, but in every fit all samples "
        "count alike.",
    )


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")


def _method(estimator: Any, count: int | float | str | None) -> Method:
    """Return the estimator to fit, with the given number of features, if any."""
    if isinstance(estimator, type) or not all(
        hasattr(estimator, name) for name in ("fit", "get_support", "get_params")
    ):
        raise TypeError(
            "estimator must be a selector with fit and get_support, such as STPCASelector(100); "
            f"got {estimator if isinstance(estimator, type) else type(estimator).__name__}"
        )
    fresh = clone(estimator)
    if count is not None:
        if "n_features_to_select" not in fresh.get_params(deep=False):
            raise ValueError(
                f"n_features_to_select={count!r}, but {type(fresh).__name__} has no such "
                "parameter; set the number of features on the estimator"
            )
        fresh.set_params(n_features_to_select=count)
    return Method(type(fresh).__name__, fresh, is_random(fresh))


def _shape_of_features(fitted: Any, data: NDArray) -> tuple[int, ...]:
    """Return the shape of the features: that of the scores, else of a sample, else flat."""
    if isinstance(fitted, TensorSelector):
        return tuple(fitted.scores_.shape)
    n_features = len(fitted.get_support())
    return data.shape[1:] if np.prod(data.shape[1:]) == n_features else (n_features,)


def _names_of_features(fitted: Any, names: Names | None, shape: tuple[int, ...]) -> Names | None:
    """Return the names of the features; None if the samples have none, or others."""
    mode = fitted._mode_of_features() if isinstance(fitted, TensorSelector) else None
    if names is not None and mode is not None:
        names = names.only([mode])
    return names if names is not None and names.shape == shape else None


def _notes(results: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return each kind of warning once, with the number of resamples that raised it."""
    first: dict[str, str] = {}
    on: dict[str, int] = {}
    for result in results:
        # Warnings that differ only in their numbers are of one kind.
        kinds = {re.sub(r"\d[\d.e+-]*", "#", line): line for line in result["warnings"]}
        for kind, line in kinds.items():
            first.setdefault(kind, line)
            on[kind] = on.get(kind, 0) + 1
    return tuple(f"{on[kind]} of {len(results)} resamples: {line}" for kind, line in first.items())
