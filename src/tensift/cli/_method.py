"""What ``select`` and ``report`` share: the options of the method, and the fit."""

from __future__ import annotations

import argparse
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np

from tensift import ExactSolver, PaperSolver, STPCASelector, collect_moments
from tensift._utils.warnings import warn_user
from tensift.cli._arguments import (
    basis_names,
    count_or_share,
    jobs,
    mode,
    non_negative,
    or_auto,
    positive_int,
)
from tensift.cli._console import Console
from tensift.cli._constraints import constraints_of
from tensift.cli._input import (
    add_feature_mode,
    feature_mode_of,
    feature_names_of,
    weighing_of,
)
from tensift.cli._options import add_option
from tensift.comparison import find_selector
from tensift.datasets import TensorDataset
from tensift.selection import TensorSelector, held_constraints
from tensift.sources import takes_weights

__all__ = [
    "add_method_arguments",
    "fit_selector",
    "make_selector",
    "say_constraints",
    "say_missing",
]

_COLLAPSED = 1e-6  # if no score is larger, the penalties have driven all scores to zero
_SOLVER_SETTINGS = ("tol", "max_iter", "convention", "stopping")
_NOT_OPTIONS = {"verbose", "feature_shape", "sample_dim", "constraints"}


def add_method_arguments(group: Any) -> None:
    """Add the parameters of the selector and its solvers."""
    kind = STPCASelector
    group.add_argument(
        "--method", default="stpca", metavar="NAME",
        help="stpca (the default), geometry, columnsubset, or any other selector, such as variance "
        "or laplacianscore; options that it does not have are refused",
    )  # fmt: skip
    add_option(
        group, kind, "n_features_to_select", "-k", type=or_auto(count_or_share), metavar="K|auto"
    )
    add_option(group, kind, "selection")
    add_option(group, kind, "orientation", type=or_auto(mode), metavar="MODE|auto")
    add_option(
        group, kind, "basis", type=basis_names, metavar="NAME|FILE.npy", default=["identity"],
        help="the transform along every other mode: identity, dft, dct, haar, eigen, random or a "
        "matrix in a .npy file; separate several by commas, one for each other mode; auto tries "
        "identity, dct, haar and eigen (default: identity)",
    )  # fmt: skip
    add_option(group, kind, "lam", type=or_auto(non_negative), metavar="LAM|auto")
    add_option(group, kind, "eta", type=or_auto(non_negative), metavar="ETA|auto")
    add_option(group, kind, "penalty_units")
    add_option(group, kind, "solver")
    add_option(
        group, PaperSolver, "tol", type=non_negative, default=None,
        help="the tolerance of the solver: exact stops when the relative duality gap is at most "
        f"this (default: {ExactSolver().tol:g}), paper when the objective changes by less than "
        f"this (default: {PaperSolver().tol:g})",
    )  # fmt: skip
    add_option(
        group, PaperSolver, "max_iter", type=positive_int, metavar="N", default=None,
        help="the largest number of steps of the solver "
        f"(default: {ExactSolver().max_iter} for exact, {PaperSolver().max_iter} for paper)",
    )  # fmt: skip
    for name in ("convention", "stopping"):
        add_option(group, PaperSolver, name, default=None, prefix="with --solver paper: ")
    add_feature_mode(group)
    add_option(group, kind, "score_by")
    add_option(group, kind, "scale", choices=("max", "feature", "none"))
    add_option(
        group, kind, "missing",
        help="what NaN means: raise refuses it, allow takes it for a value that was not observed "
        "(default: raise)",
    )  # fmt: skip
    add_option(group, kind, "random_state", "--seed", type=int, metavar="N")
    add_option(group, kind, "n_jobs", "--jobs", type=jobs, metavar="N")
    group.add_argument(
        "--checkpoint", type=Path, metavar="FILE",
        help="save the moments of the samples to FILE every few seconds; after an interruption, "
        "the same command continues from there",
    )  # fmt: skip


