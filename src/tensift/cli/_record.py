"""What a selection leaves behind in words and numbers, so that it can be read and repeated."""

from __future__ import annotations

import argparse
import csv
import io
import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import tensift
from tensift import STPCASelector
from tensift.cli._input import describe_file, read_arguments
from tensift.datasets import TensorDataset
from tensift.plotting._names import ModeNames
from tensift.report._code import option_texts

__all__ = [
    "describe_input",
    "matrix_texts",
    "python_line",
    "ranking_table",
    "samples_text",
    "settings_of",
    "versions",
]


def ranking_table(selector: STPCASelector, names: ModeNames) -> str:
    """All features, best first, as CSV."""
    shape = selector.scores_.shape
    modes = range(len(shape))
    # A mode called "score" must not hide the scores.
    taken = {"rank", "index", "score", "selected"}
    titles = [f"mode_{m}" if names.title(m) in taken else names.title(m) for m in modes]
    titles = [title.replace(" ", "_") for title in titles]
    named = [mode for mode in modes if names.is_named(mode)]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ["rank", "index", *titles, *(f"{titles[m]}_name" for m in named), "score", "selected"]
    )
    support = selector.get_support()
    scores = selector.scores_.ravel()
    places = np.column_stack(np.unravel_index(selector.ranking_, shape))
    for rank, (flat, place) in enumerate(zip(selector.ranking_, places, strict=True), start=1):
        labels = [names.label(mode, int(place[mode])) for mode in named]
        score = repr(float(scores[flat]))
        table.writerow([rank, int(flat), *place.tolist(), *labels, score, int(support[flat])])
    return text.getvalue()


def settings_of(
    arguments: argparse.Namespace,
    parameters: dict[str, Any],
    selector: STPCASelector,
    dataset: TensorDataset,
) -> dict[str, Any]:
    """What it takes to do this again, and to know whether it is the same."""
    transforms = [
        {"matrix": describe_file(spec)} if isinstance(spec, Path) else spec
        for spec in arguments.transform
    ]
    return {
        "input": describe_input(arguments, dataset),
        "parameters": {**parameters, "transform": transforms},
        "n_selected": int(selector.get_support().sum()),
        "python": python_line(arguments, selector),
        "versions": versions(),
    }


def describe_input(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """Which file was read, how, and what was in it."""
    return {
        **describe_file(arguments.input),
        "options": read_arguments(arguments),
        "shape": list(dataset.data.shape),
        "dtype": str(dataset.data.dtype),
    }


def versions() -> dict[str, str]:
    """What numbers may depend on."""
    return {
        "tensift": tensift.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def python_line(arguments: argparse.Namespace, selector: STPCASelector) -> str:
    """The expression that makes the same selection in Python."""
    options = option_texts(selector, matrix_texts(arguments))
    call = ", ".join([repr(arguments.n_features_to_select), *options])
    return f"STPCASelector({call}).fit({samples_text(arguments)})"


def samples_text(arguments: argparse.Namespace) -> str:
    """The expression that reads the samples."""
    reading = [repr(str(arguments.input))]
    reading += [f"{name}={value!r}" for name, value in read_arguments(arguments).items()]
    return f"read_tensor({', '.join(reading)}).data"


def matrix_texts(arguments: argparse.Namespace) -> dict[str, str]:
    """The parameters that hold matrices from files, as expressions that read them."""
    specs = arguments.transform
    if not any(isinstance(spec, Path) for spec in specs):
        return {}
    texts = [f"np.load({str(spec)!r})" if isinstance(spec, Path) else repr(spec) for spec in specs]
    return {"transform": texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"}
