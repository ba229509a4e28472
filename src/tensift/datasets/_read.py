"""Read a data tensor from a file of any supported format, without executing anything in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._dataset import TensorDataset
from tensift.datasets._foreign_files import describe_folder, refuse_foreign
from tensift.datasets._hdf5_files import open_hdf5
from tensift.datasets._matlab_files import open_mat5
from tensift.datasets._numpy_files import open_npy, open_npz
from tensift.datasets._stored import Contents, StoredArray, require_memory
from tensift.datasets._text_files import read_label_list, read_table

__all__ = ["read_tensor"]

_DATA_NAMES = ("data", "X")
_LABEL_NAMES = ("labels", "label", "y")
# These names have another meaning, so they are never the data.
_OTHER_NAMES = ("dims", "informative", "feature_mode", "DiscFea", "tensor_size", "tensor_based")
_BINARY_SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5")


def read_tensor(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    labels: Any = None,
    sample_axis: int | None = None,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str | int] | None = None,
) -> TensorDataset:
    """Read a data tensor, and its labels and names if the file has them.

    The content of the file decides its format, not its suffix. Nothing in a file is ever executed
    or unpickled. An array that does not fit into memory is refused before it is loaded.

    Parameters
    ----------
    path : str or path
        The file:

        - ``.npy``: one array. A large one is memory-mapped, read-only.
        - ``.npz``: the tensor as ``data``, ``X`` or the only array with two or more axes.
          Optional arrays: ``labels`` (or ``label``, ``y``), ``dims`` (the m names of the
          feature modes), ``coords_<dim>`` (the names along the mode ``<dim>``),
          ``informative`` (flat C-order feature indices) and ``feature_mode`` (an integer).
        - MATLAB ``.mat``, also version 7.3 (which needs h5py): tensor and labels have the same
          names as in ``.npz``. The paper's ``tensor_type`` ("slice-wise" sets
          ``feature_mode=0``) and ``DiscFea`` (the informative features, counted from 1 down the
          columns) are read too.
        - HDF5 (needs h5py): all names are the same as in ``.npz``.
        - ``.csv``, ``.tsv`` and other delimited text: one row per sample, one column per
          feature. The first line may name the columns.
    variable : str, optional
        The array to read, if the file contains several.
    labels : str, path or array-like of shape (n,), optional
        The labels, the name of their array or column, or a file with them (``.npy``, or text
        with one label per line). By default the array or column ``labels``, ``label`` or ``y``.
    sample_axis : int, optional
        The axis of the samples in the stored array. By default the first; in MATLAB files the
        last, as in the paper's files.
    header : bool, optional
        Tables only: whether the first line names the columns. By default its cells are compared
        with the columns below; an unclear case is an error.
    columns, drop : sequence of str or int, optional
        Tables only: the columns to read, and those to leave out. Give names, or positions counted
        from 0.

    Returns
    -------
    TensorDataset
        The tensor with samples first, named after the file.

    Raises
    ------
    OSError
        If there is no such file or it cannot be opened.
    ValueError
        If the file is damaged, or does not contain such a tensor.
    ImportError
        If an HDF5 file is read without h5py.

    Notes
    -----
    Only the given file is read. HDF5 arrays that keep their values in other files, links to other
    files, and virtual datasets with sources outside the file are refused, and so are arrays with
    missing values (``_FillValue``) or packed ones (``scale_factor``), as NetCDF has them.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift.datasets import read_tensor
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "recording.npz")
    >>> np.savez(path, data=np.zeros((6, 2, 50)), labels=[0, 0, 0, 1, 1, 1],
    ...          dims=["channel", "time"], coords_channel=["left", "right"], feature_mode=0)
    >>> recording = read_tensor(path)
    >>> recording
    TensorDataset('recording', 6 samples of shape (2, 50), 2 classes, feature_mode=0)
    >>> recording.dims
    ('channel', 'time')
    >>> folder.cleanup()
    """
    path = Path(path)
    contents = open_tensor_file(path)
    options = {"header": header, "columns": columns, "drop": drop}
    given = {name: value for name, value in options.items() if value is not None}
    if contents is None:
        return _read_text_tensor(path, variable, labels, sample_axis, given)
    if given:
        raise ValueError(
            f"{path}: {next(iter(given))} is for tables in text files; this is {contents.format}"
        )

    name = choose_tensor(path, contents, variable)
    tensor = _load(path, name, contents.arrays[name])
    default_axis = -1 if contents.from_matlab else 0
    data = _samples_first(path, tensor, default_axis if sample_axis is None else sample_axis)
    label_values = _find_labels(path, contents, labels, name)
    _check_label_count(path, label_values, tensor, data)
    feature_mode = _read_feature_mode(path, contents)
    dims, coords = _read_names(path, contents)
    return _named_after(
        path,
        data,
        labels=label_values,
        feature_mode=feature_mode,
        informative=_read_informative(path, contents, data.shape[1:], feature_mode),
        dims=dims,
        coords=coords,
    )


def open_tensor_file(path: Path) -> Contents | None:
    """List the arrays of a binary file; None for text. The first bytes decide, not the suffix."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: {describe_folder(path)}")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise OSError(f"{path}: not a regular file")
    with open(path, "rb") as stream:
        head = stream.read(1024)
    if not head:
        raise ValueError(f"{path}: the file is empty")
    if head.startswith(b"\x93NUMPY"):
        return open_npy(path)
    if head.startswith(b"PK"):
        return open_npz(path)
    if head.startswith(b"MATLAB 5.0"):
        return open_mat5(path)
    if b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:520]) or head.startswith(b"MATLAB 7.3"):
        return open_hdf5(path, from_matlab=head.startswith(b"MATLAB 7.3"))
    refuse_foreign(path, head)
    suffix = path.suffix.lower()
    if b"\x00" in head or suffix in _BINARY_SUFFIXES:
        raise ValueError(
            f"{path}: not a data file of a known format (npy, npz, MATLAB, HDF5 or delimited text)"
        )
    return None


