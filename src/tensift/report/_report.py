"""Make the report of a selection, as text or as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from tensift._utils.temporary import write_whole
from tensift.comparison import SelectorComparison
from tensift.datasets import TensorDataset
from tensift.report._build import build_content
from tensift.report._code import Source
from tensift.report._page import assemble_page
from tensift.selection import TensorSelector
from tensift.stability import StabilitySelection

__all__ = ["make_report", "write_report"]


def make_report(
    selector: TensorSelector | None,
    data: TensorDataset | ArrayLike,
    *,
    comparison: SelectorComparison | None = None,
    alternatives: Mapping[str, TensorSelector] | None = None,
    stability: StabilitySelection | None = None,
    title: str | None = None,
    source: Source | None = None,
) -> str:
    """Return a selection as one HTML page that needs only a browser.

    The page shows the score map, the kept features on samples, how many features are worth
    keeping, certificates of the slices and a table of features, all in the order of selection. The
    reader can change the number of features. The page needs no network and no other file.

    Parameters
    ----------
    selector : TensorSelector or None
        A fitted selector. If None, the page shows the methods of the comparison.
    data : TensorDataset, or array-like of shape (n, d_1, ..., d_m) or (n, d)
        The samples. The page contains some of them, evenly chosen so that it stays small, and
        says how many. If a dataset names its modes and their indices, the page uses these names.
        If the selector has not chosen the number of features itself ("auto"), the suggested number
        (`tensift.selection.suggest_count`) is computed from evenly spaced samples.
    comparison : SelectorComparison, optional
        The result of `compare_selectors` on the same data.
    alternatives : mapping of str to TensorSelector, optional
        Other fitted selectors to show, such as those of `make_alternatives`.
    stability : StabilitySelection, optional
        The result of `stability_selection` on the same data.
    title : str, optional
        The headline. By default the name of the dataset.
    source : Source, optional
        Where the samples come from, for the Python code that repeats the selection.

    Returns
    -------
    str
        HTML. The same arguments give the same text.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.report import make_alternatives, make_report
    >>> digits = load_digits()
    >>> selector = STPCASelector(20).fit(digits.data)
    >>> others = {name: other.fit(digits.data)
    ...           for name, other in make_alternatives(selector, ["identity"]).items()}
    >>> page = make_report(selector, digits, alternatives=others)
    >>> page[:15], len(page) < 1_000_000
    ('<!doctype html>', True)
    """
    return assemble_page(
        build_content(
            selector, data, comparison, alternatives, stability, title, source or Source()
        )
    )


def write_report(
    path: str | os.PathLike[str],
    selector: TensorSelector | None,
    data: TensorDataset | ArrayLike,
    *,
    comparison: SelectorComparison | None = None,
    alternatives: Mapping[str, TensorSelector] | None = None,
    stability: StabilitySelection | None = None,
    title: str | None = None,
    source: Source | None = None,
) -> None:
    """Write the page of `make_report` to a file. If it fails, no partial file remains.

    Parameters
    ----------
    path : path-like
        The file. An existing file is replaced.
    selector, data, comparison, alternatives, stability, title, source
        As in `make_report`.

    Examples
    --------
    >>> import os, tempfile
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.report import write_report
    >>> digits = load_digits()
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(path, STPCASelector(20).fit(digits.data), digits)
    >>> os.path.getsize(path) < 1_000_000
    True
    """
    page = make_report(
        selector,
        data,
        comparison=comparison,
        alternatives=alternatives,
        stability=stability,
        title=title,
        source=source,
    )
    write_whole(Path(path), lambda stream: stream.write(page.encode()))
