"""Which fits the table of the paper's methods is made of, and in which order."""

import json
from dataclasses import dataclass
from itertools import product

import numpy as np

from tensift.selectors import SelectorInfo, list_selectors

COARSE = (0.01, 1.0, 100.0)
SEEDS, DRAWS = 3, 25  # DRAWS of random features: as many as STPCA-MP has cells
VARIANTS = {  # the released programs at their own parameters, and another width
    "NLGMS": {"released program": {"variant": "released", "start": "random"}},
    "RNE": {"released program": {"variant": "released"}},
    "SPCAFS": {"components: classes": {"n_components": "n_clusters"}},
}
IN_THE_PAPER = {"All-Features": "All Features"}  # where its name differs from the registry's


@dataclass(frozen=True)
class Entry:
    """A selector of the registry, or one as its authors' program has it."""

    info: SelectorInfo
    name: str
    label: str
    fixed: dict

    @property
    def grid(self):
        return {} if self.as_released else self.info.grid

    @property
    def as_released(self):
        return "variant" in self.fixed

    @property
    def random(self):
        return self.info.random or "start" in self.fixed

    @property
    def in_the_paper(self):
        return IN_THE_PAPER.get(self.info.paper_name, self.info.paper_name)


def entries():
    """All selectors, and the variants that test why figures differ."""
    found = []
    for info in list_selectors():
        label = IN_THE_PAPER.get(info.paper_name, info.paper_name)
        found.append(Entry(info, info.name, label, {}))
        for what, fixed in VARIANTS.get(info.name, {}).items():
            found.append(Entry(info, f"{info.name}, {what}", f"{label}, {what}", fixed))
    # Those without parameters are quick, and say what the others are worth.
    return sorted(found, key=lambda entry: (entry.as_released, len(entry.grid)))


@dataclass(frozen=True)
class Unit:
    """One fit and the counts it is judged at."""

    cell: tuple[tuple[str, float], ...]
    seed: int
    counts: tuple[int, ...]

    @property
    def key(self):
        return json.dumps([list(map(list, self.cell)), self.seed, list(self.counts)])


def plan(entry, counts, size):
    """The fits of a method, those that say most first.

    The cell of ones, then cells of every second value, then the rest; both of the latter in an
    order that is shuffled, so that a part of them is a sample of the grid. Methods whose result
    depends on the number of features need a fit for each: every second count is taken.
    """
    if entry.name == "AllFeatures":
        counts = (size,)
    names, values = list(entry.grid), list(entry.grid.values())
    cells = list(product(*values))
    shuffled = np.random.default_rng(0).permutation(len(cells))
    order = sorted(shuffled, key=lambda place: _coarseness(cells[place]))
    seeds = DRAWS if entry.name == "RandomSelector" else SEEDS if entry.random else 1
    parts = (
        [(count,) for count in (counts[1::2] or counts)] if entry.info.counted else [tuple(counts)]
    )
    return [
        Unit(tuple(zip(names, cells[place], strict=True)), seed, part)
        for place in order
        for part in parts
        for seed in range(seeds)
    ]


def _coarseness(cell):
    return 0 if set(cell) <= {1.0} else 1 if set(cell) <= set(COARSE) else 2
