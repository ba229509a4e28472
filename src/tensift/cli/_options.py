"""Options of the command line, derived from the signature and docstring of a class or function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from tensift._utils.sklearn_compat import StrOptions

__all__ = ["add_option", "describe_parameters"]

_PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : ")
_SENTENCES = 2


def add_option(
    group: Any, kind: Callable, name: str, *flags: str, prefix: str = "", **overrides: Any
) -> None:
    """Add an option for one parameter of a class or function.

    The default comes from the signature, the choices from scikit-learn's parameter constraints,
    and the help from the docstring.

    Parameters
    ----------
    group : argparse group or parser
        Gets the option.
    kind : class or function
        Has a numpydoc docstring.
    name : str
        The parameter.
    *flags : str
        The names of the option; by default ``--like-this`` from ``like_this``.
    prefix : str, default=""
        Text before the help.
    **overrides
        Arguments of ``add_argument`` to use instead.
    """
    default = inspect.signature(kind).parameters[name].default
    settings: dict[str, Any] = {"dest": name, "default": default}
    choices = _choices(kind, name)
    if choices and "type" not in overrides:
        settings["choices"] = choices
    settings |= overrides
    if "help" not in settings:
        settings["help"] = prefix + describe_parameters(kind)[name]
        if default is not None:
            settings["help"] += f" (default: {default})"
    group.add_argument(*(flags or (f"--{name.replace('_', '-')}",)), **settings)


def describe_parameters(kind: Callable) -> dict[str, str]:
    """Return a short help text for every parameter in a numpydoc docstring.

    A text has the first two sentences, and those that follow and begin with a quoted word, since
    they explain what that word does. Parameters that share a text are named at its start.

    Examples
    --------
    >>> from tensift import ExactSolver
    >>> describe_parameters(ExactSolver)["max_iter"]
    'the largest number of steps'
    """
    found: dict[str, str] = {}
    doc = inspect.getdoc(kind) or ""
    _, _, section = doc.partition("\nParameters\n----------\n")
    names = ""
    for line in section.splitlines():
        if match := _PARAMETER.match(line):
            names = match[1]
        elif line.startswith(" "):
            found[names] = f"{found.get(names, '')} {line.strip()}".lstrip()
        elif line:
            break  # the title of the next section
    return {
        name: (f"{names}: " if "," in names else "") + _shortened(text)
        for names, text in found.items()
        for name in names.split(", ")
    }


def _shortened(text: str) -> str:
    """The sentences that a help text needs, without markup."""
    text = re.sub(r" \((see )?`\w+`\)", "", text).replace("`", "").replace("%", "%%")
    sentences = re.split(r"(?<=\.) (?=[A-Z\"])", text)
    kept = sentences[:_SENTENCES]
    kept += takewhile(lambda sentence: sentence.startswith('"'), sentences[_SENTENCES:])
    text = " ".join(kept).rstrip(".")
    return text[:1].lower() + text[1:]


def _choices(kind: Any, name: str) -> list[str]:
    """The words that a parameter accepts, with the default first."""
    words: set[str] = set()
    for constraint in getattr(kind, "_parameter_constraints", {}).get(name, []):
        if isinstance(constraint, StrOptions):
            words |= constraint.options
    default = inspect.signature(kind).parameters[name].default
    return sorted(words, key=lambda word: (word != default, word))
