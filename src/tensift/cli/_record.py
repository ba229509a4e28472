"""Tables and settings of a selection, to read and to repeat it."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import tensift
from tensift import STPCASelector
from tensift._utils.tables import csv_text
from tensift.cli._constraints import (
    constraint_imports,
    constraints_text,
    describe_constraints,
)
from tensift.cli._input import dataset_text, describe_file, read_arguments
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.report import import_lines, option_texts
from tensift.selection import TensorSelector, held_constraints
from tensift.solvers import solver_from

__all__ = [
    "describe_input",
    "known_texts",
    "python_imports",
    "python_line",
    "ranking_table",
    "reading_imports",
    "samples_text",
    "settings_of",
    "versions",
]


def ranking_table(selector: TensorSelector, names: Names) -> str:
    """All features in the order of selection, as CSV."""
    held = held_constraints(selector)
    more: dict[str, Sequence[Any]] = {}
    if held is not None and held.costs is not None:
        more["cost"] = held.costs.tolist()
    if held is not None and held.groups is not None:
        more["group"] = held.groups
    order = selector.order_
    columns: dict[str, Sequence[Any]] = {
        "rank": range(1, len(order) + 1),
        "index": order.tolist(),
        **names.table(order),
        "score": selector.scores_.ravel()[order].tolist(),
        "selected": selector.get_support().astype(int)[order].tolist(),
        **{title: [values[feature] for feature in order] for title, values in more.items()},
    }
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def settings_of(
    arguments: argparse.Namespace, selector: TensorSelector, dataset: TensorDataset
) -> dict[str, Any]:
    """Everything needed to repeat the selection, and to check that it is the same."""
    return {
        "input": describe_input(arguments, dataset),
        "method": type(selector).__name__,
        "parameters": _describe_parameters(arguments, selector),
        "n_selected": int(selector.get_support().sum()),
        "python": [python_imports(arguments, selector), python_line(arguments, selector, dataset)],
        "versions": versions(),
    }


def _describe_parameters(arguments: argparse.Namespace, selector: TensorSelector) -> dict[str, Any]:
    """All parameters; matrices by their files, and the solver with its settings."""
    parameters = selector.get_params(deep=False)
    parameters.pop("verbose", None)
    parameters["constraints"] = describe_constraints(arguments, selector.constraints)
    if not isinstance(selector, STPCASelector):
        return parameters
    bases = [
        {"matrix": describe_file(spec)} if isinstance(spec, Path) else spec
        for spec in arguments.basis
    ]
    solver = solver_from(selector.solver)
    name = solver.resolve(many_samples=True).name
    return {**parameters, "basis": bases, "solver": {"name": name, **solver.get_params()}}


def describe_input(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """Which file was read, how, and what was in it."""
    return {
        **describe_file(arguments.input),
        "options": read_arguments(arguments),
        "shape": list(dataset.data.shape),
        "dtype": str(dataset.data.dtype),
        "dims": None if dataset.dims is None else list(dataset.dims),
        "units": dataset.units or {},
    }


def versions() -> dict[str, str]:
    """The versions of everything that numbers may depend on."""
    return {
        "tensift": tensift.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def python_line(
    arguments: argparse.Namespace, selector: TensorSelector, dataset: TensorDataset
) -> str:
    """The expression that makes the same selection in Python."""
    options = option_texts(selector, known_texts(arguments, selector, dataset))
    # The text of a solver with many settings has line breaks.
    options = [" ".join(o.split()) if o.startswith("solver=") else o for o in options]
    call = ", ".join([repr(arguments.n_features_to_select), *options])
    return f"{type(selector).__name__}({call}).fit({samples_text(arguments)})"


def python_imports(arguments: argparse.Namespace, selector: TensorSelector) -> str:
    """The imports that `python_line` needs."""
    imports = import_lines(selector).split("\n")
    return "; ".join([*imports, *reading_imports(arguments)])


def reading_imports(arguments: argparse.Namespace) -> list[str]:
    """The imports that expressions for samples, matrices and constraints need."""
    imports = ["import numpy as np"] if matrix_texts(arguments) else []
    made, readers = constraint_imports(arguments)
    return [*imports, *made, f"from tensift.datasets import {', '.join([*readers, 'read_tensor'])}"]


def samples_text(arguments: argparse.Namespace) -> str:
    """The expression that reads the samples; with weights or groups, these follow as arguments."""
    names = {"sample_weight": "weights", "groups": "groups"}
    given = {one: name for one, name in names.items() if getattr(arguments, name) is not None}
    if not given:
        return dataset_text(arguments)
    beside = [f"{one}=data.{name}" for one, name in given.items()]
    return ", ".join([f"(data := {dataset_text(arguments)})", *beside])


def known_texts(
    arguments: argparse.Namespace, selector: TensorSelector, dataset: TensorDataset
) -> dict[str, str]:
    """The parameters that are too long to print, as expressions: matrices and constraints."""
    text = constraints_text(arguments, dataset, selector.constraints)
    return matrix_texts(arguments) | ({} if text is None else {"constraints": text})


def matrix_texts(arguments: argparse.Namespace) -> dict[str, str]:
    """The parameters that hold matrices from files, as expressions that read them."""
    specs = getattr(arguments, "basis", [])
    if not any(isinstance(spec, Path) for spec in specs):
        return {}
    texts = [f"np.load({str(spec)!r})" if isinstance(spec, Path) else repr(spec) for spec in specs]
    return {"basis": texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"}
