"""MSPCA: select the features that sparse multilinear principal components use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from sklearn.exceptions import ConvergenceWarning

from tensift._utils.sklearn_compat import Interval
from tensift._utils.stacks import eigh, peak_phases
from tensift._utils.warnings import warn_user
from tensift.algebra import mode_product, unfold
from tensift.moments import GramTensor
from tensift.rivals._spread import with_roots
from tensift.rivals._vectorised import WeighedSelector
from tensift.selection import Constraints
from tensift.solvers import EncoderProblems, best_decoder
from tensift.sources import SampleWeights

__all__ = ["MSPCA"]

_DEFAULT_ENERGY = 0.9  # share of the scatter of a mode that its components hold by default
_MAX_TURNS = 200  # of encoder and decoder of one mode
_TURN_TOL = 1e-6  # stop the turns when the objective falls by less than this share
_MAX_SPLITTING_STEPS = 1000
_SPLITTING_TOL = 1e-11  # stop splitting when no entry changes by more
_MAX_NEWTON_STEPS = 30
_SINGULAR = 1e-9  # share of the largest eigenvalue below which a matrix is not inverted
_SMALL = 64  # up to this many features in a mode, the inverse does not pay off
_ROUNDING = 1e-13  # tolerance of the optimality conditions, as a share of the trace of the scatter


class MSPCA(WeighedSelector):
    """Multilinear sparse principal component analysis, used for feature selection.

    Every mode has a sparse encoder ``U_k`` and an orthonormal decoder ``B_k``. They reconstruct the
    samples after the decoders of all other modes have projected them. The score of a feature is the
    squared norm of its row in the Kronecker product of all encoders, that is, the product over the
    modes of the squared norms of the rows ``U_k[i_k, :]``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_components : int, sequence of int, or None, default=None
        The number of components: one number for all modes, or one per mode. None: for each mode
        the fewest that hold 90% of its scatter, as is usual in multilinear PCA.
    alpha : float, default=1.0
        The weight of the squared entries of the encoders.
    beta : float, default=1.0
        The weight of the absolute entries of the encoders. Its effect depends on the scatter, which
        grows with the number of samples and with the square of their scale.
    scale : {"max"} or None, default="max"
        "max" divides the data by their largest absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    max_iter : int, default=200
        The largest number of rounds over the modes.
    tol : float, default=1e-3
        Stop when no encoder changes by more than this in a round, in the Frobenius norm.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map; 0 for constant features.
    order_ : ndarray of int
        Flat row-major feature indices, best first. Whole rows and columns can have a score of
        zero; those features are ordered by standard deviation.
    encoders_ : list of ndarray of shape ``(d_k, n_components_[k])``
        ``U_k``. Columns have norm one, or are zero.
    decoders_ : list of ndarray of shape (d_k, n_components_[k])
        ``B_k``, with orthonormal columns.
    n_components_ : tuple of int
        The number of components of every mode.
    objective_ : float
        The sum of the objectives of all modes in the last round.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The same sum after every round.
    n_iter_ : int
        The number of rounds over the modes.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    n_features_in_, feature_shape_
        The number of elements of a sample, and its shape.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    See Also
    --------
    tensift.decomposition.SparseTensorPCA : Sparse PCA of slices; with one mode it is the same
        problem.

    Notes
    -----
    Let ``S_k`` be the scatter along mode ``k`` of the centred samples, projected along all other
    modes by their ``B_l``. The objective of mode ``k``, subject to ``B_k^T B_k = I``, is ::

        Tr(S_k) - 2 Tr(B_k^T S_k U_k) + Tr(U_k^T (S_k + alpha I) U_k) + beta ||U_k||_1

    We solve an elastic net for ``U_k`` and a Procrustes problem for ``B_k`` in turn, until the
    objective falls by less than a millionth. Within a mode it never rises. Between modes ``S_k``
    changes, so the sum of all objectives may rise. The method was published for feature extraction,
    without a program. We chose what the paper leaves open: the other modes are projected by ``B_l``
    and not by ``U_l``, the start is from eigenvectors, and the stopping rules and the score are
    ours.

    A round takes ``O(n d c)`` for the scatters, where ``c`` is the number of components of a mode.
    A turn of mode ``k`` takes a few Newton steps of ``O((d_k^2 + s^3) c)`` each, where ``s`` is the
    number of non-zero entries of a column, or of zero entries if they are fewer. This is slow for a
    single mode of many features: `SparseTensorPCA` solves the same problem faster.

    References
    ----------
    Z. Lai, Y. Xu, Q. Chen, J. Yang, D. Zhang: Multilinear Sparse Principal Component Analysis.
    IEEE Transactions on Neural Networks and Learning Systems, 2014.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import MSPCA
    >>> X = load_digits().data
    >>> selector = MSPCA(20, n_components=2, beta=100).fit(X)
    >>> [encoder.shape for encoder in selector.encoders_]
    [(8, 2), (8, 2)]
    >>> selector.transform(X).shape
    (1797, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WeighedSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), list, tuple, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_components: int | Sequence[int] | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 200,
        tol: float = 1e-3,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol

    def _fit_rows(self, rows: NDArray[np.float64], weights: SampleWeights | None = None) -> None:
        samples = with_roots(rows, weights).reshape(len(rows), *self.feature_shape_)
        decoders = self._start(samples)
        encoders = decoders.copy()
        path = []
        for _ in range(self.max_iter):
            change = objective = 0.0
            for mode, previous in enumerate(encoders):
                problem = EncoderProblems(
                    _projected_scatter(samples, decoders, mode), self.beta, self.alpha, "entries"
                )
                encoders[mode], decoders[mode], values = alternate(
                    problem, previous, decoders[mode]
                )
                change = max(change, float(np.linalg.norm(encoders[mode] - previous)))
                objective += values[-1]
            path.append(objective)
            if change < self.tol:
                break
        else:
            warn_user(
                f"an encoder still changed by {change:.1e} after max_iter={self.max_iter} rounds; "
                "increase max_iter or tol",
                ConvergenceWarning,
            )
        self.encoders_ = [_unit_columns(encoder[0]) for encoder in encoders]
        self.decoders_ = [decoder[0] for decoder in decoders]
        self.n_components_ = tuple(encoder.shape[1] for encoder in self.encoders_)
        self.objective_path_ = np.array(path)
        self.objective_, self.n_iter_ = path[-1], len(path)
        row_norms = [(encoder**2).sum(axis=1) for encoder in self.encoders_]
        scores = reduce(np.multiply.outer, row_norms).ravel()
        if not scores.any():
            warn_user(
                f"beta={self.beta} leaves nothing: an encoder is zero, and features are ordered by "
                "their standard deviations; lower beta"
            )
        self._set_row_scores(scores, rows, weights)

    def _start(self, samples: NDArray) -> list[NDArray]:
        """Return the leading eigenvectors ``(1, d_k, c_k)`` of the scatter along every mode."""
        shape = self.feature_shape_
        wanted: list[Any] = [self.n_components] * len(shape)
        if isinstance(self.n_components, list | tuple):
            wanted = list(self.n_components)
            positive = all(isinstance(count, Integral) and int(count) > 0 for count in wanted)
            if len(wanted) != len(shape) or not positive:
                raise ValueError(
                    f"n_components={self.n_components!r} must be a positive integer, or one for "
                    f"each of the {len(shape)} modes of a sample"
                )
        decoders = []
        for mode, count in enumerate(wanted):
            unfolding = unfold(samples, mode + 1)
            values, vectors = eigh((unfolding @ unfolding.T)[None])
            if count is None:
                share = np.cumsum(values[0, ::-1]) / values.sum()
                count = int(np.argmax(share >= _DEFAULT_ENERGY)) + 1
            count = self._at_most("n_components", count, shape[mode], f"the length of mode {mode}")
            leading = vectors[:, :, ::-1][:, :, :count]
            decoders.append(leading * peak_phases(leading)[:, None, :])
        return decoders


