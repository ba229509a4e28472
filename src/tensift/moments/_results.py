"""Results that are computed from moments: when there are some, and how well they fit samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift.moments._chunk_measures import add_all, energies_of, energies_of_chunk
from tensift.moments._device_moments import energies
from tensift.moments._missing import is_missing
from tensift.moments._moments import Moments
from tensift.moments._samples import TensorEstimator
from tensift.sources import SampleWeights, Source

__all__ = ["ResultsOfMoments"]

# Attributes that describe the samples; all others that end in "_" are results.
_OF_SAMPLES = {
    "feature_shape_",
    "feature_names_in_",
    "n_features_in_",
    "n_samples_seen_",
    "names_",
    "orientation_",
}


class ResultsOfMoments(TensorEstimator):
    """An estimator whose results are computed from moments, perhaps later than these."""

    _moments: Moments

    @abstractmethod
    def _more_samples(self, X: Any, weights: SampleWeights | None = None) -> NDArray:
        """Check that more samples have the shape and kind of the fitted ones."""

    @abstractmethod
    def _check_source(self, source: Source) -> None:
        """Raise an error if samples have another shape or kind than the fitted ones."""

    def _forget_results(self) -> None:
        for name in list(vars(self)):
            is_result = name.endswith("_") and name not in _OF_SAMPLES
            if is_result or name in ("_solution", "_coordinates", "_n_features_out"):
                del self.__dict__[name]

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:
            own.fget(self)  # raises the error of the property again, which says more
        if "_moments" in vars(self) and name.endswith("_") and not name.startswith("_"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}; after "
                "partial_fit(..., solve=False), call solve() to compute results"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "_moments" in vars(self)

    def _share_reconstructed(self, X: Any, operators: NDArray) -> float:
        """Return the share of the energy of `X` that operators of the kept slices reconstruct."""
        orientation, mean = self._moments.orientation, self._moments.mean
        if self._deviations is not None:
            orientation = replace(orientation, deviations=self._deviations)
        source = self._source_of(X, fitted=True)
        if source is not None:
            self._check_source(source)
            measure = partial(
                energies_of_chunk, orientation=orientation, mean=mean, operators=operators
            )
            energy, missed = source.reduce(measure, add_all, title="reconstructing samples")
        else:
            samples = self._more_samples(X)
            if not is_device_array(samples) and is_missing(samples).any():
                raise ValueError(
                    "X has missing values, whose energy is unknown; score samples without NaN"
                )
            measured = energies if is_device_array(samples) else energies_of
            energy, missed = measured(orientation, mean, samples, operators)
        if energy == 0:
            raise ValueError("X equals the fitted mean everywhere: there is nothing to reconstruct")
        return float(1 - missed / energy)
