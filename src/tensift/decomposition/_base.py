"""Base class of the decompositions: from encoders and decoders to coordinates and scores."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import refuse_device_array
from tensift._utils.sklearn_compat import output_is_frame
from tensift._utils.stacks import adjoint, squared_modulus
from tensift.decomposition._coordinates import Coordinates
from tensift.decomposition._gaps import GapFiller
from tensift.labels import labelled_dataset, unlabelled
from tensift.moments import (
    Moments,
    OrientedEstimator,
    check_finite,
    checked_chunk,
    is_missing,
    lazy_source,
    usable_scale,
)
from tensift.selection import rank_features
from tensift.stpca import Scoring

__all__ = ["TensorDecomposition", "energy_of_rounding"]


class TensorDecomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OrientedEstimator):
    """Base class of the decompositions. A subclass finds encoders and decoders; this one uses them.

    The `_solve` method of a subclass calls `_set_components` at its end.
    """

    def _set_components(self, coordinates: Coordinates) -> None:
        """Store all results that follow from the encoders and decoders of the kept slices."""
        moments, orientation = self._moments, self._moments.orientation
        unused = ~coordinates.chosen[:, None, :]
        self._coordinates = coordinates
        self.mean_ = moments.mean
        self.encoder_ = orientation.expand(np.where(unused, 0, coordinates.encoder))
        self.decoder_ = orientation.expand(np.where(unused, 0, coordinates.decoder))
        self.n_components_ = self._n_features_out = coordinates.count
        self.component_slices_ = coordinates.slices
        self.component_numbers_ = coordinates.numbers
        self.explained_variance_ = coordinates.explained / moments.degrees_of_freedom
        total = orientation.multiplicity @ moments.gram().trace()
        total /= orientation.unitary_factor or 1.0
        self.explained_variance_ratio_ = coordinates.explained / total
        weights = squared_modulus(self.encoder_).sum(axis=2)
        self.scores_ = _round_to_ties(np.sqrt(orientation.spread_over_features(weights)))
        self.order_ = rank_features(self.scores_, Scoring.spread_of(moments))

    def __getattr__(self, name: str) -> Any:
        # Not properties, because code that lists all attributes would compute them.
        if name == "components_" and "_coordinates" in vars(self):
            return self._in_fitted_shape(self._coordinates.decode(np.eye(self.n_components_)))
        if name == "weights_" and "_coordinates" in vars(self):
            return self._in_fitted_shape(self._coordinates.weights())
        return super().__getattr__(name)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the coordinates of samples in the components.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples.

        Returns
        -------
        ndarray of shape ``(n, n_components_)``
            Real for real samples, unless a basis is complex and lacks the symmetry of the DFT. For
            a Dask array, a Dask array that is not computed yet. For a DataArray of xarray, a
            DataArray.
        """
        self._check_solved()
        found = self._unlabelled(X, fitted=True, every=True)
        values = self._coordinates_of(found)
        if found.form is None or output_is_frame(self):
            return values
        return found.form.coordinates(values, "component")

    def _coordinates_of(self, X: Any) -> Any:
        """Return the coordinates of samples as an array."""
        source = lazy_source(self, X)
        if source is None:
            samples = self._more_samples(X)
            if is_missing(samples).any():
                samples = self._gap_filler().filled(samples)
            return self._encode(samples)
        self._check_source(source)
        return source.map(
            partial(
                encoded_chunk,
                coordinates=self._coordinates,
                mean=self.mean_,
                units=self._coordinate_scale(),
                gaps=self._gap_filler() if self._allows_missing else None,
            )
        )

    def _gap_filler(self) -> GapFiller:
        components = self._coordinates.decode(np.eye(self.n_components_))
        total = float(np.sum(self._moments.spread() ** 2))
        return GapFiller(
            components.reshape(self.n_components_, -1),
            self.explained_variance_,
            total,
            self.mean_,
        )

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Reconstruct samples from their coordinates.

        Parameters
        ----------
        X : array-like of shape ``(n, n_components_)``
            Coordinates.

        Returns
        -------
        ndarray of shape (n, d_1, ..., d_m), or (n, d) if fitted on rows
            NaN for elements that were never observed.
        """
        self._check_solved()
        found = unlabelled(X)
        whole = self._samples_of(found.samples)
        if found.form is None:
            return whole
        shaped = whole.reshape(len(whole), *self.feature_shape_)
        return found.form.restored(shaped, self._names_or_numbers())

    def _samples_of(self, X: Any) -> NDArray:
        """Reconstruct samples from coordinates without names."""
        refuse_device_array(X, type(self).__name__)
        coordinates = check_finite(X)
        if coordinates.shape[1:] != (self.n_components_,):
            raise ValueError(
                f"X has shape {coordinates.shape}, but coordinates have shape "
                f"(n, {self.n_components_}); pass what transform returns"
            )
        if np.iscomplexobj(coordinates) and self._moments.orientation.stays_real:
            raise ValueError("X is complex, but transform returns real coordinates; pass real ones")
        samples = self._coordinates.decode(coordinates * self._coordinate_scale()) + self.mean_
        missing = vars(self).get("missing_")
        if missing is not None and missing.n_never:
            samples[:, missing.never] = np.nan
        scales = None if self.names_ is None else self.names_.scales
        return self._in_fitted_shape(samples if scales is None else samples * scales)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the share of the energy of centred samples that is reconstructed.

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
        self._check_solved()
        kept = self._moments.orientation.kept_slices
        operators = self.decoder_[kept] @ adjoint(self.encoder_[kept])
        return self._share_reconstructed(X, operators)

    def to_xarray(self) -> Any:
        """Return components, mean and scores as a Dataset of xarray, with the names of the modes.

        Returns
        -------
        xarray.Dataset
            ``components`` has the dimension ``component`` and those of a sample, as has
            ``explained_variance`` and ``explained_variance_ratio`` the first.

        Examples
        --------
        >>> from tensift import TensorPCA
        >>> from tensift.datasets import load_digits
        >>> pca = TensorPCA(n_components=2, truncation="global").fit(load_digits())
        >>> dict(pca.to_xarray().components.sizes)
        {'component': 2, 'row': 8, 'column': 8}
        """
        self._check_solved()
        names = self._names_or_numbers()
        whole, along = names.dims, ("component",)
        values = {
            "components": (
                (*along, *whole),
                self.components_.reshape(self.n_components_, *names.shape),
            ),
            "mean": (whole, self.mean_),
            "score": (whole, self.scores_),
            "explained_variance": (along, self.explained_variance_),
            "explained_variance_ratio": (along, self.explained_variance_ratio_),
        }
        return labelled_dataset(values, names, {"estimator": type(self).__name__})

    def _check_solved(self) -> None:
        """Raise an error that says what to do if there are no results yet."""
        check_is_fitted(self)
        if "_coordinates" not in vars(self):
            usable_scale(self._moments)  # raises if there are too few samples for results
            raise NotFittedError(
                f"{type(self).__name__} has no results yet for the samples it has seen; "
                "call solve() first"
            )

    def _encode(self, samples: NDArray) -> NDArray:
        return _encoded(samples, self._coordinates, self.mean_, self._coordinate_scale())

    def _coordinate_scale(self) -> NDArray | float:
        """Return what coordinates are divided by."""
        return 1.0

    def _in_fitted_shape(self, samples: NDArray) -> NDArray:
        """Return samples in the shape that samples had in `fit`."""
        return samples.reshape(len(samples), -1) if self._rows_in else samples


def encoded_chunk(
    chunk: NDArray,
    coordinates: Coordinates,
    mean: NDArray,
    units: NDArray | float,
    gaps: GapFiller | None,
) -> NDArray:
    """Check a chunk of samples; return their coordinates."""
    samples = checked_chunk(chunk, mean.shape, missing=gaps is not None)
    return _encoded(samples if gaps is None else gaps.filled(samples), coordinates, mean, units)


def _encoded(
    samples: NDArray, coordinates: Coordinates, mean: NDArray, units: NDArray | float
) -> NDArray:
    encoded = coordinates.encode(samples, mean)
    encoded /= units
    return encoded


def energy_of_rounding(moments: Moments) -> float:
    """Return the energy that rounding errors alone can cause in a slice."""
    orientation = moments.orientation
    gain = orientation.unitary_factor
    if gain is None:
        gain = math.prod(float(t.energy.sum(axis=1).max()) for t in orientation.transforms)
    return gain * moments.total * orientation.size * (1e-14 * moments.peak) ** 2


def _round_to_ties(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make scores equal that differ only by rounding errors."""
    step = 1e-10 * scores.max()
    return np.round(scores / step) * step if step > 0 else scores
