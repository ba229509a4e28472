"""One resample of the samples, and what a selector keeps on it."""

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
from tensift.comparison._methods import Method
from tensift.selectors import STPCASelector

__all__ = ["Resample", "Resampling", "settle"]


@dataclass(frozen=True, eq=False)
class Resampling:
    """The samples, and how to draw from them.

    Parameters
    ----------
    data : ndarray
        The samples.
    kind : {"half", "bootstrap"}
        Halves without replacement, two at a time that share no sample, or as many samples as
        there are, with replacement.
    seed : int
        Of the draws.
    """

    data: NDArray
    kind: str
    seed: int

    @property
    def size(self) -> int:
        """The number of samples of a resample."""
        return len(self.data) // 2 if self.kind == "half" else len(self.data)

    def indices(self, place: int) -> NDArray[np.intp]:
        """Which samples the resample of this number has, increasing."""
        n = len(self.data)
        if self.kind == "bootstrap":
            drawn = np.random.default_rng([self.seed, place]).integers(n, size=n)
        else:
            pair, second = divmod(place, 2)
            order = np.random.default_rng([self.seed, pair]).permutation(n)
            drawn = order[second * self.size :][: self.size]
        return np.sort(drawn)

    def compute(self, resample: Resample) -> dict[str, Any]:
        """What `run_cells` calls, also in other processes."""
        return resample.compute(self)


@dataclass(frozen=True)
class Resample:
    """A fit on one resample; `settings` are all that its result depends on besides."""

    method: Method
    scale: float | None
    settings: tuple[Any, ...]
    place: int
    seed: int

    @cached_property
    def key(self) -> str:
        """All that the result depends on."""
        own = [*self.method.identity, self.scale, *self.settings, self.place, self.seed]
        return json.dumps(["resample", __version__, *own])

    @property
    def group(self) -> object:
        """All resamples take about as long."""
        return "resample"

    def compute(self, resampling: Resampling) -> dict[str, Any]:
        """The selected features, and what was warned of."""
        samples = resampling.data[resampling.indices(self.place)]
        if self.scale is not None:
            samples = samples / self.scale
        selector = self.method.seeded(self.seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mask = selector.fit(samples).get_support()
            except ValueError as error:
                raise ValueError(f"{self.method.name} fails on resample {self.place}: {error}")  # noqa: B904
        said = [str(warning.message).split("\n")[0] for warning in caught]
        return {"features": np.flatnonzero(mask).tolist(), "warnings": sorted(set(said))}


def settle(fitted: Any, method: Method, resampling: Resampling) -> tuple[Method, float | None]:
    """What to fit on resamples, with all that was chosen on all samples; and what to divide by.

    `fitted` is `method` on all samples. The number of features, and of STPCA-MP the orientation,
    the transform's kind, the scale and the penalties stay as they are there. Penalties are weighed
    against sums over samples, so they go with the number of samples.
    """
    estimator = clone(method.estimator)
    parameters = estimator.get_params(deep=False)
    settled: dict[str, Any] = {"n_jobs": 1, "verbose": 0}
    settled["n_features_to_select"] = int(np.count_nonzero(fitted.get_support()))
    scale = None
    if isinstance(fitted, STPCASelector):
        share = resampling.size / len(resampling.data)
        settled |= {"lam": fitted.lam_ * share, "eta": fitted.eta_ * share, "penalty": "absolute"}
        settled["orientation"] = fitted.orientation_
        if isinstance(parameters["transform"], str) and parameters["transform"] == "auto":
            names = [transform.name for transform in fitted._moments.orientation.transforms]
            settled["transform"] = names or "identity"
        if parameters["scale"] == "max":
            scale, settled["scale"] = float(fitted._moments.peak), None
    estimator.set_params(**{name: v for name, v in settled.items() if name in parameters})
    return replace(method, estimator=estimator), scale
