"""The samples that selections look at, with their weights and groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import (
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)

__all__ = ["KeptSamples"]

# Projections that differ by more, as a share of the largest, are of different samples.
_ROUNDING = {"float64": 1e-12, "float32": 1e-5}


@dataclass(frozen=True, eq=False)
class KeptSamples:
    """A few samples, and how much each of them counts.

    Attributes
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        The samples, of any array library.
    weights : ndarray of shape (n,) or None
        Positive weights, on the host; None if samples count alike. Only their ratios matter.
    groups : ndarray of int, shape (n,), or None
        The number of each sample's group, on the host.
    observed : ndarray of bool of the shape of `rows`, or None
        Where values were observed, if the others are estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.sources import KeptSamples
    >>> found = KeptSamples(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).distinct()
    >>> found.rows.shape, found.weights
    ((2, 2), array([2., 1.]))
    """

    rows: Any
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.intp] | None = None
    observed: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, rows: Any) -> KeptSamples:
        """Return samples as such: an array has neither weights nor groups."""
        if isinstance(rows, KeptSamples):
            return rows
        refuse_masked(rows, "samples")
        return cls(rows if is_device_array(rows) else np.asarray(rows))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def effective_size(self) -> float:
        """The number of equally weighted samples that say as much: ``(sum w)^2 / sum w^2``."""
        if self.weights is None:
            return float(len(self))
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2))

    @property
    def shares(self) -> NDArray[np.float64] | None:
        """The weights, scaled to a mean of one."""
        if self.weights is None:
            return None
        shares: NDArray[np.float64] = self.weights * (len(self) / self.weights.sum())
        return shares

    def take(self, index: NDArray[Any]) -> KeptSamples:
        """Return some of the samples, by their indices."""
        rows = self.rows
        place = moved_to(rows, index) if is_device_array(rows) else index
        return KeptSamples(
            namespace_of(rows).take(rows, place, axis=0),
            None if self.weights is None else self.weights[index],
            None if self.groups is None else self.groups[index],
            None if self.observed is None else self.observed[index],
        )

    def to_numpy(self) -> KeptSamples:
        """Return the same with the samples on the host."""
        return replace(self, rows=to_numpy(self.rows))

    def distinct(self, *, across_groups: bool = True) -> KeptSamples:
        """Return every sample once, in the order of first occurrence; copies add up their weights.

        A copy would be the nearest neighbour of a sample, and would know its held-out values. So
        whatever looks at neighbours, or holds samples out, has to look at distinct samples. With
        ``across_groups=False`` copies in other groups stay, so that groups can be held out.
        """
        first = self.first_occurrences()
        if not across_groups and self.groups is not None:
            keys = np.stack([first, self.groups], axis=1)
            _, places, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            first = places[np.ravel(inverse)]
        chosen, inverse = np.unique(first, return_inverse=True)
        if len(chosen) == len(self):
            return self
        weights = np.bincount(np.ravel(inverse), self.weights).astype(float)
        return replace(self.take(chosen), weights=weights)

    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for each sample the index of the first one that equals it; NaN equals NaN."""
        rows = self.rows
        if not is_device_array(rows) and rows.dtype.kind in "fc" and np.isnan(rows).any():
            gaps = np.isnan(rows)
            rows = np.stack([np.where(gaps, 0, rows), gaps], axis=1)
        return _first_occurrences(rows)


def _first_occurrences(rows: Any) -> NDArray[np.intp]:
    """Return for each sample the index of the first one that equals it."""
    xp = namespace_of(rows)
    count = rows.shape[0]
    first = np.arange(count)
    flat = xp.reshape(rows, (count, -1))
    projection = _projected(flat)
    order = np.argsort(projection, kind="stable")
    near = _ROUNDING[precision_of(rows)] * np.abs(projection).max(initial=0.0)
    starts = np.flatnonzero(np.diff(projection[order], prepend=-np.inf) > near)
    if len(starts) == count:
        return first
    for members in np.split(order, starts[1:]):
        left = np.sort(members)
        while len(left) > 1:  # most often once: all of them are copies of the first
            one, others = left[0], left[1:]
            equal = _equal_to(flat, one, others)
            first[others[equal]] = one
            left = others[~equal]
    return first


def _projected(flat: Any) -> NDArray[np.float64]:
    """Return one number for each sample; those of copies differ only by rounding."""
    xp = namespace_of(flat)
    direction = np.random.RandomState(0).uniform(1, 2, flat.shape[1])
    values = xp.real(flat) + xp.imag(flat) * np.pi if is_complex(flat) else flat
    if is_device_array(values):
        if not xp.isdtype(values.dtype, "real floating"):
            values = xp.astype(values, xp.float32)
        direction = moved_to(values, direction, values.dtype)
    return np.asarray(to_numpy(xp.matmul(values, direction)), float)


def _equal_to(flat: Any, one: int, others: NDArray[np.intp]) -> NDArray[np.bool_]:
    xp = namespace_of(flat)
    place = moved_to(flat, others) if is_device_array(flat) else others
    same = xp.all(xp.take(flat, place, axis=0) == flat[int(one), :], axis=1)
    return np.asarray(to_numpy(same), bool)
