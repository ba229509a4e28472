"""Data frames of pandas and polars: rows are samples, columns are features if they hold numbers."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels._names import Names

__all__ = [
    "columns_without_numbers",
    "is_frame",
    "names_of_columns",
    "refuse_columns_without_numbers",
    "refuse_lazy_frame",
]

_SHOWN = 6  # columns that an error names
# What pandas calls the content of a column of objects that are numbers, perhaps with gaps.
_OBJECTS_OF_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal", "boolean"}
_OBJECTS = {"string": "text", "date": "dates", "datetime": "dates", "timedelta": "durations"}


def is_frame(X: Any) -> bool:
    """Whether `X` is a data frame of pandas or polars that is in memory.

    Examples
    --------
    >>> import pandas
    >>> from tensift.labels import is_frame
    >>> is_frame(pandas.DataFrame({"height": [1.8, 1.7]})), is_frame([[1.8], [1.7]])
    (True, False)
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    of_pandas = pandas is not None and isinstance(X, pandas.DataFrame)
    return of_pandas or (polars is not None and isinstance(X, polars.DataFrame))


def refuse_lazy_frame(X: Any) -> None:
    """Say how to load a frame of polars whose values are not computed yet."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.LazyFrame):
        raise ValueError("X is a LazyFrame of polars, whose values are not there; pass X.collect()")


def names_of_columns(frame: Any) -> NDArray[Any]:
    """Return what the columns of a frame are called: text, numbers or dates.

    Examples
    --------
    >>> import pandas
    >>> from tensift.labels import names_of_columns
    >>> names_of_columns(pandas.DataFrame({"height": [1.8, 1.7]})).tolist()
    ['height']
    """
    found = np.asarray(frame.columns)
    several_levels = any(isinstance(one, tuple) for one in found)
    return found.astype(str) if found.dtype.kind == "O" and not several_levels else found


def names_of_frame(frame: Any) -> Names | None:
    """Return the names of the features of a frame; None if its columns are only numbered."""
    found = names_of_columns(frame)
    if found.dtype.kind in "iu" and np.array_equal(found, np.arange(len(found))):
        return None
    return Names((len(found),), ("column",), {"column": found})


def columns_without_numbers(frame: Any) -> dict[int, str]:
    """Return the positions of the columns that hold other values than numbers, and what they hold.

    Examples
    --------
    >>> import pandas
    >>> from tensift.labels import columns_without_numbers
    >>> frame = pandas.DataFrame({"name": ["a", "b"], "height": [1.8, 1.7]})
    >>> columns_without_numbers(frame)
    {0: 'text'}
    """
    found = {}
    for place, dtype in enumerate(frame.dtypes):
        what = _of_polars(dtype) if hasattr(dtype, "is_numeric") else _of_pandas(dtype)
        if what == "objects":
            what = _of_objects(frame.iloc[:, place])
        if what:
            found[place] = what
    return found


def refuse_columns_without_numbers(frame: Any, name: str = "X") -> None:
    """Raise an error if a frame has columns of text, dates or the like, or one name twice.

    Examples
    --------
    >>> import pandas
    >>> from tensift.labels import refuse_columns_without_numbers
    >>> frame = pandas.DataFrame({"name": ["a", "b"], "height": [1.8, 1.7]})
    >>> refuse_columns_without_numbers(frame)
    Traceback (most recent call last):
    ...
    ValueError: X has columns that are not numbers: 'name' (text); ...
    """
    columns = list(frame.columns)
    twice = next((one for one, count in Counter(columns).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{name} has {columns.count(twice)} columns called {twice!r}; rename them")
    found = columns_without_numbers(frame)
    if not found:
        return
    shown = [f"{columns[place]!r} ({what})" for place, what in list(found.items())[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    names = repr([columns[place] for place in found]) if not more else "..."
    argument = names if _is_of_polars(frame) else f"columns={names}"
    raise ValueError(
        f"{name} has columns that are not numbers: {', '.join(shown)}{more}; leave them out with "
        f"{name}.drop({argument}), or set them aside with tensift.datasets.from_frame({name}, "
        "drop=..., labels=...)"
    )


def _is_of_polars(X: Any) -> bool:
    return type(X).__module__.split(".")[0] == "polars"


def _of_polars(dtype: Any) -> str:
    """Say what a column of polars holds; nothing if it holds numbers."""
    name = str(dtype)
    if dtype.is_numeric() or name == "Boolean":
        return ""
    words = {"Duration": "durations", "Time": "times", "String": "text", "Null": ""}
    words |= {"Date": "dates", "Datetime": "dates", "Categorical": "text", "Enum": "text"}
    return words.get(name.split("(")[0], name)


def _of_pandas(dtype: Any) -> str:
    """Say what a column of pandas holds; nothing for numbers, "objects" if its values decide."""
    name = str(dtype)
    if name == "category":
        return "" if dtype.categories.dtype.kind in "biuf" else "text"
    if name.startswith(("period", "interval")):
        return f"{name.split('[')[0]}s"
    if name in ("str", "string") or name.startswith("string["):
        return "text"
    words = {"M": "dates", "m": "durations", "O": "objects", "U": "text", "S": "text", "V": name}
    return words.get(getattr(dtype, "kind", "O"), "")


def _of_objects(column: Any) -> str:
    from pandas.api.types import infer_dtype

    found = infer_dtype(column, skipna=True)
    if found in _OBJECTS_OF_NUMBERS or found in ("complex", "empty"):
        return ""
    return _OBJECTS.get(found, "mixed values" if found.startswith("mixed") else found)
