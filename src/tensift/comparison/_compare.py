"""Run several selectors on the same data and judge what they select."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.cells import CellStore
from tensift.comparison._limit import can_limit
from tensift.comparison._methods import Method, Selectors, resolve_methods
from tensift.comparison._result import SelectorComparison
from tensift.comparison._schedule import Schedule
from tensift.comparison._summary import summarise
from tensift.comparison._tasks import Samples
from tensift.labels import SampleDims, groups_of, unlabelled
from tensift.metrics import check_samples, count_features, encode_labels
from tensift.moments import MissingValues, conditional_means, is_missing, warn_of_groups
from tensift.selection import (
    Constraints,
    FeatureLimits,
    FixedMerits,
    choose,
    constraints_in_words,
    held_constraints,
)
from tensift.sources import SampleWeights, takes_weights

__all__ = ["compare_selectors"]


def compare_selectors(
    X: ArrayLike,
    selectors: Selectors = None,
    n_features_to_select: int | float = 100,
    *,
    labels: ArrayLike | None = None,
    feature_mode: int | str | None = None,
    sample_dim: SampleDims = None,
    constraints: Constraints | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_clusters: int | None = None,
    n_neighbors: int = 5,
    n_resamples: int = 10,
    n_seeds: int = 5,
    n_repeats: int = 10,
    random_state: int = 0,
    n_jobs: int = 1,
    fit_limit: float | None = None,
    missing: str = "raise",
    store: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> SelectorComparison:
    """Compare selectors on your own data, with labels or without.

    Random selection and variance are always included, because a selector is useless if it is not
    better than these. If you give labels, they are used to judge the selections. No selector sees
    them, and the measures that need no labels do not depend on them.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        At least four samples, without NaN or infinity. The result keeps the names of a dataset or
        a DataArray of xarray.
    selectors : None, "all", names, estimators, or a dict from names to either
        What to compare. Names are those of `tensift.rivals.list_selectors`: of the class or as
        in the paper, in upper or lower case. Estimators keep their parameters, except the number
        of features and the feature mode. By default STPCASelector and what users would take
        instead: PivotedCholeskySelector and LaplacianScore.
    n_features_to_select : int or float in (0, 1), default=100
        How many features to select, or which share of them.
    labels : array-like of shape (n,), optional
        The classes of the samples; any values. Adds the metrics of `evaluate_selection`.
    feature_mode : int or str, optional
        The mode whose indices are the features, by number or by name. By default every element is
        a feature.
    sample_dim : hashable or a list of them, optional
        The dimension or dimensions of a DataArray that count samples; by default the first.
    constraints : Constraints, optional
        What every selection must respect, also on half-samples: features to keep or leave out, a
        budget, distances, groups. Estimators that have constraints of their own keep those.
        AllFeatures refuses constraints that it cannot respect, and its row says so.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts in fits and in what is measured on held-out samples. Measures
        that need labels do not use it. A note names the methods whose fit takes no weights.
    groups : array-like of shape (n,), optional
        The group of each sample, such as its subject. Selections are judged on whole groups that
        they were not made on, and all groups count equally.
    n_clusters : int, optional
        The number of clusters, for the selectors that have this parameter. By default each uses
        its own default, and the notes of the result list them. It is never the number of classes
        in `labels`, because selectors must not use the labels.
    n_neighbors : int, default=5
        The number of neighbours, for the selectors that have this parameter.
    n_resamples : int, default=10
        The number of half-samples on which every method is fitted, in addition to all samples.
    n_seeds : int, default=5
        The number of seeds for methods that start at random. Random selection, which is very
        fast, uses `n_resamples` seeds.
    n_repeats : int, default=10
        The number of k-means runs, if there are labels.
    random_state : int, default=0
        The first seed of the methods, and the seed of the half-samples.
    n_jobs : int, default=1
        The number of processes, -1 for one per core. The numerical libraries use one thread in
        each.
    fit_limit : float, optional
        Stop a fit after this many seconds of processor time. Needs a POSIX system.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed. All methods then
        see, and are judged on, samples with estimates in their place
        (`tensift.moments.conditional_means`), since most of them cannot do without. Elements that
        were never observed are constant.
    store : path, optional
        A file in which every fit is saved when it is done. A run that was stopped continues
        there, and a finished run is not computed again. A file that is not such a store is
        refused. Processes can use one file at the same time; each adds its results, but sees those
        of the others only when it starts.
    verbose : bool, default=False
        Show progress on standard error.
    **settings
        Other parameters of named selectors, such as ``lam``. Each selector gets those that it
        has.

    Returns
    -------
    SelectorComparison

    Notes
    -----
    For each half-sample, drawn without replacement, features are selected on one half of the
    samples. `neighbours_kept`, `neighbour_agreement`, the `reconstruction_error` (with the
    regression trained on the first half) and the `redundancy` are measured on the other half. Means
    and standard deviations are over half-samples. The ranks by the first two measures decide
    together who is first. `selection_stability` compares the selections themselves. Time is the
    processor time of one fit on all samples. Memory is the peak that NumPy and Python allocate in
    another such fit. It does not include what compiled libraries allocate themselves.

    If a selector fails on the data, or exceeds `fit_limit`, its row says why.

    Runs with different data and settings can share a `store`: results are saved under the
    checksum of the data, the parameters and tensift's version. If you change the code of your own
    selector, delete the file, because the store does not notice.

    Examples
    --------
    >>> from tensift.comparison import compare_selectors
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data[:200]
    >>> found = compare_selectors(X, ["STPCASelector", "Laplacian Score"], 20, n_resamples=4)
    >>> found.methods
    ('STPCASelector', 'LaplacianScore', 'VarianceSelector', 'RandomSelector')
    >>> found.share_better("STPCASelector")
    1.0
    """
    # Imported here, so that importing compare_selectors does not load the rivals.
    from tensift.rivals import VarianceSelector

    if missing not in ("raise", "allow"):
        raise ValueError(f"missing must be 'raise' or 'allow'; got {missing!r}")
    labelled = unlabelled(X, sample_dim).in_one_unit()
    data, mode = check_samples(labelled, feature_mode, missing=missing)
    if len(data) < 4:
        raise ValueError(f"X has {len(data)} sample(s); half-samples need at least 4")
    weights = SampleWeights.of(sample_weight, groups_of(X, groups))
    if weights is not None:
        data, weights, labels = _those_that_count(data, weights, labels)
    lacks = None
    if missing == "allow" and is_missing(data).any():
        lacks = MissingValues.in_rows(data)
        lacks.check()
        if weights is not None:
            warn_of_groups(data, weights, labelled.names, mode)
        data = conditional_means(data, None if weights is None else weights.values)
    n_features = count_features(data.shape[1:], mode)
    never = None if lacks is None else lacks.never_of(mode)
    wanted = _check_count(n_features_to_select, n_features, never)
    if constraints is not None and not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be tensift.Constraints; got {constraints!r}")
    # Fail early: no selector accepts data, or constraints, that this one refuses.
    samples = Samples(data, mode, None, weights, labelled.names)
    limits, shared = None, constraints
    if constraints is not None:
        plain = VarianceSelector(1, feature_mode=mode).fit(samples.named(data))
        limits = constraints.look_up(*plain._shape_and_names(), never)
        if never is not None and never.any():
            choose(
                lambda: FixedMerits(np.zeros(n_features)), limits, wanted
            )  # or say what collides
            shared = limits.as_constraints()
    first = VarianceSelector(wanted, feature_mode=mode, constraints=shared)
    first.fit(samples.named(data), None, None if weights is None else weights.values)
    _check_numbers(
        n_resamples=(n_resamples, 2), n_seeds=(n_seeds, 1), n_repeats=(n_repeats, 1),
        random_state=(random_state, 0), n_neighbors=(n_neighbors, 1),
    )  # fmt: skip
    _check_limit(fit_limit)
    if labels is not None:
        samples = replace(samples, labels=_check_labels(labels, len(data)))
    if n_clusters is not None:
        _check_numbers(n_clusters=(n_clusters, 1))
        settings["n_clusters"] = n_clusters
    methods = resolve_methods(selectors, wanted, mode, shared, n_neighbors=n_neighbors, **settings)

    schedule = Schedule(samples, n_resamples, n_seeds, n_repeats, random_state, fit_limit)
    outcomes = schedule.run(
        methods, CellStore(None if store is None else Path(store)), n_jobs=n_jobs, verbose=verbose
    )
    notes = [] if n_clusters is not None else _own_numbers_of_clusters(methods)
    if lacks is not None:
        notes.append(f"{lacks}; all methods see estimates in their place.")
    notes += _on_constraints(limits, shared, methods) + _on_weights(weights, methods)
    held = held_constraints(first)
    found = summarise(
        outcomes, n_features, wanted, data.shape[1:], mode, notes, constraints, held, never
    )
    return replace(found, names=labelled.names)


def _those_that_count(
    data: np.ndarray, weights: SampleWeights, labels: ArrayLike | None
) -> tuple[np.ndarray, SampleWeights, ArrayLike | None]:
    """Return samples, weights and labels without samples of weight zero."""
    mask = weights.check_length(len(data)).positive
    if labels is not None:
        labels = np.asarray(_check_labels(labels, len(data)))[mask]
    data, weights = data[mask], weights.used
    if len(data) < 4:
        raise ValueError(
            f"sample_weight is positive for {len(data)} sample(s); half-samples need at least 4"
        )
    if weights.groups is not None:
        sizes = np.bincount(weights.groups)
        if np.count_nonzero(sizes) < 2 or len(data) - sizes.max() < 2:
            raise ValueError(
                "groups must have at least two groups, and at least two samples outside the "
                "largest, so that groups can be held out"
            )
    return data, weights, labels


def _on_weights(weights: SampleWeights | None, methods: Iterable[Method]) -> list[str]:
    """Return notes that say what was held out, and which methods count all samples alike."""
    notes: list[str] = []
    if weights is None:
        return notes
    if weights.groups is not None:
        count = len(np.unique(weights.groups))
        notes.append(f"Selections are judged on groups they were not made on ({count} groups).")
    alike = [method.name for method in methods if not takes_weights(method.estimator)]
    if alike:
        names = ", ".join(alike)
        notes.append(f"These methods take no weights and count all samples alike: {names}.")
    return notes


def _check_count(wanted: int | float, n_features: int, never: np.ndarray | None) -> int:
    observed = ""
    if never is not None and never.any():
        n_features, observed = int(np.count_nonzero(~never)), " that were ever observed"
    """Return the number of features, given a number or a share."""
    if isinstance(wanted, Integral) and wanted >= 1:
        if wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted} is more than the {n_features} features of "
                f"X{observed}; give a number from 1 to {n_features}, or a share such as 0.1"
            )
        return int(wanted)
    if isinstance(wanted, Real) and 0 < wanted < 1:
        return max(1, round(float(wanted) * n_features))
    raise ValueError(
        "n_features_to_select must be a number of features (100) or a share of them (0.1); "
        f"got {wanted!r}"
    )


def _check_numbers(**numbers: tuple[Any, int]) -> None:
    for name, (value, least) in numbers.items():
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")


def _check_limit(fit_limit: float | None) -> None:
    if fit_limit is None:
        return
    if not isinstance(fit_limit, Real) or not 0 < fit_limit < math.inf:
        raise ValueError(f"fit_limit must be a number of seconds above 0; got {fit_limit!r}")
    if not can_limit():
        raise ValueError("fit_limit needs a POSIX system and the main thread; leave it out here")


def _check_labels(labels: ArrayLike, n_samples: int) -> np.ndarray:
    codes, n_classes = encode_labels(labels, n_samples)
    if n_classes < 2:
        raise ValueError("labels must have at least two classes; got one")
    return codes


def _on_constraints(
    limits: FeatureLimits | None, shared: Constraints | None, methods: Iterable[Method]
) -> list[str]:
    """Return notes that say which constraints selections respect."""
    notes = []
    if limits is not None:
        words = "; ".join(constraints_in_words(limits)) or "they restrict nothing"
        notes.append(f"Every method selects under these constraints: {words}.")
    own = [m.name for m in methods if m.estimator.constraints not in (None, shared)]
    if own:
        notes.append(f"These methods have constraints of their own: {', '.join(own)}.")
    return notes


def _own_numbers_of_clusters(methods: Iterable[Method]) -> list[str]:
    """Return a note with the numbers of clusters that methods use by default."""
    own = {m.name: m.estimator.get_params(deep=False).get("n_clusters") for m in methods}
    taken = [f"{name} {number}" for name, number in own.items() if number is not None]
    if not taken:
        return []
    return [f"n_clusters was not given; methods used their defaults: {', '.join(taken)}."]
