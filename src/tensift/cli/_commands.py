"""The commands of the command line, and what each does in a few words."""

from __future__ import annotations

__all__ = ["COMMANDS"]

# Each is a module here, `_select.py` for "select", which is loaded when its command is called.
COMMANDS = {
    "select": "rank the features of a file, and write the best to files",
    "report": "write a selection as one page for the browser",
    "compare": "compare several methods, and random selection, on your data",
    "info": "show what is in a file, and how much memory a selection would take",
    "plan": "estimate the memory and time of a job before you run it",
    "paper": "make the tables and figures of the paper",
    "demo": "select pixels and channels of bundled data, and draw them",
}
