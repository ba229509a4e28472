"""Wavelengths of bands, as headers of scenes write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = ["named_wavelengths", "unit_of"]

# The spellings of the two units that scenes use, without a plural.
_UNITS = {
    "nm": ("nm", "nanometer", "nanometre"),
    "um": ("um", "µm", "μm", "micrometer", "micrometre", "micron"),
}
_SPELLED = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings}
# A number and its unit, alone or somewhere in the name of a band: "Band 3 (671.5 Nanometers)".
_NUMBER = r"(?<![\w.])([0-9]{1,8}(?:\.[0-9]{0,20})?)\s*"
_NAMED = re.compile(rf"{_NUMBER}({'|'.join(_SPELLED)})s?(?!\w)", re.IGNORECASE)


def unit_of(text: str | None) -> str | None:
    """Return "nm" or "um" if a text spells one of them, else None.

    Examples
    --------
    >>> from tensift.datasets._wavelengths import unit_of
    >>> unit_of("Micrometers"), unit_of("Index")
    ('um', None)
    """
    word = "" if text is None else text.strip().lower()
    return _SPELLED.get(word, _SPELLED.get(word.removesuffix("s")))


def named_wavelengths(names: Sequence[str]) -> tuple[np.ndarray, str] | None:
    """Return the wavelengths and their unit if the name of every band has them, else None.

    Examples
    --------
    >>> from tensift.datasets._wavelengths import named_wavelengths
    >>> named_wavelengths(["Band 1 (482.5 Nanometers)", "Band 2 (560 nm)"])
    (array([482.5, 560. ]), 'nm')
    >>> named_wavelengths(["blue", "560 nm"]) is None
    True
    """
    found = [_NAMED.search(name) for name in names]
    if not found or not all(found):
        return None
    known = [one for one in found if one is not None]
    units = {unit_of(one[2]) for one in known}
    unit = units.pop()
    if units or unit is None:
        return None
    return np.array([float(one[1]) for one in known]), unit
