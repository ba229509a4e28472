"""The selectors of the study and the settings that are compared.

Our method runs with solver "paper", as when the published tables were made.
"""

from dataclasses import dataclass, field

import tensift.rivals
from benchmarks.label_free._score_free import ScoreFree
from tensift import STPCASelector
from tensift.rivals import list_selectors

OURS = "STPCASelector"
PAPER = {"lam": 10.0, "eta": 10.0}
RAPID, DEFAULT, ALL_AUTO = "STPCA, paper's setting", "STPCA, default", "STPCA, all automatic"
SCORE_FREE, PIVOTED = "diverse without scores", "PivotedCholeskySelector"
VARIANCE, RANDOM, ALL = "VarianceSelector", "RandomSelector", "AllFeatures"


@dataclass(frozen=True)
class Contestant:
    """A selector, by the name of its class, and its settings.

    `selection` is "top", "diverse", or "" if the selector has no such parameter. With `per_count`,
    the first features depend on how many are selected, so every count needs a fit.
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
        own = {ScoreFree.__name__: ScoreFree, OURS: STPCASelector}
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
    """Return all contestants except random selection: ours, score-free ones, all selectors."""
    found = [
        _ours(RAPID, "top", **PAPER),
        _ours(RAPID, "diverse", **PAPER),
        _ours(DEFAULT),
        _ours("STPCA, automatic penalties", "top"),
        _ours("STPCA, automatic orientation", per_count=True, orientation="auto"),
        _ours("STPCA, automatic transform", per_count=True, basis="auto"),
        _ours(ALL_AUTO, per_count=True, orientation="auto", basis="auto"),
        Contestant(SCORE_FREE, ScoreFree.__name__),
    ]
    for info in list_selectors():
        if info.name in (OURS, RANDOM):
            continue
        selections = ("top", "diverse") if "selection" in info.parameters else ("",)
        found += [Contestant(info.name, info.name, one, (), info.counted) for one in selections]
    if PIVOTED not in {contestant.method for contestant in found}:
        found.append(Contestant(PIVOTED, PIVOTED))
    return found


def random_contestant():
    return Contestant(RANDOM, RANDOM)


def _ours(name, selection="", *, per_count=False, **settings):
    settings["solver"] = "paper"
    return Contestant(name, OURS, selection, tuple(settings.items()), per_count)
