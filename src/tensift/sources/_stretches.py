"""Which samples with weights to keep: those that contain a multiple of a spacing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensift.sources._sample_weights import SampleWeights

__all__ = ["Stretches"]


def _none() -> NDArray[np.float64]:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Stretches:
    """The places of kept samples on a line on which each sample is as long as its weight.

    Attributes
    ----------
    begins, ends : ndarray of shape (n,)
        Where each kept sample begins and ends.
    own : ndarray of shape (n,)
        The weight of each kept sample.
    groups : ndarray of int, shape (n,), or None
        The group of each kept sample.
    spacing : float
        A sample is kept if a multiple of this lies in it; 0 if all are.
    total : float
        The sum of the weights of all samples, also of those that are not kept.
    """

    begins: NDArray[np.float64] = field(default_factory=_none)
    ends: NDArray[np.float64] = field(default_factory=_none)
    own: NDArray[np.float64] = field(default_factory=_none)
    groups: NDArray[np.intp] | None = None
    spacing: float = 0.0
    total: float = 0.0

    @classmethod
    def of_equal(cls, n_samples: int, stride: int) -> Stretches:
        """Return those of every `stride`-th of some samples of weight one."""
        begins = np.arange(0, n_samples, stride, dtype=float)
        spacing = float(stride) if stride > 1 else 0.0
        return cls(
            begins, begins + 1, np.ones(len(begins)), spacing=spacing, total=float(n_samples)
        )

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each kept sample stands for: its own weight, but at least the spacing."""
        return np.maximum(self.own, self.spacing)

    def after(
        self, more: SampleWeights, most: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Stretches]:
        """Return which samples are kept after more samples.

        Parameters
        ----------
        more : SampleWeights
            Those of the samples that follow; positive.
        most : int
            The largest number of samples to keep.

        Returns
        -------
        held, new : ndarray of int
            Places among the samples kept so far, and among those that follow.
        stretches : Stretches
            Those of all kept samples.
        """
        # One after another, so that rounding does not depend on chunks.
        bounds = np.add.accumulate(np.concatenate([[self.total], more.values]))
        begins = np.concatenate([self.begins, bounds[:-1]])
        ends = np.concatenate([self.ends, bounds[1:]])
        own = np.concatenate([self.own, more.values])
        spacing = self.spacing
        kept = _marked(begins, ends, own, spacing)
        if np.count_nonzero(kept) > most:
            spacing = _spacing(begins, ends, own, spacing, most)
            kept = _marked(begins, ends, own, spacing)
        groups = None
        if more.groups is not None:  # samples without a group are none of these
            before = np.full(len(self.own), -1) if self.groups is None else self.groups
            groups = np.concatenate([before, more.groups])[kept]
        places = np.flatnonzero(kept)
        first = len(self.own)
        found = Stretches(begins[kept], ends[kept], own[kept], groups, spacing, float(bounds[-1]))
        return places[places < first], places[places >= first] - first, found

    def to_array(self) -> NDArray[np.float64]:
        """Return all of it in one array."""
        groups = np.full(len(self.own), -1.0) if self.groups is None else self.groups
        last = [self.spacing, self.total, float(self.groups is not None), 0.0]
        columns = np.stack([self.begins, self.ends, self.own, groups], axis=1)
        return np.concatenate([columns, [last]])

    @classmethod
    def from_array(cls, array: NDArray[np.float64]) -> Stretches:
        """Return what `to_array` was called on."""
        spacing, total, has_groups, _ = array[-1].tolist()
        begins, ends, own, groups = array[:-1].T
        kept = groups.astype(np.intp) if has_groups else None
        return cls(begins, ends, own, kept, spacing, total)


def _marked(
    begins: NDArray[np.float64], ends: NDArray[np.float64], own: NDArray[np.float64], spacing: float
) -> NDArray[np.bool_]:
    """Return which stretches contain a multiple of the spacing."""
    if spacing == 0:
        return np.ones(len(begins), dtype=bool)
    # Rounding of long sums must not lose samples that are longer than the spacing.
    return (np.ceil(begins / spacing) * spacing < ends) | (own >= spacing)


def _spacing(
    begins: NDArray[np.float64],
    ends: NDArray[np.float64],
    own: NDArray[np.float64],
    least: float,
    most: int,
) -> float:
    """Return the smallest power of two that leaves at most `most` stretches.

    A multiple of a power of two is one of all smaller ones too, so their number never grows.
    """
    low = math.frexp(least if least > 0 else float(own.min()))[1] - 1
    high = math.frexp(float(ends[-1]))[1] + 1  # only zero is a multiple within all stretches
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(_marked(begins, ends, own, math.ldexp(1.0, middle))) <= most:
            high = middle
        else:
            low = middle + 1
    return math.ldexp(1.0, low)
