"""What ``select`` and ``report`` have in common: the arguments of the method, and the fit."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from tensift import STPCASelector, collect_moments
from tensift._warnings import warn_user
from tensift.cli._arguments import (
    count_or_share,
    non_negative,
    or_auto,
    positive_int,
    transform_names,
)
from tensift.cli._input import add_feature_mode, feature_mode_of
from tensift.datasets import TensorDataset
from tensift.plotting._names import ModeNames

__all__ = ["add_method_arguments", "feature_names_of", "fit_selector", "selector_parameters"]

_COLLAPSED = 1e-6  # a largest score below this is what is left of an iteration towards zero


def add_method_arguments(group: Any) -> None:
    """Add the parameters of the selector."""
    group.add_argument(
        "-k",
        type=or_auto(count_or_share),
        required=True,
        metavar="K|auto",
        dest="n_features_to_select",
        help="how many features to keep (100), which share of them (0.1), or auto: as many as "
        "explain more than their share of the variance",
    )
    group.add_argument(
        "--selection", choices=("diverse", "top"), default="diverse",
        help="features with large scores that do not repeat one another, or those with the "
        "largest scores, as in the paper (default: diverse)",
    )  # fmt: skip
    group.add_argument(
        "--orientation", type=or_auto(int), metavar="MODE|auto", default=0,
        help="the mode that is reconstructed; auto tries all (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--transform", type=transform_names, metavar="NAME|FILE.npy", default=["identity"],
        help="identity, dft, dct, haar, eigen, random or a matrix in a .npy file; separated by "
        "commas, one for each other mode; auto tries some (default: identity)",
    )  # fmt: skip
    group.add_argument(
        "--lam", type=or_auto(non_negative), default="auto",
        help="weight of the column norms; auto chooses without labels (default: auto)",
    )  # fmt: skip
    group.add_argument(
        "--eta", type=or_auto(non_negative), default="auto",
        help="weight of the trace; auto as for --lam (default: auto)",
    )  # fmt: skip
    group.add_argument(
        "--penalty", choices=("absolute", "relative"), default="absolute",
        help="take --lam and --eta as they stand, or as fractions of the values above which no "
        "feature is left (default: absolute)",
    )  # fmt: skip
    group.add_argument(
        "--solver", choices=("paper", "exact"), default="paper",
        help="the authors' iteration, or the certified optimum (default: paper)",
    )  # fmt: skip
    add_feature_mode(group)
    group.add_argument(
        "--score", choices=("operator", "energy"), default="operator",
        help="the weight in the reconstruction, or that times the feature's spread, which tells "
        "features apart under the dft (default: operator)",
    )  # fmt: skip
    group.add_argument(
        "--scale", choices=("max", "none"), default="max",
        help="divide the data by their largest absolute value, or leave them (default: max)",
    )  # fmt: skip
    group.add_argument(
        "--tol", type=non_negative,
        help="paper: stop when the objective changes by less (default: 1e-5); exact: the relative "
        "duality gap to reach (default: 1e-6)",
    )  # fmt: skip
    group.add_argument(
        "--max-iter",
        type=positive_int,
        metavar="N",
        help="steps at most (default: 100; exact 1000)",
    )
    group.add_argument(
        "--stopping", choices=("absolute", "relative"), default="absolute",
        help="whether --tol is a change of the objective or a share of it (default: absolute)",
    )  # fmt: skip
    group.add_argument(
        "--convention", choices=("program", "paper"), default="program",
        help="whom to follow where the paper and its authors' program differ (default: program)",
    )  # fmt: skip
    group.add_argument("--seed", type=int, metavar="N", help="seed of --transform random")
    group.add_argument(
        "--jobs", type=int, metavar="N", help="threads; -1 for all cores (default: 1)"
    )

    group.add_argument(
        "--checkpoint", type=Path, metavar="FILE",
        help="what is known of the samples is written there every few seconds; after an "
        "interruption, the same command goes on from it",
    )  # fmt: skip


def selector_parameters(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """The parameters of the selector, checked against the shape of the data."""
    feature_mode = feature_mode_of(arguments, dataset)
    shape = dataset.feature_shape
    total = math.prod(shape)
    if feature_mode is not None and -len(shape) <= feature_mode < len(shape):
        total = shape[feature_mode]
    wanted = arguments.n_features_to_select
    if isinstance(wanted, int) and wanted > total:
        raise ValueError(
            f"-k {wanted} is more than the {total} features in {arguments.input}; give a number "
            f"from 1 to {total}, or a share such as 0.1"
        )
    specs = [_load_matrix(s) if isinstance(s, Path) else s for s in arguments.transform]
    return {
        "n_features_to_select": wanted,
        "selection": arguments.selection,
        "orientation": arguments.orientation,
        "transform": specs[0] if len(specs) == 1 else specs,
        "lam": arguments.lam,
        "eta": arguments.eta,
        "penalty": arguments.penalty,
        "feature_mode": feature_mode,
        "score": arguments.score,
        "solver": arguments.solver,
        "scale": None if arguments.scale == "none" else arguments.scale,
        "tol": arguments.tol,
        "max_iter": arguments.max_iter,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "convention": arguments.convention,
        "stopping": arguments.stopping,
    }


def _load_matrix(path: Path) -> np.ndarray:
    try:
        matrix: np.ndarray = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"--transform {path}: not a matrix in a .npy file ({error})") from None
    except OSError as error:
        raise OSError(f"--transform {path}: {error.strerror or error}") from None
    return matrix


def fit_selector(
    selector: STPCASelector,
    dataset: TensorDataset,
    path: Path,
    checkpoint: Path | None = None,
) -> STPCASelector:
    """Fit a selector; data that are mapped from disk pass through memory in chunks."""
    try:
        if checkpoint is None:
            selector.fit(dataset.data)
        else:
            given = selector.get_params()
            names = ("orientation", "transform", "random_state", "n_jobs", "verbose")
            options = {name: given[name] for name in names}
            selector.fit(collect_moments(dataset.data, checkpoint=checkpoint, **options))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        if "NaN" in reason or "infinity" in reason:
            reason = (
                f"{reason.rstrip('.')}. Fill or remove such values first; tensift info counts them"
            )
        raise ValueError(f"{path}: {reason}") from None
    highest = float(selector.scores_.max())
    if highest < _COLLAPSED:
        warn_user(
            f"all scores are next to zero (at most {highest:.0e}), so the ranking says little: the "
            "penalties are too strong for these data; try --penalty relative --lam 0.1 --eta 0.1 "
            "--solver exact"
        )
    return selector


def feature_names_of(selector: STPCASelector, dataset: TensorDataset) -> ModeNames:
    """The names of what is selected: elements, or the indices of a mode."""
    names = ModeNames(dataset.feature_shape, dataset.dims, dataset.coords)
    if selector.feature_mode is None:
        return names
    return names.only([selector.feature_mode % len(dataset.feature_shape)])
