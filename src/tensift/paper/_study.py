"""Which fits a run of the paper's experiments needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from tensift.paper._fits import Fit, selector_info
from tensift.paper._sets import PAPER_SETS, STAND_INS, PaperSet, load_set
from tensift.rivals import SelectorInfo, list_selectors

__all__ = ["GRID", "Contender", "Study", "contenders"]

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
_COARSE = (0.01, 1.0, 100.0)
_VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "NLGMS": {"released program": {"variant": "released", "start": "random"}},
    "RNE": {"released program": {"variant": "released"}},
    "SPCAFS": {"components: classes": {"n_components": "n_clusters"}},
}
# If features are the indices of a mode. With more components, the published times are exceeded.
_BY_MODE: dict[str, dict[str, Any]] = {"RNE": {"n_components": "n_selected"}}
# Selectors that are neither in the paper nor baselines of that time.
_NEWER = {
    "GeometrySelector",
    "ColumnSubsetSelector",
    "QRSensorSelector",
    "CURSelector",
    "FarthestPointSelector",
    "FeatureClusterSelector",
    "FacilityLocationSelector",
    "FastCanSelector",
    "OPBSSelector",
    "MVPCASelector",
    "EvenSelector",
}
_IN_THE_PAPER = {"All-Features": "All Features"}  # names that differ from the registry


@dataclass(frozen=True)
class Contender:
    """A selector with `fixed` parameters; the others come from the grid and the dataset."""

    info: SelectorInfo
    label: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def paper_name(self) -> str:
        """What the paper calls the method."""
        return _IN_THE_PAPER.get(self.info.paper_name, self.info.paper_name)

    @property
    def grid(self) -> dict[str, list[float]]:
        """The grid; none for released programs, which run with their authors' parameters."""
        return {} if "variant" in self.fixed else self.info.grid

    @property
    def random(self) -> bool:
        return self.info.random or self.fixed.get("start") == "random"


def contenders(*, variants: bool = False) -> list[Contender]:
    """All selectors; with `variants`, also those that test why numbers differ from the paper's."""
    found = []
    for info in list_selectors():
        if info.name in _NEWER:
            continue
        label = _IN_THE_PAPER.get(info.paper_name, info.paper_name)
        found.append(Contender(info, label))
        if variants:
            for what, fixed in _VARIANTS.get(info.name, {}).items():
                found.append(Contender(info, f"{label}, {what}", fixed))
    return found


