"""Fit a selector on many resamples of the samples and count what it keeps."""

from __future__ import annotations

import os
import re
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tensift._cells import CellStore, run_cells
from tensift._progress import progress_bar
from tensift.comparison._methods import Method, is_random
from tensift.comparison._tasks import Samples
from tensift.metrics import selection_stability
from tensift.metrics._checks import check_data
from tensift.selectors import TensorSelector
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
    random_state: int = 0,
    n_jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> StabilitySelection:
    """Select the features that a selector keeps whatever the samples.

    The selector is fitted on all samples, then on many resamples. What matters is how often each
    feature is among those that are kept.

    Parameters
    ----------
    estimator : TensorSelector, or any estimator with `fit` and `get_support`
        What to resample; it is not changed.
    X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
        At least four samples, without NaN or infinity.
    n_resamples : int, default=50
        How many resamples, at least two; of halves an even number.
    resampling : {"half", "bootstrap"}, default="half"
        "half": half of the samples, without replacement, in pairs that share none.
        "bootstrap": as many samples as there are, with replacement; no bound on errors is known.
    n_features_to_select : int, float or str, optional
        In place of the estimator's own.
    threshold : float in (0.5, 1], default=0.75
        The share of the resamples that must keep a feature. Results change little between 0.6
        and 0.9.
    random_state : int, default=0
        Seed of the resamples, and the first seed of an estimator that wants one and has none.
    n_jobs : int, default=1
        Processes, -1 for as many as cores. Each has one thread for its numerical libraries. The
        result does not depend on it.
    store : path, optional
        A file that keeps every resample as soon as it is done. A run that was stopped goes on
        where it was, and more resamples begin where fewer ended.
    verbose : bool, default=False
        Show progress on standard error.

    Returns
    -------
    StabilitySelection

    Notes
    -----
    What is chosen from the data is chosen once, on all samples: the number of features, and in
    `STPCASelector` the orientation, the transform, the scale and the penalties. Penalties are
    weighed against sums over samples, so half of the samples get half of ``lam_`` and ``eta_``.
    But for that, a resample is a plain fit.

    A `store` can be shared between runs of any data and settings: results are kept by the checksum
    of the data, the parameters and tensift's version. It does not know of changes to the code of
    your own selectors.

    References
    ----------
    N. Meinshausen, P. Bühlmann: Stability selection. Journal of the Royal Statistical Society B
    72, 2010.

    R. D. Shah, R. J. Samworth: Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    >>> from tensift import VarianceSelector, stability_selection
    >>> from tensift.datasets import load_digits
    >>> found = stability_selection(VarianceSelector(20), load_digits().data, n_resamples=20)
    >>> found.probabilities.shape
    (8, 8)
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    VarianceSelector keeps 20 of 64 features on each of 20 half-samples; 19 are kept by 75% or
    more.
    Stability 0.95 (0.94 to 0.96), excellent: 1 is always the same, 0 what chance would give.
    At most 12.5 of them are expected to be kept by half-samples no more often than the average
    feature.
    """
    data = check_data(X)
    if len(data) < _FEWEST_SAMPLES:
        raise ValueError(
            f"X has {len(data)} sample(s); resampling needs at least {_FEWEST_SAMPLES}, and is "
            "worth something from dozens on"
        )
    _check_number("n_resamples", n_resamples, 2)
    _check_number("random_state", random_state, 0)
    check_threshold(threshold)
    if resampling not in _KINDS:
        raise ValueError(f"resampling must be 'half' or 'bootstrap'; got {resampling!r}")
    if resampling == "half" and n_resamples % 2:
        raise ValueError(
            f"n_resamples={n_resamples}, but half-samples come in pairs that share no sample; "
            "give an even number"
        )
    method = _method(estimator, n_features_to_select)
    with threadpool_limits(limits=1):  # as on resamples
        fitted = method.seeded(int(random_state)).fit(data)
    shape = _shape_of_features(fitted, data)

    drawn = Resampling(data, resampling, int(random_state))
    method, scale = settle(fitted, method, drawn)
    checksum = Samples(data, None).checksum()
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
    kept = CellStore(None if store is None else Path(store))
    show = progress_bar("resamples", len(resamples)) if verbose else lambda *_: None
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
    return StabilitySelection(
        estimator=fitted,
        supports=supports,
        feature_shape=shape,
        resampling=resampling,
        threshold=float(threshold),
        stability=selection_stability(supports),
        random_state=int(random_state),
        notes=_notes(results),
    )


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}; got {value!r}")


def _method(estimator: Any, count: int | float | str | None) -> Method:
    """The estimator to fit, with another number of features if one is given."""
    if isinstance(estimator, type) or not all(
        hasattr(estimator, name) for name in ("fit", "get_support", "get_params")
    ):
        raise TypeError(
            "estimator must be a selector, with fit and get_support, such as STPCASelector(100); "
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
    """How features are laid out: as scores are, else as samples, else in a row."""
    if isinstance(fitted, TensorSelector):
        return tuple(fitted.scores_.shape)
    n_features = len(fitted.get_support())
    return data.shape[1:] if np.prod(data.shape[1:]) == n_features else (n_features,)


def _notes(results: list[dict[str, Any]]) -> tuple[str, ...]:
    """What was warned of, and on how many resamples."""
    first: dict[str, str] = {}
    on: dict[str, int] = {}
    for result in results:
        # Warnings of one kind differ in their numbers.
        kinds = {re.sub(r"\d[\d.e+-]*", "#", line): line for line in result["warnings"]}
        for kind, line in kinds.items():
            first.setdefault(kind, line)
            on[kind] = on.get(kind, 0) + 1
    return tuple(f"{on[kind]} of {len(results)} resamples: {line}" for kind, line in first.items())
