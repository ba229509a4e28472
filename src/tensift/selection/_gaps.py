"""Samples without gaps, for rules that look at samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift.moments import conditional_means, is_missing

__all__ = ["WithoutGaps", "without_gaps"]


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
    >>> from tensift.selection._gaps import without_gaps
    >>> rows, observed = without_gaps(np.array([[1.0, 2.0], [2.0, np.nan], [np.nan, np.nan]]))
    >>> rows.shape, observed.sum()
    ((2, 2), np.int64(3))
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
