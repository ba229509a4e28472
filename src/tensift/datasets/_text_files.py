"""Tables of numbers in text files: one row per sample, one column per feature."""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from tensift.datasets._long_tables import name_and_unit

__all__ = ["Table", "header_line", "keys_of_long_table", "read_label_list", "read_table"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?")

# The rows under the first one that decide whether it is a header.
_PROBED_ROWS = 1000
_PROBED_CELLS = 2**18
_COMPARED_ROWS = 3  # to find the delimiter
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
_SAY_WHICH = "say which with header=True or header=False (--header or --no-header)"
# Data frames write their column numbers as a header. From this many on they are no coincidence.
_COUNTING_COLUMNS = 8
# What the column of samples in a long table is called.
_SAMPLES = ("sample", "trial", "epoch", "id", "window", "segment", "recording", "subject")
_PLACES = (
    "channel", "electrode", "sensor", "axis", "band", "frequency", "variable", "feature", "time",
    "t", "step", "date", "datetime", "timestamp", "row", "column", "x", "lat", "lon", "latitude",
    "longitude",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """The numbers of a text file.

    ``names`` are those of the columns of ``data``, None without a header. ``labels`` is the
    column of labels, if there is one, and ``beside`` are other columns that were set aside.
    ``keys`` are the columns that say where a line of a long table belongs, with their names.
    """

    data: np.ndarray
    names: list[str] | None
    labels: np.ndarray | None
    beside: dict[str, np.ndarray]
    keys: list[tuple[str, np.ndarray]]


@dataclass(frozen=True)
class _Layout:
    """How a text file is divided: its delimiter, its first row, and the rows to skip."""

    path: Path
    delimiter: str | None
    first: list[str]
    first_line: int
    has_header: bool
    skip: int

    @property
    def names(self) -> list[str] | None:
        return self.first if self.has_header else None

    def title(self, column: int) -> str:
        """What errors call a column."""
        if self.has_header and self.first[column]:
            return repr(self.first[column])
        return str(column)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows of data, each with the number of its last line."""
        return ((n, row) for n, row in _rows(self.path, self.delimiter) if n > self.skip)


def read_table(
    path: Path,
    label_column: str | None = None,
    label_names: tuple[str, ...] = (),
    *,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str | int] = (),
    beside: Mapping[str, str] | None = None,
    long: Sequence[str | int] = (),
) -> Table:
    """Read a table of numbers, with the names of its columns and a column of labels.

    ``header`` says whether the first line names the columns. By default the cells of the first
    row are compared with the columns below. ``columns`` are the columns to read, ``drop`` those
    to leave out: names, or positions from 0. ``label_column`` is the column of labels; without
    it, a column with one of ``label_names`` is taken. ``beside`` are other columns to set aside,
    by what they are, and ``long`` the columns that say where a line belongs. Empty cells, and "NA",
    "null" and the like, are NaN.
    """
    layout = _layout_of(path, header)
    kept = list(range(len(layout.first)))
    if columns is not None:
        kept = [_column(layout, one, "columns") for one in columns]
    dropped = {_column(layout, one, "drop") for one in drop}
    if len(set(kept)) < len(kept):
        raise ValueError(f"{path}: columns names a column twice; give each once")
    kept = [column for column in kept if column not in dropped]
    placing = [_column(layout, one, "long") for one in long]
    if len(set(placing)) < len(placing):
        raise ValueError(f"{path}: long names a column twice; give each once")

    labelled = None
    if label_column is not None:
        labelled = _column(layout, label_column, "labels")
    elif layout.has_header:
        asked_for = {*placing, *(kept if columns is not None else ())}
        found = [layout.first.index(name) for name in label_names if name in layout.first]
        labelled = next((c for c in found if c not in dropped | asked_for), None)
    aside = {what: _column(layout, one, what) for what, one in (beside or {}).items()}
    kept = [column for column in kept if column not in {labelled, *aside.values(), *placing}]
    if not kept:
        advice = "; long names the columns of samples and places, not those of values"
        raise ValueError(f"{path}: no column is left to read{advice if placing else ''}")

    if kept != list(range(len(layout.first))):
        _refuse_ragged(layout)  # NumPy does so only if it reads all columns
    labels = None
    if labelled is not None:
        labels = _as_numbers_if_possible(_load(layout, [labelled], str)[:, 0])
    values = {what: _full_column(layout, column, what) for what, column in aside.items()}
    data = _load(layout, kept, float, bool(placing))
    if not data.size:
        data = data.reshape(0, len(kept))
    elif data.shape[1] != len(kept):
        _refuse_ragged(layout)
    names = [layout.first[column] for column in kept] if layout.has_header else None
    return Table(data, names, labels, values, [_key(layout, column) for column in placing])


def _key(layout: _Layout, column: int) -> tuple[str, np.ndarray]:
    """Return the name of a column and its values: numbers, dates or text."""
    cells = np.char.strip(_load(layout, [column], str)[:, 0])
    title = layout.first[column] if layout.has_header else ""
    values = _as_numbers_if_possible(cells)
    missing = np.isnan(values) if values.dtype.kind == "f" else cells == ""
    if missing.any():
        line, _ = next(islice(layout.rows(), int(np.argmax(missing)), None))
        raise ValueError(
            f"{layout.path}: line {line}, column {layout.title(column)}: the cell is empty, so the "
            "line has no place; mend the file"
        )
    if values.dtype.kind == "U" and all(map(_DATE.fullmatch, cells)):
        values = cells.astype("datetime64[ns]")
    return title or f"column {column}", values


def header_line(path: Path, header: bool | None = None) -> int | None:
    """Return the number of the line that names the columns, None if no line does."""
    layout = _layout_of(path, header)
    return layout.first_line if layout.has_header else None


def read_label_list(path: Path) -> np.ndarray:
    """Read labels, one per line: numbers or words."""
    with _open_text(path) as stream:
        lines = [line.strip() for line in stream]
    return _as_numbers_if_possible(np.array([line for line in lines if line]))


def _layout_of(path: Path, header: bool | None) -> _Layout:
    delimiter = _guess_delimiter(path)
    rows = _rows(path, delimiter)
    number, first = next(rows, (0, []))
    if not first:
        raise ValueError(f"{path}: the file is empty")
    if header is None:
        most = max(1, min(_PROBED_ROWS, _PROBED_CELLS // len(first)))
        below = [row for _, row in islice(rows, most)]
        header = _is_header(path, number, first, below)
    return _Layout(path, delimiter, first, number, header, number if header else number - 1)


def _is_header(path: Path, line: int, first: list[str], below: list[list[str]]) -> bool:
    """Whether the first row names the columns, by its cells and the columns below them.

    Text over a column of numbers is a name. A number is a value, and so is text that occurs again
    below. Missing values say nothing, and other cells are unclear. A row with names and without
    values is a header, a row with values alone is a sample, and all else is an error.
    """
    names: list[str] = []
    values: list[str] = []
    unclear: list[str] = []
    for column, cell in enumerate(first):
        under = [row[column] for row in below if column < len(row)]
        known = [other for other in under if not _is_missing(other)]
        if _is_missing(cell):
            continue
        if _is_number(cell):
            values.append(cell)
        elif known and all(map(_is_number, known)):
            # "3x" may be a name, or a number that was mistyped.
            (unclear if _begins_like_a_number(cell) else names).append(cell)
        elif cell in known:
            values.append(cell)
        else:
            unclear.append(cell)
    if names and not values:
        return True
    if values and not names and not unclear:
        if not _counts_columns(first, below):
            return False
        raise ValueError(
            f"{path}: line {line} counts the columns, so it may be a header or a sample; "
            f"{_SAY_WHICH}"
        )
    if not names and not values:
        if not unclear:
            return False  # nothing but missing values
        if not below or not any(_is_number(cell) for row in below for cell in row):
            return True  # no numbers at all, which is an error elsewhere
    texts = names + unclear
    if values and texts:
        reason = f"{texts[0]!r} looks like the name of a column and {values[0]!r} like a value"
    else:
        reason = f"{texts[0]!r} may be the name of a column or a value"
    raise ValueError(f"{path}: line {line} may be a header or a sample: {reason}; {_SAY_WHICH}")


def _counts_columns(first: list[str], below: list[list[str]]) -> bool:
    """Whether the first row is 0, 1, 2, ..., as in the files of data frames without names."""
    cells = first[1:] if not first[0] else first
    if len(cells) < 3 or cells != [str(place) for place in range(len(cells))]:
        return False
    fractions = any(not cell.isdigit() for row in below for cell in row)
    return fractions or len(cells) >= _COUNTING_COLUMNS


def _column(layout: _Layout, wanted: str | int, option: str) -> int:
    """Return the position of a column that was named, or counted from 0."""
    count = len(layout.first)
    if isinstance(wanted, str) and layout.has_header and wanted in layout.first:
        if layout.first.count(wanted) > 1:
            raise ValueError(
                f"{layout.path}: {option} names {wanted!r}, but {layout.first.count(wanted)} "
                "columns have that name; give positions, counted from 0"
            )
        return layout.first.index(wanted)
    if isinstance(wanted, str) and layout.has_header:  # "time" for a column called "time (s)"
        bare = [name_and_unit(name)[0] for name in layout.first]
        if bare.count(wanted) == 1:
            return bare.index(wanted)
    place = int(wanted) if isinstance(wanted, str) and wanted.isdecimal() else wanted
    if not isinstance(place, str) and 0 <= place < count:
        return int(place)
    held = f"{count} columns without names; count them from 0"
    if layout.has_header:
        shown = ", ".join(layout.first[:12]) + (", ..." if count > 12 else "")
        held = f"columns: {shown}"
    raise ValueError(f"{layout.path}: no column {wanted!r} for {option} ({held})")


def _load(layout: _Layout, columns: list[int], dtype: type, is_long: bool = False) -> np.ndarray:
    try:
        return _loaded(layout, columns, dtype)
    except (ValueError, IndexError) as error:
        problem = None
        if dtype is float:
            problem = _what_is_wrong(layout, columns, is_long)
            if problem is None:  # some cells are empty, which takes longer to read
                with suppress(ValueError, IndexError):
                    return _loaded(layout, columns, dtype, _value)
        reason = problem or f"not a table of numbers ({str(error).splitlines()[0]})"
        raise ValueError(f"{layout.path}: {reason}") from error


def keys_of_long_table(names: Sequence[str]) -> list[str]:
    """Return what `long` may be for a table with these columns, [] if it has no column "value".

    The sample is the column that is called like one, else the first. Modes are the columns that
    are called like places, else all others.

    Examples
    --------
    >>> from tensift.datasets import keys_of_long_table
    >>> keys_of_long_table(["channel", "time", "trial", "value", "label"])
    ['trial', 'channel', 'time']
    >>> keys_of_long_table(["height", "weight"])
    []
    """
    lower = [name_and_unit(name)[0].strip().lower() for name in names]
    if not {"value", "values"} & set(lower):
        return []
    no_place = {"value", "values", "", "label", "labels", "y"}
    found = [key for key in lower if key not in no_place]
    given = {key: name_and_unit(name)[0].strip() for name, key in zip(names, lower, strict=True)}
    found.sort(key=lambda key: key not in _SAMPLES)
    like_places = [key for key in found[1:] if key in _PLACES]
    kept = [*found[:1], *(like_places or found[1:])] if len(found) > 1 else []
    return [given[key] for key in kept]


def _full_column(layout: _Layout, column: int, what: str) -> np.ndarray:
    """Read a column in which no cell is empty."""
    cells = _load(layout, [column], str)[:, 0]
    if not np.char.str_len(np.char.strip(cells)).all():
        line = next(number for number, row in layout.rows() if not row[column])
        raise ValueError(
            f"{layout.path}: line {line} has nothing in column {layout.title(column)}, which is "
            f"for {what}; every sample needs a value there"
        )
    return _as_numbers_if_possible(cells)


def _loaded(
    layout: _Layout,
    columns: list[int],
    dtype: type,
    converter: Callable[[str], float] | None = None,
) -> np.ndarray:
    with warnings.catch_warnings():
        # A header with no rows under it: reported as zero samples by the caller.
        warnings.filterwarnings("ignore", message=".*input contained no data")
        # A blank line, in a column of text.
        warnings.filterwarnings("ignore", message="Input line .* contained no data")
        return np.loadtxt(
            layout.path,
            dtype=dtype,
            delimiter=layout.delimiter,
            skiprows=layout.skip,
            usecols=None if columns == list(range(len(layout.first))) else columns,
            ndmin=2,
            comments=None,
            quotechar='"',
            encoding="utf-8-sig",
            converters=converter,
        )


def _value(cell: str) -> float:
    """The number of a cell; NaN if the cell says that there is none."""
    return math.nan if _is_missing(cell.strip()) else float(cell)


def _refuse_ragged(layout: _Layout) -> None:
    for line, row in layout.rows():
        if len(row) != len(layout.first):
            raise ValueError(
                f"{layout.path}: not a table of numbers: line {line} has {len(row)} cells, the "
                f"first row has {len(layout.first)}"
            )


def _what_is_wrong(layout: _Layout, columns: list[int], is_long: bool) -> str | None:
    """Say which row or column keeps a table from being read, and what to do about it."""
    first_bad: dict[int, tuple[int, str]] = {}
    n_bad, n_known = dict.fromkeys(columns, 0), dict.fromkeys(columns, 0)
    _refuse_ragged(layout)
    for line, row in layout.rows():
        for column in columns:
            if _is_missing(row[column]):
                continue
            n_known[column] += 1
            if not _is_number(row[column]):
                first_bad.setdefault(column, (line, row[column]))
                n_bad[column] += 1
    if not first_bad:
        return None
    of_text = [column for column in columns if 2 * n_bad[column] > n_known[column]]
    if not of_text:
        column, (line, cell) = min(first_bad.items(), key=lambda item: item[1][0])
        return (
            f"not a table of numbers: line {line}, column {layout.title(column)}: {cell!r} is not "
            "a number; mend the file, leave the cell empty if there is no value, or leave the "
            "column out with drop= (--drop)"
        )
    titles = [layout.title(column) for column in of_text]
    shown = ", ".join(titles[:6]) + (", ..." if len(titles) > 6 else "")
    line, cell = first_bad[of_text[0]]
    if re.fullmatch(r"[-+]?\d+,\d+", cell):
        return f"not a table of numbers: {cell!r} in line {line} has a decimal comma; use points"
    words = "column {} holds" if len(of_text) == 1 else "columns {} hold"
    what = f"not a table of numbers: {words.format(shown)} text ({cell!r} in line {line}); "
    keys = keys_of_long_table(layout.first) if layout.has_header else []
    if keys and not is_long:
        shown = ",".join(keys)
        return (
            f"{what}if it has one line per value, say which sample and place a line belongs to, "
            f"such as with long={keys} (--long {shown}); otherwise leave out such columns with "
            "drop= (--drop)"
        )
    return (
        f"{what}leave out such columns with drop= (--drop), name those to read with columns= "
        "(--columns), or set one aside with labels= (--labels)"
    )


def _rows(path: Path, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every row that is not blank, with the number of its last line."""
    with _open_text(path) as stream:
        if delimiter is None:
            numbered = ((number, line.split()) for number, line in enumerate(stream, start=1))
        else:
            reader = csv.reader(stream, delimiter=delimiter)
            numbered = ((reader.line_num, row) for row in reader)
        for number, row in numbered:
            cells = [cell.strip() for cell in row]
            if len(cells) > 1 or any(cells):
                yield number, cells


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open text, and turn errors of reading it into one line that names the file."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: neither a known data file nor UTF-8 text") from error
    except csv.Error as error:
        raise ValueError(f"{path}: not a table of numbers ({error})") from error


def _guess_delimiter(path: Path) -> str | None:
    """Return the mark that divides the first rows alike, None for white space.

    Names may hold the other marks, quoted or not: ``price; net,weight``.
    """
    if path.suffix.lower() == ".tsv":
        return "\t"
    dividing = []
    for mark in "\t;,":
        lengths = [len(row) for _, row in islice(_rows(path, mark), _COMPARED_ROWS)]
        if lengths and lengths[0] > 1:
            if len(set(lengths)) == 1:
                return mark
            dividing.append(mark)
    return dividing[0] if dividing else None


def _is_missing(cell: str) -> bool:
    return cell.lower() in _MISSING


def _is_number(cell: str) -> bool:
    """Whether NumPy reads a cell as a number; Python alone takes "1_000" and "١" for numbers."""
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def _begins_like_a_number(cell: str) -> bool:
    return re.match(r"[-+.]*\d", cell) is not None


def _as_numbers_if_possible(labels: np.ndarray) -> np.ndarray:
    for dtype in (int, float):
        try:
            return labels.astype(dtype)
        except ValueError:
            continue
    return labels
