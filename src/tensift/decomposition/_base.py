"""What the decompositions share: coordinates of samples, and what is made of the components."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from tensift._namespace import refuse_device_array
from tensift._stacks import adjoint, squared_modulus
from tensift.base import OrientedEstimator, ParameterAndMethod, check_finite
from tensift.base._intake import checked_chunk
from tensift.base._lazy import lazy_source
from tensift.decomposition._coordinates import Coordinates
from tensift.gram import Moments
from tensift.selectors import rank_features
from tensift.selectors._scoring import Scoring

__all__ = ["TensorDecomposition", "energy_of_rounding"]


class TensorDecomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OrientedEstimator):
    """Base of the decompositions: a subclass finds encoders and decoders, this class uses them.

    A subclass calls `_set_components` at the end of its `_solve`.
    """

    _results: ClassVar[tuple[str, ...]] = (
        "mean_",
        "encoder_",
        "decoder_",
        "explained_variance_",
        "explained_variance_ratio_",
        "component_slices_",
        "component_numbers_",
        "n_components_",
        "_n_features_out",
        "scores_",
        "ranking_",
        "_coordinates",
    )

    def _set_components(self, coordinates: Coordinates) -> None:
        """Store everything that follows from encoders and decoders of the kept slices."""
        moments, orientation = self._moments, self._moments.orientation
        unused = ~coordinates.chosen[:, None, :]
        self._coordinates = coordinates
        self.mean_ = moments.mean
        self.encoder_ = orientation.expand(np.where(unused, 0, coordinates.encoder))
        self.decoder_ = orientation.expand(np.where(unused, 0, coordinates.decoder))
        self.n_components_ = self._n_features_out = coordinates.count
        self.component_slices_ = coordinates.slices
        self.component_numbers_ = coordinates.numbers
        self.explained_variance_ = coordinates.explained / (moments.count - 1)
        total = orientation.multiplicity @ moments.gram().trace()
        total /= orientation.unitary_factor or 1.0
        self.explained_variance_ratio_ = coordinates.explained / total
        weights = squared_modulus(self.encoder_).sum(axis=2)
        self.scores_ = _without_rounding(np.sqrt(orientation.spread_over_features(weights)))
        self.ranking_ = rank_features(self.scores_, Scoring.spread_of(moments))

    def __getattr__(self, name: str) -> Any:
        # Not properties: whoever lists the attributes of an estimator would compute them.
        if name == "components_" and "_moments" in vars(self):
            return self._as_given(self._coordinates.decode(np.eye(self.n_components_)))
        if name == "weights_" and "_moments" in vars(self):
            return self._as_given(self._coordinates.weights())
        return super().__getattr__(name)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: ArrayLike, y: Any = None) -> NDArray:
        """Learn from all of `X`, and give its coordinates.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, without NaN or infinity. Tensors may be complex.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape ``(n, n_components_)``
        """
        samples = self._fit(X)
        return self.transform(X) if samples is None else self._encode(samples)

    def transform(self, X: ArrayLike) -> NDArray:
        """Coordinates of samples in the components.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples.

        Returns
        -------
        ndarray of shape ``(n, n_components_)``
            Real for real samples, unless a transform is complex without the symmetry of the DFT.
            For a Dask array a Dask array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        source = lazy_source(self, X)
        if source is None:
            return self._encode(self._more_samples(X))
        self._check_source(source)
        return source.map(
            partial(
                encoded_chunk, coordinates=self._coordinates, mean=self.mean_, units=self._units()
            )
        )

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Samples from their coordinates: the reconstruction of what `transform` was given.

        Parameters
        ----------
        X : array-like of shape ``(n, n_components_)``
            Coordinates.

        Returns
        -------
        ndarray of shape (n, d_1, ..., d_m), or (n, d) if fitted on rows
        """
        check_is_fitted(self)
        refuse_device_array(X, type(self).__name__)
        coordinates = check_finite(X)
        if coordinates.shape[1:] != (self.n_components_,):
            raise ValueError(
                f"X has shape {coordinates.shape}, but transform returns (n, {self.n_components_})"
            )
        if np.iscomplexobj(coordinates) and self._moments.orientation.stays_real:
            raise ValueError("X is complex, but transform returns real coordinates; pass these")
        return self._as_given(self._coordinates.decode(coordinates * self._units()) + self.mean_)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Share of the energy of centred samples that is reconstructed.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, usually held out.
        y : None
            Ignored.

        Returns
        -------
        float
            ``1 - sum ||X_j - U_j Q_j^H X_j||^2 / sum ||X_j||^2`` over the slices, at most 1.
        """
        check_is_fitted(self)
        kept = self._moments.orientation.kept_slices
        operators = self.decoder_[kept] @ adjoint(self.encoder_[kept])
        return self._share_reconstructed(X, operators)

    def _encode(self, samples: NDArray) -> NDArray:
        return _encoded(samples, self._coordinates, self.mean_, self._units())

    def _units(self) -> NDArray | float:
        """What coordinates are measured in."""
        return 1.0

    def _as_given(self, samples: NDArray) -> NDArray:
        """Samples in the shape that samples had in `fit`."""
        return samples.reshape(len(samples), -1) if self._rows_in else samples


def encoded_chunk(
    chunk: NDArray, coordinates: Coordinates, mean: NDArray, units: NDArray | float
) -> NDArray:
    """Coordinates of a chunk of samples."""
    return _encoded(checked_chunk(chunk, mean.shape), coordinates, mean, units)


def _encoded(
    samples: NDArray, coordinates: Coordinates, mean: NDArray, units: NDArray | float
) -> NDArray:
    encoded = coordinates.encode(samples, mean)
    encoded /= units
    return encoded


def energy_of_rounding(moments: Moments) -> float:
    """The energy that features of the samples' size can have in a slice by rounding alone."""
    orientation = moments.orientation
    gain = orientation.unitary_factor
    if gain is None:
        gain = math.prod(float(t.energy.sum(axis=1).max()) for t in orientation.transforms)
    return gain * moments.count * orientation.size * (1e-14 * moments.peak) ** 2


def _without_rounding(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores that differ by rounding errors alone, made equal."""
    step = 1e-10 * scores.max()
    return np.round(scores / step) * step if step > 0 else scores


# After the class is made: scikit-learn wraps the methods it finds while making it.
TensorDecomposition.transform = ParameterAndMethod(  # type: ignore[method-assign, assignment]
    "transform", TensorDecomposition.transform
)
