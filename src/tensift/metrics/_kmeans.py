"""One run of k-means, with the seeding that the paper used."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

__all__ = ["SEEDINGS", "cluster_once", "plain_seeds"]

SEEDINGS = ("k-means++", "greedy")


def cluster_once(rows: np.ndarray, n_clusters: int, seeding: str, seed: int) -> np.ndarray:
    """Return the cluster labels of one k-means run.

    ``"k-means++"`` draws one candidate per centre and iterates until nothing changes, at most
    100 times, as MATLAB does by default. ``"greedy"`` is scikit-learn's default, which takes the
    best of several candidates per centre.
    """
    if seeding == "greedy":
        model = KMeans(n_clusters, n_init=1, random_state=seed)
    else:
        centres = plain_seeds(rows, n_clusters, np.random.default_rng(seed))
        model = KMeans(len(centres), init=centres, n_init=1, max_iter=100, tol=0)
    labels: np.ndarray = model.fit_predict(rows)
    return labels


def plain_seeds(rows: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Choose centres by k-means++: draw each next sample with weight squared distance.

    Returns fewer than ``n_clusters`` centres if there are fewer distinct samples.
    """
    chosen = [int(rng.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(chosen) < n_clusters:
        np.minimum(nearest, _squared_distances(rows, rows[chosen[-1]]), out=nearest)
        cumulative = np.cumsum(nearest)
        if cumulative[-1] == 0:
            break
        # side="right", so that a draw on a boundary never picks a sample at distance zero.
        draw = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        chosen.append(min(int(draw), len(rows) - 1))
    return rows[chosen]


def _squared_distances(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
    difference = rows - point
    squares: np.ndarray = np.einsum("ij,ij->i", difference, difference)
    return squares
