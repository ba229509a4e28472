"""Choose how many components each slice keeps."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

__all__ = ["choose_ranks"]


def choose_ranks(
    energy: NDArray[np.float64],
    available: NDArray[np.intp],
    multiplicity: NDArray[np.intp],
    n_components: int | float | None,
    truncation: str,
) -> NDArray[np.intp]:
    """Return how many of its leading components each slice keeps.

    Parameters
    ----------
    energy : ndarray of shape (p', r)
        The energy of the components of each slice, descending.
    available : ndarray of shape (p',)
        How many of these energies exceed rounding errors.
    multiplicity : ndarray of shape (p',)
        How many slices each one stands for: 1, or 2 for a conjugate pair.
    n_components : int, float or None
        A number of components, a share of the energy, or None for all.
    truncation : {"slice", "global"}
        Whether `n_components` applies to every slice or to all slices together.
    """
    if n_components is None:
        return available
    real = np.arange(energy.shape[1]) < available[:, None]
    energy = np.where(real, energy, 0.0)
    if truncation == "slice":
        if isinstance(n_components, Integral):
            return np.minimum(min(int(n_components), energy.shape[1]), available)
        missing = np.cumsum(energy, axis=1) < n_components * energy.sum(axis=1, keepdims=True)
        return np.minimum(missing.sum(axis=1) + 1, available)
    if isinstance(n_components, Integral):
        budget = min(int(n_components), energy.size * int(multiplicity.max()))
        return _largest(energy, real, multiplicity, budget)
    weights = energy * multiplicity[:, None]
    order = np.argsort(-energy, axis=None, kind="stable")
    cumulative = np.cumsum(weights.ravel()[order])
    threshold = energy.ravel()[order[np.searchsorted(cumulative, n_components * cumulative[-1])]]
    return np.sum(real & (energy >= threshold), axis=1)


def _largest(
    energy: NDArray[np.float64],
    real: NDArray[np.bool_],
    multiplicity: NDArray[np.intp],
    budget: int,
) -> NDArray[np.intp]:
    """Return the ranks for which at most `budget` components hold the most energy.

    A component of a conjugate pair counts twice and has twice the energy. So the best choice has t
    leading pairs and then as many leading single components as the budget allows. We try all t.
    """
    by_kind = []
    for kind in (1, 2):
        index = np.flatnonzero(real & (multiplicity == kind)[:, None])
        by_kind.append(index[np.argsort(-energy.ravel()[index], kind="stable")])
    singles, pairs = by_kind
    energy_of_singles = np.concatenate([[0], np.cumsum(energy.ravel()[singles])])
    energy_of_pairs = np.concatenate([[0], 2 * np.cumsum(energy.ravel()[pairs])])
    n_pairs = np.arange(min(budget // 2, len(pairs)) + 1)
    n_singles = np.minimum(budget - 2 * n_pairs, len(singles))
    best = int(np.argmax(energy_of_pairs[n_pairs] + energy_of_singles[n_singles]))
    if n_pairs[best] + n_singles[best] == 0:
        raise ValueError(
            f"n_components={budget} is too small: only conjugate pairs of slices vary, and each "
            "takes two components; use at least 2"
        )
    chosen = np.zeros(energy.size, dtype=np.intp)
    chosen[singles[: n_singles[best]]] = 1
    chosen[pairs[: n_pairs[best]]] = 1
    return chosen.reshape(energy.shape).sum(axis=1)
