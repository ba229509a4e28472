"""Tables: all digits in CSV, a table that renders in Markdown whatever is in a cell."""

import csv
import io

from tensift._utils.tables import to_csv, to_markdown

ROWS = [
    {"name": "a|b", "value": 1 / 3, "note": None},
    {"name": "two\nlines", "value": 12345.678, "note": 'with, "quotes"'},
]


def test_csv_keeps_all_digits_and_quotes_what_needs_it():
    back = list(csv.DictReader(io.StringIO(to_csv(ROWS))))
    assert [float(row["value"]) for row in back] == [1 / 3, 12345.678]
    assert back[0]["note"] == ""
    assert back[1] == {"name": "two\nlines", "value": "12345.678", "note": 'with, "quotes"'}


def test_markdown_has_one_line_a_row_and_no_stray_bars():
    lines = to_markdown(ROWS).splitlines()
    assert len(lines) == 4
    assert all(line.replace("\\|", "").count("|") == 4 for line in lines)
    assert "0.333" in lines[2]
    assert "–" in lines[2]
    assert "12346" in lines[3]
