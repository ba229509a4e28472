"""Base class of selectors whose optimisation depends on the number of features to select."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.rivals._vectorised import VectorisedSelector

__all__ = ["CountedSelector"]


class CountedSelector(VectorisedSelector):
    """Base class of selectors whose objective contains the number of features to select.

    Constant features are left out of the optimisation. A subclass has the parameters ``init``,
    ``n_neighbors``, ``max_iter``, ``tol``, ``variant``, ``random_state`` and ``verbose``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "init": [None, "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "variant": [StrOptions({"intended", "released"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    init: ArrayLike | None
    max_iter: int
    verbose: bool | int

    def _given_start(self, varying: NDArray[np.bool_], width: int) -> NDArray[np.float64] | None:
        """Check `init`; return its rows for the features that vary, or None if it is None."""
        if self.init is None:
            return None
        start = np.asarray(self.init)
        if start.dtype.kind not in "biuf" or not np.isfinite(start).all():
            raise ValueError("init must hold finite real numbers; use None for the default start")
        if start.shape != (len(varying), width):
            raise ValueError(
                f"init has shape {start.shape}, but must have one row for each of the "
                f"{len(varying)} elements of a sample and {width} columns; pass an array of shape "
                f"{(len(varying), width)}, or None"
            )
        return start.astype(np.float64)[varying]

    def _progress(self, label: str) -> Callable[[int], None]:
        """Return a function to call with the number of finished iterations."""
        return progress_bar(label, self.max_iter) if self.verbose else lambda _: None

    def _set_path(self, path: list[float]) -> None:
        """Store the objective of every iteration."""
        self.objective_path_ = np.array(path)
        self.objective_ = float(path[-1])
        self.n_iter_ = len(path)

    def _set_varying_scores(self, scores: NDArray, varying: NDArray, rows: NDArray) -> None:
        """Store and rank the scores of the columns that vary; constant columns get zero."""
        full = np.zeros(len(varying))
        full[varying] = scores
        self._set_row_scores(full, rows)
