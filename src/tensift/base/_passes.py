"""Gram matrices that are too many for memory: made for some slices at a time, a pass each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from sklearn import get_config

from tensift._warnings import warn_user
from tensift.base._intake import MomentsOfChunk
from tensift.gram import GramTensor, Moments, Orientation
from tensift.sources import Source
from tensift.sources._thinned import ThinnedSamples

__all__ = ["MomentsInPasses", "passes_for"]

# Gram matrices that are in memory at a time: summed up, scaled, as operators, and in use.
_COPIES = 4


class MomentsInPasses(Moments):
    """Moments whose Gram matrices are never in memory together.

    Count, mean, spread and peak are those of all samples. The Gram matrices of a block of slices
    are made by another pass over the samples when they are asked for.

    Parameters
    ----------
    source : Source
        The samples.
    orientation : Orientation
        How they are turned into slices.
    blocks : list of slice
        Blocks of slices whose Gram matrices fit into memory.
    verbose : bool
        Whether to show progress.
    n_jobs : int or None
        Workers.
    rows : ThinnedSamples, optional
        Takes in samples as they are read for the first time.
    """

    def __init__(
        self,
        source: Source,
        orientation: Orientation,
        blocks: list[slice],
        *,
        rows: ThinnedSamples | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(orientation)
        self.blocks = blocks
        self.source: Source | None = source
        self._verbose, self._n_jobs = verbose, n_jobs
        first = self._collect(blocks[0], rows)
        self.count, self.peak = first.count, first.peak
        self.mean, self._squares = first.mean, first._squares
        self._known: tuple[slice, GramTensor] | None = (blocks[0], first.gram())

    def gram(self) -> GramTensor:
        """Refused: all Gram matrices together are too many."""
        raise ValueError(why_not_kept("the Gram matrices"))

    def gram_of(self, block: slice) -> GramTensor:
        """The Gram matrices of a block of slices; the last that were made are kept."""
        if self._known is None or self._known[0] != block:
            self._known = None  # before the next are made
            self._known = (block, self._collect(block).gram())
        return self._known[1]

    def grams(self) -> Iterator[tuple[slice, GramTensor]]:
        """All blocks in order, with their Gram matrices."""
        for block in self.blocks:
            yield block, self.gram_of(block)

    def forget_samples(self) -> None:
        """Keep neither the samples nor Gram matrices."""
        self.source, self._known = None, None

    def _collect(self, block: slice, rows: ThinnedSamples | None = None) -> Moments:
        if self.source is None:
            raise ValueError(why_not_kept("the samples"))
        measure = MomentsOfChunk(self.orientation, block)
        return self.source.moments(measure, verbose=self._verbose, n_jobs=self._n_jobs, rows=rows)


def passes_for(
    orientation: Orientation, n_samples: int | None, *, rereadable: bool, in_memory: int = 0
) -> list[slice] | None:
    """Blocks of slices that fit into scikit-learn's ``working_memory``; None if all do.

    Where samples are in memory already, Gram matrices may take as many bytes again. Samples that
    cannot be read again are taken in together, whatever it takes.
    """
    kept = len(orientation.kept_slices)
    size = orientation.size
    real = orientation.real_data and all(one.is_real for one in orientation.transforms)
    rank = size if n_samples is None else min(size, n_samples)
    slice_bytes = size * rank * (8 if real else 16)
    allowed = max(in_memory, int(get_config()["working_memory"] * 2**20))
    needed = _COPIES * slice_bytes
    if kept * needed <= allowed or kept == 1:
        return None
    if not rereadable:
        warn_user(
            f"the Gram matrices of X take {kept * slice_bytes / 2**30:.3g} GiB, more than fits "
            "into scikit-learn's working_memory, but X can be read once; they are all made at "
            "once. Pass something that can be read again, such as tensift.sources.Chunks"
        )
        return None
    n_blocks = -(-kept // max(1, allowed // needed))
    ends = np.linspace(0, kept, n_blocks + 1).astype(int)
    warn_user(
        f"the Gram matrices of X take {kept * slice_bytes / 2**30:.3g} GiB, so slices are solved "
        f"in {n_blocks} blocks, a pass over X each, and operators are not kept; for one pass, "
        f"raise scikit-learn's working_memory to {math.ceil(kept * needed / 2**20)} (MiB)"
    )
    return [slice(int(start), int(end)) for start, end in pairwise(ends)]


def why_not_kept(what: str) -> str:
    """Why something is not there after a fit in several passes, and what to do."""
    return (
        f"{what} not kept: the Gram matrices do not fit into scikit-learn's working_memory, "
        "so slices were solved in blocks; fit under a larger one, such as "
        "sklearn.set_config(working_memory=8000) in MiB"
    )
