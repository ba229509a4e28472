"""What GDAL writes into a TIFF about its bands: descriptions, wavelengths, scales."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from tensift.datasets._stored import RefusedFile
from tensift.datasets._wavelengths import named_wavelengths, unit_of

__all__ = ["METADATA_TAG", "BandNames", "names_of_bands"]

METADATA_TAG = 42112
_LARGEST = 2**24  # characters
# The items that hold a wavelength, and the unit that the name of the item gives.
_WAVELENGTHS = {
    "wavelength": None,
    "wavelengths": None,
    "central_wavelength": None,
    "center_wavelength": None,
    "central_wavelength_um": "um",
    "central_wavelength_nm": "nm",
}
_UNITS = ("wavelength_units", "wavelength_unit", "wavelengths_units", "units_wavelength")

# The items of every band by the name of the item; those of the file have no band.
_Items = dict[str, dict[int | None, str]]


@dataclass(frozen=True)
class BandNames:
    """The wavelengths of bands, or their names; the unit of wavelengths."""

    values: np.ndarray | None = None
    unit: str | None = None


def names_of_bands(text: str, bands: int) -> BandNames:
    """Read the names of bands from the metadata of GDAL.

    Wavelengths come first, then numbers with a unit in all descriptions, then descriptions.
    """
    items = _items(text)
    _refuse_scales(items.get("role:scale", {}), bands)
    for name, own_unit in _WAVELENGTHS.items():
        values = _numbers(_of_bands(items.get(name, {}), bands))
        if values is not None:
            return BandNames(values, own_unit or _unit(items, bands))
    names = _of_bands(items.get("role:description", items.get("description", {})), bands)
    if names is None:
        return BandNames()
    known = named_wavelengths(names)
    return BandNames(np.array(names)) if known is None else BandNames(*known)


def _items(text: str) -> _Items:
    if len(text) > _LARGEST or "<!" in re.sub(r"<!(--|\[CDATA\[)", "", text):
        raise ValueError("its metadata of GDAL have declarations, or no end")  # no entities
    try:
        root = ElementTree.fromstring(text.strip(" \x00\r\n\t"))
    except ElementTree.ParseError as error:
        raise ValueError(f"its metadata of GDAL are no XML: {error}") from None
    items: _Items = {}
    for item in root.iter("Item"):
        band, value = item.get("sample"), (item.text or "").strip()
        if not value or (band is not None and not re.fullmatch("[0-9]{1,9}", band)):
            continue
        number = None if band is None else int(band)
        name, role = item.get("name", "").strip().lower().replace(" ", "_"), item.get("role")
        for key in (name, *([f"role:{role.lower()}"] if role else [])):
            items.setdefault(key, {}).setdefault(number, value)
    return items


def _of_bands(found: dict[int | None, str], bands: int) -> list[str] | None:
    """Return one text for each band, from an item for each, or from a list for all."""
    if all(band in found for band in range(bands)):
        return [found[band] for band in range(bands)]
    entries = [entry.strip() for entry in found.get(None, "").strip("{}[]() ").split(",")]
    return entries if len(entries) == bands and all(entries) else None


def _numbers(texts: Sequence[str] | None) -> np.ndarray | None:
    try:
        values = np.array([float(text) for text in texts or ()])
    except ValueError:
        return None
    return values if values.size and np.isfinite(values).all() else None


def _unit(items: _Items, bands: int) -> str | None:
    for name in _UNITS:
        found = items.get(name, {})
        units = {unit_of(text) for text in found.values()}
        if len(units) == 1 and (None in found or len(found) >= bands):
            return units.pop()
    return None


def _refuse_scales(found: dict[int | None, str], bands: int) -> None:
    """Refuse bands that are stored in different units: their spreads would not compare."""
    values = {_scale(found.get(band, "1")) for band in range(bands)}
    if len(values) > 1:
        low, high = min(values), max(values)
        raise RefusedFile(
            f"its bands are stored with different scales, from {low:g} to {high:g}; save their "
            "values, with gdal_translate -unscale -ot Float32"
        )


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if math.isfinite(value) else 1.0
