"""Gram matrices that do not fit into memory: each pass over the samples makes some of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from tensift._utils.warnings import warn_user
from tensift.moments._chunk_measures import MomentsOfChunk
from tensift.moments._from_source import moments_of_source
from tensift.moments._missing import MissingValues
from tensift.moments._moments import Moments
from tensift.moments._orientation import Orientation
from tensift.moments._tensor import GramTensor
from tensift.sources import EvenSubsample, Source

__all__ = ["MomentsInPasses", "passes_for"]

# How often the Gram matrices of a block are in memory at the same time: the sums, the scaled
# matrices, the operators, and work space of the solver.
GRAM_COPIES = 4


class MomentsInPasses(Moments):
    """Moments whose Gram matrices are never all in memory.

    Count, mean, spread and peak are known after the first pass. The Gram matrices of a block of
    slices are computed on request, by another pass over the samples.

    Parameters
    ----------
    source : Source
        The samples.
    orientation : Orientation
        How samples become slices.
    blocks : list of slice
        Blocks of slices whose Gram matrices fit into memory.
    verbose : bool
        Whether to show progress.
    n_jobs : int or None
        The number of threads.
    subsample : EvenSubsample, optional
        Gets the samples during the first pass.
    missing : bool
        Whether NaN stands for a value that was not observed.
    """

    def __init__(
        self,
        source: Source,
        orientation: Orientation,
        blocks: list[slice],
        *,
        subsample: EvenSubsample | None = None,
        missing: bool = False,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(orientation)
        self.blocks = blocks
        self.source: Source | None = source
        self._verbose, self._n_jobs = verbose, n_jobs
        self._missing = missing
        self.before_filling: MissingValues | None = None
        self.subsample = subsample
        first: Any = self._collect(blocks[0], subsample)
        self.count, self.total, self.peak = first.count, first.total, first.peak
        self.mean, self._squares = first.mean, first._squares
        self._known: MissingValues | None = None
        if missing:
            self._known = MissingValues(first.count, first.observed)
        self._widest = first.widest
        self._cached: tuple[slice, GramTensor] | None = (blocks[0], first.gram())

    @property
    def missing(self) -> MissingValues | None:
        """What is missing, without what pairs say; None if nothing may be."""
        return self._known if self.before_filling is None else self.before_filling

    @property
    def widest(self) -> int:
        """The largest number of features of a slice that are known."""
        return self._widest

    def gram(self) -> GramTensor:
        """Raise an error: the Gram matrices do not fit into memory together."""
        raise ValueError(not_kept_message("the Gram matrices"))

    def gram_of(self, block: slice) -> GramTensor:
        """Return the Gram matrices of a block of slices; those of the last block are cached."""
        if self._cached is None or self._cached[0] != block:
            self._cached = None  # free the memory first
            self._cached = (block, self._gram(block))
        return self._cached[1]

    def grams(self) -> Iterator[tuple[int, GramTensor]]:
        """Yield the number of each block and its Gram matrices; the block that is cached first."""
        numbers = range(len(self.blocks))
        cached = None if self._cached is None else self._cached[0]
        for number in sorted(numbers, key=lambda number: self.blocks[number] != cached):
            yield number, self.gram_of(self.blocks[number])

    def standardised(self, deviations: NDArray[np.float64]) -> MomentsInPasses:
        """Return moments whose slices are divided, here before they are transformed."""
        scaled = copy(self)
        scaled.orientation = replace(self.orientation, deviations=deviations)
        if self._cached is not None:
            block, gram = self._cached
            factors = scaled.orientation.in_slices(deviations)[block]
            scaled._cached, self._cached = (block, gram.divided(factors)), None
        return scaled

    def forget_samples(self) -> None:
        """Drop the samples and the cached Gram matrices."""
        self.source, self._cached = None, None

    def _gram(self, block: slice) -> GramTensor:
        return self._collect(block).gram()

    def _collect(self, block: slice, subsample: EvenSubsample | None = None) -> Moments:
        if self.source is None:
            raise ValueError(not_kept_message("the samples"))
        measure = MomentsOfChunk(self.orientation, block, self._missing)
        return moments_of_source(
            self.source, measure, subsample=subsample, verbose=self._verbose, n_jobs=self._n_jobs
        )


def passes_for(
    orientation: Orientation, n_samples: int | None, *, rereadable: bool, in_memory: int = 0
) -> list[slice] | None:
    """Return blocks of slices that fit into scikit-learn's ``working_memory``; None if all fit.

    If the samples are in memory already, Gram matrices may take as many bytes as they do. If the
    samples cannot be read again, one pass makes all Gram matrices, whatever memory that takes.
    """
    kept = len(orientation.kept_slices)
    size = orientation.size
    real = orientation.real_data and all(one.is_real for one in orientation.transforms)
    rank = size if n_samples is None else min(size, n_samples)
    slice_bytes = size * rank * (8 if real else 16)
    allowed = max(in_memory, int(get_config()["working_memory"] * 2**20))
    needed = GRAM_COPIES * slice_bytes
    if kept * needed <= allowed or kept == 1:
        return None
    if not rereadable:
        warn_user(
            f"the Gram matrices of X take {kept * slice_bytes / 2**30:.3g} GiB, more than fits "
            "into scikit-learn's working_memory, but X can be read only once, so all are computed "
            "together. Pass something that can be read again, such as tensift.sources.Chunks"
        )
        return None
    n_blocks = -(-kept // max(1, allowed // needed))
    ends = np.linspace(0, kept, n_blocks + 1).astype(int)
    warn_user(
        f"the Gram matrices of X take {kept * slice_bytes / 2**30:.3g} GiB, so slices are solved "
        f"in {n_blocks} blocks, with one pass over X for each, and operators are not kept; for "
        "a single pass, set scikit-learn's working_memory to "
        f"{math.ceil(kept * needed / 2**20)} (MiB)"
    )
    return [slice(int(start), int(end)) for start, end in pairwise(ends)]


def not_kept_message(what: str) -> str:
    """Return an error message: why something is missing after a fit in passes, and what to do."""
    return (
        f"{what} not kept: the Gram matrices do not fit into scikit-learn's working_memory, "
        "so slices were solved in blocks; fit again with more, for example "
        "sklearn.set_config(working_memory=8000) for 8000 MiB"
    )
