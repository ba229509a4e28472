"""STPCA-MP over a grid of penalties, from one look at the data."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import validate_parameter_constraints

from tensift._namespace import is_device_array, moved_to, namespace_of
from tensift._progress import progress_bar
from tensift._version import __version__
from tensift.algebra import make_transforms
from tensift.base import same_specification
from tensift.gram import GramTensor, Moments, Orientation
from tensift.selectors._path_checks import check_gram, checked_grid
from tensift.selectors._penalties import absolute_penalties, check_fractions
from tensift.selectors._selection_path import SelectionPath
from tensift.selectors._slice_solver import explained_failure, warn_of_open_gaps
from tensift.selectors._slices import Slices, slices_of, slices_of_gram
from tensift.selectors._stpca import STPCASelector
from tensift.solvers import PathSolution

__all__ = ["stpca_path"]

_GRID = {
    "absolute": (0.01, 0.1, 1.0, 10.0, 100.0),  # the paper's
    "relative": (0.001, 0.005, 0.02, 0.1, 0.5),
}


def stpca_path(
    X: ArrayLike | Moments | GramTensor,
    lams: ArrayLike | None = None,
    etas: ArrayLike | None = None,
    *,
    orientation: int = 0,
    transform: Any = "identity",
    penalty: str = "absolute",
    feature_mode: int | None = None,
    score: str = "operator",
    solver: str = "exact",
    scale: str | None = "max",
    feature_shape: tuple[int, ...] | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    convention: str = "program",
    stopping: str = "absolute",
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
) -> SelectionPath:
    """Score features by STPCA-MP at every pair of penalties.

    Equal to fitting `STPCASelector` at every cell, but the data are looked at once, every Gram
    matrix is decomposed once, and each solution starts from its neighbour's.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m) or (n, d), Moments, or GramTensor
        Samples; or moments of samples that came in chunks, which hold their orientation and
        transform; or Gram matrices ``(p, q, q)``, whose features have the shape ``(q, p)`` and are
        not scaled. All of them may be arrays of other libraries than NumPy, as in `STPCASelector`.
    lams, etas : array-like of float, optional
        The grid, in any order; by default the paper's, 0.01, 0.1, 1, 10 and 100, or, with
        ``penalty="relative"``, 0.001, 0.005, 0.02, 0.1 and 0.5.
    orientation, transform, feature_mode, score, scale, feature_shape, random_state, convention
        As in `STPCASelector`.
    penalty : {"absolute", "relative"}, default="absolute"
        Whether `lams` and `etas` are taken as they stand, or as fractions of their critical
        values, as in `STPCASelector`; the result has them as they stand in the problem.
    solver : {"exact", "paper"}, default="exact"
        "exact" is the optimum with its proof, "paper" the authors' iteration.
    tol, max_iter, stopping
        Of the solver, as in `STPCASelector`.
    n_jobs : int or None, default=None
        Threads over blocks of slices and `etas`. The result does not depend on it.
    checkpoint : path-like, optional
        A file that finished parts are written to every few seconds, at the end, and when the
        computation is interrupted. A call with the same data and parameters goes on from there,
        to the same numbers; a file of other data or parameters is refused. (So is one of sums
        that another number of BLAS threads has rounded otherwise.)
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
        selection="top",  # scores alone are wanted: no samples need be kept
        orientation=orientation,
        transform=transform,
        penalty=penalty,
        feature_mode=feature_mode,
        score=score,
        solver=solver,
        scale=scale,
        feature_shape=feature_shape,
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
        random_state=random_state,
        convention=convention,
        stopping=stopping,
        verbose=verbose,
    )
    parameters = selector.get_params(deep=False)
    validate_parameter_constraints(selector._parameter_constraints, parameters, "stpca_path")
    lams, etas = (
        checked_grid(name, _GRID[penalty] if values is None else values)
        for name, values in (("lams", lams), ("etas", etas))
    )
    check_fractions(penalty, {"lams": lams, "etas": etas})
    slices, orient, n_samples = _take_in(selector, X)
    lams, etas = absolute_penalties(penalty, lams, etas, slices)
    scoring = selector._scoring(orient, X if isinstance(X, GramTensor) else selector._moments)
    slice_solver = selector._slice_solver(slices, n_samples)
    settings = (__version__, slice_solver, orient.mode, penalty, scoring.feature_mode, score, scale)
    callback = None
    if verbose:
        callback = progress_bar("solving slices", slices.n_slices * lams.size * etas.size)
    with explained_failure():
        solved = slices.path(
            slice_solver,
            lams,
            etas,
            n_jobs=n_jobs,
            callback=callback,
            checkpoint=checkpoint,
            settings=(*settings, convention),
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
        **_per_slice(solved, orient),
    )
    if solver == "exact":
        _warn_of_missed_cells(path)
    return path


def _take_in(selector: STPCASelector, X: Any) -> tuple[Slices, Orientation, int]:
    """The slices of the data, its orientation and the number of samples."""
    if not isinstance(X, Moments | GramTensor):
        selector._take_in(X)
        moments = selector._moments
        return slices_of(moments, selector.scale), moments.orientation, moments.count
    given = selector.get_params(deep=False)
    defaults = {"orientation": 0, "transform": "identity", "feature_shape": None}
    for name, default in defaults.items():
        if not same_specification(given[name], default):
            raise ValueError(
                f"{name} must be left at {default!r} when X is {type(X).__name__}, which has been "
                "oriented and transformed already"
            )
    if isinstance(X, Moments):
        selector._moments = X
        selector.feature_shape_ = X.orientation.feature_shape
        return slices_of(X, selector.scale), X.orientation, X.count
    check_gram(X)
    shape = (X.size, X.n_slices)
    selector.feature_shape_ = shape
    orientation = Orientation(shape, 0, make_transforms("identity", [X.n_slices]))
    # Factors have a column for every sample; whole matrices are taken to come from many.
    n_samples = X.array.shape[2] if X.thin else X.size + 1
    return slices_of_gram(X), orientation, n_samples


def _like(scores: Any, penalties: NDArray[np.float64]) -> Any:
    """Penalties as an array of the kind of the scores."""
    return moved_to(scores, penalties, scores.dtype) if is_device_array(scores) else penalties


def _per_slice(solved: PathSolution, orientation: Orientation) -> dict[str, Any]:
    """What is known of every slice at every cell, for all slices and by its name in the result."""
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


def _warn_of_missed_cells(path: SelectionPath) -> None:
    warn_of_open_gaps(
        path.converged,
        lambda i, j, k: (
            f"slice {k} at lam={float(path.lams[i]):g}, eta={float(path.etas[j]):g} "
            f"(gap {float(path.dual_gap[i, j, k]):.1e})"
        ),
        f"{math.prod(path.converged.shape)} slices of all cells",
    )
