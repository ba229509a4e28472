"""Tell what a file or folder is, list its arrays, and choose the tensor among them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from pathlib import Path

from tensift.datasets._envi_files import envi_header_of, files_of_envi, open_envi
from tensift.datasets._fif_files import is_fif, open_fif
from tensift.datasets._foreign_files import refuse_foreign
from tensift.datasets._hdf5_files import open_hdf5
from tensift.datasets._matlab_files import open_mat5
from tensift.datasets._netcdf3_files import is_netcdf3, open_netcdf3
from tensift.datasets._numpy_files import open_npy, open_npz
from tensift.datasets._picture_folders import files_of_folder, open_pictures
from tensift.datasets._stored import Contents, StoredArray
from tensift.datasets._tiff_files import is_tiff, open_tiff
from tensift.datasets._zarr_files import files_of_zarr, is_zarr_store, open_zarr

__all__ = [
    "LABEL_NAMES",
    "check_readable",
    "choose_tensor",
    "files_of_input",
    "is_label_array",
    "label_names_for",
    "open_tensor_file",
]

DATA_NAMES = ("data", "X", "x", "x_train", "X_train", "images")
_ALWAYS_DATA = ("data", "X")
LABEL_NAMES = ("labels", "label", "y")
# Only of arrays: a column of a table may be called so and hold a feature.
_LABEL_ARRAYS = (*LABEL_NAMES, "target", "targets", "gt", "ground_truth", "gnd", "groundtruth")
# Of the two halves of a set: x_train with y_train, train_images with train_labels.
_HALVES = ("train", "test", "val", "valid")
_LABELS_OF_HALVES = {name for half in _HALVES for name in (f"y_{half}", f"{half}_labels")}
# These names have another meaning, so they are never the data.
_OTHER_NAMES = (
    "dims", "informative", "feature_mode", "DiscFea", "tensor_size", "tensor_based",
)  # fmt: skip
_BINARY_SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5")


def open_tensor_file(path: Path) -> Contents | None:
    """List the arrays of a binary file or a folder; None for text.

    The first bytes decide, not the suffix.
    """
    if path.is_dir():
        return open_zarr(path) if is_zarr_store(path) else open_pictures(path)
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
    # The numbers of a scene may begin with any bytes, so its header decides.
    header = envi_header_of(path, head)
    if header is not None:
        return open_envi(path, header)
    if head.startswith(b"PK"):
        return open_npz(path)
    if head.startswith(b"MATLAB 5.0"):
        return open_mat5(path)
    if b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:520]) or head.startswith(b"MATLAB 7.3"):
        return open_hdf5(path, from_matlab=head.startswith(b"MATLAB 7.3"))
    if is_netcdf3(head):
        return open_netcdf3(path)
    if is_tiff(head):
        return open_tiff(path)
    if is_fif(head):
        return open_fif(path)
    refuse_foreign(path, head)
    suffix = path.suffix.lower()
    if b"\x00" in head or suffix in _BINARY_SUFFIXES:
        raise ValueError(
            f"{path}: not a data file of a known format (npy, npz, MATLAB, HDF5, NetCDF, TIFF, "
            "ENVI, FIF or delimited text)"
        )
    return None


def files_of_input(path: Path) -> list[Path]:
    """Return the files that `open_tensor_file` reads for a path: several for folders and scenes."""
    if path.is_dir():
        return files_of_zarr(path) if is_zarr_store(path) else files_of_folder(path)
    if not path.is_file():
        return [path]  # reading it says what is wrong
    with open(path, "rb") as stream:
        header = envi_header_of(path, stream.read(1024))
    return [path] if header is None else files_of_envi(path, header)


def _is_label_name(name: str) -> bool:
    """Whether an array of this name holds labels."""
    lower = name.lower()
    return lower in _LABEL_ARRAYS or lower in _LABELS_OF_HALVES or lower.endswith("_gt")


def is_label_array(name: str, stored: StoredArray) -> bool:
    """Whether an array holds labels: matrices called Y, with a capital, are more often data."""
    capital = name not in _LABEL_ARRAYS and name.lower() in _LABEL_ARRAYS
    is_vector = max(stored.shape, default=1) == math.prod(stored.shape)
    return _is_label_name(name) and (is_vector or not capital)


def label_names_for(tensor: str, names: Iterable[str]) -> list[str]:
    """Return the arrays that can hold the labels of a tensor, the likeliest first."""
    lower = tensor.lower()
    half = next((one for one in _HALVES if lower == f"x_{one}" or lower.startswith(f"{one}_")), "")
    own = [name for name in names if half and name.lower() in (f"y_{half}", f"{half}_labels")]
    others = [
        name for name in names if _is_label_name(name) and name.lower() not in _LABELS_OF_HALVES
    ]
    return [*own, *(name for name in LABEL_NAMES if name in names), *others]


def choose_tensor(
    path: Path, contents: Contents, variable: str | None, besides: Collection[str] = ()
) -> str:
    """Return the name of the array to read: `variable`, or the only one that can be the tensor.

    Arrays in `besides` are something else.
    """
    arrays = contents.arrays
    if variable is not None:
        if variable not in arrays:
            held = ", ".join(sorted(arrays)) or "nothing"
            raise ValueError(f"{path}: no array {variable!r}; the file holds {held}")
        return variable
    for name in DATA_NAMES:
        if name not in arrays or name in contents.coordinates:
            continue
        # A vector x is most often a coordinate, and images may be a list of names.
        if name in _ALWAYS_DATA or (arrays[name].is_numeric and len(arrays[name].shape) > 1):
            return name
    candidates = [
        name
        for name, stored in arrays.items()
        if name not in _OTHER_NAMES
        and name not in LABEL_NAMES
        and name not in besides
        and not name.startswith(("coords_", "units_"))
        and stored.is_numeric
        and sum(size != 1 for size in stored.shape) >= (2 if contents.from_matlab else 0)
    ]
    # A file of labels, coordinates or a mask alone can still be read as data.
    beside = {name for name in candidates if is_label_array(name, arrays[name]) or name == "mask"}
    beside |= contents.coordinates
    candidates = [name for name in candidates if name not in beside] or candidates
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
    raise ValueError(
        f"{path}: the file has several arrays, choose one with variable= (--variable): {shapes}"
    )


def check_readable(path: Path, name: str, stored: StoredArray) -> None:
    """Raise ValueError if an array must not be loaded, or does not contain numbers."""
    if stored.refusal:
        raise ValueError(f"{path}: {name!r} {stored.refusal}")
    if not stored.is_numeric:
        kind = stored.kind if stored.dtype is None else f"array of {stored.dtype}"
        raise ValueError(f"{path}: {name!r} is not an array of numbers but a {kind}")
