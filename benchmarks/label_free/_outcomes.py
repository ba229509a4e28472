"""What the contestants reached on each set, and how uncertain that is.

There are two sources of chance, and both are resampled: the seeds of k-means (and the draws of
random features) within a set, and the choice of sets. All contestants share the same resamples,
so differences are paired.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

RESAMPLES = 4000
INTERVAL = (2.5, 97.5)  # per cent


@dataclass(frozen=True)
class Estimate:
    """A number and its resamples."""

    value: float
    resamples: np.ndarray

    @property
    def error(self):
        """The standard error."""
        return float(np.nanstd(self.resamples))

    @property
    def interval(self):
        return tuple(float(bound) for bound in np.nanpercentile(self.resamples, INTERVAL))

    @property
    def sign(self):
        """1 or -1 if the value differs from zero by two standard errors, otherwise 0."""
        return int(np.sign(self.value)) if abs(self.value) > 2 * self.error else 0

    def __sub__(self, other):
        return Estimate(self.value - other.value, self.resamples - other.resamples)


class SetOutcome:
    """The values of one set for one metric: one row of seeds per contestant.

    Parameters
    ----------
    name : str
        The set.
    values : dict of str to ndarray of shape (counts, seeds)
        The values of each contestant's selections, in points.
    draws : ndarray of shape (draws, counts, seeds)
        The same for random features.
    grid : dict of tuple to ndarray of shape (counts, seeds)
        The same for the paper's method, by (lam, eta, orientation).
    """

    def __init__(self, name, values, draws, grid):
        self.name = name
        # A level is the mean over the counts.
        self._values = {label: rows.mean(axis=0) for label, rows in values.items()}
        self._draws = draws.mean(axis=1)
        levels = {setting: rows.mean(axis=0) for setting, rows in grid.items()}
        self.tuned = max(levels, key=lambda setting: levels[setting].mean()) if levels else None
        self._tuned = levels.get(self.tuned)
        rng = np.random.default_rng(list(name.encode()))  # different sets get independent resamples
        n_draws, n_seeds = self._draws.shape
        self._seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), RESAMPLES) / n_seeds
        self._drawn = rng.multinomial(n_draws, np.full(n_draws, 1 / n_draws), RESAMPLES) / n_draws

    def __contains__(self, label):
        return label in self._values

    def level(self, label):
        return self._estimate(self._values[label])

    @cached_property
    def random(self):
        resamples = np.einsum("bd,ds,bs->b", self._drawn, self._draws, self._seeds, optimize=True)
        return Estimate(float(self._draws.mean()), resamples)

    @cached_property
    def best(self):
        """The best setting of the grid, chosen with the labels; the choice is not resampled."""
        return self._estimate(self._tuned)

    def gain(self, label):
        """Return the points above random features."""
        return self.level(label) - self.random

    def recovered(self, label):
        """Return the share of the best setting's gain, or None if that gain is not clear."""
        most = self.best - self.random
        if most.sign <= 0:
            return None
        gain = self.gain(label)
        return Estimate(gain.value / most.value, gain.resamples / most.resamples)

    def _estimate(self, row):
        return Estimate(float(row.mean()), self._seeds @ row)


def mean_over_sets(estimates):
    """Return the mean of estimates of different sets, resampling the sets too."""
    estimates = list(estimates)
    count = len(estimates)
    weights = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    resamples = np.stack([one.resamples for one in estimates], axis=1)
    value = float(np.mean([one.value for one in estimates]))
    return Estimate(value, (weights * resamples).sum(axis=1) / count)


def ratio_over_sets(numerators, denominators):
    """Return the ratio of two sums over the same sets, resampling the sets too."""
    above, below = mean_over_sets(numerators), mean_over_sets(denominators)
    return Estimate(above.value / below.value, above.resamples / below.resamples)
