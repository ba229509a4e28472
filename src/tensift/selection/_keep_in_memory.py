"""Keep the selected features of samples in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.moments import check_finite

__all__ = ["put_back", "select_in_chunk", "select_in_memory"]


def select_in_chunk(
    chunk: NDArray,
    feature_shape: tuple[int, ...],
    mask: NDArray[np.bool_],
    mode: int | None,
    rows: bool,
    missing: bool,
) -> NDArray:
    """Return the selected features of a chunk of samples."""
    samples = check_finite(chunk, allow_nan=missing)
    return select_in_memory(samples.reshape(len(samples), *feature_shape), mask, mode, rows)


def select_in_memory(
    samples: NDArray, mask: NDArray[np.bool_], mode: int | None, rows: bool
) -> NDArray:
    """Return the selected features of samples; `rows` asks for rows."""
    if mode is None:
        return samples.reshape(len(samples), -1)[:, mask]
    kept = np.compress(mask, samples, axis=mode + 1)
    return kept.reshape(len(kept), -1) if rows else kept


def put_back(
    samples: NDArray,
    mask: NDArray[np.bool_],
    feature_shape: tuple[int, ...],
    mode: int | None,
    *,
    rows: bool,
) -> NDArray:
    """Put selected features back in their places, with zeros everywhere else."""
    full: NDArray = np.zeros((len(samples), *feature_shape), dtype=samples.dtype)
    if mode is None:
        full.reshape(len(samples), -1)[:, mask] = samples
    else:
        kept_shape = [*feature_shape]
        kept_shape[mode] = int(np.count_nonzero(mask))
        kept = samples.reshape(len(samples), *kept_shape)
        np.moveaxis(full, mode + 1, 0)[mask] = np.moveaxis(kept, mode + 1, 0)
    return full.reshape(len(samples), -1) if rows else full