def _read_text_tensor(
    path: Path,
    variable: str | None,
    labels: Any,
    sample_axis: int | None,
    options: dict[str, Any],
) -> TensorDataset:
    if variable is not None:
        raise ValueError(f"{path}: variable={variable!r} was given, but a text file is one table")
    from_file = _is_label_file(labels)
    column = labels if isinstance(labels, str) and not from_file else None
    # If the labels come from elsewhere, a column called "label" is a feature.
    names_to_try = _LABEL_NAMES if labels is None else ()
    read = read_table(path, column, names_to_try, **options)
    table, names, label_values = read.data, read.names, read.labels
    if labels is not None and column is None:
        label_values = _read_label_file(Path(labels)) if from_file else np.asarray(labels)
    data = _samples_first(path, table, 0 if sample_axis is None else sample_axis)
    _check_label_count(path, label_values, table, data)
    by_column = names is not None and data.shape == table.shape and data.shape[1] == len(names)
    return _named_after(
        path,
        data,
        labels=label_values,
        dims=("column",) if by_column else None,
        coords={"column": names} if by_column else None,
    )


def choose_tensor(path: Path, contents: Contents, variable: str | None) -> str:
    """Return the name of the array to read: `variable`, or the only one that can be the tensor."""
    arrays = contents.arrays
    if variable is not None:
        if variable not in arrays:
            held = ", ".join(sorted(arrays)) or "nothing"
            raise ValueError(f"{path}: no array {variable!r}; the file holds {held}")
        return variable
    for name in _DATA_NAMES:
        if name in arrays:
            return name
    candidates = [
        name
        for name, stored in arrays.items()
        if name not in _LABEL_NAMES + _OTHER_NAMES
        and not name.startswith("coords_")
        and stored.is_numeric
        and sum(size != 1 for size in stored.shape) >= (2 if contents.from_matlab else 0)
    ]
    # If there is a tensor, vectors are something else.
    tensors = [name for name in candidates if len(arrays[name].shape) > 1] or candidates
    if len(tensors) == 1:
        return tensors[0]
    if not tensors:
        for name, stored in arrays.items():
            if stored.refusal:
                check_readable(path, name, stored)
        held = ", ".join(f"{name} ({stored.kind})" for name, stored in arrays.items())
        raise ValueError(f"{path}: no array of numbers; the file holds {held or 'nothing'}")
    shapes = ", ".join(f"{name} {arrays[name].shape}" for name in tensors)
    raise ValueError(f"{path}: the file has several arrays, choose one with variable=: {shapes}")


def check_readable(path: Path, name: str, stored: StoredArray) -> None:
    """Raise ValueError if an array must not be loaded, or does not contain numbers."""
    if stored.refusal:
        raise ValueError(f"{path}: {name!r} {stored.refusal}")
    if not stored.is_numeric:
        kind = stored.kind if stored.dtype is None else f"array of {stored.dtype}"
        raise ValueError(f"{path}: {name!r} is not an array of numbers but a {kind}")


def _load(path: Path, name: str, stored: StoredArray) -> np.ndarray:
    if stored.dtype is not None and stored.dtype.hasobject:
        raise ValueError(
            f"{path}: array {name!r} holds Python objects, which are never unpickled; "
            "save an array of numbers"
        )
    check_readable(path, name, stored)
    if len(stored.shape) < 2:
        raise ValueError(
            f"{path}: array {name!r} has {len(stored.shape)} axes; a tensor has one for the "
            "samples and at least one for the features"
        )
    if 0 in stored.shape:
        raise ValueError(f"{path}: array {name!r} is empty (shape {stored.shape})")
    require_memory(path, name, stored)
    return stored.load()


