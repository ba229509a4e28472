"""Halves of samples, or of their groups: one to choose features on, one to judge them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift.sources import KeptSamples

__all__ = ["Halves", "halves_of", "seen_on"]

_FEWEST_SAMPLES = 16  # fewer are not split in halves


@dataclass(frozen=True)
class Halves:
    """Two ways to split samples into halves.

    Attributes
    ----------
    samples : KeptSamples
        The samples, each of them once.
    sides : list of ndarray of int
        For each way the half, 0 or 1, that a sample belongs to; none if there are too few.
    of_groups : bool
        Whether no group is in both halves.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import halves_of
    >>> from tensift.sources import KeptSamples
    >>> halves = halves_of(KeptSamples(np.arange(40.0).reshape(20, 2)))
    >>> [half.rows[:3, 0] for half in halves.pair(0)]
    [array([0., 4., 8.]), array([ 2.,  6., 10.])]
    """

    samples: KeptSamples
    sides: list[NDArray[np.intp]]
    of_groups: bool

    def half(self, number: int, side: int) -> KeptSamples:
        """Return one of the halves, 0 or 1, of one way."""
        return self.samples.take(np.flatnonzero(self.sides[number] == side))

    def pair(self, number: int) -> list[KeptSamples]:
        """Return both halves of one way."""
        return [self.half(number, 0), self.half(number, 1)]


def halves_of(kept: KeptSamples) -> Halves:
    """Split samples that come one after another into halves, so that neighbours are on both sides.

    If samples have groups, whole groups are on one side, the largest of them by turns. Copies of a
    sample are on the same side. There are no halves of fewer than 16 samples.

    Parameters
    ----------
    kept : KeptSamples
        The samples.

    Returns
    -------
    Halves

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import halves_of
    >>> from tensift.sources import KeptSamples
    >>> len(halves_of(KeptSamples(np.eye(10))).sides), len(halves_of(KeptSamples(np.eye(16))).sides)
    (0, 2)
    """
    samples, of_groups = kept.distinct(), False
    number = np.arange(len(samples))
    if kept.groups is not None and len(np.unique(kept.groups)) > 1:
        samples, of_groups = kept.distinct(across_groups=False), True
        assert samples.groups is not None
        sizes = np.bincount(samples.groups)
        places = np.empty(len(sizes), dtype=np.intp)
        places[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        number = places[samples.groups]
    sides = [number % 2, (number // 2 + number) % 2]
    fewest = min(np.bincount(side, minlength=2).min() for side in sides)
    if fewest < _FEWEST_SAMPLES // 2:
        sides = []
    return Halves(samples, sides, of_groups)


def seen_on(halves: Halves) -> str:
    """Return in words on which samples features are judged."""
    if not halves.sides:
        return "on the samples that they were chosen on"
    what = "groups" if halves.of_groups else "samples"
    return f"on {what} that they were not chosen on"
