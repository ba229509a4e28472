"""Samples without gaps, for rules that look at samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift.moments import conditional_means, is_missing

__all__ = ["WithoutGaps", "fibres_of_flags", "with_observed_deviations", "without_gaps"]


class WithoutGaps(NamedTuple):
    """Samples with estimates where values are missing, and where they are not.

    Attributes
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        The samples. Those without any value are left out.
    observed : ndarray of bool of the same shape, or None
        Where values were observed; None if everywhere.
    """

    rows: Any
    observed: NDArray[np.bool_] | None


def without_gaps(rows: Any) -> WithoutGaps:
    """Return samples with estimates in place of NaN (`tensift.moments.conditional_means`).

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import without_gaps
    >>> rows, observed = without_gaps(np.array([[1.0, 2.0], [2.0, np.nan], [np.nan, np.nan]]))
    >>> rows.shape, int(observed.sum())
    ((2, 2), 3)
    """
    if is_device_array(rows):
        return WithoutGaps(rows, None)
    rows = np.asarray(rows)
    gaps = is_missing(rows)
    if not gaps.any():
        return WithoutGaps(rows, None)
    some = ~gaps.reshape(len(rows), -1).all(axis=1)
    rows, observed = rows[some], ~gaps[some]
    never = ~observed.any(axis=0)
    if observed[:, ~never].all():
        return WithoutGaps(np.where(never, 0, rows), None)
    return WithoutGaps(conditional_means(rows), observed)


def fibres_of_flags(
    observed: NDArray[np.bool_], feature_mode: int | None, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Return where values ``(n, features, t)`` were observed; parts of complex numbers both."""
    n_samples, n_features, depth = shape
    flags = observed if feature_mode is None else np.moveaxis(observed, feature_mode + 1, 1)
    flags = flags.reshape(n_samples, n_features, -1)
    return np.repeat(flags, depth // flags.shape[2], axis=2)


def with_observed_deviations(
    values: NDArray[np.float64], observed: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values with the deviations of those that were observed: estimates vary less.

    Also return the share of the variance of each feature that its values have before that.
    """
    number = np.maximum(observed.sum(axis=0), 1)
    mean = np.where(observed, values, 0).sum(axis=0) / number
    own = np.sqrt(np.sum(np.where(observed, values - mean, 0) ** 2, axis=0) / number)
    centre = values.mean(axis=0)
    whole = np.sqrt(np.mean((values - centre) ** 2, axis=0))
    factor = np.divide(own, whole, out=np.ones_like(own), where=whole > 0)
    told = np.ones(values.shape[1])
    energies = (own**2).sum(axis=1), (whole**2).sum(axis=1)
    np.divide(energies[1], energies[0], out=told, where=energies[0] > 0)
    return centre + (values - centre) * factor, np.minimum(told, 1)
