"""Write the Python code that repeats a selection."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

import tensift
from tensift.selection import TensorSelector
from tensift.solvers import ExactSolver, PaperSolver
from tensift.stability import StabilitySelection

__all__ = [
    "Source",
    "import_lines",
    "option_texts",
    "parameter_texts",
    "selection_code",
    "stability_code",
]

_NO_TEXT = "..."
# These do not change the result, or the page fills them in.
_MODES = {"feature_mode", "orientation"}
_WITHOUT_EFFECT = {"n_features_to_select", "n_jobs", "verbose"}


@dataclass(frozen=True)
class Source:
    """Where the samples come from, for the Python code and the facts in a report.

    Parameters
    ----------
    samples : str, default="X"
        The Python expression for the samples.
    comparison : str, default="comparison"
        The Python expression for the comparison.
    imports : sequence of str
        The import lines that these expressions need.
    parameters : mapping of str to str
        Python expressions for parameters that are too long to print, such as matrices.
    facts : mapping of str to str
        Other facts to show, such as the name of a file and its checksum.

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
    """Return all parameters as Python code; ``...`` for those that are too long."""
    texts = {name: _text(value) for name, value in selector.get_params(deep=False).items()}
    defaults = inspect.signature(type(selector)).parameters
    for name in _MODES & texts.keys():
        mode = getattr(selector, name)
        if isinstance(mode, Integral) and mode != defaults[name].default:
            texts[name] = _text(name_of_mode(selector, int(mode)))
    for name, text in (known or {}).items():
        if texts.get(name) == _NO_TEXT:
            texts[name] = text
    return texts


def name_of_mode(selector: TensorSelector, mode: int) -> str | int:
    """Return what code and titles call a mode: its name if it was fitted with one."""
    names = vars(selector).get("names_")
    name = None if names is None else names.dims[mode]
    return name if isinstance(name, str) else mode


def option_texts(selector: TensorSelector, known: Mapping[str, str] | None = None) -> list[str]:
    """Return the keyword arguments of a selector that differ from their defaults.

    Parameters that do not affect the result (``n_jobs``, ``verbose``) and the number of features
    are left out.

    Parameters
    ----------
    selector : TensorSelector
        The selector.
    known : mapping of str to str, optional
        Python expressions for parameters that are too long to print, such as matrices.

    Returns
    -------
    list of str
        One ``name=value`` for each.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.report import option_texts
    >>> option_texts(STPCASelector(20, basis="dct", lam=1.5, n_jobs=2))
    ["basis='dct'", 'lam=1.5']
    """
    defaults = inspect.signature(type(selector)).parameters
    return [
        f"{name}={text}"
        for name, text in parameter_texts(selector, known).items()
        if name not in _WITHOUT_EFFECT and text != _text(defaults[name].default)
    ]


def selection_code(selector: TensorSelector, source: Source) -> tuple[str, str]:
    """Return the code of a selection, split before and after the number of features."""
    lines = [import_lines(selector), *source.imports, ""]
    options = "".join(f", {option}" for option in option_texts(selector, source.parameters))
    call = f"selector = {type(selector).__name__}(n_features_to_select="
    return "\n".join([*lines, call]), f"{options})\nselector.fit({source.samples})"


def stability_code(found: StabilitySelection, source: Source) -> tuple[str, str]:
    """Return the code of a stability selection, split around the number of features."""
    selector = found.estimator
    texts = parameter_texts(selector)
    options = [f"n_features_to_select={texts[n]}" for n in texts if n == "n_features_to_select"]
    options += option_texts(selector, source.parameters)
    resampling = "" if found.resampling == "half" else f", resampling={found.resampling!r}"
    resampling += f", random_state={found.random_state}" if found.random_state else ""
    lines = [
        "from tensift import stability_selection",
        import_lines(selector),
        *source.imports,
        "",
        f"selector = {type(selector).__name__}({', '.join(options)})",
        "found = stability_selection(",
        f"    selector, {source.samples}, n_resamples={found.n_resamples}{resampling}",
        ")",
        "found.ranking[:",
    ]
    return "\n".join(lines), "]"


def import_lines(selector: TensorSelector) -> str:
    """Return the imports that the code needs: the selector's class, and that of its solver.

    Parameters
    ----------
    selector : TensorSelector
        The selector.

    Returns
    -------
    str
        One line for each module.

    Examples
    --------
    >>> from tensift.report import import_lines
    >>> from tensift.rivals import VarianceSelector
    >>> import_lines(VarianceSelector(20))
    'from tensift.rivals import VarianceSelector'
    """
    kinds = [type(selector)]
    kinds += [type(v) for v in selector.get_params(deep=False).values() if _is_solver(v)]
    by_module: dict[str, list[str]] = {}
    for kind in kinds:
        by_module.setdefault(_public_module(kind), []).append(kind.__name__)
    return "\n".join(f"from {home} import {', '.join(sorted(n))}" for home, n in by_module.items())


def _public_module(kind: type) -> str:
    """Return the module from which users import a class."""
    if kind.__name__ in tensift.__all__ and getattr(tensift, kind.__name__) is kind:
        return "tensift"
    parts = kind.__module__.split(".")
    return ".".join(parts[:2]) if parts[0] == "tensift" else kind.__module__


def _is_solver(value: Any) -> bool:
    return isinstance(value, ExactSolver | PaperSolver)


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if _is_solver(value):
        return repr(value)
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _NO_TEXT
    return text if len(text) <= 200 else _NO_TEXT
