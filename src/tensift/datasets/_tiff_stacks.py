"""How pages of a TIFF file belong together, as tifffile, ImageJ and OME describe it.

Only the description of the first page is read, never another file that it names.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from tensift.datasets._stored import RefusedFile

__all__ = ["Stack", "stack_of_pages"]

_LARGEST = 2**24  # characters of a description
_NAMES = {"T": "time", "Z": "slice", "C": "channel"}
_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"([^"]*)"')


@dataclass(frozen=True)
class Stack:
    """The axes that count pages, slowest first: their lengths, and what they are called."""

    shape: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def samples(self) -> int:
        """The axis of the samples: times, or else the first that is no channel."""
        if "time" in self.names:
            return self.names.index("time")
        return next((k for k, name in enumerate(self.names) if name != "channel"), 0)


def stack_of_pages(path: Path, description: str, n_pages: int, page: tuple[int, ...]) -> Stack:
    """Return how pages are ordered; `page` is the shape of one, with its values of a pixel last."""
    plain = Stack((n_pages,), ("page",))
    if len(description) > _LARGEST:
        return plain
    found = (
        _of_tifffile(description, page)
        or _of_imagej(description)
        or _of_ome(path, description, page)
    )
    if found is None:
        return plain
    kept = [(size, name) for size, name in zip(*found, strict=True) if size > 1]
    count = math.prod(size for size, _ in kept)
    if count > n_pages:
        raise RefusedFile(
            f"{path}: its description speaks of {count} pictures, of which {n_pages} have a page; "
            "save it with a page for each picture, in one file"
        )
    if len(kept) < 2:
        return plain
    if count < n_pages:
        raise RefusedFile(
            f"{path}: several stacks in one file: the first has {count} of {n_pages} pages; save "
            "each in a file of its own"
        )
    names: list[str] = []
    for _, letter in kept:
        name = _NAMES.get(letter, "plane" if names else "page")
        if name in names or (name == "channel" and len(page) > 2):
            name = "plane"
        while name in names:
            name += "_"
        names.append(name)
    return Stack(tuple(size for size, _ in kept), tuple(names))


def _of_tifffile(text: str, page: tuple[int, ...]) -> tuple[list[int], str] | None:
    """Read ``{"shape": [4, 3, 8, 9], "axes": "TCYX"}``."""
    if not text.startswith("{") or '"shape"' not in text:  # in any order
        return None
    try:
        said = json.loads(text)
        shape = [int(size) for size in said["shape"]]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    own = len(page)  # bands may come before rows
    if len(shape) < own or min(shape) < 1 or sorted(shape[-own:]) != sorted(page):
        return None
    axes = said.get("axes")
    known = isinstance(axes, str) and len(axes) == len(shape)
    return shape[:-own], (axes if known else "?" * len(shape))[: len(shape) - own]


def _of_imagej(text: str) -> tuple[list[int], str] | None:
    if not text.startswith("ImageJ="):
        return None
    said = dict(re.findall(r"^(frames|slices|channels)=([0-9]{1,9})\s*$", text, re.MULTILINE))
    return [max(1, int(said.get(name, 1))) for name in ("frames", "slices", "channels")], "TZC"


def _of_ome(path: Path, text: str, page: tuple[int, ...]) -> tuple[list[int], str] | None:
    if "<OME" not in text:
        return None
    images = re.findall(r"<(?:\w+:)?Pixels\b([^>]*)>", text)
    if not images:
        return None
    said = dict(_ATTRIBUTE.findall(images[0]))
    letters = said.get("DimensionOrder", "XYZCT")[:1:-1]
    sizes = [said.get(f"Size{letter}", "1") for letter in letters]
    if sorted(letters) != ["C", "T", "Z"] or not all(re.fullmatch("[0-9]{1,9}", s) for s in sizes):
        return None
    shape = [max(1, int(size)) for size in sizes]
    if len(page) > 2:  # the values of a pixel are channels, too
        shape[letters.index("C")] = max(1, shape[letters.index("C")] // page[2])
    if sum(size > 1 for size in shape) > 1 and not (
        len(images) == 1 and _in_order(text, letters, shape)
    ):
        raise RefusedFile(
            f"{path}: OME pages in an order, or of several images, which are not read; save them "
            "as one plain stack of times, slices and channels"
        )
    return (shape, letters) if len(images) == 1 else None


def _in_order(text: str, letters: str, shape: list[int]) -> bool:
    """Whether pages lie one after another, as far as the file says where they are."""
    for attributes in re.findall(r"<(?:\w+:)?TiffData\b([^>]*)>", text):
        said = dict(_ATTRIBUTE.findall(attributes))
        place = 0
        for letter, size in zip(letters, shape, strict=True):
            place = place * size + int(_digits(said.get(f"First{letter}", "0")))
        if place != int(_digits(said.get("IFD", "0"))):
            return False
    return True


def _digits(text: str) -> str:
    return text if re.fullmatch("[0-9]{1,9}", text) else "-1"
