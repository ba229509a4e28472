"""A folder of pictures of the same size, read by Pillow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._stored import (
    Contents,
    RefusedFile,
    StoredArray,
    collected_log,
    damaged_file,
)
from tensift.datasets._tiff_folders import has_many_bands, open_patches

__all__ = ["files_of_folder", "open_pictures"]

# Pillow also opens formats that start other programs; these are decoded by libraries.
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
# Pictures that Pillow may open, but not here; they must not be left out without a word.
_OTHERS = (
    ".avif", ".dng", ".exr", ".gif", ".heic", ".heif", ".ico", ".jp2", ".jxl", ".pgm", ".pnm",
    ".ppm", ".psd", ".tga", ".webp",
)  # fmt: skip
_TURNED = (5, 6, 7, 8)  # values of the EXIF orientation that exchange width and height
_BITS_PER_SAMPLE = 258  # a tag of TIFF


@dataclass(frozen=True)
class _Mode:
    """How pictures of one of Pillow's modes become numbers."""

    words: str
    dtype: str
    channels: tuple[str, ...] = ()
    convert: str = ""


_RGB = ("red", "green", "blue")
_GREY = _Mode("grey", "u1")
_COLOUR = _Mode("colour", "u1", _RGB, "RGB")
_TRANSPARENT = _Mode("colour with transparency", "u1", (*_RGB, "alpha"), "RGBA")
_MODES = {
    "1": _Mode("grey", "u1", convert="L"),
    "L": _GREY,
    "LA": _Mode("grey with transparency", "u1", ("grey", "alpha")),
    "RGB": _COLOUR,
    "RGBA": _TRANSPARENT,
    "PA": _TRANSPARENT,
    "CMYK": _Mode("colour for print", "u1", ("cyan", "magenta", "yellow", "black")),
    "I;16": _Mode("grey with 16 bits", "u2"),
    "I;16B": _Mode("grey with 16 bits", "u2"),
    "I;16L": _Mode("grey with 16 bits", "u2"),
    "I": _Mode("grey with 32 bits", "i4"),
    "F": _Mode("grey with fractions", "f4"),
}


@dataclass(frozen=True)
class _Picture:
    """What the header of a picture says."""

    file: Path
    height: int
    width: int
    mode: _Mode

    @property
    def kind(self) -> tuple[int, int, _Mode]:
        return self.height, self.width, self.mode

    @property
    def words(self) -> str:
        return f"{self.height} x {self.width} pixels, {self.mode.words}"


def files_of_folder(folder: Path) -> list[Path]:
    """Return the pictures of a folder in natural order: those in it, or those of subfolders."""
    files = _pictures_of(folder, above=frozenset())
    if files:
        return files
    raise IsADirectoryError(
        f"{folder}: a folder, not a file; name one file with all samples, such as an array saved "
        f"with numpy.save, a Zarr store, or a folder of pictures ({', '.join(_FORMATS)}): this one "
        "has none"
    )


def open_pictures(folder: Path) -> Contents:
    """Describe the pictures of a folder as one array, with the names of subfolders as labels."""
    files = files_of_folder(folder)
    for file in files:
        _check_place(folder, file)
    if has_many_bands(files[0]):
        return Contents(
            "a folder of TIFF files", {"data": open_patches(files)} | _labels(folder, files)
        )
    pil = _require_pillow(folder)
    pictures = [_look_at(pil, file) for file in files]
    (usual, _), *_ = Counter(one.kind for one in pictures).most_common(1)
    first = next(one for one in pictures if one.kind == usual)
    odd = [one for one in pictures if one.kind != usual]
    if odd:
        more = f" (and {len(odd) - 1} more that differ)" if len(odd) > 1 else ""
        raise ValueError(
            f"{odd[0].file}: {odd[0].words}{more}, but {first.file.name} has {first.words}; all "
            "pictures must have the same size and mode: resize, crop or convert them first"
        )
    channels = first.mode.channels
    pixels = (first.height, first.width)
    shape = (len(files), *pixels, len(channels)) if channels else (len(files), *pixels)
    axes = ("picture", "row", "column", "channel")[: len(shape)]

    def load() -> np.ndarray:
        data = np.empty(shape, first.mode.dtype)
        for place, file in enumerate(files):
            data[place] = _load(pil, file, shape[1:])
        return data

    data = StoredArray(
        shape,
        np.dtype(first.mode.dtype),
        load,
        "pictures",
        axes=axes,
        sample_axes=(0,),
        coords={"channel": np.array(channels)} if channels else {},
    )
    return Contents("a folder of pictures", {"data": data} | _labels(folder, files))


def _labels(folder: Path, files: list[Path]) -> dict[str, StoredArray]:
    """Return the names of subfolders as labels, if pictures are in some."""
    if files[0].parent == folder:
        return {}
    names = np.array([file.parent.relative_to(folder).as_posix() for file in files])
    return {"labels": StoredArray(names.shape, names.dtype, lambda: names)}


