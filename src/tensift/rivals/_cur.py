"""CUR feature selection: the largest leverage, one feature at a time."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift._utils.stacks import squared_modulus
from tensift._utils.warnings import warn_user
from tensift.rivals._fibres import orthonormal_basis
from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints, TensorSelector

__all__ = ["CURSelector"]

_EXPLAINED = 1e-14  # a share of the energy of all features that is rounding of a Gram matrix
_DENSE = 256  # rows up to which all eigenvectors are as cheap as a few


class CURSelector(GreedySelector):
    """Select the feature with the largest leverage, take it out of all features, and repeat.

    The leverage of a feature is the sum of squares of its entries in the leading right singular
    vectors of the centred samples. After every pick, what is left of the samples is orthogonal to
    all picked features, and the singular vectors are found again.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    n_components : int or None, default=None
        The number of leading singular vectors. None: 1, as in scikit-matter.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature. Its
        leverage is the sum over its elements, and all of them are taken out.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The leverage of a feature when it was picked, but at most the score of the feature before
        it. For others, the leverage at the end.
    order_ : ndarray of int
        Flat row-major feature indices: the picked features in order, then the others.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        With "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Notes
    -----
    The picks are those of ``skmatter.feature_selection.CUR`` in scikit-matter, with singular
    vectors found again after every pick (``recompute_every=1``), on centred samples. There are two
    differences. Samples are centred here; scikit-matter takes them as they are. Once the picked
    features explain everything, we order the others by their deviation.

    If the leading singular values are equal, singular vectors are not unique, and neither are the
    picks. A fit takes ``O(s n d)`` for ``s`` picks, and ``O(n d min(n, d))`` once. Tensors may be
    complex.

    References
    ----------
    G. Imbalzano, A. Anelli, D. Giofré, S. Klees, J. Behler, M. Ceriotti: Automatic selection of
    atomic fingerprints and reference configurations for machine-learning potentials. Journal of
    Chemical Physics 148(24), 2018.

    M. W. Mahoney, P. Drineas: CUR matrix decompositions for improved data analysis. Proceedings of
    the National Academy of Sciences 106(3), 2009.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import CURSelector
    >>> X = load_digits().data[:200]
    >>> CURSelector(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        n_components: int | None = None,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        n = len(values)
        rows: NDArray = values.reshape(n, -1)
        if n > rows.shape[1]:
            rows = scipy.linalg.qr(rows, mode="r")[0][: rows.shape[1]]  # the same right vectors
        wanted, limit = self.n_components or 1, len(rows)
        if wanted > limit:
            warn_user(
                f"n_components={wanted} is more than the {limit} singular vectors that X has; "
                f"{limit} is used"
            )
        return _Residual(values, rows, min(wanted, limit))


class _Residual(PickRule):
    """What is left of rows ``(n, features * width)`` once features were taken out."""

    def __init__(self, values: NDArray, rows: NDArray, n_components: int) -> None:
        super().__init__(values)
        self._rows, self._n_components = rows, n_components
        self._width = rows.shape[1] // self.size
        self._gram = rows @ rows.conj().T
        self._least = _EXPLAINED * float(np.trace(self._gram).real)
        self._bases: list[NDArray] = []

    def _worth(self) -> NDArray[np.float64]:
        """Return the leverage of every feature; zeros if nothing is left."""
        values, vectors = _leading(self._gram, self._n_components)
        kept = values > max(self._least, 1e-14 * values.max())
        if not kept.any():
            return np.zeros(self.size)
        right = self._rows.conj().T @ self._taken_out_of(vectors[:, kept])
        lengths = squared_modulus(right).sum(axis=0)
        sums: NDArray[np.float64] = squared_modulus(right) @ (1 / lengths)
        return sums.reshape(self.size, self._width).sum(axis=1)

    def _take(self, feature: int) -> None:
        """Take a feature out of all."""
        own = self._rows[:, feature * self._width : (feature + 1) * self._width]
        length = float(np.linalg.norm(own))
        basis = orthonormal_basis(self._taken_out_of(self._taken_out_of(own)), length)
        self._bases.append(basis)
        for left in (True, False):  # (I - Q Q^H) K (I - Q Q^H)
            if left:
                self._gram = self._gram - basis @ (basis.conj().T @ self._gram)
            else:
                self._gram = self._gram - (self._gram @ basis) @ basis.conj().T

    def _taken_out_of(self, columns: NDArray) -> NDArray:
        for basis in self._bases:
            columns = columns - basis @ (basis.conj().T @ columns)
        return columns


def _leading(gram: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """Return the largest eigenvalues of a Gram matrix, and their eigenvectors."""
    size = len(gram)
    gram = (gram + gram.conj().T) / 2
    if size <= _DENSE or 3 * count > size:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1])
    else:
        # A start that moves with the samples if these are reordered.
        start = np.diag(gram).real.astype(gram.dtype)
        values, vectors = scipy.sparse.linalg.eigsh(gram, count, v0=start)
    return values, vectors
