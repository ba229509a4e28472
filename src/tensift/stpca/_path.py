"""STPCA-MP over a grid of penalties, with one pass over the data."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.full_products import full_products
from tensift._utils.namespace import is_device_array, moved_to, namespace_of
from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import validate_parameter_constraints
from tensift._utils.threads import blas_threads_for
from tensift._version import __version__
from tensift.algebra import make_transforms
from tensift.labels import Names, SampleDims, groups_of
from tensift.moments import GramTensor, Moments, Orientation, same_specification
from tensift.solvers import (
    ExactSolver,
    PaperSolver,
    PathSolution,
    explained_failure,
    solver_from,
    warn_of_open_slices,
)
from tensift.sources import SampleWeights
from tensift.stpca._path_checks import check_gram, checked_grid
from tensift.stpca._penalties import absolute_penalties, check_fractions
from tensift.stpca._selection_path import SelectionPath
from tensift.stpca._selector import STPCASelector
from tensift.stpca.execution import SliceExecutor, executor_for, executor_for_gram

__all__ = ["stpca_path"]

_GRID = {
    "absolute": (0.01, 0.1, 1.0, 10.0, 100.0),  # the paper's
    "relative": (0.001, 0.005, 0.02, 0.1, 0.5),
}


@full_products
def stpca_path(
    X: ArrayLike | Moments | GramTensor,
    lams: ArrayLike | None = None,
    etas: ArrayLike | None = None,
    *,
    orientation: int | str = 0,
    basis: Any = "identity",
    penalty_units: str = "absolute",
    feature_mode: int | str | None = None,
    score_by: str = "operator",
    solver: str | ExactSolver | PaperSolver = "exact",
    scale: str | None = "max",
    feature_shape: tuple[int, ...] | None = None,
    sample_dim: SampleDims = None,
    missing: str = "raise",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
) -> SelectionPath:
    """Score features by STPCA-MP at every pair of penalties.

    The result equals fitting `STPCASelector` at every cell, but the data are read once, every Gram
    matrix is decomposed once, and each solution starts from its neighbour's.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m) or (n, d), Moments, or GramTensor
        Samples; or moments of samples, which have an orientation and a basis already; or Gram
        matrices ``(p, q, q)``, whose features have the shape ``(q, p)`` and are not scaled. All of
        them may be arrays of other libraries than NumPy, as in `STPCASelector`.
    lams, etas : array-like of float, optional
        The grid, in any order. The default is the paper's grid, 0.01, 0.1, 1, 10 and 100, or, with
        ``penalty_units="relative"``, 0.001, 0.005, 0.02, 0.1 and 0.5.
    orientation, basis, feature_mode, score_by, scale, feature_shape
        As in `STPCASelector`.
    sample_dim, missing, random_state
        As in `STPCASelector`.
    sample_weight, groups : array-like of shape (n,), optional
        How much each sample counts, and groups that count equally, as in `STPCASelector.fit`.
    penalty_units : {"absolute", "relative"}, default="absolute"
        Whether `lams` and `etas` are used as they are, or are fractions of their critical values,
        as in `STPCASelector`. The result has them as they are in the problem.
    solver : {"exact", "paper"}, ExactSolver or PaperSolver, default="exact"
        "exact" finds the optimum and proves it, "paper" is the authors' iteration. For rankings
        alone, ``ExactSolver(tol=1e-4)`` is enough: it takes about two thirds of the time and keeps
        nearly all of the first features. The result says which tolerance it has (`tol`).
    n_jobs : int or None, default=None
        The number of threads over blocks of slices and `etas`. The result does not depend on it.
    checkpoint : path-like, optional
        A file to which finished parts are written every few seconds, at the end, and when the
        computation is interrupted. A call with the same data and parameters continues from there
        and returns the same numbers. A file of other data or parameters is refused, and so is a
        file of sums that another number of BLAS threads rounded differently. Processes that use
        one file do not damage it, but they share no work: each reads it once, and the last to
        write wins.
    verbose : bool or int, default=False
        Show progress on standard error.

    Returns
    -------
    SelectionPath

    Examples
    --------
    >>> from tensift import stpca_path
    >>> from tensift.datasets import load_digits
    >>> path = stpca_path(load_digits().data)
    >>> path.scores.shape
    (5, 5, 8, 8)
    >>> bool(path.dual_gap.max() <= 1e-6)
    True
    """
    selector = STPCASelector(
        1,
        selection="top",
        orientation=orientation,
        basis=basis,
        penalty_units=penalty_units,
        feature_mode=feature_mode,
        score_by=score_by,
        solver=solver,
        scale=scale,
        feature_shape=feature_shape,
        sample_dim=sample_dim,
        missing=missing,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    selector._keeps_subsample = False  # only scores are needed
    parameters = selector.get_params(deep=False)
    validate_parameter_constraints(selector._parameter_constraints, parameters, "stpca_path")
    lams, etas = (
        checked_grid(name, _GRID[penalty_units] if values is None else values)
        for name, values in (("lams", lams), ("etas", etas))
    )
    check_fractions(penalty_units, {"lams": lams, "etas": etas})
    executor, orient, many_samples = _take_in(
        selector, X, SampleWeights.of(sample_weight, groups_of(X, groups))
    )
    with blas_threads_for(executor.n_slices):
        lams, etas = absolute_penalties(penalty_units, {"lams": lams, "etas": etas}, executor)
    scoring = selector._scoring(orient, X if isinstance(X, GramTensor) else selector._moments)
    settings = solver_from(solver)
    slice_solver = settings.resolve(many_samples=many_samples)
    depends_on = (
        __version__,
        slice_solver,
        orient.mode,
        penalty_units,
        scoring.feature_mode,
        score_by,
        scale,
        settings.squared_scores,
    )
    callback = None
    if verbose:
        callback = progress_bar("solving slices", executor.n_slices * lams.size * etas.size)
    with explained_failure(), blas_threads_for(executor.n_slices):
        solved = executor.path(
            slice_solver,
            lams,
            etas,
            n_jobs=n_jobs,
            callback=callback,
            checkpoint=checkpoint,
            settings=depends_on,
        )
    scoring.warn_of_constant_rows()
    xp = namespace_of(solved.norms)
    cells = [(i, j) for i in range(lams.size) for j in range(etas.size)]
    scores = xp.stack([scoring.scores(solved.norms[(*cell, ...)]) for cell in cells])
    path = SelectionPath(
        lams=_like(scores, lams),
        etas=_like(scores, etas),
        scores=xp.reshape(scores, (lams.size, etas.size, *scores.shape[1:])),
        spread=scoring.feature_spread,
        names=_names_of_features(selector, scoring.feature_mode),
        tol=slice_solver.tol,
        **_per_slice(solved, orient),
    )
    _warn_of_open_cells(path, certified=slice_solver.name == "exact")
    return path


def _take_in(
    selector: STPCASelector, X: Any, weights: SampleWeights | None
) -> tuple[SliceExecutor, Orientation, bool]:
    """Return an executor for the slices, the orientation, and whether samples are many.

    They are many if there are more than features in a slice.
    """
    if not isinstance(X, Moments | GramTensor):
        selector._take_in(X, weights=weights)
        return _executor(selector)
    if weights is not None:
        raise ValueError(
            f"X is {type(X).__name__}, in which samples have their weights already; leave out "
            "sample_weight and groups"
        )
    given = selector.get_params(deep=False)
    defaults = {"orientation": 0, "basis": "identity", "feature_shape": None}
    for name, default in defaults.items():
        if not same_specification(given[name], default):
            raise ValueError(
                f"{name} must be left at {default!r} when X is {type(X).__name__}, whose "
                "orientation and basis are fixed"
            )
    if isinstance(X, Moments):
        selector._moments = X
        selector._learn_shape(X.orientation.feature_shape, X.names)
        return _executor(selector)
    check_gram(X)
    if selector.scale == "feature":
        raise ValueError(
            "scale='feature' needs the standard deviations of features, which a GramTensor does "
            "not have; pass samples or Moments, or scale=None"
        )
    shape = (X.size, X.n_slices)
    selector._learn_shape(shape)
    orientation = Orientation(shape, 0, make_transforms("identity", [X.n_slices]))
    # Thin factors have one column per sample. For dense matrices, assume many samples.
    many = X.array.shape[2] > X.size if X.thin else True
    return executor_for_gram(X), orientation, many


def _check_missing(selector: STPCASelector, moments: Moments) -> None:
    """Raise an error if too little was observed, and warn of what is hardly known."""
    if moments.missing is not None:
        moments.missing.check()
        moments.missing.warn(selector.names_)


def _names_of_features(selector: STPCASelector, mode: int | None) -> Names | None:
    names = selector.names_
    return names if names is None or mode is None else names.only([mode])


def _executor(selector: STPCASelector) -> tuple[SliceExecutor, Orientation, bool]:
    """Return an executor for the moments of a selector, and what `_take_in` does."""
    _check_missing(selector, selector._moments)
    moments = selector._moments = selector._moments_in_units()
    many = moments.widest < moments.sample_size
    return executor_for(moments, selector.scale), moments.orientation, many


def _like(scores: Any, penalties: NDArray[np.float64]) -> Any:
    """Return penalties as an array of the same library as the scores."""
    return moved_to(scores, penalties, scores.dtype) if is_device_array(scores) else penalties


def _per_slice(solved: PathSolution, orientation: Orientation) -> dict[str, Any]:
    """Return results per slice and cell, for all slices, by their names in `SelectionPath`."""
    xp = namespace_of(solved.objective)

    def expand(values: Any) -> Any:
        return xp.moveaxis(orientation.expand(xp.moveaxis(values, 2, 0)), 0, 2)

    names = {
        "objective": "objective",
        "dual_objective": "dual",
        "dual_gap": "dual_gap",
        "n_iter": "n_iter",
        "converged": "converged",
    }
    return {name: expand(getattr(solved, source)) for name, source in names.items()}


def _warn_of_open_cells(path: SelectionPath, *, certified: bool) -> None:
    def name(i: int, j: int, k: int) -> str:
        words = f"slice {k} at lam={float(path.lams[i]):g}, eta={float(path.etas[j]):g}"
        return f"{words} (gap {float(path.dual_gap[i, j, k]):.1e})" if certified else words

    total = f"{math.prod(path.converged.shape)} slices of all cells"
    warn_of_open_slices(path.converged, name, total)
