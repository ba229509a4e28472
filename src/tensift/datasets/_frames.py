"""Datasets from data frames of pandas and polars: with columns, or with a row for every value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.datasets._dataset import TensorDataset
from tensift.datasets._long_tables import check_each_once, coded, tensor_of_values
from tensift.datasets._open import LABEL_NAMES
from tensift.labels import columns_without_numbers, is_frame, names_of_columns

__all__ = ["from_frame", "from_long_frame"]

Column = Hashable  # a name, or a position


def from_frame(
    frame: Any,
    *,
    columns: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    labels: Any = None,
    name: str = "",
) -> TensorDataset:
    """Make a dataset from a data frame: one row per sample, one column per feature.

    This is `read_tensor` for tables that are in memory, and takes the same arguments. A frame whose
    columns all hold numbers can also be passed to ``fit`` as it is.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        The samples. If its columns have several levels in pandas, these are the modes of a tensor;
        then each combination must be there once.
    columns, drop : sequence of names or positions, optional
        The columns to take, and those to leave out, such as dates and names. Positions are counted
        from 0; a column with that name comes first. By default all columns are taken. Columns that
        hold no numbers must be left out.
    labels : name, position or array-like of shape (n,), optional
        The column of labels, or the labels themselves. By default the column ``labels``, ``label``
        or ``y``, if there is one.
    name : str, default=""
        A name for the dataset.

    Returns
    -------
    TensorDataset
        With the names of the columns, which estimators keep. The index of pandas is not kept.

    Examples
    --------
    >>> import pandas
    >>> from tensift.datasets import from_frame
    >>> frame = pandas.DataFrame({"day": ["Mon", "Tue"], "temperature": [20.5, 21.5],
    ...                           "humidity": [60, 55], "label": ["dry", "wet"]})
    >>> dataset = from_frame(frame, drop=["day"])
    >>> dataset
    TensorDataset('', 2 samples of shape (2,), 2 classes)
    >>> dataset.coords["column"].tolist()
    ['temperature', 'humidity']
    """
    known = _names_of_columns(frame)
    kept = list(range(len(known)))
    if columns is not None:
        kept = [_place(known, one, "columns") for one in _as_list(columns, "columns")]
    if len(set(kept)) < len(kept):
        raise ValueError("columns names a column twice; give each once")
    dropped = {_place(known, one, "drop") for one in _as_list([] if drop is None else drop, "drop")}
    kept = [place for place in kept if place not in dropped]
    labelled, values = None, labels
    if labels is None:
        asked_for = set() if columns is None else set(kept)
        found = [known.index(one) for one in LABEL_NAMES if one in known]
        labelled = next((place for place in found if place not in dropped | asked_for), None)
    elif np.ndim(labels) == 0 or (isinstance(labels, tuple) and labels in known):
        labelled = _place(known, labels, "labels")
    if labelled is not None:
        kept = [place for place in kept if place != labelled]
        values = np.asarray(_column(frame, labelled))
    if not kept:
        raise ValueError("no column of frame is left for features")
    without = {p: what for p, what in columns_without_numbers(frame).items() if p in set(kept)}
    if without:
        place, what = next(iter(without.items()))
        others = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        raise ValueError(
            f"column {known[place]!r} of frame{others} holds {what}, not numbers; leave it out "
            "with drop=, name those to take with columns=, or set one aside with labels="
        )
    data = _table(frame, kept)
    if any(isinstance(known[place], tuple) for place in kept):
        data, dims, coords = _by_levels(data, [known[place] for place in kept], frame.columns.names)
    else:
        dims, coords = ("column",), {"column": names_of_columns(frame)[kept]}
    return TensorDataset(data, values, name, dims=dims, coords=coords)


def from_long_frame(
    frame: Any,
    *,
    sample: Column,
    dims: Sequence[Column],
    value: Column | list[Column],
    labels: Column | None = None,
    name: str = "",
    missing: str = "raise",
) -> TensorDataset:
    """Make a dataset from a long data frame, also called tidy: one row for every value.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        Its rows may come in any order.
    sample : name or position
        The column that says which sample a row belongs to. Samples are ordered by their first row.
    dims : sequence of names or positions
        The columns that say where a row is in its sample: one for each mode. Numbers and dates
        are put in increasing order, text is ordered by its first row. A column called "time (s)"
        becomes the mode "time" with that unit.
    value : name or position, or a list of these
        The column of values. A list of several columns, such as one for each channel, becomes the
        first mode, called "variable".
    labels : name or position, optional
        A column of labels, which are the same in all rows of a sample.
    name : str, default=""
        A name for the dataset.
    missing : {"raise", "allow"}, default="raise"
        What it means if a sample has no row for a place. "raise": an error that names it. "allow":
        the value was not observed; it is NaN.

    Returns
    -------
    TensorDataset
        With the names of the modes and along them, which estimators keep.

    Examples
    --------
    >>> import pandas
    >>> from tensift.datasets import from_long_frame
    >>> frame = pandas.DataFrame({"trial": [1, 1, 1, 1, 2, 2, 2, 2], "channel": list("aabb") * 2,
    ...                           "time": [0.0, 0.5] * 4, "volt": range(8)})
    >>> dataset = from_long_frame(frame, sample="trial", dims=["channel", "time"], value="volt")
    >>> dataset
    TensorDataset('', 2 samples of shape (2, 2), no labels)
    >>> dataset.dims, dataset.coords["time"]
    (('channel', 'time'), array([0. , 0.5]))
    """
    if missing not in ("raise", "allow"):
        raise ValueError(f"missing must be 'raise' or 'allow'; got {missing!r}")
    known = _names_of_columns(frame)
    modes = [_place(known, one, "dims") for one in _as_list(dims, "dims")]
    places = [_place(known, sample, "sample"), *modes]
    several = isinstance(value, list)
    valued = [
        _place(known, one, "value") for one in (value if isinstance(value, list) else [value])
    ]
    if not valued or len({*places, *valued}) < len(places) + len(valued):
        raise ValueError("sample, dims and value must name different columns")
    if not modes and not several:
        raise ValueError("dims must name at least one column, or value a list of columns")
    for place in valued:
        what = columns_without_numbers(frame).get(place)
        if what:
            raise ValueError(f"value={known[place]!r} must be a column of numbers; it holds {what}")
    keys = [(str(known[place]), _column(frame, place)) for place in places]
    found = tensor_of_values(
        [(title, _keys(column, title)) for title, column in keys],
        _table(frame, valued) if several else _numbers(_column(frame, valued[0])),
        names_of_columns(frame)[valued] if several else None,
        "frame",
        allow_gaps=missing == "allow",
    )
    labelled = None
    if labels is not None:
        column = np.asarray(_column(frame, _place(known, labels, "labels")))
        labelled = found.of_each_sample(column, "labels")
    return TensorDataset(
        found.data, labelled, name, dims=found.dims, coords=found.coords, units=found.units
    )


def _names_of_columns(frame: Any) -> list[Any]:
    if not is_frame(frame):
        is_path = isinstance(frame, str | PathLike)
        raise TypeError(
            f"frame must be a DataFrame of pandas or polars; got a {type(frame).__name__}"
            + ("; read the file first, such as with pandas.read_csv" if is_path else "")
        )
    return list(frame.columns)


def _as_list(columns: Any, argument: str) -> list[Any]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise TypeError(f"{argument} must be a list of columns; got {columns!r}")
    return list(columns)


def _place(known: list[Any], wanted: Any, argument: str) -> int:
    """Return the position of a column that was named, or counted from 0."""
    if wanted in known:
        if known.count(wanted) > 1:
            raise ValueError(
                f"{argument} names {wanted!r}, but {known.count(wanted)} columns have that name; "
                "give positions, counted from 0"
            )
        return known.index(wanted)
    if isinstance(wanted, int | np.integer) and 0 <= wanted < len(known):
        return int(wanted)
    shown = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    raise ValueError(f"frame has no column {wanted!r} for {argument}; its columns are {shown}")


def _column(frame: Any, place: int) -> Any:
    return frame.iloc[:, place] if hasattr(frame, "iloc") else frame.to_series(place)


def _table(frame: Any, places: list[int]) -> NDArray[Any]:
    """Return columns of numbers as an array; missing values become NaN."""
    part = frame.iloc[:, places] if hasattr(frame, "iloc") else frame[:, places]
    values = np.asarray(part)
    if values.dtype.kind in "biufc":
        return values
    return np.column_stack([_numbers(_column(frame, place)) for place in places])


def _numbers(column: Any) -> NDArray[Any]:
    values = np.asarray(column)
    if values.dtype.kind in "biufc":
        return values
    if hasattr(column, "iloc"):
        found: NDArray[Any] = column.to_numpy(dtype=float, na_value=np.nan)
        return found
    return np.array([np.nan if one is None else one for one in values], dtype=float)


def _keys(column: Any, title: str) -> NDArray[Any]:
    """Return the values of a column that says where rows belong."""
    values = np.asarray(column)
    missing = np.asarray(column.isna() if hasattr(column, "iloc") else column.is_null())
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)  # which polars does not count as missing
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"column {title!r} has no value in row {row}; drop such rows first")
    if getattr(column.dtype, "kind", "") == "M":
        return np.asarray(column, dtype="datetime64[ns]")  # also of dates with a time zone
    return values.astype(str) if values.dtype.kind == "O" else values


def _by_levels(
    data: NDArray[Any], names: list[tuple[Any, ...]], levels: Sequence[Any]
) -> tuple[NDArray[Any], tuple[str, ...], dict[str, NDArray[Any]]]:
    """Return a tensor with one mode for each level of the columns."""
    titles = [str(one) if one is not None else f"level_{k}" for k, one in enumerate(levels)]
    keys = [coded(np.array(part), by_value=False) for part in zip(*names, strict=True)]
    shape = tuple(len(values) for values, _ in keys)
    flat = np.ravel_multi_index([codes for _, codes in keys], shape)
    check_each_once(flat, shape, titles, [values for values, _ in keys], "frame")
    found = np.empty_like(data)
    found[:, flat] = data
    coords = {title: values for title, (values, _) in zip(titles, keys, strict=True)}
    return found.reshape(len(data), *shape), tuple(titles), coords
