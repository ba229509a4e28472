"""What the selectors share whose optimisation knows how many features are wanted."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tensift._progress import progress_bar
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["CountedSelector"]


class CountedSelector(VectorisedSelector):
    """Base of selectors in which the number of features to select is part of the problem.

    Features that do not vary take no part in it. A subclass has the parameters ``init``,
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
        """The rows of `init` for the features that vary, if it is given and right."""
        if self.init is None:
            return None
        start = np.asarray(self.init)
        if start.dtype.kind not in "biuf" or not np.isfinite(start).all():
            raise ValueError("init must be finite real numbers, or None for a start of its own")
        if start.shape != (len(varying), width):
            raise ValueError(
                f"init has shape {start.shape}, but a row for each of the {len(varying)} elements "
                f"of a sample and {width} columns are needed; give {(len(varying), width)}, or None"
            )
        return start.astype(np.float64)[varying]

    def _progress(self, label: str) -> Callable[[int], None]:
        """What to call with the number of finished iterations."""
        return progress_bar(label, self.max_iter) if self.verbose else lambda _: None

    def _set_path(self, path: list[float]) -> None:
        """Store the objective after every iteration."""
        self.objective_path_ = np.array(path)
        self.objective_ = float(path[-1])
        self.n_iter_ = len(path)

    def _set_varying_scores(self, scores: NDArray, varying: NDArray, rows: NDArray) -> None:
        """Store and rank the scores of the columns that vary; the others get nothing."""
        full = np.zeros(len(varying))
        full[varying] = scores
        self._set_row_scores(full, rows)
