"""Read the numbers of a job from the header of a file, and samples for a pilot."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets import (
    check_readable,
    choose_tensor,
    feature_names,
    open_tensor_file,
    read_tensor,
    sample_axes_of,
)
from tensift.labels import Names
from tensift.plan._samples import StoredSamples

__all__ = ["numbers_of_file", "samples_of_file"]

_LARGEST = 2**28  # bytes; larger files are not loaded for a pilot, but memory-mapped or left alone


def numbers_of_file(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    sample_axis: int | str | Sequence[int | str] | None = None,
    **table_options: Any,
) -> dict[str, Any]:
    """Return the shape, type and number of samples of a file, as arguments of `plan_job`.

    Parameters
    ----------
    path : str or path
        Any file that `tensift.datasets.read_tensor` reads. Only the header is read, except for
        text files, which have none.
    variable : str, optional
        The array to use, if the file contains several.
    sample_axis : int, str or sequence of these, optional
        The axis of the samples, or several that are stacked. By default the first, in MATLAB files
        the last, and the pixels of a scene.
    **table_options
        ``header``, ``columns``, ``drop`` and ``long``, as in `tensift.datasets.read_tensor`.

    Returns
    -------
    dict
        With "shape", "samples" and "dtype", and "names" if the file names its modes.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift.plan import numbers_of_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "images.npy")
    ...     np.save(path, np.zeros((100, 8, 6), np.float32))
    ...     numbers_of_file(path)
    {'shape': (8, 6), 'samples': 100, 'dtype': dtype('float32')}
    """
    path = Path(path)
    contents = open_tensor_file(path)
    if contents is None:
        table = read_tensor(path, variable=variable, sample_axis=sample_axis, **table_options)
        return _numbers(table.feature_shape, len(table), table.dtype, table.names)
    if table_options:
        raise ValueError(
            f"{path}: {next(iter(table_options))} is for tables in text files; this is "
            f"{contents.format}"
        )
    name = choose_tensor(path, contents, variable)
    stored = contents.arrays[name]
    check_readable(path, name, stored)
    if len(stored.shape) < 2 or 0 in stored.shape:
        raise ValueError(
            f"{path}: array {name!r} has shape {stored.shape}; it must have samples and features"
        )
    axes = sample_axes_of(path, contents, stored, sample_axis)
    shape = tuple(size for axis, size in enumerate(stored.shape) if axis not in axes)
    dims, coords, units = feature_names(path, contents, stored, axes, sample_axis is not None)
    names = None if dims is None else Names(shape, tuple(dims), coords or {}, units or {})
    samples = math.prod(stored.shape[axis] for axis in axes)
    return _numbers(shape, samples, stored.dtype, names)


def _numbers(
    shape: tuple[int, ...], samples: int, dtype: Any, names: Names | None
) -> dict[str, Any]:
    found = {"shape": shape, "samples": samples, "dtype": dtype}
    return found if names is None else {**found, "names": names}


def samples_of_file(
    path: str | os.PathLike[str],
    *,
    clock: Callable[[], float] = time.perf_counter,
    **options: Any,
) -> StoredSamples | None:
    """Return the samples of a file for a pilot; None if they cannot be had without loading much.

    Parameters
    ----------
    path : str or path
        Any file that `tensift.datasets.read_tensor` reads. Large ``.npy`` files are memory-mapped.
        Other files are loaded, as a fit does, if they have at most 256 MiB.
    clock : callable
        Returns seconds.
    **options
        As in `numbers_of_file`.

    Returns
    -------
    StoredSamples or None

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift.plan import samples_of_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "images.npy")
    ...     np.save(path, np.zeros((100, 8, 6), np.float32))
    ...     samples_of_file(path).shape
    (8, 6)
    """
    path = Path(path)
    contents = open_tensor_file(path)
    if contents is not None:
        stored = contents.arrays[choose_tensor(path, contents, options.get("variable"))]
        if not stored.mapped and stored.n_bytes > _LARGEST:
            return None
    before = clock()
    data = read_tensor(path, **options).data
    is_mapped = isinstance(data, np.memmap)
    return StoredSamples(data, None if is_mapped else clock() - before)
