"""What the selectors share that see a sample as one long row."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from tensift._warnings import warn_user
from tensift.base import check_magnitude, thinned
from tensift.graphs import heat_kernel_graph
from tensift.selectors._base import TensorSelector

__all__ = ["VectorisedSelector"]

_SMALLEST = 1e-100  # of values whose squares can be held
_ROUNDING = 1e-13  # what values may vary by, as a share of the largest, and still be constant


class VectorisedSelector(TensorSelector):
    """Base of the selectors for real samples, which they get as rows.

    Most ignore which features are neighbours; tensor methods give the rows their shape again.
    A subclass scores the columns of rows in `_fit_rows`, and hands them to `_set_row_scores`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "scale": [StrOptions({"max"}), None],
    }

    scale: str | None
    n_neighbors: int  # of those that use a graph of neighbours
    width: float | None  # of its heat kernel

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Score the features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Real samples, without NaN or infinity.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit_rows(self._rows(X))
        return self

    @abstractmethod
    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        """Score the columns of `rows`, which are the features, and call `_set_row_scores`."""

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        """Samples as rows ``(n, d)``, row-major, after all checks and scaling."""
        samples = self._validate_samples(X, reset=True)
        if np.iscomplexobj(samples):
            raise ValueError(
                f"X is complex, and {type(self).__name__} is defined for real data; pass its "
                "modulus, or real and imaginary parts as features"
            )
        check_magnitude(samples)
        rows = samples.reshape(len(samples), -1).astype(np.float64)
        peak = float(np.abs(rows).max())
        if 0 < peak < _SMALLEST:
            raise ValueError(
                f"X has no value above {peak:.0e}, too small for sums of squares; use smaller units"
            )
        if not _spread(rows).any():
            raise ValueError("X is constant: no feature varies between samples, nothing to learn")
        if self.scale == "max":
            rows /= peak
        return rows

    def _at_most(self, name: str, value: int, limit: int, why: str) -> int:
        """A number reduced, with a warning, to the largest that the data allow."""
        if value > limit:
            warn_user(f"{name}={value} is more than {why}; {limit} is used")
        return min(value, limit)

    def _n_wanted(self, limit: int) -> int:
        """How many elements the wanted features have, at most `limit`."""
        if self.n_features_to_select == "auto":
            raise ValueError(
                "n_features_to_select='auto' is known after a fit, but must be a number for "
                f"{type(self).__name__}, whose scores depend on it"
            )
        mode = self._mode_of_features()
        total = self.n_features_in_ if mode is None else self.feature_shape_[mode]
        return min(self._n_selected(total) * (self.n_features_in_ // total), limit)

    def _varying(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which columns vary by more than rounding."""
        return _spread(rows) > 0

    def _n_neighbors(self, rows: NDArray) -> int:
        """`n_neighbors`, reduced to the number of other samples."""
        others = len(rows) - 1
        return self._at_most("n_neighbors", self.n_neighbors, others, f"the {others} other samples")

    def _heat_kernel_graph(self, rows: NDArray[np.float64]) -> csr_array:
        """The graph of the parameters `n_neighbors` and `width`."""
        graph = heat_kernel_graph(rows, self._n_neighbors(rows), width=self.width)
        if graph.sum() == 0:
            raise ValueError(
                f"width={self.width} is so small that the weights of all neighbours vanish; use a "
                "larger one, or None for one that fits the data"
            )
        return graph

    def _set_row_scores(self, scores: NDArray, rows: NDArray) -> None:
        """Store and rank the scores ``(d,)`` of the columns of `rows`, constant columns last."""
        spread = _spread(rows)
        scores = np.where(spread > 0, scores, min(0.0, float(scores.min())))
        shape = self.feature_shape_
        samples = rows.reshape(len(rows), *shape)
        self._set_scores(scores.reshape(shape), spread.reshape(shape), thinned(samples))


def _spread(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviation of every column, 0 for those that vary by rounding only."""
    spread = rows.std(axis=0)
    return np.where(spread > _ROUNDING * np.abs(rows).max(axis=0), spread, 0.0)
