"""How the slices of samples are made: a basis, and the deviations that features are divided by."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_complex
from tensift.algebra import is_data_driven
from tensift.moments._deviations import FeatureScale, orient
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._orientation import Orientation, divided
from tensift.moments._resume import PassCheckpoint
from tensift.moments._samples import TensorEstimator
from tensift.sources import Source

__all__ = ["SampleOrienter"]


class SampleOrienter(TensorEstimator):
    """An estimator that finds the orientation of samples, which may take passes over them."""

    basis: Any
    _divided_by: FeatureScale | None = None  # how samples were divided before they were transformed

    @abstractmethod
    def _orient(self, *, real: bool, **known: Any) -> Orientation:
        """Return the orientation, given what a basis is computed from."""

    @abstractmethod
    def _reading_options(self) -> dict[str, Any]:
        """Return the options of reading samples."""

    @abstractmethod
    def _correlations_of(
        self, source: Source, checkpoint: PassCheckpoint | None, deviations: NDArray | None
    ) -> list[NDArray[Any]]:
        """Return the self-correlations of the transformed modes, by a separate pass."""

    def _feature_scale(self) -> FeatureScale | None:
        """Return how features are divided by their deviations; None if they are not."""
        return None

    def _orientation_of_array(self, given: SamplesInMemory) -> Orientation:
        self._divided_by, samples = self._feature_scale(), given.rows

        def known(deviations: NDArray | None) -> dict[str, Any]:
            weighed = given.with_roots()
            return {"samples": weighed if deviations is None else divided(weighed, deviations)}

        return orient(
            partial(self._orient, real=not is_complex(samples)),
            self._divided_by,
            lambda one: one.of_samples(samples, given.weights),
            known if self._learns_basis() else None,
        )

    def _orientation_of_source(
        self, source: Source, checkpoint: PassCheckpoint | None
    ) -> Orientation:
        self._divided_by = self._feature_scale()

        def measure(scale: FeatureScale) -> NDArray[np.float64]:
            if not source.rereadable:
                raise ValueError(
                    f"scale='feature' with basis={self.basis!r} reads the samples twice, but X is "
                    "an iterator, which can be read only once; pass something that can be read "
                    "again, such as tensift.sources.Chunks, or use basis='identity'"
                )
            verbose = self._reading_options()["verbose"]
            return scale.of_source(source, self.feature_shape_, verbose=verbose)

        def known(deviations: NDArray | None) -> dict[str, Any]:
            return {"correlations": self._correlations_of(source, checkpoint, deviations)}

        return orient(
            partial(self._orient, real=np.dtype(source.dtype).kind != "c"),
            self._divided_by,
            measure,
            known if self._learns_basis() else None,
        )

    def _orientation_of_stream(self, *, real: bool, **known: Any) -> Orientation:
        """Return the orientation of samples that `partial_fit` never sees together."""
        orientation = self._orient(real=real, **known)
        self._refuse_deviations_of_all_samples(orientation)
        return orientation

    def _learns_basis(self) -> bool:
        """Whether a basis is computed from the samples."""
        return is_data_driven(self.basis) and len(self.feature_shape_) > 1

    def _refuse_deviations_of_all_samples(self, orientation: Orientation) -> None:
        scale = self._feature_scale()
        if orientation.deviations is None and (scale is None or scale.fits(orientation)):
            return
        raise ValueError(
            f"scale='feature' with basis={self.basis!r} divides samples by the deviations of all "
            "of them before it transforms them, but partial_fit never sees them together; use fit, "
            "or basis='identity', or a feature_mode that is the orientation"
        )
