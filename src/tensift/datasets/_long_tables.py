"""Tensors from long tables: a row for every value, whose keys say which sample and where in it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LongTable", "check_each_once", "coded", "name_and_unit", "tensor_of_values"]

_SEVERAL = "variable"  # the mode of several columns of values, as of the variables of a Dataset
_MOST = 2**62  # values that can be counted

_UNIT = re.compile(r"(.*\S)\s*(?:\(([^()]{1,20})\)|\[([^][]{1,20})\])")

Coded = tuple[NDArray[Any], NDArray[np.intp]]


@dataclass(frozen=True)
class LongTable:
    """A tensor that was made from rows, and which sample each row belongs to."""

    data: NDArray[Any]
    dims: tuple[str, ...]
    coords: dict[str, NDArray[Any]]
    units: dict[str, str]
    sample: str
    samples: Coded

    def of_each_sample(self, values: NDArray[Any], what: str) -> NDArray[Any]:
        """Return the value of each sample, which all of its rows must have."""
        names, codes = self.samples
        _, first = np.unique(codes, return_index=True)
        found = values[first]
        differs = values != found[codes]
        if differs.any():
            which = names[codes[int(np.argmax(differs))]]
            raise ValueError(
                f"{what} differ within the sample {self.sample}={which}; give one each"
            )
        return found


def tensor_of_values(
    keys: Sequence[tuple[str, NDArray[Any]]],
    values: NDArray[Any],
    names: NDArray[Any] | None,
    what: str,
    *,
    allow_gaps: bool | None = None,
) -> LongTable:
    """Put the values of rows where their keys say.

    ``keys`` are the titles and columns of the sample and of the modes. ``values`` are one column,
    or a table of several, which become the first mode, with ``names`` along it. ``what`` the rows
    are is for errors. With ``allow_gaps``, places without a row are NaN. None: the user cannot
    say so.
    """
    titles = [title for title, _ in keys]
    several = values.ndim == 2
    if several and _SEVERAL in titles:
        raise ValueError(
            f"{what} has a column {_SEVERAL!r}, and the mode of several columns of values is "
            "called so; rename the column"
        )
    places = [coded(column, by_value=place > 0) for place, (_, column) in enumerate(keys)]
    shape = tuple(len(known) for known, _ in places)
    if math.prod(shape) > _MOST:
        counts = ", ".join(f"{n} of {title}" for title, n in zip(titles, shape, strict=True))
        raise ValueError(f"{what} has {len(values)} rows, too few for all of {counts}")
    flat = np.ravel_multi_index([codes for _, codes in places], shape)
    known = [values_of_key for values_of_key, _ in places]
    check_each_once(flat, shape, titles, known, what, allow_gaps=allow_gaps)
    if len(flat) == math.prod(shape):
        data = np.empty_like(values)
    else:
        kind = values.dtype if values.dtype.kind in "fc" else np.dtype(float)
        data = np.full((math.prod(shape), *values.shape[1:]), np.nan, kind)
    data[flat] = values
    named = [name_and_unit(title) for title in titles[1:]]
    dims = tuple(name for name, _ in named)
    if len({*dims, *([_SEVERAL] if several else [])}) < len(dims) + several:
        named = [(title, "") for title in titles[1:]]
        dims = tuple(titles[1:])
    units = {name: unit for name, unit in named if unit}
    coords = {title: known for title, (known, _) in zip(dims, places[1:], strict=True)}
    data = data.reshape(*shape, *values.shape[1:])
    if several:
        data = np.moveaxis(data, -1, 1)
        dims, coords = (_SEVERAL, *dims), coords if names is None else {_SEVERAL: names, **coords}
    return LongTable(np.ascontiguousarray(data), dims, coords, units, titles[0], places[0])


def name_and_unit(title: str) -> tuple[str, str]:
    """Return ("time", "s") for a column called "time (s)" or "time [s]"."""
    found = _UNIT.fullmatch(title.strip())
    return (found[1], found[2] or found[3]) if found else (title, "")


def coded(values: NDArray[Any], *, by_value: bool) -> Coded:
    """Return the different values, and for each row which of them it has.

    With `by_value` numbers and dates are increasing; other values are ordered by their first row.
    """
    found, first, codes = np.unique(values, return_index=True, return_inverse=True)
    if by_value and values.dtype.kind in "biufM":
        return found, codes.astype(np.intp)
    order = np.argsort(first)
    return found[order], np.argsort(order)[codes]


def check_each_once(
    flat: NDArray[np.intp],
    shape: tuple[int, ...],
    titles: list[str],
    values: list[NDArray[Any]],
    what: str,
    *,
    allow_gaps: bool | None = None,
) -> None:
    """Raise an error unless each combination of values occurs once.

    With `allow_gaps` it may occur nowhere. None: the user cannot say so.
    """
    found, counts = np.unique(flat, return_counts=True)
    repeated = found[counts > 1]
    n_missing = math.prod(shape) - len(found)
    if repeated.size:
        place, others, how_often = repeated[0], len(repeated) - 1, "more than once"
        advice = "average such values first, or add a mode that tells them apart"
    elif n_missing and not allow_gaps:
        gaps = np.flatnonzero(found != np.arange(len(found)))
        place, others = gaps[0] if gaps.size else len(found), n_missing - 1
        how_often, advice = "nowhere", "add the value, or leave out that sample or place"
        if allow_gaps is False:
            advice += "; missing='allow' makes it NaN"
    else:
        return
    index = np.unravel_index(place, shape)
    where = ", ".join(
        f"{title}={known[k]}" for title, known, k in zip(titles, values, index, strict=True)
    )
    more = f" (and {others} more such)" if others else ""
    raise ValueError(f"{what} has {where} {how_often}{more}; {advice}")
