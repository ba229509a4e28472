"""Samples without gaps, for rules that look at samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift.moments import conditional_means, is_missing
from tensift.sources import KeptSamples

__all__ = ["effective_sizes", "with_observed_deviations", "without_gaps"]


def without_gaps(rows: Any) -> KeptSamples:
    """Return samples with estimates in place of NaN (`tensift.moments.conditional_means`).

    Samples without any value are left out. If there are estimates, `KeptSamples.observed` says
    where.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import without_gaps
    >>> kept = without_gaps(np.array([[1.0, 2.0], [2.0, np.nan], [np.nan, np.nan]]))
    >>> kept.rows.shape, int(kept.observed.sum())
    ((2, 2), 3)
    """
    kept = KeptSamples.of(rows)
    if is_device_array(kept.rows) or not is_missing(kept.rows).any():
        return kept
    some = ~is_missing(kept.rows).reshape(len(kept), -1).all(axis=1)
    kept = kept.take(np.flatnonzero(some))
    observed = ~is_missing(kept.rows)
    never = ~observed.any(axis=0)
    if observed[:, ~never].all():
        return replace(kept, rows=np.where(never, 0, kept.rows))
    return replace(kept, rows=conditional_means(kept.rows, kept.weights), observed=observed)


def effective_sizes(
    observed: NDArray[np.bool_], shares: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return for values ``(n, ...)`` how many equally weighted samples say as much of each."""
    if shares is None:
        return np.asarray(observed.sum(axis=0), float)
    sums, squares = (np.tensordot(w, observed, axes=1) for w in (shares, shares**2))
    return np.asarray(sums**2 / np.where(squares > 0, squares, 1))


def with_observed_deviations(
    values: NDArray[np.float64],
    observed: NDArray[np.bool_],
    shares: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values with the deviations of those that were observed: estimates vary less.

    Also return the share of the variance of each feature that its values have before that. With
    `shares`, the weights of samples with a mean of one, deviations are weighted.
    """
    own_weights = observed if shares is None else shares[:, None, None] * observed
    number = own_weights.sum(axis=0)
    number = np.where(number > 0, number, 1)
    mean = (own_weights * values).sum(axis=0) / number
    own = np.sqrt(np.sum(own_weights * (values - mean) ** 2, axis=0) / number)
    centre = np.average(values, axis=0, weights=shares)
    whole = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=shares))
    factor = np.divide(own, whole, out=np.ones_like(own), where=whole > 0)
    told = np.ones(values.shape[1])
    energies = (own**2).sum(axis=1), (whole**2).sum(axis=1)
    np.divide(energies[1], energies[0], out=told, where=energies[0] > 0)
    return centre + (values - centre) * factor, np.minimum(told, 1)
