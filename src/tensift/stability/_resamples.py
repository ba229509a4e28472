"""Draw resamples of the samples, and fit a selector on each."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tensift._version import __version__
from tensift.comparison import Method
from tensift.labels import Labelled, Names
from tensift.selection import TensorSelector
from tensift.stpca import STPCASelector

__all__ = ["Resample", "Resampling", "settle"]


@dataclass(frozen=True, eq=False)
class Resampling:
    """The samples and how to draw resamples from them.

    Parameters
    ----------
    data : ndarray
        The samples.
    kind : {"half", "bootstrap"}
        "half": half of the samples without replacement, in pairs that share no sample.
        "bootstrap": as many samples as in the data, with replacement.
    seed : int
        The seed of the draws.
    names : Names, optional
        The names of the modes of a sample.
    """

    data: NDArray
    kind: str
    seed: int
    names: Names | None = None

    @property
    def size(self) -> int:
        """The number of samples in a resample."""
        return len(self.data) // 2 if self.kind == "half" else len(self.data)

    def indices(self, place: int) -> NDArray[np.intp]:
        """Return the indices of the samples in resample number `place`, in increasing order."""
        n = len(self.data)
        if self.kind == "bootstrap":
            drawn = np.random.default_rng([self.seed, place]).integers(n, size=n)
        else:
            pair, second = divmod(place, 2)
            order = np.random.default_rng([self.seed, pair]).permutation(n)
            drawn = order[second * self.size :][: self.size]
        return np.sort(drawn)

    def fit(self, estimator: Any, samples: NDArray) -> Any:
        """Fit an estimator on samples, with their names if it is one of ours."""
        named = self.names is not None and isinstance(estimator, TensorSelector)
        return estimator.fit(Labelled(samples, self.names) if named else samples)

    def compute(self, resample: Resample) -> dict[str, Any]:
        """Compute one resample; `run_cells` calls this, also in other processes."""
        return resample.compute(self)


@dataclass(frozen=True)
class Resample:
    """A fit on one resample. `settings` are what else the result depends on."""

    method: Method
    scale: float | None
    settings: tuple[Any, ...]
    place: int
    seed: int

    @cached_property
    def key(self) -> str:
        """Everything that the result depends on."""
        own = [*self.method.identity, self.scale, *self.settings, self.place, self.seed]
        return json.dumps(["resample", __version__, *own])

    @property
    def group(self) -> object:
        """All resamples take similar time."""
        return "resample"

    def compute(self, resampling: Resampling) -> dict[str, Any]:
        """Return the selected features and the warnings."""
        samples = resampling.data[resampling.indices(self.place)]
        if self.scale is not None:
            samples = samples / self.scale
        selector = self.method.seeded(self.seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mask = resampling.fit(selector, samples).get_support()
            except ValueError as error:
                raise ValueError(f"{self.method.name} fails on resample {self.place}: {error}")  # noqa: B904
        said = [str(warning.message).split("\n")[0] for warning in caught]
        return {"features": np.flatnonzero(mask).tolist(), "warnings": sorted(set(said))}


def settle(fitted: Any, method: Method, resampling: Resampling) -> tuple[Method, float | None]:
    """Return the method to fit on resamples, and the number to divide samples by.

    `fitted` is `method` fitted on all samples. What it chose there is fixed: the number of
    features, and in STPCA-MP the orientation, the kind of basis, the scale and the penalties.
    Penalties are compared with sums over samples, so they shrink with the number of samples.
    """
    estimator = clone(method.estimator)
    parameters = estimator.get_params(deep=False)
    settled: dict[str, Any] = {"n_jobs": 1, "verbose": 0}
    settled["n_features_to_select"] = int(np.count_nonzero(fitted.get_support()))
    scale = None
    if isinstance(fitted, STPCASelector):
        share = resampling.size / len(resampling.data)
        settled |= {
            "lam": fitted.lam_ * share,
            "eta": fitted.eta_ * share,
            "penalty_units": "absolute",
        }
        settled["orientation"] = fitted.orientation_
        if isinstance(parameters["basis"], str) and parameters["basis"] == "auto":
            names = [transform.name for transform in fitted._moments.orientation.transforms]
            settled["basis"] = names or "identity"
        if parameters["scale"] == "max":
            scale, settled["scale"] = float(fitted._moments.peak), None
    estimator.set_params(**{name: v for name, v in settled.items() if name in parameters})
    return replace(method, estimator=estimator), scale
