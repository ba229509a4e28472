"""Estimates of what samples lack, from the components of what they have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift.moments import is_missing

__all__ = ["GapFiller"]

_LEAST_NOISE = 1e-6  # variance, as a share of the mean variance of an element


@dataclass(frozen=True)
class GapFiller:
    """Fills gaps with conditional means: coordinates are Gaussian, with noise on every element.

    With ``B`` the components as rows, of which a sample ``x`` has the columns ``B_o``, and ``V``
    the variances along them, the coordinates are estimated by ::

        z = (conj(B_o) B_o^T + s V^-1)^-1 conj(B_o) x_o

    and what is missing by ``B^T z``. The variance ``s`` is what components do not explain.

    Parameters
    ----------
    components : ndarray of shape (K, d)
        The components.
    variances : ndarray of shape (K,)
        The variance along each of them.
    total : float
        The sum of the variances of all elements.
    mean : ndarray of shape (d_1, ..., d_m)
        The mean of samples.
    """

    components: NDArray
    variances: NDArray[np.float64]
    total: float
    mean: NDArray

    def filled(self, samples: NDArray) -> NDArray:
        """Return samples ``(n, d_1, ..., d_m)`` without NaN."""
        missing = is_missing(samples).reshape(len(samples), -1)
        if not missing.any():
            return samples
        flat = samples.reshape(len(samples), -1)
        centred = np.where(missing, 0, flat - self.mean.ravel())
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        found = centred.copy()
        for number, gap in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == number)
            if gap.any():
                coordinates = self._coordinates(centred[rows][:, ~gap], ~gap)
                found[np.ix_(rows, gap)] = coordinates @ self.components[:, gap]
        whole = np.where(missing, found + self.mean.ravel(), flat)
        return np.asarray(whole).reshape(samples.shape)

    def _coordinates(self, values: NDArray, seen: NDArray[np.bool_]) -> NDArray:
        size = self.components.shape[1]
        varies = self.variances > 0
        noise = max(self.total - float(self.variances.sum()), _LEAST_NOISE * self.total) / size
        known = self.components[varies][:, seen]
        inner = known.conj() @ known.T + np.diag(noise / self.variances[varies])
        found = np.zeros((len(values), len(varies)), np.result_type(values, known))
        found[:, varies] = np.linalg.solve(inner, known.conj() @ values.T).T
        return found
