"""The result of `stpca_path`: scores at every pair of penalties, and orders of features."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tensift._utils.namespace import is_device_array, namespace_of, to_numpy
from tensift._utils.npz import read_npz, write_npz
from tensift.labels import (
    Names,
    arrays_of_names,
    labelled_dataset,
    names_of_arrays,
    names_or_numbers,
)
from tensift.selection import rank_features

__all__ = ["SelectionPath"]

_FORMAT = "tensift selection path 3"
_UNNAMED = "tensift selection path 1"  # without names
_WITHOUT_TOL = (_UNNAMED, "tensift selection path 2")


@dataclass(frozen=True, repr=False, eq=False)
class SelectionPath:
    """Scores of features at every pair of penalties, as `stpca_path` returns them.

    Arrays have the library and the device of the input.

    Attributes
    ----------
    lams, etas : ndarray of shape (n_lams,) and (n_etas,)
        The penalties of the problem, in the order in which they were given.
    scores : ndarray of shape (n_lams, n_etas, d_1, ..., d_m), or (n_lams, n_etas, d_k)
        The score map of every cell.
    spread : ndarray of shape (d_1, ..., d_m), or (d_k,)
        Standard deviation of every feature (for a mode feature the sum over its elements).
    objective : ndarray of shape (n_lams, n_etas, p)
        The objective that each slice ended with.
    dual_objective, dual_gap : ndarray of shape (n_lams, n_etas, p)
        A lower bound for the objective of every slice, and how far above it the objective is, as
        a share of the objective. NaN for ``solver="paper"``, which has no such bound.
    n_iter : ndarray of int, shape (n_lams, n_etas, p)
        The number of steps of the solver.
    converged : ndarray of bool, shape (n_lams, n_etas, p)
        Whether the solver reached its tolerance within `max_iter` steps.
    names : Names or None
        The names of the features, if the samples have names.
    tol : float or None
        The tolerance of the solver: with the exact solver, the largest duality gap of a slice
        that is done. None if it is not known.

    Examples
    --------
    >>> from tensift import stpca_path
    >>> from tensift.datasets import load_digits
    >>> path = stpca_path(load_digits().data, lams=[10, 100], etas=[1, 10, 100])
    >>> path
    SelectionPath(2 lams from 10 to 100, 3 etas from 1 to 100, features of shape (8, 8))
    >>> path.scores.shape
    (2, 3, 8, 8)
    >>> path.ranking(0, 1)[:3]  # at lam = 10, eta = 10
    array([61, 35, 60])
    """

    lams: Any
    etas: Any
    scores: Any
    spread: Any
    objective: Any
    dual_objective: Any
    dual_gap: Any
    n_iter: Any
    converged: Any
    names: Names | None = None
    tol: float | None = None

    def ranking(self, i: int, j: int) -> Any:
        """Order the features at ``lams[i]`` and ``etas[j]``.

        Features of equal score, such as those with score zero in a sparse solution, are ordered by
        when they enter as penalties decrease: by their scores at the next smaller `lam` and `eta`,
        then at the next smaller ones, and so on. Features that are equal everywhere are ordered
        by standard deviation, then by index.

        Parameters
        ----------
        i, j : int
            The cell.

        Returns
        -------
        ndarray of int
            Flat row-major feature indices, best first.
        """
        down = [
            self.scores[lam, eta, ...]
            for lam, eta in zip(
                *_both_down(_downwards(self.lams, i, "i"), _downwards(self.etas, j, "j")),
                strict=True,
            )
        ]
        return rank_features(down[0], [*down[1:], self.spread])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a ``.npz`` file. The file is never left half-written.

        Arrays on a device are converted by `to_numpy`.

        Parameters
        ----------
        path : path-like
            The file; an existing one is replaced.
        """
        names = {} if self.names is None else arrays_of_names(self.names)
        listed = np.array(list(names), dtype=str)
        tol = np.array(np.nan if self.tol is None else self.tol)
        parts = {"format": np.array(_FORMAT), "tol": tol, "of_names": listed}
        parts |= self.to_numpy()._arrays()
        write_npz(path, parts | names)

    def to_xarray(self) -> Any:
        """Return the path as a Dataset of xarray, with the names and coordinates of features.

        Returns
        -------
        xarray.Dataset
            ``score`` along ``lam``, ``eta`` and the dimensions of the features; ``objective``,
            ``dual_objective``, ``dual_gap``, ``n_iter`` and ``converged`` along ``lam``, ``eta``
            and ``slice``; ``spread`` of every feature; the attribute ``tol``.

        Examples
        --------
        >>> from tensift import stpca_path
        >>> from tensift.datasets import load_digits
        >>> path = stpca_path(load_digits(), lams=[10, 100], etas=[1, 10]).to_xarray()
        >>> path.score.sel(lam=10, eta=1).dims
        ('row', 'column')
        """
        own = self.to_numpy()
        names = names_or_numbers(self.names, tuple(own.spread.shape))
        cells = ("lam", "eta")
        values: dict[str, Any] = {
            "score": ((*cells, *names.dims), own.scores),
            "spread": (names.dims, own.spread),
        }
        for name in ("objective", "dual_objective", "dual_gap", "n_iter", "converged"):
            values[name] = ((*cells, "slice"), getattr(own, name))
        found = labelled_dataset(values, names, {} if self.tol is None else {"tol": self.tol})
        return found.assign_coords(lam=own.lams, eta=own.etas)

    def to_numpy(self) -> SelectionPath:
        """Return the same path with NumPy arrays, copied from their device.

        Returns
        -------
        SelectionPath
            This object itself if its arrays are NumPy arrays.
        """
        if not is_device_array(self.scores):
            return self
        on_host: dict[str, Any] = {name: to_numpy(array) for name, array in self._arrays().items()}
        return SelectionPath(**on_host, names=self.names, tol=self.tol)

    def _arrays(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("names", "tol")}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SelectionPath:
        """Read a file that `save` wrote. No code in it is executed.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        SelectionPath
        """
        (found,) = read_npz(path, ["format"]).values()
        if (
            found.shape != ()
            or found.dtype.kind != "U"
            or str(found)
            not in (
                _FORMAT,
                *_WITHOUT_TOL,
            )
        ):
            raise ValueError(f"{path} is not a selection path that this version can read")
        listed = [field.name for field in fields(cls) if field.name not in ("names", "tol")]
        arrays: dict[str, Any] = dict(read_npz(path, listed))
        loaded = cls(**arrays)
        if wrong := loaded._misfit():
            raise ValueError(
                f"{path} is not a selection path: {wrong} does not fit the other arrays"
            )
        if str(found) not in _WITHOUT_TOL:
            loaded = replace(loaded, tol=_read_tol(path))
        return loaded if str(found) == _UNNAMED else replace(loaded, names=loaded._read_names(path))

    def _read_names(self, path: str | os.PathLike[str]) -> Names | None:
        """Return the names in a file, which must fit the features of this path."""
        (listed,) = read_npz(path, ["of_names"]).values()
        if listed.ndim != 1 or listed.dtype.kind != "U":
            raise ValueError(f"{path} is not a selection path: of_names is not a list of names")
        if not listed.size:
            return None
        try:
            return names_of_arrays(tuple(self.spread.shape), read_npz(path, listed.tolist()))
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is not a selection path: {error}") from None

    def _misfit(self) -> str | None:
        """Return the name of an array of the wrong dtype or shape, if there is one."""
        kinds = {"n_iter": "i", "converged": "b"}
        cells = (self.lams.size, self.etas.size)
        per_slice = (*cells, *self.objective.shape[2:3])
        shapes = {
            "lams": cells[:1],
            "etas": cells[1:],
            "scores": (*cells, *self.spread.shape),
            "spread": self.spread.shape,
        }
        for name, array in self._arrays().items():
            if array.shape != shapes.get(name, per_slice) or array.dtype.kind != kinds.get(
                name, "f"
            ):
                return name
        return None

    def __repr__(self) -> str:
        xp = namespace_of(self.converged)
        missed = int(xp.sum(xp.astype(~self.converged, xp.int32)))
        parts = [
            _described(self.lams, "lam"),
            _described(self.etas, "eta"),
            f"features of shape {tuple(self.spread.shape)}",
        ]
        if missed:
            parts.append(f"{missed} of {math.prod(self.converged.shape)} slices over tol")
        return f"SelectionPath({', '.join(parts)})"


def _read_tol(path: str | os.PathLike[str]) -> float | None:
    (tol,) = read_npz(path, ["tol"]).values()
    if tol.shape != () or tol.dtype.kind != "f":
        raise ValueError(f"{path} is not a selection path: tol is not a number")
    return None if np.isnan(tol) else float(tol)


def _downwards(penalties: Any, index: int, name: str) -> list[int]:
    """Return the indices of all values from the given one down to the smallest."""
    values = [float(penalties[k]) for k in range(penalties.shape[0])]
    if not -len(values) <= index < len(values):
        raise IndexError(
            f"{name}={index} is outside the grid, which has {len(values)} values there"
        )
    index = range(len(values))[index]
    order = np.argsort(values).tolist()
    return order[order.index(index) :: -1]


def _both_down(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Pair two descending lists of indices; the shorter one repeats its last index."""
    steps = max(len(one), len(other))
    return tuple(way + way[-1:] * (steps - len(way)) for way in (one, other))  # type: ignore[return-value]


def _described(penalties: Any, name: str) -> str:
    values = [float(penalties[k]) for k in range(penalties.shape[0])]
    if len(values) == 1:
        return f"{name} {values[0]:g}"
    return f"{len(values)} {name}s from {min(values):g} to {max(values):g}"
