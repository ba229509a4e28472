"""Write the tables of docs/versus.md from results: ``python -m benchmarks.versus_page``."""

import csv
import re
from pathlib import Path

from benchmarks._data import ROOT
from benchmarks._results import write_beside

PAGE = ROOT / "docs" / "versus.md"
RESULTS = ROOT / "benchmarks" / "results"
_MARKED = re.compile(r"(<!-- versus:(\w+) -->\n).*?(<!-- end of versus:\2 -->)", re.DOTALL)
_MEASURES = {"k-means accuracy": 2, "1-NN accuracy": 2, "missed": 3}  # and their digits


def filled(text):
    """Return the page with the tables between its markers replaced by those of the results."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{_table(found[2])}\n{found[3]}", text)


def _table(name):
    rows = _rows(name)
    if name == "kept":
        head = ["", *list(rows[0])[1:]]
        return _markdown(head, [list(row.values()) for row in rows])
    return _markdown(["", *_MEASURES, "seconds"], [_cells(row) for row in rows])


def _cells(row):
    title = row["package, selector"]
    if row["labels"] != "none":
        title += " *"
    if "own choice" in row["number kept"]:
        title += f" (keeps {row['number kept'].partition(',')[0]})"
    values = [f"{float(row[key]):.{digits}f}" for key, digits in _MEASURES.items()]
    return [title, *values, f"{float(row['seconds']):.2g}" if row["seconds"] else "–"]


def _rows(name):
    with open(RESULTS / f"versus_{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


if __name__ == "__main__":
    text = filled(PAGE.read_text(encoding="utf-8"))
    write_beside(PAGE, lambda file: Path(file).write_text(text, encoding="utf-8"))
