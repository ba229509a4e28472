"""Arrays in one ``.npz`` file, which is written as a whole and never unpickled."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from tensift._utils.temporary import write_whole

__all__ = ["read_npz", "write_npz"]


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, NDArray]) -> None:
    """Write arrays to `path`, replacing what is there: whole or not at all (see `write_whole`)."""

    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    write_whole(Path(path), write)


def read_npz(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, NDArray]:
    """Read the named arrays of a file that `write_npz` wrote.

    Raises a ValueError of one line for anything else: a damaged archive, a missing array, Python
    objects, and compressed arrays (a small file could fill the memory).
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
                    raise ValueError(f"its array {name!r} is compressed")
                with archive.open(f"{name}.npy") as stream:
                    _check_promise(stream, held[f"{name}.npy"].file_size)
                with archive.open(f"{name}.npy") as stream:
                    arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
                    stream.read()  # to the end, where zipfile checks the checksum
            return arrays
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"there is no file {path}") from None
        raise OSError(f"cannot read {path}: {error.strerror or error}") from None
    except MemoryError:
        raise MemoryError(f"not enough memory to read {path}") from None
    # On hostile bytes, zipfile and NumPy raise many kinds of errors; none is documented.
    except Exception as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise ValueError(f"{path} is damaged, or not a file of tensift: {reason}") from None


def _check_promise(stream: IO[bytes], size: int) -> None:
    """Refuse a header that promises more bytes than the file holds, before memory is taken."""
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version} of the .npy format is not one that tensift writes")
    shape, _, dtype = read(stream)
    promised = math.prod(shape) * dtype.itemsize
    if promised > size:
        raise ValueError(f"a header promises {promised} bytes, but there are at most {size}")
