"""Constraints from a file and from options, for the commands that select."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tensift import Constraints
from tensift.cli._arguments import features, non_negative, whole_number
from tensift.cli._input import dataset_text, describe_file, feature_names_of
from tensift.datasets import TensorDataset, read_constraints
from tensift.labels import Names
from tensift.selection import FeatureLimits

__all__ = [
    "CONSTRAINTS_EPILOG",
    "add_constraint_arguments",
    "constraint_imports",
    "constraints_of",
    "constraints_text",
    "describe_constraints",
]

_OPTIONS = ("include", "exclude", "budget", "min_distance", "at_least", "at_most")

CONSTRAINTS_EPILOG = """\
a file of constraints (--constraints), with one row per feature that has something to say:
  feature,include,exclude,cost,x,y,group,together
  Fp1,,yes,,-0.3,0.9,front,
  Cz,yes,,2.5,0,0,middle,
  P3,,,1,-0.4,-0.5,back,pair
  P4,,,1,0.4,-0.5,back,pair
All columns but the first are optional. A feature is a name, an index, or coordinates such as
"3 5". Features without a cost cost 1. A .toml file can have numbers too:
  include = ["Cz"]
  budget = 8
  at_least = {front = 1, back = 2}
  costs = {Cz = 2.5}
  groups = {front = ["Fp1", "Fp2"], back = ["P3", "P4", "Oz"]}
  together = [["P3", "P4"]]
"""


def add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a selection must respect."""
    group = parser.add_argument_group("constraints")
    group.add_argument(
        "--constraints", type=Path, metavar="FILE",
        help="a .csv or .toml file that says what to keep or leave out, costs, positions, groups",
    )  # fmt: skip
    group.add_argument(
        "--include", type=features, metavar="A,B,...",
        help="features to keep: names, indices, or coordinates such as '3 5'",
    )  # fmt: skip
    group.add_argument("--exclude", type=features, metavar="A,B,...", help="features to leave out")
    group.add_argument(
        "--budget", type=non_negative, metavar="B",
        help="the largest sum of costs; -k is then the largest number of features",
    )  # fmt: skip
    group.add_argument(
        "--min-distance", type=non_negative, metavar="D",
        help="the smallest distance between two kept features (default positions: indices)",
    )  # fmt: skip
    group.add_argument(
        "--at-least", type=whole_number, metavar="N", help="keep at least N features of each group"
    )
    group.add_argument(
        "--at-most", type=whole_number, metavar="N", help="keep at most N features of each group"
    )


def constraints_of(arguments: argparse.Namespace, dataset: TensorDataset) -> Constraints | None:
    """The constraints of the file and the options, checked against the features of the data."""
    path, given = _given(arguments)
    if path is None and not given:
        return None
    names = feature_names_of(arguments, dataset)
    own = _names(names)
    if path is None:
        found = Constraints(**given, names=own)
    else:
        alone = read_constraints(path)
        own = None if alone.names is not None else own
        try:
            _to_check(arguments, read_constraints(path, names=own)).look_up(names.shape)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        found = read_constraints(path, **given, names=own)
    limits = _to_check(arguments, found).look_up(names.shape)
    _refuse_ambiguous(limits)
    return found


def _to_check(arguments: argparse.Namespace, found: Constraints) -> Constraints:
    """What can be checked before the data are read: land, which needs no position, is not known."""
    may_lack = getattr(arguments, "missing", None) == "allow"
    return found.without("min_distance") if may_lack else found


def _given(arguments: argparse.Namespace) -> tuple[Path | None, dict[str, Any]]:
    """The file, and the options that were given."""
    options = {name: getattr(arguments, name, None) for name in _OPTIONS}
    given = {name: value for name, value in options.items() if value is not None}
    return getattr(arguments, "constraints", None), given


def _names(names: Names) -> list[str] | None:
    """The names of features that the data have; None for elements of images and the like."""
    if len(names.shape) != 1 or not names.is_named(0):
        return None
    return [names.label(0, index) for index in range(names.shape[0])]


def _refuse_ambiguous(limits: FeatureLimits) -> None:
    """Raise an error for an index that is also the name of another feature."""
    places = {name: place for place, name in enumerate(limits.finder.names)}
    for argument, feature in _references(limits.constraints):
        if isinstance(feature, int) and places.get(str(feature), feature) != feature:
            raise ValueError(
                f"{argument} has {feature}, an index, but feature {places[str(feature)]} has this "
                "name; give names that are numbers in quotes, in lists of a .toml file"
            )


def _references(given: Constraints) -> list[tuple[str, Any]]:
    """All features that constraints mention, with the argument that does."""
    found = [(name, one) for name in ("include", "exclude") for one in getattr(given, name) or ()]
    for name in ("costs", "positions"):
        if isinstance(getattr(given, name), dict):
            found += [(name, one) for one in getattr(given, name)]
    if isinstance(given.groups, dict):
        found += [("groups", one) for members in given.groups.values() for one in members]
    return found + [("together", one) for members in given.together or () for one in members]


def describe_constraints(
    arguments: argparse.Namespace, constraints: Constraints | None
) -> dict[str, Any] | None:
    """What was given, with the checksum of the file."""
    if constraints is None:
        return None
    path, given = _given(arguments)
    return {"file": None if path is None else describe_file(path), **given}


def constraints_text(
    arguments: argparse.Namespace, dataset: TensorDataset, constraints: Constraints | None
) -> str | None:
    """The Python expression for the constraints."""
    if constraints is None:
        return None
    path, given = _given(arguments)
    parts = [f"{name}={value!r}" for name, value in given.items()]
    own = _names(feature_names_of(arguments, dataset))
    if own is not None and constraints.names == own:
        parts.append(f"names={_names_text(arguments, dataset)}")
    if path is None:
        return f"Constraints({', '.join(parts)})"
    return f"read_constraints({', '.join([repr(str(path)), *parts])})"


def _names_text(arguments: argparse.Namespace, dataset: TensorDataset) -> str:
    """The Python expression for the names of the features."""
    names = feature_names_of(arguments, dataset)
    text = f"{dataset_text(arguments)}.coords[{names.name(0)!r}]"
    kind = names.coords[names.dims[0]].dtype.kind
    if kind == "f":
        return f"[f'{{value:g}}' for value in {text}]"
    return f"[value.decode(errors='replace') for value in {text}]" if kind == "S" else text


def constraint_imports(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The imports that the expression for the constraints needs: lines, and names of datasets."""
    path, given = _given(arguments)
    if path is not None:
        return [], ["read_constraints"]
    return ["from tensift import Constraints"] if given else [], []