def _samples_first(path: Path, tensor: np.ndarray, axis: int) -> np.ndarray:
    if tensor.size == 0:
        raise ValueError(f"{path}: no samples (shape {tensor.shape})")
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(
            f"{path}: sample_axis={axis} is out of range for an array of shape {tensor.shape}"
        )
    first = np.moveaxis(tensor, axis, 0)
    return first if isinstance(first, np.memmap) else np.ascontiguousarray(first)


def _find_labels(
    path: Path, contents: Contents, labels: Any, tensor_name: str
) -> np.ndarray | None:
    arrays = contents.arrays
    if labels is None:
        name = next((n for n in _LABEL_NAMES if n in arrays and n != tensor_name), None)
    elif isinstance(labels, str) and labels in arrays:
        name = labels
    elif _is_label_file(labels):
        return _read_label_file(Path(labels))
    elif isinstance(labels, str):
        raise ValueError(
            f"{path}: labels={labels!r} is neither an array in the file nor a file of labels"
        )
    else:
        return np.asarray(labels)
    return None if name is None else _load_side_array(path, name, arrays[name]).ravel()


def _load_side_array(path: Path, name: str, stored: StoredArray) -> np.ndarray:
    """Load an array other than the tensor: numbers or text, never objects."""
    if stored.refusal:
        raise ValueError(f"{path}: {name!r} {stored.refusal}")
    if stored.dtype is None or stored.dtype.hasobject:
        raise ValueError(
            f"{path}: {name!r} is neither numbers nor text; pass the labels as labels="
        )
    require_memory(path, name, stored)
    return stored.load()


def _is_label_file(labels: Any) -> bool:
    return isinstance(labels, (str, os.PathLike)) and Path(labels).is_file()


def _read_label_file(path: Path) -> np.ndarray:
    contents = open_tensor_file(path)
    if contents is None:
        return read_label_list(path)
    if len(contents.arrays) != 1:
        raise ValueError(
            f"{path}: a file of labels must contain one array; this one has {len(contents.arrays)}"
        )
    ((name, stored),) = contents.arrays.items()
    return _load_side_array(path, name, stored).ravel()


def _check_label_count(
    path: Path, labels: np.ndarray | None, stored: np.ndarray, data: np.ndarray
) -> None:
    if labels is None or labels.shape == (len(data),):
        return
    axes = [axis for axis, size in enumerate(stored.shape) if size == labels.size]
    hint = f"; pass sample_axis={axes[0]} if that is the axis of the samples" if axes else ""
    raise ValueError(
        f"{path}: {labels.size} labels for {len(data)} samples (stored shape {stored.shape}){hint}"
    )


def _read_feature_mode(path: Path, contents: Contents) -> int | None:
    if contents.tensor_type is not None:
        return 0 if contents.tensor_type == "slice-wise" else None
    stored = contents.arrays.get("feature_mode")
    if stored is None:
        return None
    value = _load_side_array(path, "feature_mode", stored)
    if value.size != 1 or value.dtype.kind not in "iu":
        raise ValueError(f"{path}: feature_mode must be one integer")
    return int(value.ravel()[0])


def _read_informative(
    path: Path, contents: Contents, shape: tuple[int, ...], feature_mode: int | None
) -> np.ndarray | None:
    name = "DiscFea" if contents.from_matlab else "informative"
    if name not in contents.arrays:
        return None
    indices = _load_side_array(path, name, contents.arrays[name]).ravel()
    if not contents.from_matlab:
        return indices
    indices = indices.astype(np.intp) - 1
    if feature_mode is not None:
        return indices
    try:
        return np.ravel_multi_index(np.unravel_index(indices, shape, order="F"), shape)
    except ValueError:
        raise ValueError(f"{path}: DiscFea contains a feature outside the shape {shape}") from None


def _read_names(
    path: Path, contents: Contents
) -> tuple[list[str] | None, dict[str, np.ndarray] | None]:
    arrays = contents.arrays
    # In other files "dims" may be anything, most often a list of sizes.
    if "dims" not in arrays or contents.from_matlab or arrays["dims"].is_numeric:
        return None, None
    dims = [_decoded(dim) for dim in _load_side_array(path, "dims", arrays["dims"]).ravel()]
    coords = {
        dim: _load_side_array(path, f"coords_{dim}", arrays[f"coords_{dim}"])
        for dim in dims
        if f"coords_{dim}" in arrays
    }
    return dims, coords or None


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _named_after(path: Path, data: np.ndarray, **known: Any) -> TensorDataset:
    try:
        return TensorDataset(data, name=path.stem, **known)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
