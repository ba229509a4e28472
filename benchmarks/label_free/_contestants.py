"""The selectors of the study and the settings that are compared.

All have the library's default parameters, except where a name says otherwise.
"""

import os
from dataclasses import dataclass, field

import tensift.rivals
from tensift import GeometrySelector, STPCASelector
from tensift.rivals import list_selectors

OURS, GEOMETRY = "STPCASelector", "GeometrySelector"
PAPER = {"lam": 10.0, "eta": 10.0, "solver": "paper"}
RAPID, DEFAULT = "STPCA, paper's setting", "STPCA, default"
VARIANCE, RANDOM, ALL = "VarianceSelector", "RandomSelector", "AllFeatures"
LAPLACIAN = "LaplacianScore"
# They take minutes. With default parameters, none of them was best on average in earlier runs.
SLOW = ("NLGMS", "RNE", "SOGFS", "CPUFS", "CPUFSnn", "MSPCA", "UDFS", "NDFS", "SPCAFS", "SPCAPSD")


@dataclass(frozen=True)
class Contestant:
    """A selector, by the name of its class, and its settings.

    `selection` is "top", "geometry" or "reconstruct", or "" for the selector's own default. With
    `per_count`, the first features depend on how many are selected, so every count needs a fit.
    """

    name: str
    method: str
    selection: str = ""
    settings: tuple[tuple[str, object], ...] = ()
    per_count: bool = field(default=False, compare=False)

    @property
    def label(self):
        return f"{self.name}, {self.selection}" if self.selection else self.name

    @property
    def selector(self):
        own = {GEOMETRY: GeometrySelector, OURS: STPCASelector}
        return own.get(self.method) or getattr(tensift.rivals, self.method)

    def make(self, n_features, samples, seed=0):
        """Make the estimator for the samples of a set."""
        given = {
            "feature_mode": samples.feature_mode,
            "n_clusters": samples.n_classes,
            "random_state": seed,
        }
        known = self.selector._get_param_names()
        given = {name: value for name, value in given.items() if name in known}
        if self.selection:
            given["selection"] = self.selection
        return self.selector(n_features, **given, **dict(self.settings))


def contestants():
    """Return all contestants except random selection; slow ones if `LABEL_FREE_SLOW` is 1."""
    found = [
        Contestant(GEOMETRY, GEOMETRY),
        _ours(DEFAULT),
        _ours("STPCA", "top"),
        _ours("STPCA", "reconstruct"),
        _ours(RAPID, "top", **PAPER),
    ]
    slow = os.environ.get("LABEL_FREE_SLOW") == "1"
    for info in list_selectors():
        if info.name in (OURS, GEOMETRY, RANDOM) or (info.name in SLOW and not slow):
            continue
        selections = ("top",) if "selection" in info.parameters else ("",)
        if info.name == LAPLACIAN:
            selections = ("top", "geometry")
        found += [Contestant(info.name, info.name, one, (), info.counted) for one in selections]
    return found


def random_contestant():
    return Contestant(RANDOM, RANDOM)


def _ours(name, selection="", **settings):
    return Contestant(name, OURS, selection, tuple(settings.items()))
