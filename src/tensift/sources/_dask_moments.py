"""Moments whose Gram tensor stays on the workers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.gram import GramTensor, Moments
from tensift.solvers._workers import blocks_of
from tensift.sources._dask_tasks import cluster, gather, keep

__all__ = ["DaskMoments", "merged"]


class DaskMoments(Moments):
    """Moments of a Dask array: count, mean, spread and peak are here, the Gram tensor is not.

    It lies on the workers in blocks of slices, and is released when these moments are forgotten.
    Schedulers other than ``dask.distributed`` have nowhere to leave it but this process. `gram`
    brings all of it here, and so does a pickle, which holds ordinary `Moments`.

    Parameters
    ----------
    whole : Delayed
        The task that gives `Moments`.
    watch : callable, optional
        Is told the keys of all that is computed on the way, where they are known.

    Attributes
    ----------
    blocks : list of slice
        The blocks of slices.
    grams : list of Delayed
        The Gram tensor of every block.
    """

    def __init__(self, whole: Any, watch: Callable[[Any], None] | None = None) -> None:
        from dask import delayed

        if cluster() is None:
            # The moments end in this process: no use in sending all of them out for every block.
            (moments,) = gather([whole], watch=watch)
            self._take_small(moments)
            self.grams = [
                delayed(gram_of(moments, block), name=f"{whole.key}-{block.start}", traverse=False)
                for block in self.blocks
            ]
        else:
            (whole,) = keep([whole])
            (moments,) = gather([delayed(without_gram, pure=True)(whole)])
            self._take_small(moments)
            self.grams = keep([delayed(gram_of, pure=True)(whole, block) for block in self.blocks])

    def _take_small(self, moments: Moments) -> None:
        self.orientation, self.count, self.peak = moments.orientation, moments.count, moments.peak
        self.mean, self._squares, self.slices = moments.mean, moments._squares, None
        self.n_slices = len(self.orientation.kept_slices)
        self.size = self.orientation.size
        self.blocks = blocks_of(self)

    def update(self, samples: NDArray, *options: Any, **more: Any) -> Moments:
        """Take in samples that are in memory."""
        return self.merge(Moments(self.orientation).update(samples, *options))

    def merge(self, other: Moments) -> Moments:
        """Take in samples that have other moments of the same orientation."""
        from dask import delayed

        parts = [
            delayed(joined, pure=True)(part._small(), *part.grams)
            if isinstance(part, DaskMoments)
            else delayed(part, traverse=False)
            for part in (self, other)
        ]
        vars(self).update(vars(DaskMoments(delayed(merged, pure=True)(*parts))))
        return self

    def gram(self) -> GramTensor:
        """The Gram tensor of the kept slices, brought here."""
        return joined_gram(gather(self.grams))

    def _small(self) -> Moments:
        small = Moments(self.orientation)
        small.count, small.peak = self.count, self.peak
        small.mean, small._squares = self.mean, self._squares
        return small

    def __reduce__(self) -> tuple[Any, ...]:
        return joined, (self._small(), *gather(self.grams))

    # What ordinary moments ask of those that they take in.

    @property
    def _columns(self) -> list[NDArray]:  # type: ignore[override]
        gram = self.gram()
        return [gram.array] if gram.thin else []

    @property
    def _scatter(self) -> NDArray | None:  # type: ignore[override]
        gram = self.gram()
        return None if gram.thin else gram.array


# Tasks. None changes what it is given: it may be given again, to whoever computes it anew.


def merged(one: Moments, other: Moments) -> Moments:
    """Moments of the samples of both."""
    return Moments(one.orientation).merge(one).merge(other)


def without_gram(moments: Moments) -> Moments:
    """What is small of moments."""
    small = copy(moments)
    small._columns, small._scatter = [], None
    return small


def gram_of(moments: Moments, block: slice) -> GramTensor:
    """The Gram tensor of a block of slices, which does not keep that of the others."""
    part = copy(moments)
    part._columns = [columns[block] for columns in moments._columns]
    part._scatter = None if moments._scatter is None else moments._scatter[block].copy()
    return part.gram()


def joined_gram(parts: list[GramTensor]) -> GramTensor:
    """The Gram tensor of all blocks."""
    return GramTensor(np.concatenate([part.array for part in parts]), parts[0].thin)


def joined(small: Moments, *parts: GramTensor) -> Moments:
    """Ordinary moments from what is small of them and the blocks of their Gram tensor."""
    moments, gram = copy(small), joined_gram(list(parts))
    moments._columns = [gram.array] if gram.thin else []
    moments._scatter = None if gram.thin else gram.array
    return moments
