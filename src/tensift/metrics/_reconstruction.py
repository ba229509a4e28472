"""How well the selected features predict all features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._checks import as_real_rows
from tensift.metrics._features import check_features, check_samples, count_features, kept_elements

__all__ = ["Reconstruction", "reconstruction_error"]

_RIDGES = 10.0 ** np.arange(-6, 4)  # shares of the mean squared singular value


def reconstruction_error(
    X: ArrayLike,
    features: ArrayLike,
    *,
    feature_mode: int | str | None = None,
    n_folds: int = 5,
    random_state: int = 0,
) -> float:
    """Share of the variance that the selected features do not explain on new samples.

    A linear regression predicts all other features from the selected ones. It is trained on
    some of the samples and judged on the rest, in turn (cross-validation). It needs no labels.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features. A complex number counts as two.
    features : array-like
        The selected features: indices without duplicates (flat C-order, or along
        ``feature_mode``), or a boolean mask of all features.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.
    n_folds : int, default=5
        The number of folds. Every sample is predicted once.
    random_state : int, default=0
        The seed of the shuffle.

    Returns
    -------
    float
        0 if the predictions are perfect, as when all features are selected. 1 if they are as
        good as predicting the mean, and more than 1 if they are worse.

    Notes
    -----
    The regression is ridge regression. Its weight is one of ``1e-6, 1e-5, ..., 1e3`` times the
    mean squared singular value of the selected features: the one with the least generalised
    cross-validation error on the training samples. So units do not matter, and you can select
    more features than there are samples. Features count in proportion to their variance. For n
    samples and k selected elements, the work is ``O(n k min(n, k) + n d min(n, k))``, and no
    matrix is larger than the data.

    References
    ----------
    G. H. Golub, M. Heath, G. Wahba: Generalized cross-validation as a method for choosing a good
    ridge parameter. Technometrics 21(2), 1979.

    Examples
    --------
    The third column is the sum of the first two, the fourth is noise.

    >>> import numpy as np
    >>> from tensift.metrics import reconstruction_error
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> X[:, 3] /= 10
    >>> round(reconstruction_error(X, [0, 1]), 3)
    0.003
    >>> round(reconstruction_error(X, [3]), 3)
    1.004
    """
    data, feature_mode = check_samples(X, feature_mode)
    n_features = count_features(data.shape[1:], feature_mode)
    kept = check_features("features", features, n_features)
    if not isinstance(n_folds, (int, np.integer)) or not 2 <= n_folds <= len(data):
        raise ValueError(
            f"n_folds must be an integer from 2 to {len(data)}, the number of samples; "
            f"got {n_folds!r}"
        )
    samples = Reconstruction(data, kept, feature_mode)
    order = np.random.default_rng(random_state).permutation(len(data))
    missed = total = 0.0
    for test in np.array_split(order, n_folds):
        learning = np.setdiff1d(order, test)
        parts = samples.missed(learning, test)
        missed, total = missed + parts[0], total + parts[1]
    if total == 0:
        raise ValueError("X is constant, so there is no variance to explain")
    return missed / total


class Reconstruction:
    """Predict all elements of samples from those of the selected features.

    Samples may have positive weights, whose sizes do not matter, only their ratios.
    """

    def __init__(
        self,
        data: np.ndarray,
        features: np.ndarray,
        feature_mode: int | None,
        weights: np.ndarray | None = None,
    ) -> None:
        self._weights = weights
        kept = kept_elements(data.shape[1:], features, feature_mode)
        self._kept = np.concatenate([kept, kept]) if np.iscomplexobj(data) else kept
        rows = as_real_rows(data)
        # Scale to at most 1, so that squares neither overflow nor underflow.
        self._rows = rows / (float(np.abs(rows).max()) or 1.0)

    def missed(self, learning: np.ndarray, test: np.ndarray) -> tuple[float, float]:
        """Return the squared error on the test samples, and their squared distance to the mean.

        The mean is that of the training samples: the best prediction without any features.
        """
        kept = self._kept
        weights = self._weights
        own = None if weights is None else weights[learning]
        mean = np.average(self._rows[learning], axis=0, weights=own)
        known, new = self._rows[learning] - mean, self._rows[test] - mean
        if weights is not None and own is not None:
            known *= np.sqrt(own / np.mean(own))[:, None]
            new *= np.sqrt(weights[test])[:, None]  # errors are linear in what is predicted
        errors = new[:, ~kept] - _predict(known[:, kept], known[:, ~kept], new[:, kept])
        return float(np.sum(errors**2)), float(np.sum(new**2))


def _predict(known: np.ndarray, wanted: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Regress `wanted` on `known` (both centred) by ridge regression; predict at `new`."""
    left, values, right = np.linalg.svd(known, full_matrices=False)
    significant = values > values[0] * max(known.shape) * np.finfo(float).eps
    if not significant.any() or not wanted.size:
        return np.zeros((len(new), wanted.shape[1]))
    left, values, right = left[:, significant], values[significant], right[significant]
    targets = left.T @ wanted
    ridge = _choose_ridge(values**2, targets, wanted)
    return np.asarray((new @ right.T * (values / (values**2 + ridge))) @ targets)


def _choose_ridge(values: np.ndarray, targets: np.ndarray, wanted: np.ndarray) -> float:
    """Return the ridge weight with the least generalised cross-validation error.

    `values` are squared singular values, `targets` are in the basis of the singular vectors.
    """
    energy = np.sum(targets**2, axis=1)
    beyond = max(0.0, float(np.sum(wanted**2) - energy.sum()))  # error that no weight can avoid
    candidates = _RIDGES * values.mean()
    lost = candidates[:, None] / (values + candidates[:, None])
    residual = beyond + lost**2 @ energy
    freedom = len(wanted) - 1 - (1 - lost).sum(axis=1)  # the mean takes one degree of freedom
    return float(candidates[np.argmin(residual / freedom**2)])
