"""The report of a selection, as text or as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from tensift.comparison import SelectorComparison
from tensift.datasets import TensorDataset
from tensift.report._build import build_content
from tensift.report._code import Source
from tensift.report._page import assemble_page
from tensift.selectors import TensorSelector
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
    """A selection as one HTML page that needs nothing but a browser.

    The page has the score map, the kept features over samples, the score curve with a suggestion
    where to cut, certificates of the slices and a table of features, all for any number of
    features, which the reader sets. It is complete in itself: no network, no other file.

    Parameters
    ----------
    selector : TensorSelector or None
        A fitted selector. None: the methods of the comparison are shown.
    data : TensorDataset, or array-like of shape (n, d_1, ..., d_m) or (n, d)
        The samples. As many are in the page as keep it small, evenly chosen; the page says how
        many. A dataset's names of modes and of indices along them are used.
    comparison : SelectorComparison, optional
        What `compare_selectors` found on the same data.
    alternatives : mapping of str to TensorSelector, optional
        Fitted selectors to stand beside it, such as those of `make_alternatives`.
    stability : StabilitySelection, optional
        What `stability_selection` found on the same data.
    title : str, optional
        The headline; by default the name of the dataset.
    source : Source, optional
        Where the samples come from, for the Python that makes the selection again.

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
    """Write the page of `make_report` to a file, which appears whole or not at all.

    Parameters
    ----------
    path : path-like
        The file; one that is there is replaced.
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
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        try:
            partial.write_text(page, encoding="utf-8", newline="\n")
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None
