"""A selection as one HTML file that needs nothing else: to look at, to try, to send on."""

from tensift.report._alternatives import make_alternatives
from tensift.report._code import Source
from tensift.report._cut import ScoreCut, suggest_cut
from tensift.report._report import make_report, write_report

__all__ = [
    "ScoreCut",
    "Source",
    "make_alternatives",
    "make_report",
    "suggest_cut",
    "write_report",
]
