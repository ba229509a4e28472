"""Tables of results: Markdown to read, CSV to compute with."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["to_csv", "to_markdown"]

Row = Mapping[str, Any]


def to_csv(rows: Sequence[Row]) -> str:
    """Rows of equal keys, with all digits; what is None stays empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: repr(v) if type(v) is float else v for key, v in row.items()})
    return text.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """Rows of equal keys as a table of three or four digits; what is None is a dash."""
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
