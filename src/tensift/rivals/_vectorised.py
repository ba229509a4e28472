"""Base class of selectors that flatten each sample to one row."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tensift._utils.sklearn_compat import StrOptions, fit_context
from tensift._utils.warnings import warn_user
from tensift.graphs import heat_kernel_graph
from tensift.labels import groups_of
from tensift.moments import check_magnitude
from tensift.rivals._spread import spread_of_columns
from tensift.selection import TensorSelector
from tensift.sources import SampleWeights, kept_samples

__all__ = ["VectorisedSelector", "WeighedSelector"]

_SMALLEST = 1e-100  # squares of smaller values underflow


class VectorisedSelector(TensorSelector):
    """Base class of selectors that take real samples as rows.

    Most of them ignore the shape of a sample; tensor methods restore it. A subclass implements
    `_fit_rows`, which scores the columns and passes the scores to `_set_row_scores`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "scale": [StrOptions({"max"}), None],
    }

    scale: str | None
    n_neighbors: int  # only of selectors with a neighbour graph
    width: float | None  # of the heat kernel of that graph

    @fit_context
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
        self._fit_checked(self._rows(X))
        return self

    def _fit_checked(self, rows: NDArray[np.float64], **more: Any) -> None:
        try:
            self._fit_rows(rows, **more)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"X leads {type(self).__name__} to a matrix that cannot be inverted, because some "
                "features or samples depend on one another to working precision; use scale='max', "
                "or remove copies"
            ) from error

    @abstractmethod
    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        """Score the columns of `rows`, which are the features, and call `_set_row_scores`."""

    def _rows(self, X: ArrayLike, weights: SampleWeights | None = None) -> NDArray[np.float64]:
        """Check and scale the samples; return them as rows ``(n, d)`` in row-major order.

        Samples of weight zero are left out.
        """
        samples = self._validate_samples(X, reset=True, weights=weights)
        if np.iscomplexobj(samples):
            raise ValueError(
                f"X is complex, and {type(self).__name__} is defined for real data; pass its "
                "modulus, or its real and imaginary parts as separate features"
            )
        check_magnitude(samples)
        rows = samples.reshape(len(samples), -1).astype(np.float64)
        peak = float(np.abs(rows).max())
        if 0 < peak < _SMALLEST:
            raise ValueError(
                f"X has no value above {peak:.0e}, too small for sums of squares; use smaller units"
            )
        if not spread_of_columns(rows).any():
            raise ValueError("X is constant: no feature varies between samples, nothing to learn")
        if self.scale == "max":
            rows /= peak
        return rows

    def _at_most(self, name: str, value: int, limit: int, why: str) -> int:
        """Return `value`, or `limit` with a warning if `value` is larger than the data allow."""
        if value > limit:
            warn_user(f"{name}={value} is more than {why}; {limit} is used")
        return int(min(value, limit))

    def _n_wanted(self, limit: int) -> int:
        """Return how many elements the features to select have together, at most `limit`."""
        if self.n_features_to_select == "auto":
            raise ValueError(
                "n_features_to_select='auto' is resolved after the fit, but must be a number for "
                f"{type(self).__name__}, because its scores depend on it; pass an int or a share"
            )
        mode = self._mode_of_features()
        total = self.n_features_in_ if mode is None else self.feature_shape_[mode]
        return min(self._count(total, None) * (self.n_features_in_ // total), limit)

    def _varying(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the mask of the columns that vary by more than rounding errors."""
        return spread_of_columns(rows) > 0

    def _n_neighbors(self, rows: NDArray) -> int:
        """Return `n_neighbors`, at most the number of other samples."""
        others = len(rows) - 1
        return self._at_most("n_neighbors", self.n_neighbors, others, f"the {others} other samples")

    def _heat_kernel_graph(self, rows: NDArray[np.float64]) -> csr_array:
        """Build the neighbour graph from the parameters `n_neighbors` and `width`."""
        graph = heat_kernel_graph(rows, self._n_neighbors(rows), width=self.width)
        if graph.sum() == 0:
            raise ValueError(
                f"width={self.width} is so small that the weights of all neighbours vanish; use a "
                "larger width, or None to derive it from the data"
            )
        return graph

    def _set_row_scores(
        self, scores: NDArray, rows: NDArray, weights: SampleWeights | None = None
    ) -> None:
        """Store and rank the scores ``(d,)`` of the columns of `rows`, constant columns last."""
        spread = spread_of_columns(rows, weights)
        scores = np.where(spread > 0, scores, min(0.0, float(scores.min())))
        shape = self.feature_shape_
        samples = rows.reshape(len(rows), *shape)
        kept = kept_samples(samples, weights)
        self._set_scores(scores.reshape(shape), spread.reshape(shape), kept)


class WeighedSelector(VectorisedSelector):
    """Base class of those that see rows only through their scatter, so that rows can have weights.

    `_fit_rows` takes the weights, too.
    """

    @fit_context
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score the features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Real samples, without NaN or infinity.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts: 3 like three copies of it, 0 like its absence.
        groups : array-like of shape (n,), optional
            The group of each sample. All groups then count equally.

        Returns
        -------
        self
        """
        weights = SampleWeights.of(sample_weight, groups_of(X, groups))
        rows = self._rows(X, weights)
        self._fit_checked(rows, weights=None if weights is None else weights.used)
        return self

    @abstractmethod
    def _fit_rows(self, rows: NDArray[np.float64], weights: SampleWeights | None = None) -> None:
        """Score the columns of `rows`, which are the features, and call `_set_row_scores`."""
