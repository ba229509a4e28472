"""The report of an experiment: tables, a figure, and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensift._utils.tables import to_csv, to_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "Table"]


@dataclass
class Table:
    """Rows with equal keys, and how to read them.

    Parameters
    ----------
    title : str
        What it shows.
    rows : list of dict
        The rows.
    notes : sequence of str
        How to read it.
    shown : bool, default=True
        Whether the Markdown file shows it; the CSV files have all tables.

    Examples
    --------
    >>> from tensift.paper import Table
    >>> Table("Accuracy", [{"method": "STPCA-MP", "accuracy": 0.7}]).rows[0]["accuracy"]
    0.7
    """

    title: str
    rows: list[dict[str, Any]]
    notes: Sequence[str] = ()
    shown: bool = True


@dataclass
class Report:
    """The outcome of an experiment.

    Parameters
    ----------
    title : str
        What it shows.
    tables : dict of str to Table
        The file of the first is named after the experiment. The key of every other table is added
        to that name.
    draw : callable, optional
        Draws into an empty figure.
    notes : sequence of str
        How to read it, and what differs from the paper.
    absent : dict of str to str
        Datasets of the paper that this run does not have, with the reasons.

    Examples
    --------
    >>> from tensift.paper import Report, Table
    >>> table = Table("Accuracy", [{"method": "STPCA-MP", "accuracy": 0.7}])
    >>> print(Report("One method", {"": table}).markdown())
    # One method
    <BLANKLINE>
    ## Accuracy
    <BLANKLINE>
    | method | accuracy |
    | --- | --- |
    | STPCA-MP | 0.7 |
    <BLANKLINE>
    """

    title: str
    tables: dict[str, Table]
    draw: Callable[[Figure], object] | None = None
    notes: Sequence[str] = ()
    absent: dict[str, str] = field(default_factory=dict)

    def markdown(self, figure: str | None = None) -> str:
        """Tables and notes as Markdown; `figure` is the name of the picture's file."""
        parts = [f"# {self.title}\n"]
        if figure:
            parts.append(f"![{self.title}]({figure})\n")
        if self.notes:
            parts.append("".join(f"- {note}\n" for note in self.notes))
        for table in self.tables.values():
            if table.shown and table.rows:
                parts.append(f"## {table.title}\n\n{to_markdown(table.rows)}")
                if table.notes:
                    parts.append("".join(f"- {note}\n" for note in table.notes))
        if self.absent:
            lines = (f"- {name}: {reason}\n" for name, reason in self.absent.items())
            parts.append("## Not at hand\n\n" + "".join(lines))
        return "\n".join(parts)

    def csv(self, experiment: str) -> dict[str, str]:
        """The text of a CSV file for each table, by file name."""
        files = {}
        for place, (name, table) in enumerate(self.tables.items()):
            if table.rows:
                stem = experiment if place == 0 else f"{experiment}_{name}"
                files[f"{stem}.csv"] = to_csv(table.rows)
        return files
