"""ENVI: a scene in two files, a header of text and the plain numbers beside it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensift._utils.warnings import warn_user
from tensift.datasets._stored import MAP_FROM_BYTES, Contents, StoredArray, damaged_file
from tensift.datasets._wavelengths import named_wavelengths, unit_of

__all__ = ["envi_header_of", "files_of_envi", "open_envi"]

_MAP_FROM_BYTES = MAP_FROM_BYTES
_LARGEST_HEADER = 2**24  # bytes
_LARGEST = 2**48  # of any number in a header, so that products cannot surprise
# Of the file with the numbers; without a suffix is common too.
_DATA_SUFFIXES = ("", ".img", ".dat", ".raw", ".bin", ".bsq", ".bil", ".bip", ".cube")
_TYPES = {
    1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 6: "c8", 9: "c16", 12: "u2", 13: "u4", 14: "i8",
    15: "u8",
}  # fmt: skip
# The order of the stored axes, and how they become row, column, band.
_INTERLEAVES = {"bsq": (1, 2, 0), "bil": (0, 2, 1), "bip": (0, 1, 2)}
_NAMED = re.compile(r"\s*([^=;{}]+?)\s*=\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class _Header:
    """What a header says, checked."""

    rows: int
    columns: int
    bands: int
    dtype: np.dtype
    interleave: str
    offset: int
    names: np.ndarray | None  # wavelengths, or else names of the bands
    unit: str | None  # of wavelengths
    n_bad: int  # bands that the header marks as bad
    nodata: float | None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        shape = (self.rows, self.columns, self.bands)
        turned = _INTERLEAVES[self.interleave]
        return tuple(shape[turned.index(axis)] for axis in range(3))


def envi_header_of(path: Path, head: bytes) -> Path | None:
    """Return the header of a scene of which `path` is one of the two files; None for others."""
    if _is_header(head):
        return path
    headers = [path.with_name(f"{path.name}{suffix}") for suffix in (".hdr", ".HDR")]
    if path.suffix.lower() in _DATA_SUFFIXES:
        headers += [path.with_suffix(".hdr"), path.with_suffix(".HDR")]
    for header in headers:
        if header.is_file():
            with open(header, "rb") as stream:
                if _is_header(stream.read(16)):
                    return header
    return None


def files_of_envi(path: Path, header: Path) -> list[Path]:
    """Return the header and the file with the numbers; `path` is one of the two."""
    if path != header:
        data = path
    else:
        stem = header.with_suffix("")
        found = [stem.with_name(stem.name + suffix) for suffix in _DATA_SUFFIXES]
        found += [stem.with_name(stem.name + suffix.upper()) for suffix in _DATA_SUFFIXES[1:]]
        # Some file systems do not tell upper from lower case.
        files = {file.resolve(): file for file in reversed(found) if file.is_file()}
        if len(files) != 1:
            which = ", ".join(sorted(file.name for file in files.values()))
            raise ValueError(
                f"{path}: the header of an ENVI scene, "
                + (
                    f"with several files beside it ({which}); name the one with the numbers"
                    if files
                    else f"without its numbers; {stem.name}, {stem.name}.img or the like must lie "
                    "beside it"
                )
            )
        (data,) = files.values()
    if not data.is_file():
        raise ValueError(f"{data}: not a regular file")
    if data.resolve().parent != header.resolve().parent:
        raise ValueError(
            f"{data}: not in the folder of its header, {header.resolve()}; tensift follows no link "
            "to other places: copy the file"
        )
    return [header, data]


def open_envi(path: Path, header: Path) -> Contents:
    """Describe a scene as one array (row, column, band)."""
    header, data = files_of_envi(path, header)
    with damaged_file(header, "ENVI header"):
        found = _parse(_read_text(header))
    shape = (found.rows, found.columns, found.bands)
    held, needed = data.stat().st_size, found.offset + found.dtype.itemsize * math.prod(shape)
    if held != needed:
        raise ValueError(
            f"{data}: {held} bytes, but the header {header.name} promises {needed} ({found.rows} "
            f"lines x {found.columns} samples x {found.bands} bands of {found.dtype}, after "
            f"{found.offset} bytes); one of the two files is damaged, or belongs to another"
        )
    if 0 < found.n_bad < found.bands:
        warn_user(
            f"{header}: {found.n_bad} of {found.bands} bands are marked as bad (bbl), and are read "
            "like all others; leave them out with Constraints(exclude=...) (--exclude)"
        )
    mapped = held >= _MAP_FROM_BYTES

    def load() -> np.ndarray:
        with damaged_file(data, "ENVI"):
            stored: np.ndarray = np.memmap(data, found.dtype, "r", found.offset, found.stored_shape)
            if not mapped:
                stored = np.array(stored, dtype=found.dtype.newbyteorder("="))
            return stored.transpose(_INTERLEAVES[found.interleave])

    array = StoredArray(
        shape,
        found.dtype,
        load,
        "scene",
        mapped=mapped,
        axes=("row", "column", "band"),
        sample_axes=(0, 1),
        coords={} if found.names is None else {"band": found.names},
        units={} if found.unit is None else {"band": found.unit},
        nodata=found.nodata,
    )
    return Contents("ENVI", {"data": array})


def _is_header(head: bytes) -> bool:
    return re.match(rb"(?:\xef\xbb\xbf)?ENVI\s*[\r\n]", head) is not None


def _read_text(header: Path) -> str:
    if header.stat().st_size > _LARGEST_HEADER:
        raise ValueError("longer than any header")
    return header.read_bytes().decode("utf-8-sig", errors="replace")


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a header; values in braces may have several lines."""
    fields: dict[str, str] = {}
    lines = iter(text.splitlines()[1:])
    for line in lines:
        found = _NAMED.match(line)
        if line.lstrip().startswith(";") or found is None:
            continue
        name, value = " ".join(found[1].lower().split()), found[2].strip()
        if value.startswith("{"):
            parts = [value]
            while "}" not in parts[-1]:
                part = next(lines, None)
                if part is None:
                    raise ValueError(f"{name!r} has an opening brace and no closing one")
                parts.append(part)
            value = " ".join(parts)
            value = value[1 : value.index("}")].strip()
        if fields.setdefault(name, value) != value:
            raise ValueError(f"{name!r} is given twice")
    return fields