@dataclass(frozen=True)
class Study:
    """Which datasets, methods and cells to run; by default those of the paper.

    Parameters
    ----------
    sets : tuple of PaperSet
        The datasets that can be loaded.
    missing : dict of str to str
        The names of the others, with the reasons.
    methods : tuple of str, optional
        Names of selectors, spelled as in the registry; None for all.
    cells : int, optional
        The largest number of cells of a grid: first the cell of ones, then those of 0.01, 1 and
        100, then the others, each in a fixed random order. For methods with several seeds, the
        largest number of pairs of cell and seed, so that no method gets more draws than another.
        None for all cells.
    cells_of : dict of str to int
        The same for single methods that take long, or for one on one dataset: ``"NLGMS@USPS"``.
    seeds : int
        The number of seeds of methods with random starts. Random selection has `draws`.
    repeats : int
        The number of runs of k-means for each number of features.
    variants : bool
        Whether the table of metrics also has the released programs, with the parameters that their
        authors set, and other settings that test why numbers differ from the paper's.
    fast : bool
        Whether small datasets replace those of the paper.

    Examples
    --------
    >>> from tensift.paper import Study
    >>> study = Study.quick(methods=("STPCASelector",), cells=3)
    >>> [data.name for data in study.pick("JAFFE", "ASCH")]
    ['Digits', 'Generated Orbit']
    >>> (ours,) = study.contenders()
    >>> study.grid(ours)
    [{'lam': 1.0, 'eta': 1.0}, {'lam': 0.01, 'eta': 100.0}, {'lam': 1.0, 'eta': 0.01}]
    """

    sets: tuple[PaperSet, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    methods: tuple[str, ...] | None = None
    cells: int | None = None
    cells_of: Mapping[str, int] = field(default_factory=dict)
    seeds: int = 3
    draws: int = 25
    repeats: int = 30
    variants: bool = False
    fast: bool = False

    @classmethod
    def of_the_paper(cls, names: Iterable[str] | None = None, **extent: Any) -> Study:
        """A study of the paper's datasets that can be loaded, or of those with the given names."""
        known = {one.name.casefold(): one for one in PAPER_SETS}
        if names is not None:
            unknown = [name for name in names if name.casefold() not in known]
            if unknown:
                listed = ", ".join(one.name for one in PAPER_SETS)
                raise ValueError(f"unknown dataset {unknown[0]!r}; known: {listed}")
            known = {name.casefold(): known[name.casefold()] for name in names}
        reasons = {one.name: one.why_missing() for one in known.values()}
        present = tuple(one for one in known.values() if not reasons[one.name])
        missing = {name: reason for name, reason in reasons.items() if reason}
        return cls(present, missing, **extent)

    @classmethod
    def quick(cls, **extent: Any) -> Study:
        """A study that takes two minutes, on data that need no download."""
        quick = {"cells": 2, "seeds": 1, "draws": 3, "repeats": 2, "fast": True}
        return cls(STAND_INS, **quick | extent)

    def describe(self) -> dict[str, Any]:
        """Everything that a result of the study depends on, for its record."""
        return {
            "sets": {one.name: one.note for one in self.sets},
            "missing": dict(self.missing),
            "methods": [one.name for one in self.contenders()],
            "grid": list(GRID),
            "cells": self.cells,
            "cells_of_single_methods": dict(self.cells_of),
            "seeds": list(range(self.seeds)),
            "draws_of_random_selection": self.draws,
            "repeats_of_k_means": self.repeats,
            "seed_of_k_means": 0,
            "variants": self.variants,
            "fast": self.fast,
        }

    def pick(self, *names: str) -> list[PaperSet]:
        """The named datasets that can be loaded; in a quick study, others of the same kinds."""
        if not self.fast:
            return [one for name in names for one in self.sets if one.name == name]
        kinds = {one.name: one.by_mode for one in PAPER_SETS}
        wanted = [kinds[name] for name in names]
        return [
            one
            for by_mode in (False, True)
            for one in [one for one in self.sets if one.by_mode == by_mode][: wanted.count(by_mode)]
        ]

    def absent(self, *names: str) -> dict[str, str]:
        """The named datasets that are missing, with the reasons."""
        return {name: self.missing[name] for name in names if name in self.missing}

    def contenders(self, *, variants: bool = False) -> list[Contender]:
        """The methods of the study."""
        return [
            one
            for one in contenders(variants=variants)
            if self.methods is None or one.name in self.methods
        ]

    def fits(
        self,
        contender: Contender,
        data: PaperSet,
        *,
        keep_scores: bool = False,
        **settings: Any,
    ) -> list[Fit]:
        """The fits of a method to a dataset: every cell of its grid (or a part) and every seed.

        Methods whose selection depends on the number of features need a fit for each number; they
        run at every second number.
        """
        seeds = self.draws if contender.name == "RandomSelector" else self.seeds
        counts = [data.counts]
        if contender.name == "AllFeatures":
            counts = [(load_set(data.name).data[0].size,)]
        elif contender.info.counted and len(data.counts) > 1:
            counts = [(count,) for count in data.counts[1::2]]
        return [
            Fit(
                data.name,
                contender.name,
                self._settings(contender, data, settings | cell),
                seed,
                part,
                self.repeats,
                data.metrics,
                keep_scores,
            )
            for cell in self.grid(contender, data)
            for part in counts
            for seed in range(seeds if contender.random else 1)
        ]

    def grid(self, contender: Contender, data: PaperSet | None = None) -> list[dict[str, float]]:
        """The cells of a method's grid that are run (on a dataset), the coarsest first."""
        names, values = list(contender.grid), list(contender.grid.values())
        cells = list(product(*values))
        shuffled = np.random.default_rng(0).permutation(len(cells))
        order = sorted(shuffled, key=lambda place: _coarseness(cells[place]))
        at_most = self.cells_of.get(contender.name, self.cells)
        if data is not None:
            at_most = self.cells_of.get(f"{contender.name}@{data.name}", at_most)
        if at_most is not None:
            order = order[: max(1, at_most // (self.seeds if contender.random else 1))]
        return [dict(zip(names, cells[place], strict=True)) for place in order]

    def _settings(
        self, contender: Contender, data: PaperSet, given: Mapping[str, Any]
    ) -> tuple[tuple[str, Any], ...]:
        dataset = load_set(data.name)
        of_the_set = {
            "n_clusters": len(np.unique(np.asarray(dataset.labels))),
            "n_neighbors": 5,
            "feature_mode": dataset.feature_mode,
            "orientation": data.orientation,
        }
        named = of_the_set | {"n_selected": data.counts[0]}
        fixed = (_BY_MODE.get(contender.name, {}) if data.by_mode else {}) | dict(contender.fixed)
        fixed = {name: named.get(value, value) for name, value in fixed.items()}
        everything = of_the_set | fixed | dict(given)
        own = selector_info(contender.name).parameters
        return tuple(sorted((name, value) for name, value in everything.items() if name in own))


def _coarseness(cell: tuple[float, ...]) -> int:
    return 0 if set(cell) <= {1.0} else 1 if set(cell) <= set(_COARSE) else 2
