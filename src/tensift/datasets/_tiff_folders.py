"""Folders of TIFF files with many bands: patches of scenes, which Pillow does not read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensift.datasets._stored import StoredArray
from tensift.datasets._tiff_files import is_tiff, open_tiff

__all__ = ["has_many_bands", "open_patches"]

_MOST_COLOURS = 4


def has_many_bands(file: Path) -> bool:
    """Whether a file is a TIFF of one page with more bands than a picture has colours."""
    with open(file, "rb") as stream:
        if not is_tiff(stream.read(4)):
            return False
    try:
        found = open_tiff(file).arrays["data"]
    except (ImportError, ValueError):
        return False  # Pillow reads it, or says what is wrong
    return found.axes[:2] == ("row", "column") and found.shape[2] > _MOST_COLOURS


def open_patches(files: list[Path]) -> StoredArray:
    """Describe files of the same size and bands as one array, one sample per file."""
    parts = [_patch(file) for file in files]
    first = parts[0]
    for file, part in zip(files, parts, strict=True):
        if (part.shape, part.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"{file}: {_words(part)}, but {files[0].name} has {_words(first)}; all files must "
                "have the same size, bands and type"
            )
        _check_names(file, part, files[0], first)

    def load() -> np.ndarray:
        data = np.empty((len(parts), *first.shape), first.dtype)
        for place, part in enumerate(parts):
            data[place] = part.load()
        return data

    return StoredArray(
        (len(parts), *first.shape),
        first.dtype,
        load,
        "pictures",
        axes=("picture", *first.axes),
        sample_axes=(0,),
        coords=first.coords,
        units=first.units,
        nodata=first.nodata,
    )


def _patch(file: Path) -> StoredArray:
    found = open_tiff(file).arrays["data"]
    if found.axes[:2] != ("row", "column"):
        raise ValueError(
            f"{file}: a TIFF file of several pages among patches; save one patch in each file"
        )
    return found


def _words(part: StoredArray) -> str:
    height, width, bands = part.shape
    return f"{height} x {width} pixels in {bands} bands, {part.dtype}"


def _check_names(file: Path, part: StoredArray, other: Path, first: StoredArray) -> None:
    names, known = part.coords.get("band"), first.coords.get("band")
    if names is None or known is None:
        return
    if not np.array_equal(names, known):
        place = int(np.flatnonzero(names != known)[0])
        raise ValueError(
            f"{file}: band {place} is {names[place]}, but {known[place]} in {other.name}; give all "
            "files the same bands in the same order"
        )
