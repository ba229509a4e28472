"""HTML reports of commands, which say where the data came from."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Mapping
from typing import Any

from tensift import SelectorComparison, StabilitySelection, STPCASelector, compare_selectors
from tensift._utils.warnings import warn_user
from tensift.cli._console import Console
from tensift.cli._constraints import constraints_text
from tensift.cli._input import describe_file
from tensift.cli._method import fit_selector
from tensift.cli._record import known_texts, reading_imports, samples_text, versions
from tensift.datasets import TensorDataset
from tensift.report import Source, make_alternatives, make_report
from tensift.selection import TensorSelector

__all__ = ["add_report_arguments", "comparison_page", "selection_page"]

# The selections of a comparison do not depend on these.
_WITHOUT_EFFECT = {"n_resamples", "n_repeats", "fit_limit"}


def add_report_arguments(group: Any) -> None:
    """Add the option that leaves out parts of a report."""
    group.add_argument(
        "--no-alternatives", action="store_true",
        help="do not compare with other orientations and bases in the report; each takes a fit",
    )  # fmt: skip


def selection_page(
    arguments: argparse.Namespace,
    selector: TensorSelector,
    dataset: TensorDataset,
    console: Console,
    title: str | None = None,
    stability: StabilitySelection | None = None,
) -> str:
    """The report of a selection, compared with other orientations and bases."""
    alternatives = {}
    if not arguments.no_alternatives and isinstance(selector, STPCASelector):
        alternatives = _fitted_alternatives(arguments, selector, dataset, console)
    source = Source(
        samples=samples_text(arguments),
        imports=reading_imports(arguments),
        parameters=known_texts(arguments, selector, dataset),
        facts=_facts(arguments),
    )
    return make_report(
        selector,
        dataset,
        alternatives=alternatives,
        stability=stability,
        title=title,
        source=source,
    )


def _fitted_alternatives(
    arguments: argparse.Namespace,
    selector: STPCASelector,
    dataset: TensorDataset,
    console: Console,
) -> dict[str, TensorSelector]:
    """Fit other orientations and bases; those that fail are left out with a warning."""
    fitted = {}
    others = make_alternatives(selector)
    told = console.progress("other orientations and bases", len(others))
    for done, (name, other) in enumerate(others.items(), start=1):
        other.set_params(verbose=False)
        try:
            fitted[name] = fit_selector(other, dataset, arguments.input)
        except ValueError as error:
            warn_user(f"left out of the report: {name}; {error}")
        told(done)
    return fitted


def comparison_page(
    arguments: argparse.Namespace,
    found: SelectorComparison,
    dataset: TensorDataset,
    parameters: Mapping[str, Any],
) -> str:
    """The report of a comparison."""
    defaults = inspect.signature(compare_selectors).parameters
    text = constraints_text(arguments, dataset, parameters["constraints"])
    known = {"constraints": text}
    if found.feature_mode is not None and dataset.dims is not None:
        known["feature_mode"] = repr(dataset.dims[found.feature_mode])
    options = [
        f"{name}={known.get(name, repr(value))}"
        for name, value in parameters.items()
        if name not in _WITHOUT_EFFECT and value != defaults[name].default
    ]
    call = ", ".join([samples_text(arguments), *options])
    source = Source(
        comparison=f"compare_selectors({call})",
        imports=["from tensift import compare_selectors", *reading_imports(arguments)],
        facts=_facts(arguments),
    )
    return make_report(None, dataset, comparison=found, source=source)


def _facts(arguments: argparse.Namespace) -> dict[str, str]:
    file = describe_file(arguments.input)
    facts = {"input": file["path"], "bytes": str(file["bytes"])}
    if file["sha256"] is not None:
        facts["SHA-256"] = file["sha256"]
    if getattr(arguments, "constraints", None) is not None:
        limits = describe_file(arguments.constraints)
        facts |= {"constraints": limits["path"], "SHA-256 of constraints": limits["sha256"]}
    return facts | versions()
