"""Arrays in one ``.npz`` file that appears whole or not at all, and is never unpickled."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_npz", "write_npz"]


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, NDArray]) -> None:
    """Write arrays to a file beside `path` and move it there, replacing what there is."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        try:
            with open(partial, "wb") as stream:
                with zipfile.ZipFile(stream, "w") as archive:
                    for name, array in arrays.items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                            np.lib.format.write_array(member, array, allow_pickle=False)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def read_npz(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, NDArray]:
    """Read the named arrays of a file that `write_npz` wrote, none of the others.

    Whatever else a file holds is a ValueError of one line: a damaged archive, a missing array,
    Python objects, and arrays that are packed, whose size in memory the file does not bound.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            held = {info.filename: info for info in archive.infolist()}
            arrays = {}
            for name in names:
                if f"{name}.npy" not in held:
                    raise ValueError(f"it has no array {name!r}")
                if held[f"{name}.npy"].compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"its array {name!r} is packed")
                with archive.open(f"{name}.npy") as stream:
                    arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
                    stream.read()  # to the end, where the archive compares its checksum
            return arrays
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"there is no file {path}") from None
        raise OSError(f"cannot read {path}: {error.strerror or error}") from None
    # Hostile bytes: zipfile and NumPy raise many kinds, none of them promised.
    except Exception as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise ValueError(f"{path} is damaged, or no file of tensift's: {reason}") from None
