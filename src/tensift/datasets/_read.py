"""Read a data tensor from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._dataset import TensorDataset

__all__ = ["read_tensor"]


def read_tensor(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    labels: Any = None,
    sample_axis: int | None = None,
) -> TensorDataset:
    """Read a data tensor, its labels and names from a ``.npy`` or ``.npz`` file.

    Parameters
    ----------
    path : str or path
        The file.
    variable : str, optional
        Which array of a file that holds several.
    labels : str or array-like of shape (n,), optional
        The labels, or the name of the array in the file that holds them.
    sample_axis : int, optional
        Which axis of the stored array counts the samples; the first unless told.

    Returns
    -------
    TensorDataset
        The tensor with samples first.
    """
    path = Path(path)
    with open(path, "rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        arrays = {"data": loaded} if isinstance(loaded, np.ndarray) else dict(loaded.items())
    key = variable or next((k for k in ("data", "X", *arrays) if k in arrays), "data")
    if isinstance(labels, str):
        labels = arrays[labels]
    elif labels is None:
        labels = next((arrays[k] for k in ("labels", "label", "y") if k in arrays), None)
    data = np.moveaxis(arrays[key], sample_axis or 0, 0)
    return TensorDataset(data, labels=labels, name=path.stem)
