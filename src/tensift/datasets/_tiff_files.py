"""TIFF files: pages as samples, or the bands of a scene; read by tifffile.

tifffile writes most of what is wrong with a file into its log and goes on, so its log is turned
into errors here. Its readers of whole series would open other files that a file names; only pages
are read.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._gdal_tags import METADATA_TAG, BandNames, names_of_bands
from tensift.datasets._stored import (
    Contents,
    RefusedFile,
    StoredArray,
    collected_log,
    damaged_file,
)
from tensift.datasets._tiff_stacks import stack_of_pages

__all__ = ["is_tiff", "open_tiff"]

_STARTS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
# Tags of GeoTIFF: the scale and the place of pixels, their keys, and the value of missing pixels.
_MAP_TAGS = (33550, 33922, 34264, 34735)
_NODATA_TAG = 42113
_REDUCED, _MASK = 1, 4  # bits that say what a page is besides the picture
_CHANNELS = {
    2: ("grey", "alpha"),
    3: ("red", "green", "blue"),
    4: ("red", "green", "blue", "alpha"),
}
_DEFLATE = (8, 32946)
# Packed strips whose unpacked size is bounded by what is checked here: none, LZW, PackBits.
_BOUNDED = (1, 5, 32773)
_CHUNK = 2**20


def is_tiff(head: bytes) -> bool:
    """Whether a file begins as TIFF files do."""
    return head.startswith(_STARTS)


@dataclass(frozen=True)
class _Page:
    """What the header of a page says: the same for all pages that are samples."""

    height: int
    width: int
    bands: int
    planar: bool  # bands one after another, not pixel by pixel
    dtype: np.dtype

    @property
    def words(self) -> str:
        bands = f" with {self.bands} values each" if self.bands > 1 else ""
        return f"{self.height} x {self.width} pixels{bands}, {self.dtype}"


def open_tiff(path: Path) -> Contents:
    """Describe the pages of a TIFF file as one array."""
    with _tiff(path) as file:
        pages = list(file.pages)
        kinds = [int(page.subfiletype) for page in pages]
        places = [i for i, kind in enumerate(kinds) if not kind & (_REDUCED | _MASK)]
        masks = [i for i, kind in enumerate(kinds) if kind & _MASK and not kind & _REDUCED]
        if not places:
            raise ValueError("it has no pages")
        found = [_describe(path, pages[i], i) for i in places]
        first = found[0]
        for i, page in zip(places, found, strict=True):
            if page != first:
                raise RefusedFile(
                    f"{path}: page {i} has {page.words}, but the first has {first.words}; all "
                    "pages must have the same size and type: save those that belong together in "
                    "one file"
                )
        for i in [*places, *masks]:
            _check_storage(path, pages[i], i)
        _refuse_stacks(path, file, len(places))
        tags = pages[places[0]].tags
        on_map = any(tag in tags for tag in _MAP_TAGS)
        nodata = _nodata(tags)
        bands = _names_of_bands(path, tags, first.bands)
        one = (first.height, first.width, first.bands)[: 2 + (first.bands > 1)]
        text = pages[places[0]].description
        stack = stack_of_pages(path, text, len(places), one)

    load = _TiffLoader(path, tuple(places), first, stack.shape)
    if len(places) > 1:
        axes: tuple[str, ...] = (*stack.names, "row", "column")
        shape: tuple[int, ...] = (*stack.shape, first.height, first.width)
        samples: tuple[int, ...] | None = (stack.samples,)
        last = "channel"
    else:
        # A scene, or one picture, whose samples only the user can name.
        axes, shape = ("row", "column"), (first.height, first.width)
        scene = on_map or first.bands not in (1, *_CHANNELS)
        samples = (0, 1) if scene else None
        last = "band" if scene else "channel"
    if first.bands > 1 or len(places) == 1:
        axes, shape = (*axes, last), (*shape, first.bands)
    names: Any = _CHANNELS.get(first.bands) if last == "channel" else bands.values
    data = StoredArray(
        shape,
        first.dtype,
        load,
        "pages",
        axes=axes,
        sample_axes=samples,
        coords={} if names is None else {last: np.array(names)},
        units={} if last == "channel" or bands.unit is None else {last: bands.unit},
        nodata=nodata,
    )
    arrays = {"data": data}
    if len(masks) == len(places) == 1:
        mask = (first.height, first.width)
        arrays["mask"] = StoredArray(mask, np.dtype(bool), _MaskLoader(path, masks[0], mask))
    elif len(places) == 1 and not masks and (beside := _mask_beside(path, first)) is not None:
        arrays["mask"] = beside
    return Contents("TIFF", arrays, mask="mask" if "mask" in arrays else None)


class _TiffLoader:
    """Loads pages, when called."""

    def __init__(
        self, path: Path, places: tuple[int, ...], page: _Page, stack: tuple[int, ...]
    ) -> None:
        self.path, self.places, self.page, self.stack = path, places, page, stack

    def __call__(self) -> np.ndarray:
        page = self.page
        one = (page.height, page.width, page.bands)
        data = np.empty((len(self.places), *one), page.dtype)
        with _tiff(self.path) as file:
            for place, number in enumerate(self.places):
                _refuse_bomb(self.path, file, file.pages[number])
                pixels = file.pages[number].asarray()
                data[place] = np.moveaxis(pixels, 0, -1) if page.planar else pixels.reshape(one)
        if len(self.places) == 1:
            return data[0]
        return data.reshape(*self.stack, *(one if page.bands > 1 else one[:2]))


class _MaskLoader:
    """Loads the mask of a scene, when called."""

    def __init__(self, path: Path, number: int, shape: tuple[int, int]) -> None:
        self.path, self.number, self.shape = path, number, shape

    def __call__(self) -> np.ndarray:
        with _tiff(self.path) as file:
            page = file.pages[self.number]
            _refuse_bomb(self.path, file, page)
            return np.asarray(page.asarray() != 0).reshape(self.shape)


def _describe(path: Path, page: Any, number: int) -> _Page:
    dtype = page.dtype
    height, width, bands = int(page.imagelength), int(page.imagewidth), int(page.samplesperpixel)
    if dtype is None or min(height, width, bands) < 1:
        raise ValueError(f"page {number} has no pixels of a known type")
    if int(page.imagedepth) != 1:
        raise RefusedFile(f"{path}: page {number} is a volume, which is not read")
    planar = int(page.planarconfig) == 2 and bands > 1
    expected = (bands, height, width) if planar else (height, width, bands)[: 2 + (bands > 1)]
    if tuple(page.shape) != expected:
        raise ValueError(f"page {number} has the shape {page.shape}, not {expected}")
    if int(page.photometric) == 3:
        raise RefusedFile(f"{path}: page {number} has a palette of colours; save it as grey or RGB")
    return _Page(height, width, bands, planar, np.dtype(dtype))


def _check_storage(path: Path, page: Any, number: int) -> None:
    """Check that the file holds what its header promises, and that unpacking it is safe."""
    compression = int(page.compression)
    if compression not in (*_BOUNDED, *_DEFLATE):
        name = getattr(page.compression, "name", compression)
        raise RefusedFile(
            f"{path}: page {number} is packed by {name}, which is not read; save the file "
            "without compression or with deflate"
        )
    if compression == 5:
        _require_imagecodecs(path)
    size = page.parent.filehandle.size
    offsets, counts = page.dataoffsets, page.databytecounts
    if len(offsets) != len(counts) or not offsets:
        raise ValueError(f"page {number} does not say where its pixels are")
    if any(a < 0 or n < 0 or a + n > size for a, n in zip(offsets, counts, strict=True)):
        raise ValueError(f"the pixels of page {number} lie outside of the file")
    if compression == 1 and page.nbytes > 0:
        bits = math.prod(page.shape) * int(page.bitspersample)
        if 8 * sum(counts) < bits and min(counts) > 0:
            raise ValueError(f"page {number} has fewer pixels than its header says")


def _refuse_bomb(path: Path, file: Any, page: Any) -> None:
    """Unpack deflated strips piece by piece and stop if they hold more than their pixels."""
    if int(page.compression) not in _DEFLATE:
        return
    rows, columns = (
        (page.tilelength, page.tilewidth)
        if page.is_tiled
        else (min(page.rowsperstrip, page.imagelength), page.imagewidth)
    )
    bands = 1 if int(page.planarconfig) == 2 else page.samplesperpixel
    most = int(rows) * int(columns) * int(bands) * page.dtype.itemsize + _CHUNK
    for offset, count in zip(page.dataoffsets, page.databytecounts, strict=True):
        if count * 1032 <= most:  # deflate packs nothing smaller
            continue
        unpacker, size = zlib.decompressobj(), 0
        file.filehandle.seek(offset)
        piece = file.filehandle.read(count)
        while piece and size <= most:
            size += len(unpacker.decompress(piece, _CHUNK))
            piece = unpacker.unconsumed_tail
        if size > most:
            raise RefusedFile(
                f"{path}: packed pixels are more than their header says, which may be a "
                "decompression bomb"
            )


def _refuse_stacks(path: Path, file: Any, n_pages: int) -> None:
    """Refuse files of ImageJ above 4 GB, which describe one page and hold many."""
    if not file.is_imagej:
        return
    found = re.search(r"^images=([0-9]{1,12})\s*$", file.pages[0].description, re.MULTILINE)
    if found is not None and int(found[1]) > n_pages:
        raise RefusedFile(
            f"{path}: a stack of ImageJ with {found[1]} pictures, of which only {n_pages} have a "
            "page; save it as BigTIFF"
        )


def _names_of_bands(path: Path, tags: Any, bands: int) -> BandNames:
    tag = tags.get(METADATA_TAG)
    if tag is None or not isinstance(tag.value, str):
        return BandNames()
    try:
        return names_of_bands(tag.value, bands)
    except RefusedFile as error:
        raise RefusedFile(f"{path}: {error}") from None


def _mask_beside(path: Path, scene: _Page) -> StoredArray | None:
    """Return the mask that GDAL wrote into a file of its own."""
    beside = path.with_name(f"{path.name}.msk")
    if not beside.is_file():
        return None
    with _tiff(beside) as file:
        page = _describe(beside, file.pages[0], 0)
        _check_storage(beside, file.pages[0], 0)
    shape = (scene.height, scene.width)
    if (page.height, page.width, page.bands) != (*shape, 1):
        raise RefusedFile(
            f"{beside}: a mask with {page.words} beside a scene of {scene.height} x {scene.width} "
            "pixels; save one mask for all bands, or give another with mask (--mask)"
        )
    return StoredArray(shape, np.dtype(bool), _MaskLoader(beside, 0, shape))


def _nodata(tags: Any) -> float | None:
    tag = tags.get(_NODATA_TAG)
    if tag is None:
        return None
    try:
        return float(str(tag.value).strip(" \x00"))
    except ValueError:
        return None


@contextmanager
def _tiff(path: Path) -> Iterator[Any]:
    """Open a file; what tifffile would log as an error becomes one line that names the file."""
    tifffile = _require_tifffile(path)
    with (
        damaged_file(path, "TIFF"),
        collected_log("tifffile") as problems,
        tifffile.TiffFile(path) as file,
    ):
        try:
            yield file
        except RefusedFile:
            raise
        except Exception as error:
            if "imagecodecs" in str(error):
                _require_imagecodecs(path)
            raise
        if problems:
            raise ValueError(problems[0])


def _require_tifffile(path: Path) -> Any:
    try:
        import tifffile
    except ImportError:
        raise ImportError(
            f'{path}: TIFF files need tifffile: pip install "tensift[images]"'
        ) from None
    return tifffile


def _require_imagecodecs(path: Path) -> None:
    try:
        import imagecodecs  # noqa: F401
    except ImportError:
        raise RefusedFile(
            f"{path}: its pixels are packed in a way that needs the package imagecodecs: "
            "pip install imagecodecs; or save the file without compression"
        ) from None
