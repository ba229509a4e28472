"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.computed_once import computed_once
from tensift._utils.namespace import device_of, is_device_array, namespace_of, to_numpy
from tensift.solvers._low_rank import LowRank
from tensift.solvers._problem import column_norms

__all__ = ["Solution"]


@dataclass(frozen=True)
class Solution:
    """Operators of a stack of slices, and how the solver reached them.

    Arrays are of the kind that the solver was given: NumPy's, or those of another library.

    Attributes
    ----------
    found : ndarray of shape (p, q, q), or LowRank
        Reconstruction operators, or their factors if slices have many more features than
        samples.
    objective_path : ndarray of shape (p, steps)
        The objective after every step; NaN after a slice's last one.
    converged : ndarray of bool, shape (p,)
        Whether the stopping rule was met before the steps ran out.
    dual : ndarray of shape (p,) or None
        A proven lower bound of the objective of every slice; None if the solver proves none.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers import Solution
    >>> path = np.array([[5.0, 3.0, np.nan], [4.0, 3.5, 3.4]])
    >>> solution = Solution(np.zeros((2, 1, 1)), path, converged=np.array([True, False]))
    >>> solution.n_iter, solution.objective
    (array([2, 3]), array([3. , 3.4]))
    """

    found: NDArray | LowRank
    objective_path: NDArray[np.float64]
    converged: NDArray[np.bool_]
    dual: NDArray[np.float64] | None = None

    @computed_once
    def operators(self) -> NDArray:
        """Reconstruction operators, ``(p, q, q)``; computed from factors when first read."""
        return self.found.dense() if isinstance(self.found, LowRank) else self.found

    @computed_once
    def norms(self) -> NDArray[np.float64]:
        """Euclidean norms of the operators' columns, ``(p, q)``."""
        found = self.found
        return found.column_norms() if isinstance(found, LowRank) else column_norms(found)

    @property
    def n_iter(self) -> NDArray[np.intp]:
        """The number of steps of every slice."""
        if is_device_array(self.objective_path):
            xp = namespace_of(self.objective_path)
            integers = xp.arange(1).dtype  # the default: not all libraries have 64-bit integers
            return xp.sum(xp.astype(~xp.isnan(self.objective_path), integers), axis=1)
        return np.count_nonzero(~np.isnan(self.objective_path), axis=1)

    @property
    def objective(self) -> NDArray[np.float64]:
        """The objective of every slice at the end."""
        if is_device_array(self.objective_path):
            path = self.objective_path
            xp = namespace_of(path)
            steps = xp.arange(path.shape[1], device=device_of(path))
            last = steps == self.n_iter[:, None] - 1
            return xp.sum(xp.where(last, path, xp.zeros_like(path)), axis=1)
        return self.objective_path[np.arange(len(self.objective_path)), self.n_iter - 1]

    @property
    def dual_gap(self) -> NDArray[np.float64] | None:
        """The gap between objective and bound of every slice, as a share of the objective."""
        if self.dual is None:
            return None
        xp = namespace_of(self.dual)
        tiny = float(xp.finfo(self.dual.dtype).smallest_normal)
        return (self.objective - self.dual) / xp.clip(xp.abs(self.objective), min=tiny)

    def to_numpy(self) -> Solution:
        """The same with NumPy arrays, copied from the device that they are on."""
        if isinstance(self.found, LowRank):
            return self
        return Solution(
            to_numpy(self.found),
            to_numpy(self.objective_path),
            to_numpy(self.converged),
            to_numpy(self.dual),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Solution], found: NDArray | None = None) -> Solution:
        """Solutions of consecutive slices as one; `found` are the operators, if joined already."""
        steps = max(part.objective_path.shape[1] for part in parts)
        return cls(
            found=_joined([part.found for part in parts]) if found is None else found,
            objective_path=_concat([_lengthened(part.objective_path, steps) for part in parts]),
            converged=_concat([part.converged for part in parts]),
            dual=None if parts[0].dual is None else _concat([part.dual for part in parts]),
        )


def _joined(parts: Sequence[NDArray | LowRank]) -> NDArray | LowRank:
    factors = [part for part in parts if isinstance(part, LowRank)]
    if len(factors) == len(parts):
        return LowRank.concatenate(factors)
    return _concat([part.dense() if isinstance(part, LowRank) else part for part in parts])


def _lengthened(path: Any, steps: int) -> Any:
    """Objective paths, padded with NaN at the end."""
    xp = namespace_of(path)
    shape = (path.shape[0], steps - path.shape[1])
    rest = xp.full(shape, float("nan"), dtype=path.dtype, device=device_of(path))
    return xp.concat([path, rest], axis=1)


def _concat(arrays: Sequence[Any]) -> Any:
    return namespace_of(*arrays).concat(list(arrays))
