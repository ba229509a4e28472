"""Check the arguments of the metrics, and compute class means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.arrays import as_array
from tensift._utils.namespace import refuse_device_array
from tensift.labels import unlabelled
from tensift.sources import in_memory

__all__ = ["ClassMeans", "as_real_rows", "check_data", "encode_labels"]

# Process rows in blocks of about this many numbers, so that memory stays bounded.
_BLOCK_SIZE = 2**22


def check_data(X: ArrayLike, *, allow_nan: bool = False, can_allow: bool = False) -> np.ndarray:
    """Return the data as an array of finite numbers, samples first; names are taken off.

    With `allow_nan` it may have NaN. With `can_allow`, the error about NaN says that there is a
    parameter that allows it.
    """
    found = unlabelled(X).in_one_unit()
    refuse_device_array(found.samples, "this function")
    data = as_array(in_memory(found.samples))
    if data.dtype.kind not in "biufc":
        raise ValueError(f"X must contain numbers; got an array of dtype {data.dtype}")
    if data.ndim < 2 or data.size == 0:
        raise ValueError(f"X must have shape (n, d_1, ..., d_m) without zeros; got {data.shape}")
    for block in _blocks(data):
        usable = ~np.isinf(block) if allow_nan else np.isfinite(block)
        if not usable.all():
            hint = ", or pass missing='allow'" if can_allow and np.isnan(block).any() else ""
            raise ValueError(f"X contains NaN or infinity; fill or drop those values first{hint}")
    return data


def encode_labels(labels: ArrayLike, n_samples: int | None = None) -> tuple[np.ndarray, int]:
    """Return the labels as codes 0..K-1, and K."""
    values = np.asarray(as_array(labels, "labels"))
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"labels must have one value per sample, shape (n,); got {values.shape}")
    if n_samples is not None and len(values) != n_samples:
        raise ValueError(f"labels has {len(values)} values for {n_samples} samples")
    classes, codes = np.unique(values, return_inverse=True)
    return codes, len(classes)


class ClassMeans:
    """The mean of every class, as an offset from the mean of all samples.

    Offsets are computed from centred data, not as differences of raw means. This keeps small
    differences accurate when all values share a large offset. Samples are flat and real here:
    a complex number counts as two.
    """

    def __init__(self, data: np.ndarray, codes: np.ndarray, n_classes: int) -> None:
        self._data = data
        self.counts = np.bincount(codes, minlength=n_classes)
        self._mean = np.zeros(as_real_rows(data[:1]).shape[1])
        self._mean = sum(block.sum(axis=0) for _, block in self.centred_blocks()) / len(data)
        self.offsets = np.zeros((n_classes, self._mean.size))
        for rows, block in self.centred_blocks():
            membership = np.zeros((n_classes, len(block)))
            membership[codes[rows], np.arange(len(block))] = 1
            self.offsets += membership @ block
        self.offsets /= self.counts[:, None]

    def centred_blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the centred samples in blocks of bounded size, with the rows of each block."""
        start = 0
        for block in _blocks(self._data):
            rows = slice(start, start + len(block))
            yield rows, as_real_rows(block) - self._mean
            start = rows.stop


def _blocks(data: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_SIZE // data[0].size)
    for start in range(0, len(data), step):
        yield data[start : start + step]


def as_real_rows(block: np.ndarray) -> np.ndarray:
    rows = np.asarray(block).reshape(len(block), -1)
    if rows.dtype.kind == "c":
        return np.concatenate([rows.real, rows.imag], axis=1).astype(float, copy=False)
    return rows.astype(float, copy=False)
