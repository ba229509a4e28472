"""Moments whose Gram tensor stays on Dask workers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.moments._moments import Moments
from tensift.moments._observed_moments import moments_like
from tensift.moments._slice_blocks import blocks_of
from tensift.moments._tensor import GramTensor
from tensift.sources import active_cluster, gather_results, keep_on_workers

__all__ = ["DaskMoments", "merged"]


class DaskMoments(Moments):
    """Moments of a Dask array: count, mean, spread and peak are local, the Gram tensor is remote.

    The Gram tensor is on the workers, in blocks of slices, and is released when this object is
    deleted. Schedulers other than ``dask.distributed`` cannot keep results, so there it is in this
    process. `gram` fetches all of it. So does pickling, which gives ordinary `Moments`.

    Parameters
    ----------
    whole : Delayed
        A task whose result is `Moments`.
    on_task : callable, optional
        Called with the key of every finished task; see `tensift.sources.gather_results`.

    Attributes
    ----------
    blocks : list of slice
        The blocks of slices.
    grams : list of Delayed
        The Gram tensor of every block.
    """

    def __init__(self, whole: Any, on_task: Callable[[Any], None] | None = None) -> None:
        from dask import delayed

        if active_cluster() is None:
            # The moments come to this process anyway. Cut them here, because a task for each block
            # would be sent all of them.
            (moments,) = gather_results([whole], on_task=on_task)
            self._copy_summary(moments)
            self.grams = [
                delayed(gram_of(moments, block), name=f"{whole.key}-{block.start}", traverse=False)
                for block in self.blocks
            ]
        else:
            (whole,) = keep_on_workers([whole])
            (moments,) = gather_results([delayed(without_gram, pure=True)(whole)])
            self._copy_summary(moments)
            self.grams = keep_on_workers(
                [delayed(gram_of, pure=True)(whole, block) for block in self.blocks]
            )

    def _copy_summary(self, moments: Moments) -> None:
        self.orientation, self.count, self.peak = moments.orientation, moments.count, moments.peak
        self.total = moments.total
        self.mean, self._squares, self.slices = moments.mean, moments._squares, None
        self.subsample = None
        self.n_slices = len(self.orientation.kept_slices)
        self.size = self.orientation.size
        self.blocks = blocks_of(self)

    def update(self, samples: NDArray, *options: Any, **more: Any) -> Moments:
        """Add samples that are in memory."""
        return self.merge(Moments(self.orientation).update(samples, *options, **more))

    def merge(self, other: Moments) -> Moments:
        """Add the samples of other moments, which must have the same orientation."""
        from dask import delayed

        parts = [
            delayed(joined, pure=True)(part._summary(), *part.grams)
            if isinstance(part, DaskMoments)
            else delayed(part, traverse=False)
            for part in (self, other)
        ]
        vars(self).update(vars(DaskMoments(delayed(merged, pure=True)(*parts))))
        return self

    def gram(self) -> GramTensor:
        """Fetch the Gram tensor of the kept slices."""
        return joined_gram(gather_results(self.grams))

    def standardised(self, deviations: NDArray[np.float64]) -> DaskMoments:
        """Return moments whose slices are divided by numbers that the transforms do not mix.

        The workers divide the Gram matrices again in every task: that costs less than keeping them.
        """
        from dask import delayed

        scaled = DaskMoments.__new__(DaskMoments)  # `copy` would fetch the Gram tensor
        vars(scaled).update(vars(self))
        scaled.orientation = replace(self.orientation, deviations=deviations)
        factors = scaled.orientation.in_slices(deviations)
        divide = delayed(divided_gram, pure=True, traverse=False)
        scaled.grams = [
            divide(gram, factors[block])
            for gram, block in zip(self.grams, self.blocks, strict=True)
        ]
        return scaled

    def _summary(self) -> Moments:
        small = Moments(self.orientation)
        small.count, small.total, small.peak = self.count, self.total, self.peak
        small.mean, small._squares = self.mean, self._squares
        small.subsample = self.subsample
        return small

    def __reduce__(self) -> tuple[Any, ...]:
        return joined, (self._summary(), *gather_results(self.grams))

    # `Moments.merge` reads these attributes of the moments that it adds.

    @property
    def _columns(self) -> list[NDArray]:  # type: ignore[override]
        gram = self.gram()
        return [gram.array] if gram.thin else []

    @property
    def _scatter(self) -> NDArray | None:  # type: ignore[override]
        gram = self.gram()
        return None if gram.thin else gram.array


# Tasks must not change their inputs, because Dask may run them again.


def merged(one: Moments, other: Moments) -> Moments:
    """Return the moments of the samples of both."""
    return moments_like(one).merge(one).merge(other)


def without_gram(moments: Moments) -> Moments:
    """Return moments without their Gram tensor: count, peak, mean and squares."""
    small = copy(moments)
    small._columns, small._scatter = [], None
    return small


def gram_of(moments: Moments, block: slice) -> GramTensor:
    """Return the Gram tensor of a block of slices, as a copy that does not keep the others."""
    part = copy(moments)
    part._columns = [columns[block] for columns in moments._columns]
    part._scatter = None if moments._scatter is None else moments._scatter[block].copy()
    return part.gram()


def divided_gram(gram: GramTensor, deviations: NDArray[np.float64]) -> GramTensor:
    """Return the Gram tensor of a block of slices whose features are divided."""
    return gram.divided(deviations)


def joined_gram(parts: list[GramTensor]) -> GramTensor:
    """Return the Gram tensor of all blocks."""
    return GramTensor(np.concatenate([part.array for part in parts]), parts[0].thin)


def joined(small: Moments, *parts: GramTensor) -> Moments:
    """Return ordinary moments, given their small part and the blocks of their Gram tensor."""
    moments, gram = copy(small), joined_gram(list(parts))
    moments._columns = [gram.array] if gram.thin else []
    moments._scatter = None if gram.thin else gram.array
    return moments