def _solver_of(arguments: argparse.Namespace) -> str | ExactSolver | PaperSolver:
    """The solver that the options describe."""
    given = {name: getattr(arguments, name) for name in _SOLVER_SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return str(arguments.solver)
    if arguments.solver == "paper":
        return PaperSolver(**given)
    for name in ("convention", "stopping"):
        if name in given:
            raise ValueError(
                f"--{name} works only with --solver paper; add that, or leave out --{name}"
            )
    return ExactSolver(**given)


def make_selector(
    arguments: argparse.Namespace, dataset: TensorDataset, verbose: bool
) -> TensorSelector:
    """The selector that the options describe, checked against the shape of the data."""
    kind = find_selector(arguments.method).selector
    given = _stpca_parameters(arguments, dataset)
    if kind is not STPCASelector:
        given = _parameters_of(kind, given)
        if arguments.checkpoint is not None:
            raise ValueError(
                f"--checkpoint works only with --method stpca; {kind.__name__} reads no moments"
            )
    constraints = constraints_of(arguments, dataset)
    if constraints is not None:
        given["constraints"] = constraints
    if "verbose" in inspect.signature(kind).parameters:
        given["verbose"] = verbose
    return kind(**given)


def _parameters_of(kind: type[TensorSelector], given: dict[str, Any]) -> dict[str, Any]:
    """The options that a selector has; those that it does not have must be at their defaults."""
    always = ("n_features_to_select", "feature_mode")
    defaults = inspect.signature(STPCASelector).parameters
    own = inspect.signature(kind).parameters
    changed = {
        name: value
        for name, value in given.items()
        if name in always or not _is_default(value, defaults[name].default)
    }
    for name in changed:
        if name not in own:
            option = {"random_state": "seed", "n_jobs": "jobs"}.get(name, name.replace("_", "-"))
            raise ValueError(
                f"--{option} is not an option of {kind.__name__}; leave it out, or use "
                "--method stpca"
            )
    return changed


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _stpca_parameters(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """All options as parameters of `STPCASelector`."""
    feature_mode = feature_mode_of(arguments, dataset)
    total = math.prod(feature_names_of(arguments, dataset).shape)
    wanted = arguments.n_features_to_select
    if isinstance(wanted, int) and wanted > total:
        raise ValueError(
            f"-k {wanted} is more than the {total} features in {arguments.input}; give a number "
            f"from 1 to {total}, or a share such as 0.1"
        )
    bases = [_load_matrix(s) if isinstance(s, Path) else s for s in arguments.basis]
    names = inspect.signature(STPCASelector).parameters
    return {
        **{name: getattr(arguments, name) for name in names if name not in _NOT_OPTIONS},
        "basis": bases[0] if len(bases) == 1 else bases,
        "solver": _solver_of(arguments),
        "feature_mode": feature_mode,
        "scale": None if arguments.scale == "none" else arguments.scale,
    }


def _load_matrix(path: Path) -> np.ndarray:
    try:
        matrix: np.ndarray = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"--basis {path}: not a matrix in a .npy file ({error})") from None
    except OSError as error:
        raise OSError(f"--basis {path}: {error.strerror or error}") from None
    return matrix


def fit_selector(
    selector: TensorSelector,
    dataset: TensorDataset,
    path: Path,
    checkpoint: Path | None = None,
) -> TensorSelector:
    """Fit a selector; data that are mapped from disk are read in chunks."""
    weighing = weighing_of(dataset)
    if weighing and not takes_weights(selector):
        raise ValueError(
            f"--weights and --groups: {type(selector).__name__} takes no weights; leave them out, "
            "or use another --method"
        )
    # Not all selectors have these parameters, so the type of the base class lacks them.
    fit: Any = selector.fit
    try:
        if checkpoint is None:
            fit(dataset, **weighing)
        else:
            given = selector.get_params()
            names = ("orientation", "basis", "missing", "random_state", "n_jobs", "verbose")
            options = {name: given[name] for name in names}
            options |= weighing
            moments: Any = collect_moments(dataset, checkpoint=checkpoint, **options)
            selector.fit(moments)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        if reason.startswith("Input X contains NaN"):
            reason = (
                f"{reason.partition(';')[0].rstrip('.')}. Pass --missing allow if NaN stands for "
                "values that were not observed; tensift info says where they are"
            )
        elif "infinity" in reason:
            reason = (
                f"{reason.rstrip('.')}. Fill or remove such values first; tensift info counts them"
            )
        raise ValueError(f"{path}: {reason}") from None
    highest = float(selector.scores_.max())
    if isinstance(selector, STPCASelector) and highest < _COLLAPSED:
        warn_user(
            f"all scores are next to zero (at most {highest:.0e}), so the ranking says little: the "
            "penalties are too strong for these data; try --lam auto --eta auto"
        )
    return selector


def say_constraints(console: Console, selector: TensorSelector) -> None:
    """Print what constraints did, in one line; nothing without constraints."""
    held = held_constraints(selector)
    if held is not None and held.words:
        console.say(f"limits    {'; '.join(held.words)}")


def say_missing(console: Console, selector: TensorSelector) -> None:
    """Print what was missing, in one line; nothing if nothing was."""
    missing = getattr(selector, "missing_", None)
    if missing is not None and missing.share:
        console.say(f"missing   {missing}")
