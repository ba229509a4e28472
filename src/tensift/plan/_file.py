"""The numbers of a job from the header of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tensift.datasets import read_tensor
from tensift.datasets._read import _choose_tensor, _open

__all__ = ["numbers_of_file"]


def numbers_of_file(
    path: str | os.PathLike[str], *, variable: str | None = None, sample_axis: int | None = None
) -> dict[str, Any]:
    """What a file says of itself, as the arguments of `plan_job`; its samples are not loaded.

    Parameters
    ----------
    path : str or path
        Any file that `tensift.datasets.read_tensor` reads. Text, which has no header, is read.
    variable : str, optional
        Which array, where the file holds several.
    sample_axis : int, optional
        The axis that counts the samples; by default the first, in MATLAB files the last.

    Returns
    -------
    dict
        With "shape", "samples" and "dtype".

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
    contents = _open(path)
    if contents is None:
        data = read_tensor(path, variable=variable, sample_axis=sample_axis).data
        return {"shape": data.shape[1:], "samples": len(data), "dtype": data.dtype}
    name = _choose_tensor(path, contents, variable)
    stored = contents.arrays[name]
    if not stored.is_numeric:
        raise ValueError(f"{path}: {name!r} is not an array of numbers")
    if len(stored.shape) < 2 or 0 in stored.shape:
        raise ValueError(
            f"{path}: array {name!r} of shape {stored.shape} holds no samples of features"
        )
    axis = sample_axis if sample_axis is not None else (-1 if contents.from_matlab else 0)
    if not -len(stored.shape) <= axis < len(stored.shape):
        raise ValueError(
            f"{path}: sample_axis={axis} is out of range for an array of shape {stored.shape}"
        )
    axis %= len(stored.shape)
    shape = stored.shape[:axis] + stored.shape[axis + 1 :]
    return {"shape": shape, "samples": stored.shape[axis], "dtype": stored.dtype}
