"""A fingerprint of the source code behind a class or function."""

import ast
import hashlib
import importlib
import inspect
from functools import cache
from importlib.metadata import version
from pathlib import Path

OURS = ("tensift", "benchmarks")
NUMERICAL = ("numpy", "scipy", "scikit-learn")


@cache
def fingerprint(thing):
    """Return a checksum of the module of a class or function and of all that it imports.

    Comments, docstrings and layout do not count. A name imported from a package counts as its own
    module, not as the whole package, so changes of other methods do not change this fingerprint.
    """
    digest = hashlib.sha256(" ".join(version(name) for name in NUMERICAL).encode())
    for module in sorted(modules_behind(thing)):
        digest.update(_code(module).encode())
    return digest.hexdigest()[:16]


def modules_behind(thing):
    """Return the names of these modules."""
    found, open_ends = set(), [thing.__module__]
    while open_ends:
        module = open_ends.pop()
        if module not in found:
            found.add(module)
            open_ends += _imported(module)
    return found


@cache
def _imported(module):
    found = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module):
            found |= {_home(node.module, alias.name) for alias in node.names}
    return found


def _home(module, name):
    """Return the module that defines a name which is imported from a module."""
    value = getattr(importlib.import_module(module), name, None)
    if inspect.ismodule(value):
        return value.__name__
    home = getattr(value, "__module__", None)
    return home if _is_ours(home) else module


def _is_ours(module):
    return isinstance(module, str) and module.partition(".")[0] in OURS


def _code(module):
    """Return the code of a module without its docstrings."""
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def _tree(module):
    path = Path(inspect.getsourcefile(importlib.import_module(module)))
    return ast.parse(path.read_text(encoding="utf-8"))
