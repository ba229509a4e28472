"""Tables of numbers in text: one row a sample, one column a feature."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np

__all__ = ["read_label_list", "read_table"]


def read_table(
    path: Path, label_column: str | None, label_names: tuple[str, ...]
) -> tuple[np.ndarray, list[str] | None, np.ndarray | None]:
    """The numbers of a table, the names of its columns and the labels in it, if any.

    The first line names the columns where it is not all numbers. ``label_column`` names the
    column of labels; without it, a column called like one of ``label_names`` is taken.
    """
    line_number, line = _first_line(path)
    delimiter = _guess_delimiter(path, line)
    cells = next(csv.reader([line], delimiter=delimiter)) if delimiter else line.split()
    cells = [cell.strip() for cell in cells]
    has_header = not all(_is_number(cell) for cell in cells)
    skip = line_number + has_header

    wanted = (label_column,) if label_column is not None else label_names
    found = [name for name in wanted if has_header and name in cells]
    if label_column is not None and not found:
        columns = f"columns: {', '.join(cells)}" if has_header else "the table names no columns"
        raise ValueError(f"{path}: no column {label_column!r} for the labels ({columns})")

    columns_of_data = list(range(len(cells)))
    labels = None
    if found:
        column = cells.index(found[0])
        columns_of_data.remove(column)
        labels = _load(path, delimiter, skip, [column], str)[:, 0]
        labels = _as_numbers_if_possible(labels)
    data = _load(path, delimiter, skip, columns_of_data, float)
    names = [cells[column] for column in columns_of_data] if has_header else None
    return data, names, labels


def read_label_list(path: Path) -> np.ndarray:
    """Labels written one a line, numbers or words."""
    lines = _read_text(path).splitlines()
    return _as_numbers_if_possible(np.array([line.strip() for line in lines if line.strip()]))


def _load(
    path: Path, delimiter: str | None, skip: int, columns: list[int], dtype: type
) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            # A header with no rows under it: reported as zero samples by the caller.
            warnings.filterwarnings("ignore", message=".*input contained no data")
            return np.loadtxt(
                path,
                dtype=dtype,
                delimiter=delimiter,
                skiprows=skip,
                usecols=columns,
                ndmin=2,
                comments=None,
                quotechar='"',
                encoding="utf-8-sig",
            )
    except (ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: not a table of numbers ({reason})") from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: neither a known data file nor UTF-8 text") from error


def _first_line(path: Path) -> tuple[int, str]:
    try:
        with open(path, encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream):
                if line.strip():
                    return number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: neither a known data file nor UTF-8 text") from error
    raise ValueError(f"{path}: the file is empty")


def _guess_delimiter(path: Path, line: str) -> str | None:
    if path.suffix.lower() == ".tsv":
        return "\t"
    return next((mark for mark in "\t;," if mark in line), None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _as_numbers_if_possible(labels: np.ndarray) -> np.ndarray:
    for dtype in (int, float):
        try:
            return labels.astype(dtype)
        except ValueError:
            continue
    return labels
