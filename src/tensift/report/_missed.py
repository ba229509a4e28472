"""What the kept features miss, and which of them repeat the others, on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tensift.report._encoding import encode_shares
from tensift.selection import halves_of
from tensift.sources import KeptSamples

__all__ = ["Missed", "Prediction", "Ridge", "missed_of", "predict_features"]

_MOST_ROWS, _FEWEST_ROWS = 512, 32
_MOST_VALUES = 2**24  # of all rows together
_MOST_COMPARED = 128  # rows whose inner products are compared
_RIDGES = 10.0 ** np.arange(-6, 2, 2)  # shares of the mean squared singular value
_ROUNDING = 1e-12  # deviation of a constant, as a share of its value


class Missed(TypedDict):
    """What the page says about it.

    ``variance`` has the share that each feature has in the variance of all. ``predicted`` says how
    much of its own the kept features predict, those besides itself if it is kept; NaN for
    constants. ``alike`` has the kept feature that varies most like each kept one, in the order of
    selection; None if there is no other. ``samples`` is the number of samples that judge.
    """

    count: int
    samples: int
    variance: str
    predicted: str
    alike: list[int | None]


@dataclass(frozen=True)
class Prediction:
    """Predictions of every feature from the kept ones.

    Attributes
    ----------
    shares : ndarray of shape (n_features,)
        The share of a feature's variance that is predicted on samples that were not learned from;
        kept features are predicted from the other kept ones. Between 0 and 1; NaN for constants.
    variances : ndarray of shape (n_features,)
        The variances of the features, up to a common factor.
    alike : ndarray of int, shape (k,)
        For each kept feature the place among them of the one that varies most like it; -1 for none.
    """

    shares: NDArray[np.float64]
    variances: NDArray[np.float64]
    alike: NDArray[np.intp]


def missed_of(
    samples: KeptSamples,
    order: NDArray[np.intp],
    count: int,
    feature_mode: int | None,
    deviations: NDArray[np.float64] | None = None,
) -> Missed | None:
    """Return what the first features of an order miss; None if there is nothing to hold out.

    There is nothing with fewer than 16 samples, and nothing to say if all features are kept.
    Elements are divided by `deviations`, if there are any.
    """
    if count >= len(order):
        return None
    each = int(np.prod(samples.rows.shape[1:]))
    most = int(np.clip(_MOST_VALUES // each, _FEWEST_ROWS, _MOST_ROWS))
    samples = samples.take(np.arange(0, len(samples), -(-len(samples) // most)))
    if deviations is not None:
        samples = replace(samples, rows=samples.rows / deviations)
    halves = halves_of(samples)
    if not halves.sides:
        return None
    kept = np.asarray(order[:count], dtype=np.intp)
    one, other = halves.pair(0)
    found = predict_features(one, other, kept, feature_mode)
    return Missed(
        count=count,
        samples=len(halves.samples),
        variance=encode_shares(found.variances / (float(found.variances.sum()) or 1.0)),
        predicted=encode_shares(found.shares),
        alike=[int(kept[place]) if place >= 0 else None for place in found.alike],
    )


def predict_features(
    one: KeptSamples, other: KeptSamples, kept: NDArray[np.intp], feature_mode: int | None
) -> Prediction:
    """Predict features by ridge regression learned on either half, and judge on the other one.

    Kept features enter with the same variance, whatever their units.
    """
    columns = _columns_of(one.rows, feature_mode)
    largest = max(float(np.abs(half.rows).max(initial=0)) for half in (one, other)) or 1.0
    halves = [_Half.of(half, largest) for half in (one, other)]  # no square overflows
    missed, varied = np.zeros(len(columns)), np.zeros(len(columns))
    for learn, judge in (halves, halves[::-1]):
        errors, squares = _errors(learn, judge, columns, kept)
        missed += errors
        varied += squares
    shares = np.full(len(columns), np.nan)
    np.divide(varied - missed, varied, out=shares, where=varied > 0)
    both = np.concatenate([half.centred() for half in halves])
    return Prediction(
        np.clip(shares, 0, 1), varied, _most_alike(both, columns[kept], varied[kept] > 0)
    )


@dataclass(frozen=True)
class _Half:
    """Samples as real rows, the roots of their weights, and where values were observed."""

    rows: NDArray[np.float64]
    roots: NDArray[np.float64]
    observed: NDArray[np.bool_] | None

    @classmethod
    def of(cls, samples: KeptSamples, scale: float) -> _Half:
        flat = np.asarray(samples.rows).reshape(len(samples), -1)
        observed = None if samples.observed is None else samples.observed.reshape(len(flat), -1)
        if np.iscomplexobj(flat):
            flat = np.concatenate([flat.real, flat.imag], axis=1)
            observed = None if observed is None else np.concatenate([observed] * 2, axis=1)
        rows = flat.astype(float) / scale
        shares = samples.shares
        roots = np.ones(len(rows)) if shares is None else np.sqrt(shares)
        return cls(rows, roots[:, None], observed)

    @property
    def mean(self) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = np.average(self.rows, axis=0, weights=self.roots[:, 0] ** 2)
        return mean

    def centred(self, mean: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return deviations from a mean, multiplied by the roots of the weights."""
        return (self.rows - (self.mean if mean is None else mean)) * self.roots