def _parse(text: str) -> _Header:
    fields = _fields(text)
    sizes = {name: _number(fields, name, least=1) for name in ("lines", "samples", "bands")}
    code = _number(fields, "data type", least=0)
    if code not in _TYPES:
        raise ValueError(f"unknown data type {code}; known: {', '.join(map(str, _TYPES))}")
    dtype = np.dtype(_TYPES[code])
    # The order of bytes matters for numbers of several bytes only.
    order = _number(fields, "byte order", least=0, default=None if dtype.itemsize > 1 else 0)
    if order not in (0, 1):
        raise ValueError(f"byte order must be 0 or 1; got {order}")
    interleave = _value(fields, "interleave").lower()
    if interleave not in _INTERLEAVES:
        raise ValueError(f"interleave must be bsq, bil or bip; got {interleave[:40]!r}")
    if _number(fields, "file compression", least=0, default=0):
        raise ValueError("the numbers are compressed; save the scene without compression")
    if "spectral library" in fields.get("file type", "").lower():
        raise ValueError("a spectral library and no scene; save its numbers with numpy.save")
    return _Header(
        sizes["lines"],
        sizes["samples"],
        sizes["bands"],
        dtype.newbyteorder("<" if order == 0 else ">"),
        interleave,
        _number(fields, "header offset", least=0, default=0),
        *_band_names(fields, sizes["bands"]),
        _bad_bands(fields, sizes["bands"]),
        _nodata(fields),
    )


def _value(fields: dict[str, str], name: str) -> str:
    if name not in fields:
        raise ValueError(f"no {name!r}")
    return fields[name]


def _number(fields: dict[str, str], name: str, *, least: int, default: int | None = None) -> int:
    if name not in fields and default is not None:
        return default
    text = _value(fields, name)
    if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= _LARGEST:
        raise ValueError(f"{name!r} must be a whole number of {least} or more; got {text[:40]!r}")
    return int(text)


def _entries(fields: dict[str, str], name: str, bands: int) -> list[str]:
    """Return the entries of a list with one for every band."""
    entries = [entry.strip() for entry in fields[name].split(",")]
    if len(entries) == bands + 1 and not entries[-1]:
        entries.pop()  # after a last comma
    if len(entries) != bands:
        raise ValueError(f"{name!r} has {len(entries)} entries for {bands} bands")
    return entries


def _band_names(fields: dict[str, str], bands: int) -> tuple[np.ndarray | None, str | None]:
    """Return the wavelengths as numbers and their unit, or else the names of the bands."""
    if "wavelength" in fields:
        entries = _entries(fields, "wavelength", bands)
        values = np.array([_float("wavelength", entry) for entry in entries])
        if not np.isfinite(values).all():
            raise ValueError("'wavelength' must hold finite numbers")
        return values, unit_of(fields.get("wavelength units"))
    if "band names" not in fields:
        return None, None
    names = _entries(fields, "band names", bands)
    return named_wavelengths(names) or (np.array(names), None)


def _bad_bands(fields: dict[str, str], bands: int) -> int:
    """Return how many bands are marked with a zero in the list of bad bands."""
    if "bbl" not in fields:
        return 0
    return sum(_float("bbl", entry) == 0 for entry in _entries(fields, "bbl", bands))


def _nodata(fields: dict[str, str]) -> float | None:
    text = fields.get("data ignore value")
    return None if text is None else _float("data ignore value", text)


def _float(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name!r} must hold numbers; got {text[:40]!r}") from None