def _pictures_of(folder: Path, above: frozenset[Path]) -> list[Path]:
    """Return the pictures in a folder; if it has none, those of its subfolders, at any depth.

    `above` are the folders that led here: a link to one of them would never end.
    """
    files = _pictures_in(folder)
    if files:
        return files
    above |= {folder.resolve()}
    below = [sub for sub in _subfolders(folder) if sub.resolve() not in above]
    return [file for sub in below for file in _pictures_of(sub, above)]


def _pictures_in(folder: Path) -> list[Path]:
    entries = _entries(folder)
    other = next((e for e in entries if e.suffix.lower() in _OTHERS and e.is_file()), None)
    if other is not None:
        raise ValueError(
            f"{other}: a picture of a kind that is not read; convert it to {', '.join(_FORMATS)}, "
            "or remove it"
        )
    return sorted((e for e in entries if _is_named_picture(e)), key=lambda e: _key(e.name))


def _subfolders(folder: Path) -> list[Path]:
    return sorted((f for f in _entries(folder) if f.is_dir()), key=lambda f: _key(f.name))


def _entries(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]


def _is_named_picture(file: Path) -> bool:
    return file.suffix.lower() in _SUFFIXES and not file.is_dir()


def _key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Order names as people do: ``shot2`` before ``shot10``."""
    parts = re.split(r"([0-9]+)", name.casefold())
    # Every second part is a number.
    return [(0, int(p), "") if i % 2 else (1, 0, p) for i, p in enumerate(parts)], name


def _check_place(folder: Path, file: Path) -> None:
    """Raise an error unless this is a file in the folder."""
    if not file.exists():
        raise ValueError(f"{file}: a link that leads nowhere; remove it")
    if not file.is_file():
        raise ValueError(f"{file}: not a regular file; remove it from the folder")
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"{file}: a link out of the folder; tensift reads nothing outside of the folder that "
            "it is given: copy the picture into it"
        )


def _look_at(pil: Any, file: Path) -> _Picture:
    """Read the header of one picture."""

    def describe(picture: Any) -> _Picture:
        mode = _mode_of(file, picture)
        width, height = picture.size
        # Pillow would decode the whole picture to look for what may follow the pixels of PNG.
        has_exif = picture.format != "PNG" or "exif" in picture.info
        if has_exif and picture.getexif().get(pil.ExifTags.Base.Orientation) in _TURNED:
            width, height = height, width
        return _Picture(file, height, width, mode)

    found: _Picture = _with_picture(pil, file, describe)
    return found


def _load(pil: Any, file: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Decode one picture, turned as viewers show it."""

    def decode(picture: Any) -> np.ndarray:
        mode = _mode_of(file, picture)
        picture.load()
        upright = pil.ImageOps.exif_transpose(picture)
        pixels = np.asarray(upright.convert(mode.convert) if mode.convert else upright)
        if pixels.shape != shape:
            raise ValueError("its size is not what its header says")
        return pixels

    found: np.ndarray = _with_picture(pil, file, decode)
    return found


def _with_picture(pil: Any, file: Path, use: Callable[[Any], Any]) -> Any:
    """Open a picture and use it; all that can go wrong becomes one line that names the file."""
    # Pillow logs what is wrong with a TIFF file before it raises an error.
    with damaged_file(file, "picture"), collected_log("PIL.TiffImagePlugin"):
        try:
            with pil.Image.open(file, formats=_FORMATS) as picture:
                return use(picture)
        except pil.Image.DecompressionBombError:
            raise RefusedFile(
                f"{file}: more pixels than Pillow opens, which may be a decompression bomb; "
                "make the picture smaller"
            ) from None
        except pil.UnidentifiedImageError:
            raise RefusedFile(
                f"{file}: no {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]} picture, although its "
                "name says so; remove it, or mend it"
            ) from None


def _mode_of(file: Path, picture: Any) -> _Mode:
    if picture.format == "TIFF" and getattr(picture, "n_frames", 1) > 1:
        raise RefusedFile(
            f"{file}: a TIFF file of {picture.n_frames} pages; name this file alone, or save one "
            "picture in each file"
        )
    name = picture.mode
    if name == "P":
        return _TRANSPARENT if "transparency" in picture.info else _COLOUR
    mode = _MODES.get(name)
    if mode is None:
        raise RefusedFile(
            f"{file}: a picture of mode {name}, which is not read; convert it to grey or RGB"
        )
    # Pillow would keep the upper 8 bits only.
    if mode.dtype == "u1" and _bits_per_channel(file, picture) > 8:
        raise RefusedFile(
            f"{file}: more than 8 bits per channel in {mode.words}, which Pillow does not read; "
            "save the pictures as the pages of one TIFF file, or the numbers with numpy.save"
        )
    return mode


def _bits_per_channel(file: Path, picture: Any) -> int:
    if picture.format == "PNG":
        with open(file, "rb") as stream:
            return stream.read(25)[24]  # after the signature, the size of the header and the sizes
    if picture.format == "TIFF":
        return int(max(picture.tag_v2.get(_BITS_PER_SAMPLE, (1,))))
    return 8


def _require_pillow(path: Path) -> Any:
    try:
        import PIL.ExifTags
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise ImportError(f'{path}: pictures need Pillow: pip install "tensift[images]"') from None
    return PIL
