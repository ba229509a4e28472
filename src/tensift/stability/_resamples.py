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
from tensift.sources import SampleWeights
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
    weights : SampleWeights or None
        The weights of the samples. If they have groups, whole groups are drawn.
    weighs : bool
        Whether fits get the weights. If not, only the groups count.
    names : Names, optional
        The names of the modes of a sample.
    """

    data: NDArray
    kind: str
    seed: int
    weights: SampleWeights | None = None
    weighs: bool = False

    @cached_property
    def groups(self) -> list[NDArray[np.intp]] | None:
        """The indices of the samples of each group, which are drawn together."""
        if self.weights is None or self.weights.groups is None:
            return None
        codes = self.weights.groups
        return [np.flatnonzero(codes == code) for code in np.unique(codes)]

    @property
    def n_units(self) -> int:
        """The number of groups or, without groups, of samples."""
        return len(self.data) if self.groups is None else len(self.groups)

    names: Names | None = None

    @property
    def size(self) -> int:
        """The number of groups or samples in a resample."""
        return self.n_units // 2 if self.kind == "half" else self.n_units

    def indices(self, place: int) -> NDArray[np.intp]:
        """Return the indices of the samples in resample number `place`, in increasing order."""
        n = self.n_units
        if self.kind == "bootstrap":
            drawn = np.random.default_rng([self.seed, place]).integers(n, size=n)
        else:
            pair, second = divmod(place, 2)
            order = np.random.default_rng([self.seed, pair]).permutation(n)
            drawn = order[second * self.size :][: self.size]
        if self.groups is not None:
            drawn = np.concatenate([self.groups[unit] for unit in drawn])
        return np.sort(drawn)

    def weights_of(self, indices: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the weights of a resample, with the share of the sum of all that it should have.

        Penalties are compared with sums over samples. So that all resamples have the same
        penalties, they have the same sum.
        """
        if self.weights is None or not self.weighs:
            return None
        own = self.weights.values[indices]
        sum_of_resample = self.weights.values.sum() * self.size / self.n_units
        scaled: NDArray[np.float64] = own * (sum_of_resample / own.sum())
        return scaled

    def fit(self, estimator: Any, samples: NDArray, **more: Any) -> Any:
        """Fit an estimator on samples, with their names if it is one of ours."""
        named = self.names is not None and isinstance(estimator, TensorSelector)
        return estimator.fit(Labelled(samples, self.names) if named else samples, **more)

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
        indices = resampling.indices(self.place)
        samples, weights = resampling.data[indices], resampling.weights_of(indices)
        more = {} if weights is None else {"sample_weight": weights}
        if self.scale is not None:
            samples = samples / self.scale
        selector = self.method.seeded(self.seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mask = resampling.fit(selector, samples, **more).get_support()
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
        share = resampling.size / resampling.n_units
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