def alternate(
    problem: EncoderProblems, encoder: NDArray, decoder: NDArray
) -> tuple[NDArray, NDArray, list[float]]:
    """Update encoder and decoder ``(1, d_k, c_k)`` in turn; return them and all objectives."""
    path: list[float] = []
    for _ in range(_MAX_TURNS):
        encoder = best_encoder(problem, encoder, decoder)
        image = problem.matrices @ encoder
        dead = np.all(encoder == 0, axis=1)
        decoder = best_decoder(problem.matrices, image, dead, None)
        path.append(float(problem.value(problem.encoder(decoder, encoder, encoder, image))[0]))
        if len(path) > 1 and path[-2] - path[-1] <= _TURN_TOL * abs(path[-1]):
            break
    return encoder, decoder, path


def best_encoder(problem: EncoderProblems, encoder: NDArray, decoder: NDArray) -> NDArray:
    """Return the best encoder for a decoder, starting from a given encoder."""
    found, solved = _by_newton_steps(problem, np.sign(encoder[0]), decoder[0])
    if not solved.all():
        found[:, ~solved] = _by_splitting(problem, encoder[:, :, ~solved], decoder[:, :, ~solved])
    return found[None]


def _by_newton_steps(
    problem: EncoderProblems, signs: NDArray, decoder: NDArray
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Find encoders by Newton steps from their signs; return them and which columns are solved.

    A step solves the optimality conditions as if the signs were right. Then all entries that come
    out with another sign become zero, and all zeros whose gradient exceeds the penalty become
    active, at once. With good first signs this takes few steps. It can cycle: the columns that are
    not solved need another method.
    """
    scatter, half = problem.matrices[0], problem.lam / 2
    rounding = _ROUNDING * problem.trace[0]
    signs = signs.copy() if half else np.ones_like(signs)
    pull = scatter @ decoder
    found, solved = np.zeros_like(pull), np.zeros(pull.shape[1], dtype=bool)
    open_ = np.arange(pull.shape[1])
    inverse = _inverse_or_none(problem)
    for _ in range(_MAX_NEWTON_STEPS):
        right = np.where(signs[:, open_] != 0, pull[:, open_] - half * signs[:, open_], 0)
        found[:, open_] = _solve_chosen(problem, inverse, signs[:, open_] != 0, right)
        values, assumed = found[:, open_], signs[:, open_]
        slope = pull[:, open_] - scatter @ values - problem.ridge * values
        entering = np.where(np.abs(slope) > half + rounding, np.sign(slope), 0)
        staying = assumed if half == 0 else np.where(np.sign(values) == assumed, assumed, 0)
        signs[:, open_] = np.where(assumed == 0, entering, staying)
        settled = np.all(signs[:, open_] == assumed, axis=0)
        exact = np.where(assumed == 0, 0, np.abs(slope - half * assumed)).max(axis=0) <= rounding
        solved[open_[settled & exact]] = True
        open_ = open_[~settled]
        if not len(open_):
            break
    return found, solved


def _inverse_or_none(problem: EncoderProblems) -> NDArray | None:
    """Return the inverse of ``S + ridge I``, or None if it is nearly singular or not worth it."""
    (values,), (vectors,) = problem.gram.spectrum
    curvature = values + problem.ridge
    if len(values) <= _SMALL or curvature[0] <= _SINGULAR * curvature[-1]:
        return None
    return (vectors / curvature) @ vectors.T


def _solve_chosen(
    problem: EncoderProblems, inverse: NDArray | None, chosen: NDArray, right: NDArray
) -> NDArray:
    """Solve ``(S + ridge I) u = right`` for the chosen entries ``(d_k, c)``; the others are zero.

    Each column needs one factorisation: of the block of its chosen entries or, with an inverse and
    if they are fewer, of the block of the other entries.
    """
    scatter, ridge = problem.matrices[0], problem.ridge
    found = np.zeros_like(right)
    dense = 2 * np.count_nonzero(chosen, axis=0) > len(chosen)
    if inverse is None:
        dense[:] = False
    for column in np.flatnonzero(~dense & chosen.any(axis=0)):
        index = np.flatnonzero(chosen[:, column])
        block = scatter[index[:, None], index]
        block.flat[:: len(index) + 1] += ridge
        found[index, column] = dposv(block.T, right[index, column], lower=1, overwrite_a=1)[1]
    if inverse is not None and dense.any():
        chosen, right = chosen[:, dense], right[:, dense]
        values = _solve_with_inverse(inverse, chosen, right)
        rest = np.where(chosen, right - scatter @ values - ridge * values, 0)
        found[:, dense] = values + _solve_with_inverse(inverse, chosen, rest)
    return found


def _solve_with_inverse(inverse: NDArray, chosen: NDArray, right: NDArray) -> NDArray:
    """Solve with the inverse; multipliers make the entries that are not chosen zero."""
    values = inverse @ right
    for column in np.flatnonzero(~chosen.all(axis=0)):
        index = np.flatnonzero(~chosen[:, column])
        block = inverse[index[:, None], index]
        force = dposv(block.T, values[index, column], lower=1, overwrite_a=1)[1]
        values[:, column] -= force @ inverse[index]
    return np.where(chosen, values, 0)


def _by_splitting(problem: EncoderProblems, encoder: NDArray, decoder: NDArray) -> NDArray:
    """Return columns ``(d_k, c)`` of the best encoder, found by ADMM."""
    state = problem.encoder(decoder, encoder, encoder, problem.matrices @ encoder)
    settled = False  # whether signs have settled; they do so long before the values
    for _ in range(_MAX_SPLITTING_STEPS):
        if settled:
            found, solved = _by_newton_steps(problem, np.sign(encoder[0]), decoder[0])
            if solved.all():
                return found
        state = problem.improved(state)
        previous, encoder = encoder, state.slices
        if np.abs(encoder - previous).max() <= _SPLITTING_TOL:
            break
        settled = np.array_equal(np.sign(encoder), np.sign(previous))
    return encoder[0]


def _projected_scatter(samples: NDArray, decoders: Sequence[NDArray], mode: int) -> GramTensor:
    """Return the scatter along a mode, after the decoders of all other modes have projected."""
    for other, decoder in enumerate(decoders):
        if other != mode:
            samples = mode_product(samples, decoder[0].T, other + 1)
    unfolding = unfold(samples, mode + 1)
    return GramTensor((unfolding @ unfolding.T)[None], thin=False)


def _unit_columns(encoder: NDArray) -> NDArray:
    norms = np.linalg.norm(encoder, axis=0)
    return encoder / np.where(norms > 0, norms, 1)
