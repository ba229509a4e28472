"""Run selectors side by side and judge what they select."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensift._cells import CellStore
from tensift.comparison._limit import can_limit
from tensift.comparison._methods import Method, Selectors, resolve_methods
from tensift.comparison._plan import Plan
from tensift.comparison._result import SelectorComparison
from tensift.comparison._summary import summarise
from tensift.comparison._tasks import Samples
from tensift.metrics._checks import check_data, encode_labels
from tensift.metrics._features import count_features
from tensift.selectors import VarianceSelector

__all__ = ["compare_selectors"]


def compare_selectors(
    X: ArrayLike,
    selectors: Selectors = None,
    n_features_to_select: int | float = 100,
    *,
    labels: ArrayLike | None = None,
    feature_mode: int | None = None,
    n_clusters: int | None = None,
    n_neighbors: int = 5,
    n_resamples: int = 10,
    n_seeds: int = 5,
    n_repeats: int = 10,
    random_state: int = 0,
    n_jobs: int = 1,
    fit_limit: float | None = None,
    store: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> SelectorComparison:
    """Compare selectors on one's own data, with labels or without.

    Random selection and variance are always compared too: what is not better than these is no
    use. Labels, if there are any, judge what was selected. No selector sees them, and everything
    that needs no labels is the same with them, without them, or with them shuffled.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        At least four samples, without NaN or infinity.
    selectors : None, "all", names, estimators, or a dict from names to either
        What to compare. Names are those of `list_selectors` in any case, of the class, or of its
        authors. Estimators keep their parameters but for the number of features and the feature
        mode. By default STPCASelector, SPCAFS, MCFS and LaplacianScore, which are quick.
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them.
    labels : array-like of shape (n,), optional
        Classes of the samples; any values. Adds the metrics of `evaluate_selection`.
    feature_mode : int, optional
        The mode whose indices are the features; by default every element is one.
    n_clusters : int, optional
        Given to the selectors that want it. By default each takes its own default, which the
        result's notes say; never the number of classes in `labels`, which would use them.
    n_neighbors : int, default=5
        Given to the selectors that want it.
    n_resamples : int, default=10
        How many half-samples every method is fitted on, besides all samples.
    n_seeds : int, default=5
        How many seeds methods with random starts are fitted from. Random selection, which costs
        nothing, has `n_resamples`.
    n_repeats : int, default=10
        How often k-means is run, if there are labels.
    random_state : int, default=0
        The first seed, and that of the half-samples.
    n_jobs : int, default=1
        Processes, -1 for as many as cores. Each has one thread for its numerical libraries.
    fit_limit : float, optional
        Seconds of processor time after which a fit is given up. Needs a POSIX system.
    store : path, optional
        A file that keeps every fit as soon as it is done. A run that was stopped goes on where
        it was, a second one takes no time.
    verbose : bool, default=False
        Show progress on standard error.
    **settings
        Further parameters of named selectors, such as ``lam``; each gets those that it has.

    Returns
    -------
    SelectorComparison

    Notes
    -----
    For each half-sample, drawn without replacement, features are selected on one half. What
    they miss (`reconstruction_error`, learned on the same half) and their `redundancy` are
    measured on the other half; the means and standard deviations are over half-samples.
    `selection_stability` compares the selections themselves. Time is that of the processor for
    one fit on all samples. Memory is the peak of what NumPy and Python allocate in another such
    fit; work space that compiled libraries take for themselves is not counted.

    A selector that fails on the data, or exceeds `fit_limit`, has a row that says why.

    A `store` can be shared between runs of any settings: results are kept by the checksum of the
    data, the parameters and tensift's version. It does not know of changes to the code of your
    own selectors.

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
    data = check_data(X)
    if len(data) < 4:
        raise ValueError(f"X has {len(data)} sample(s); half-samples need at least 4")
    n_features, mode = count_features(data.shape[1:], feature_mode)
    wanted = _check_count(n_features_to_select, n_features)
    VarianceSelector(wanted, feature_mode=mode).fit(data)  # what it refuses, all refuse
    _check_numbers(
        n_resamples=(n_resamples, 2), n_seeds=(n_seeds, 1), n_repeats=(n_repeats, 1),
        random_state=(random_state, 0), n_neighbors=(n_neighbors, 1),
    )  # fmt: skip
    _check_limit(fit_limit)
    codes = None if labels is None else _check_labels(labels, len(data))
    if n_clusters is not None:
        _check_numbers(n_clusters=(n_clusters, 1))
        settings["n_clusters"] = n_clusters
    methods = resolve_methods(selectors, wanted, mode, n_neighbors=n_neighbors, **settings)

    plan = Plan(
        Samples(data, mode, codes), n_resamples, n_seeds, n_repeats, random_state, fit_limit
    )
    outcomes = plan.run(
        methods, CellStore(None if store is None else Path(store)), n_jobs=n_jobs, verbose=verbose
    )
    notes = [] if n_clusters is not None else _own_numbers_of_clusters(methods)
    return summarise(outcomes, n_features, wanted, data.shape[1:], mode, notes)


def _check_count(wanted: int | float, n_features: int) -> int:
    """A number of features, from such a number or a share of them."""
    if isinstance(wanted, Integral) and wanted >= 1:
        if wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted} is more than the {n_features} features there are; "
                f"give a number from 1 to {n_features}, or a share such as 0.1"
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
            raise ValueError(f"{name} must be an integer, at least {least}; got {value!r}")


def _check_limit(fit_limit: float | None) -> None:
    if fit_limit is None:
        return
    if not isinstance(fit_limit, Real) or not 0 < fit_limit < math.inf:
        raise ValueError(f"fit_limit must be a number of seconds above 0; got {fit_limit!r}")
    if not can_limit():
        raise ValueError("fit_limit needs a POSIX system and the main thread; leave it out")


def _check_labels(labels: ArrayLike, n_samples: int) -> np.ndarray:
    codes, n_classes = encode_labels(labels, n_samples)
    if n_classes < 2:
        raise ValueError("labels must have at least two classes; got one")
    return codes


def _own_numbers_of_clusters(methods: Iterable[Method]) -> list[str]:
    """What methods take if nobody says how many clusters there are."""
    own = {m.name: m.estimator.get_params(deep=False).get("n_clusters") for m in methods}
    taken = [f"{name} {number}" for name, number in own.items() if number is not None]
    if not taken:
        return []
    return [f"Numbers of clusters were not given; taken by default: {', '.join(taken)}."]