def _columns_of(rows: Any, feature_mode: int | None) -> NDArray[np.intp]:
    """Return the columns of every feature, ``(n_features, q)``, imaginary parts last."""
    shape = rows.shape[1:]
    places = np.arange(int(np.prod(shape))).reshape(shape)
    axis = 0 if feature_mode is None else feature_mode
    found = places.reshape(-1, 1) if feature_mode is None else np.moveaxis(places, axis, 0)
    found = found.reshape(len(found), -1)
    if np.iscomplexobj(rows):
        found = np.concatenate([found, found + places.size], axis=1)
    return found


def _errors(
    learn: _Half, judge: _Half, columns: NDArray[np.intp], kept: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared errors of all features, and their squared distances to the mean."""
    mean = learn.mean
    known, new = learn.centred(mean), judge.centred(mean)
    deviations = np.sqrt(np.mean(known**2, axis=0))
    rounding = _ROUNDING * np.abs(mean)
    deviations[deviations <= rounding] = 0  # constants cannot teach
    new[:, np.abs(new).max(axis=0, initial=0) <= rounding] = 0
    factors = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    known, seen = known * factors, new * factors
    own = columns[kept]
    ridge = Ridge(known[:, own.ravel()])
    errors = seen - ridge.predict(known, seen[:, own.ravel()])
    errors[:, own] = ridge.left_by_others(seen[:, own.ravel()], len(own))
    errors = np.where(deviations > 0, errors * deviations, new)
    if judge.observed is not None:
        errors, new = errors * judge.observed, new * judge.observed
    squares = np.sum(new**2, axis=0)
    return np.sum(errors**2, axis=0)[columns].sum(axis=1), squares[columns].sum(axis=1)


class Ridge:
    """Ridge regressions that share one decomposition of the columns that they learn from.

    Every target has its own ridge: that of ``1e-6, 1e-4, 0.01, 1`` times the mean squared singular
    value with the least generalised cross-validation error.

    Parameters
    ----------
    columns : ndarray of shape (n, s)
        Centred columns, those of one feature after those of another.
    """

    def __init__(self, columns: NDArray[np.float64]) -> None:
        left, values, right = np.linalg.svd(columns, full_matrices=False)
        some = values > values.max(initial=0) * max(columns.shape) * np.finfo(float).eps
        self._columns, self._left = columns, left[:, some]
        self._values, self._right = values[some], right[some]
        self.ridges = _RIDGES * float(np.mean(values**2))

    def predict(
        self, targets: NDArray[np.float64], new: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Predict targets ``(n, t)`` of the same samples from the columns of new ones."""
        inside = self._left.T @ targets
        energy = inside**2
        beyond = np.maximum(0.0, np.sum(targets**2, axis=0) - energy.sum(axis=0))
        residuals = [beyond + lost**2 @ energy for lost in map(self._lost, self.ridges)]
        best = self._best(np.array(residuals), 1.0)
        seen, found = new @ self._right.T, np.empty((len(new), targets.shape[1]))
        for place in np.unique(best):
            weights = self._values / (self._values**2 + self.ridges[place])
            found[:, best == place] = (seen * weights) @ inside[:, best == place]
        return found

    def left_by_others(self, new: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """Return what all other features miss of each of `count` ones, ``(m, count, q)``.

        With ``P`` the inverse of ``Z'Z + a I``, the regression of the columns J of Z on its other
        columns leaves ``(Z P)_J (P_JJ)^-1``, so that no feature needs its own regression.
        """
        if count == 1:
            return new.reshape(len(new), 1, -1)
        squares = [
            np.sum(self.left_with(ridge, self._columns, count) ** 2, axis=(0, 2))
            for ridge in self.ridges
        ]
        best = self._best(np.array(squares), (count - 1) / count)
        found = np.empty((len(new), count, new.shape[1] // count))
        for place in np.unique(best):
            chosen = best == place
            found[:, chosen] = self.left_with(self.ridges[place], new, count)[:, chosen]
        return found

    def left_with(self, ridge: float, rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """Return the same for a given ridge."""
        size = rows.shape[1] // count
        kept = 1 - self._lost(ridge)
        # a P = I - V diag(s^2 / (s^2 + a)) V'
        projected = rows - (rows @ self._right.T * kept) @ self._right
        found = np.empty((len(rows), count, size))
        for feature in range(count):
            place = slice(feature * size, (feature + 1) * size)
            block, part = self._right[:, place].T, projected[:, place]
            if size <= len(kept):
                inverse = np.eye(size) - (block * kept) @ block.T
                found[:, feature] = np.linalg.solve(inverse, part.T).T
            else:  # by the identity of Woodbury, with matrices as small as there are samples
                inner = np.diag(1 / kept) - block.T @ block
                found[:, feature] = part + np.linalg.solve(inner, (part @ block).T).T @ block.T
        return found

    def _lost(self, ridge: float) -> NDArray[np.float64]:
        lost: NDArray[np.float64] = ridge / (self._values**2 + ridge)
        return lost

    def _best(self, residuals: NDArray[np.float64], share: float) -> NDArray[np.intp]:
        """Return the places of the ridges with the least generalised cross-validation errors."""
        freedom = [share * float(np.sum(1 - self._lost(ridge))) for ridge in self.ridges]
        left = np.maximum(len(self._columns) - 1 - np.array(freedom), 1e-9)
        return np.argmin(residuals / left[:, None] ** 2, axis=0)


def _most_alike(
    rows: NDArray[np.float64], own: NDArray[np.intp], varies: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return for each feature the place of the other one that varies most like it; -1 for none.

    Single columns are compared by their correlation, wider features by the RV coefficient, which is
    the correlation of the inner products of their samples.
    """
    count = len(own)
    if own.shape[1] > 1:
        rows = rows[:: -(-len(rows) // _MOST_COMPARED)]
        products = [(part @ part.T).ravel() for part in (rows[:, feature] for feature in own)]
        described = np.stack(products, axis=1)
    else:
        described = rows[:, own[:, 0]]
    norms = np.where(varies, np.linalg.norm(described, axis=0), 0)
    described = np.divide(described, norms, out=np.zeros_like(described), where=norms > 0)
    found = np.full(count, -1, dtype=np.intp)
    if np.count_nonzero(norms) > 1:
        for place in np.flatnonzero(norms):
            likeness = np.where(norms > 0, np.abs(described[:, place] @ described), -1)
            likeness[place] = -1
            found[place] = np.argmax(likeness)
    return found
