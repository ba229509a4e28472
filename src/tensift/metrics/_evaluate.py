"""The paper's protocol: how well do samples cluster on the selected features?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tensift._utils.threads import one_library_thread
from tensift.metrics._checks import encode_labels
from tensift.metrics._class_variance import proportion_correct
from tensift.metrics._clustering import clustering_accuracy, normalized_mutual_information
from tensift.metrics._features import check_features, check_samples, count_features, restrict
from tensift.metrics._kmeans import SEEDINGS, cluster_once
from tensift.metrics._silhouette import silhouette_of_labels

__all__ = ["SelectionEvaluation", "evaluate_selection"]

PAPER_COUNTS = (50, 100, 150, 200, 250, 300)
_CLUSTERED = {"acc": clustering_accuracy, "nmi": normalized_mutual_information}
_METRICS = ("acc", "nmi", "silhouette", "poc")


@dataclass(frozen=True, eq=False)
class SelectionEvaluation:
    """The scores of a selection at several numbers of features.

    Parameters
    ----------
    counts : tuple of int
        The numbers of features.
    means : dict of str to ndarray
        The value of every metric at each count. For metrics that use k-means, the mean over the
        repeats.
    stds : dict of str to ndarray
        The standard deviation over the repeats (``ddof=0``), for the metrics that use k-means.
    n_repeats : int
        The number of k-means runs at each count.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import SelectionEvaluation
    >>> scores = SelectionEvaluation((1, 2), {"acc": np.array([0.5, 0.9])},
    ...                              {"acc": np.array([0.1, 0.0])}, n_repeats=30)
    >>> scores.best("acc")
    (2, 0.9)
    >>> scores.to_rows()[0]
    {'n_features': 1, 'acc': 0.5, 'acc_std': 0.1}
    """

    counts: tuple[int, ...]
    means: dict[str, np.ndarray]
    stds: dict[str, np.ndarray]
    n_repeats: int

    def best(self, metric: str) -> tuple[int, float]:
        """Return the count at which a metric is largest, and its value there.

        Ties go to the smallest count. The labels choose this count: say so when you report it.
        """
        if metric not in self.means:
            raise ValueError(f"metric must be one of {tuple(self.means)}; got {metric!r}")
        place = int(np.argmax(self.means[metric]))
        return self.counts[place], float(self.means[metric][place])

    def to_rows(self) -> list[dict[str, float]]:
        """Return one dict per count, for ``csv.DictWriter`` or ``pandas.DataFrame``."""
        rows = []
        for place, count in enumerate(self.counts):
            row: dict[str, float] = {"n_features": count}
            for metric, values in self.means.items():
                row[metric] = float(values[place])
                if metric in self.stds:
                    row[f"{metric}_std"] = float(self.stds[metric][place])
            rows.append(row)
        return rows


def evaluate_selection(
    X: ArrayLike,
    labels: ArrayLike,
    ranking_or_support: ArrayLike,
    *,
    counts: Iterable[int] | None = None,
    n_clusters: int | None = None,
    n_repeats: int = 30,
    seeding: str = "k-means++",
    random_state: Any = 0,
    feature_mode: int | str | None = None,
    metrics: Sequence[str] = ("acc", "nmi", "silhouette"),
) -> SelectionEvaluation:
    """Score the first features of a ranking by the paper's protocol.

    For each number of features, k-means runs on those features several times, each time from
    another seed, and its clusters are compared with the labels. The silhouette is that of the
    labels themselves and uses no clustering. Every count and every ranking gets the same seeds.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features.
    labels : array-like of shape (n,)
        The true classes; any values.
    ranking_or_support : array-like
        Feature indices, best first (flat C-order, or along ``feature_mode``), such as
        ``selector.order_``; or a boolean mask of all features, whose features are all used.
    counts : iterable of int, optional
        How many of the first features to use. By default the paper's 50, 100, ..., 300, up to
        the length of the ranking, or the whole ranking if it is shorter than 50.
    n_clusters : int, optional
        The number of clusters. By default the number of classes.
    n_repeats : int, default=30
        The number of k-means runs.
    seeding : {"k-means++", "greedy"}, default="k-means++"
        "k-means++" is plain k-means++, as in the paper (MATLAB's: one candidate per centre, one
        replicate). "greedy" is scikit-learn's, which finds better clusters. Do not compare
        accuracies of the two.
    random_state : int, RandomState instance or None, default=0
        The seed from which the seeds of all runs are drawn.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.
    metrics : sequence of {"acc", "nmi", "silhouette", "poc"}
        What to compute. ``"poc"`` is :func:`proportion_correct`. k-means only runs for
        ``"acc"`` and ``"nmi"``.

    Returns
    -------
    SelectionEvaluation
        Means and standard deviations at each count.

    Notes
    -----
    If the samples have fewer distinct values than clusters on the selected features, k-means
    returns fewer clusters, without a warning. The numerical libraries use one thread, so the
    result does not depend on the number of cores, and you can run many evaluations at once.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import evaluate_selection
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 3, 4))
    >>> X[:, 1, 2] += 50 * labels
    >>> scores = evaluate_selection(X, labels, [6, 0, 1], counts=[1, 3], n_repeats=5)
    >>> scores.best("acc")
    (1, 1.0)
    """
    data, feature_mode = check_samples(X, feature_mode)
    n_features = count_features(data.shape[1:], feature_mode)
    classes, n_classes = encode_labels(labels, len(data))
    ranking = check_features("ranking_or_support", ranking_or_support, n_features)
    is_mask = np.asarray(ranking_or_support).dtype.kind == "b"
    chosen_counts = _check_counts(counts, len(ranking), is_mask)
    n_clusters = n_classes if n_clusters is None else n_clusters
    if n_clusters > len(data):
        raise ValueError(f"n_clusters={n_clusters} is more than the {len(data)} samples in X")
    _check_options(n_clusters, n_repeats, seeding, metrics)
    seeds = check_random_state(random_state).randint(2**31, size=n_repeats)

    means: dict[str, list[float]] = {metric: [] for metric in metrics}
    stds: dict[str, list[float]] = {metric: [] for metric in metrics if metric in _CLUSTERED}
    with one_library_thread():
        for count in chosen_counts:
            features = ranking[:count]
            rows = restrict(data, features, feature_mode)
            for metric, runs in _cluster_scores(
                rows, classes, n_clusters, seeding, seeds, list(stds)
            ).items():
                means[metric].append(float(np.mean(runs)))
                stds[metric].append(float(np.std(runs)))
            if "silhouette" in means:
                means["silhouette"].append(silhouette_of_labels(rows, classes))
            if "poc" in means:
                correct = proportion_correct(features, data, classes, feature_mode=feature_mode)
                means["poc"].append(correct)
    return SelectionEvaluation(
        chosen_counts,
        {metric: np.array(values) for metric, values in means.items()},
        {metric: np.array(values) for metric, values in stds.items()},
        n_repeats,
    )


def _cluster_scores(
    rows: np.ndarray,
    classes: np.ndarray,
    n_clusters: int,
    seeding: str,
    seeds: np.ndarray,
    metrics: list[str],
) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {metric: [] for metric in metrics}
    if not scores:
        return scores
    with warnings.catch_warnings():
        # If samples are equal on the selected features, fewer clusters are the right answer.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in seeds:
            clusters = cluster_once(rows, n_clusters, seeding, int(seed))
            for metric, runs in scores.items():
                runs.append(_CLUSTERED[metric](classes, clusters))
    return scores


def _check_counts(counts: Iterable[int] | None, n_ranked: int, is_mask: bool) -> tuple[int, ...]:
    if counts is None:
        fitting = () if is_mask else tuple(count for count in PAPER_COUNTS if count <= n_ranked)
        return fitting or (n_ranked,)
    chosen = tuple(counts)
    if not chosen:
        raise ValueError("counts must contain at least one number of features")
    for count in chosen:
        if not isinstance(count, (int, np.integer)) or not 1 <= count <= n_ranked:
            raise ValueError(
                f"counts must be integers from 1 to {n_ranked}, the number of ranked features; "
                f"got {count!r}"
            )
    return tuple(int(count) for count in chosen)


def _check_options(n_clusters: int, n_repeats: int, seeding: str, metrics: Sequence[str]) -> None:
    for name, value in (("n_clusters", n_clusters), ("n_repeats", n_repeats)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1; got {value!r}")
    if seeding not in SEEDINGS:
        raise ValueError(f"seeding must be one of {SEEDINGS}; got {seeding!r}")
    unknown = [metric for metric in metrics if metric not in _METRICS]
    if unknown or isinstance(metrics, str) or not metrics:
        raise ValueError(f"metrics must be a list with elements from {_METRICS}; got {metrics!r}")
