"""Tables of results: Markdown to read, CSV to compute with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["csv_text", "to_csv", "to_markdown"]

Row = Mapping[str, Any]

# What a spreadsheet runs: all but numbers, also behind spaces and quotes.
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_FORMULA = re.compile(rf"(?!\s*{_NUMBER}\s*$)[\s\"']*[=+\-@＝＋－＠]")
_SKIPPED = ("\t", "\r", "\n")


def to_csv(rows: Sequence[Row]) -> str:
    """A CSV table of rows with equal keys (see `csv_text`)."""
    keys = list(rows[0])
    return csv_text(keys, ([row[key] for key in keys] for row in rows))


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV, with all digits; what is None stays empty.

    Names may come from anybody's files, and a spreadsheet runs a cell that begins with ``=``,
    ``+``, ``-`` or ``@``. Such text gets an apostrophe in front, which makes it plain text there.
    Numbers stay as they are, also if they are given as text.
    """
    return "".join(_csv_line(row) for row in chain([titles], rows))


def _csv_line(values: Iterable[Any]) -> str:
    line = io.StringIO()
    # Python quotes only those line breaks that are in the terminator.
    csv.writer(line, lineterminator="\r\n").writerow([_csv_cell(value) for value in values])
    return line.getvalue().removesuffix("\r\n") + "\n"


def _csv_cell(value: Any) -> Any:
    if type(value) is float:
        return repr(value)
    if not isinstance(value, str):
        return value
    # Some spreadsheets also begin a cell after these, whatever quotes are around it.
    parts = re.split(r"([;\t\r\n])", value)
    safe = "".join(f"'{part}" if _FORMULA.match(part) else part for part in parts)
    return f"'{safe}" if safe[:1] in _SKIPPED else safe


def to_markdown(rows: Sequence[Row]) -> str:
    """A Markdown table of rows with equal keys: three or four digits, and a dash for None."""
    keys = list(rows[0])
    lines = [_line(keys), _line(["---"] * len(keys))]
    lines += [_line([_cell(row[key]) for key in keys]) for row in rows]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return " ".join(str(value).split()).replace("|", "\\|")
