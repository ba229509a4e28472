"""Write a selection as one HTML file that works on its own, to explore and to share."""

from tensift.report._alternatives import make_alternatives
from tensift.report._code import Source, import_lines, option_texts
from tensift.report._report import make_report, write_report

__all__ = [
    "Source",
    "import_lines",
    "make_alternatives",
    "make_report",
    "option_texts",
    "write_report",
]
