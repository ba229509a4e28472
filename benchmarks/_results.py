"""Tables of results: Markdown for people, CSV for programs."""

import csv
import io
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Table:
    """Rows with equal keys. `notes` say how to read them, `failures` what went wrong."""

    title: str
    rows: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    csv_only: bool = False

    def markdown(self):
        keys = list(self.rows[0])
        lines = [f"## {self.title}", "", _line(keys), _line(["---"] * len(keys))]
        lines += [_line([_text(row[key]) for key in keys]) for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        lines += ["", *(f"- **Failed:** {failure}" for failure in self.failures)]
        return "\n".join(lines).rstrip() + "\n"

    def csv(self):
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
        return stream.getvalue()


def write_results(folder, name, tables, environment):
    """Write `name.md` with all tables, and one CSV per table; `tables` maps suffixes to tables."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    head = [f"# {name}", "", *(f"- {key}: {value}" for key, value in environment.items())]
    body = [table.markdown() for table in tables.values() if not table.csv_only]
    _write(folder / f"{name}.md", "\n".join([*head, "", "\n".join(body)]))
    for suffix, table in tables.items():
        _write(folder / f"{name}{suffix}.csv", table.csv())


def write_beside(path, write):
    """Write a file beside the target and rename it, so that nobody reads half a file."""
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix
    )
    os.close(handle)
    try:
        write(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write(path, text):
    write_beside(path, lambda file: Path(file).write_text(text, encoding="utf-8"))


def _line(cells):
    return "| " + " | ".join(cells) + " |"


def _text(value):
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
