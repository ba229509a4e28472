"""The Python that makes a selection again."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensift.selectors import TensorSelector
from tensift.stability import StabilitySelection

__all__ = ["Source", "option_texts", "parameter_texts", "selection_code", "stability_code"]

_NO_TEXT = "..."
# They change nothing of the result.
_WITHOUT_EFFECT = {"n_features_to_select", "n_jobs", "verbose"}


@dataclass(frozen=True)
class Source:
    """Where samples come from, for the Python in a report and the facts at its end.

    Parameters
    ----------
    samples : str, default="X"
        The expression that gives the samples.
    comparison : str, default="comparison"
        The expression that gives the comparison.
    imports : sequence of str
        What the expressions need to have imported.
    parameters : mapping of str to str
        Expressions of parameters that have no short text, such as matrices.
    facts : mapping of str to str
        What else to write down: the name of a file, its checksum.

    Examples
    --------
    >>> from tensift.report import Source
    >>> Source("np.load('faces.npy')", imports=["import numpy as np"]).samples
    "np.load('faces.npy')"
    """

    samples: str = "X"
    comparison: str = "comparison"
    imports: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def parameter_texts(
    selector: TensorSelector, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """All parameters as Python would have them; ``...`` where that is no short text."""
    texts = {name: _text(value) for name, value in selector.get_params(deep=False).items()}
    for name, text in (known or {}).items():
        if texts.get(name) == _NO_TEXT:
            texts[name] = text
    return texts


def option_texts(selector: TensorSelector, known: Mapping[str, str] | None = None) -> list[str]:
    """The keyword arguments that differ from the defaults, but for those without effect."""
    defaults = inspect.signature(type(selector)).parameters
    return [
        f"{name}={text}"
        for name, text in parameter_texts(selector, known).items()
        if name not in _WITHOUT_EFFECT and text != _text(defaults[name].default)
    ]


def selection_code(selector: TensorSelector, source: Source) -> tuple[str, str]:
    """What comes before and after the number of features in the code of a selection."""
    lines = [_import_of(selector), *source.imports, ""]
    options = "".join(f", {option}" for option in option_texts(selector, source.parameters))
    call = f"selector = {type(selector).__name__}(n_features_to_select="
    return "\n".join([*lines, call]), f"{options})\nselector.fit({source.samples})"


def stability_code(found: StabilitySelection, source: Source) -> tuple[str, str]:
    """What comes before and after the number of features in the code of a stability selection."""
    selector = found.estimator
    texts = parameter_texts(selector)
    options = [f"n_features_to_select={texts[n]}" for n in texts if n == "n_features_to_select"]
    options += option_texts(selector, source.parameters)
    resampling = "" if found.resampling == "half" else f", resampling={found.resampling!r}"
    resampling += f", random_state={found.random_state}" if found.random_state else ""
    lines = [
        "from tensift import stability_selection",
        _import_of(selector),
        *source.imports,
        "",
        f"selector = {type(selector).__name__}({', '.join(options)})",
        "found = stability_selection(",
        f"    selector, {source.samples}, n_resamples={found.n_resamples}{resampling}",
        ")",
        "found.ranking[:",
    ]
    return "\n".join(lines), "]"


def _import_of(selector: TensorSelector) -> str:
    kind = type(selector)
    module = kind.__module__
    return f"from {'tensift' if module.startswith('tensift.') else module} import {kind.__name__}"


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _NO_TEXT
    return text if len(text) <= 200 else _NO_TEXT
