"""MSPCA: features that the sparse multilinear principal components read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from tensift._stacks import eigh, peak_phases
from tensift._warnings import warn_user
from tensift.algebra import mode_product, unfold
from tensift.gram import GramTensor
from tensift.selectors._vectorised import VectorisedSelector
from tensift.solvers._decoder import best_decoder
from tensift.solvers._encoder import EncoderProblems

__all__ = ["MSPCA"]

_ENERGY = 0.9  # of a mode, that its components hold by default
_TURNS, _STILL = 200, 1e-6  # of encoder and decoder of one mode, and the decrease that ends them
_IMPROVEMENTS, _EXACT = 1000, 1e-11  # of an encoder, and the change that counts as none
_NEWTON_STEPS = 30  # of an encoder
_SINGULAR = 1e-9  # of the largest curvature
_SMALL = 64  # entries of a column, for which no inverse is used
_ROUNDING = 1e-13  # of the trace of a scatter, in the conditions of an optimum


class MSPCA(VectorisedSelector):
    """Multilinear sparse principal component analysis, used for feature selection.

    Every mode gets a sparse encoder ``U_k`` and an orthonormal decoder ``B_k``, which reconstruct
    samples that the other modes' decoders have projected. A feature's score is the squared norm of
    its row in the Kronecker product of all encoders, that is, the product over the modes of the
    squared norms of rows ``U_k[i_k, :]``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_components : int, sequence of int, or None, default=None
        Components of every mode, or of each. None: in each mode as few as hold 90% of its scatter,
        which is the habit of multilinear PCA.
    alpha : float, default=1.0
        Weight of the squares of the encoders.
    beta : float, default=1.0
        Weight of the moduli of the encoders. What it does depends on the scatter, which grows with
        the number of samples and with the square of their scale.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, scored
        by the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    max_iter : int, default=200
        Rounds over the modes at most.
    tol : float, default=1e-3
        Stop when no encoder moves by more in a round, in the Frobenius norm.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map; 0 for features that do not vary.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first. Whole rows and columns have scores of zero;
        those are ordered by the features' standard deviations.
    encoders_ : list of ndarray of shape ``(d_k, n_components_[k])``
        ``U_k``, columns scaled to norm one or zero.
    decoders_ : list of ndarray of shape (d_k, n_components_[k])
        ``B_k``, with orthonormal columns.
    n_components_ : tuple of int
        Components of every mode.
    objective_ : float
        The sum of the objectives of all modes in the last round.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        That sum after every round.
    n_iter_ : int
        Rounds over the modes.
    n_features_ : int
        How many features are kept.
    explained_energy_, suggested_count_
        Of "diverse" and "auto": as in `STPCASelector`.
    n_features_in_, feature_shape_
        The number of elements of a sample, and its shape.

    See Also
    --------
    tensift.decomposition.SparseTensorPCA : Sparse PCA of slices; with one mode it is the same
        problem.

    Notes
    -----
    With ``S_k`` the scatter along mode ``k`` of centred samples, projected along all other modes by
    their ``B_l``, the objective of mode ``k`` is, over ``B_k^T B_k = I``, ::

        Tr(S_k) - 2 Tr(B_k^T S_k U_k) + Tr(U_k^T (S_k + alpha I) U_k) + beta ||U_k||_1

    Elastic nets for ``U_k`` and Procrustes problems for ``B_k`` take turns until it falls by less
    than a millionth. Within a mode it never rises; from mode to mode ``S_k`` changes, so that
    nothing falls throughout. The method was published for extraction, without a program. That the
    other modes are projected by ``B_l`` and not ``U_l``, the start from eigenvectors, the stopping
    rules and the score are readings of the text.

    A round takes ``O(n d c)`` for the scatters, with ``c`` the components of a mode. A turn of mode
    ``k`` takes ``O((d_k^2 + s^3) c)`` for each of a few Newton steps, with ``s`` the entries of a
    column that are not zero, or those that are, if they are fewer. With a single mode of many
    features that is slow: `SparseTensorPCA` solves the same problem faster.

    References
    ----------
    Z. Lai, Y. Xu, Q. Chen, J. Yang, D. Zhang: Multilinear Sparse Principal Component Analysis.
    IEEE Transactions on Neural Networks and Learning Systems, 2014.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import MSPCA
    >>> X = load_digits().data
    >>> selector = MSPCA(20, n_components=2, beta=100).fit(X)
    >>> [encoder.shape for encoder in selector.encoders_]
    [(8, 2), (8, 2)]
    >>> selector.transform(X).shape
    (1797, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
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
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        samples = (rows - rows.mean(axis=0)).reshape(len(rows), *self.feature_shape_)
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
                f"an encoder still moved by {change:.1e} after max_iter={self.max_iter} rounds; "
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
                "their standard deviations; lower it"
            )
        self._set_row_scores(scores, rows)

    def _start(self, samples: NDArray) -> list[NDArray]:
        """Leading eigenvectors ``(1, d_k, c_k)`` of the scatter along every mode."""
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
                count = int(np.argmax(share >= _ENERGY)) + 1
            count = self._at_most("n_components", count, shape[mode], f"the length of mode {mode}")
            leading = vectors[:, :, ::-1][:, :, :count]
            decoders.append(leading * peak_phases(leading)[:, None, :])
        return decoders


def alternate(
    problem: EncoderProblems, encoder: NDArray, decoder: NDArray
) -> tuple[NDArray, NDArray, list[float]]:
    """Encoder and decoder ``(1, d_k, c_k)`` of one mode after turns, and the objective of each."""
    path: list[float] = []
    for _ in range(_TURNS):
        encoder = best_encoder(problem, encoder, decoder)
        image = problem.matrices @ encoder
        dead = np.all(encoder == 0, axis=1)
        decoder = best_decoder(problem.matrices, image, dead, None)
        path.append(float(problem.value(problem.encoder(decoder, encoder, encoder, image))[0]))
        if len(path) > 1 and path[-2] - path[-1] <= _STILL * abs(path[-1]):
            break
    return encoder, decoder, path


def best_encoder(problem: EncoderProblems, encoder: NDArray, decoder: NDArray) -> NDArray:
    """The best encoder for a decoder, starting from another one."""
    found, solved = _with_active_sets(problem, np.sign(encoder[0]), decoder[0])
    if not solved.all():
        found[:, ~solved] = _by_splitting(problem, encoder[:, :, ~solved], decoder[:, :, ~solved])
    return found[None]


def _with_active_sets(
    problem: EncoderProblems, signs: NDArray, decoder: NDArray
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Encoders by Newton steps from their signs, and which of the columns they solve.

    A step solves the optimality conditions as if the signs were right. Entries that come out with
    another sign leave, and zeros that are pulled by more than the penalty enter, all at once: with
    good signs to begin with, that is done after few steps. It can go round in circles.
    """
    scatter, half = problem.matrices[0], problem.lam / 2
    rounding = _ROUNDING * problem.trace[0]
    signs = signs.copy() if half else np.ones_like(signs)
    pull = scatter @ decoder
    found, solved = np.zeros_like(pull), np.zeros(pull.shape[1], dtype=bool)
    open_ = np.arange(pull.shape[1])
    inverse = _inverse(problem)
    for _ in range(_NEWTON_STEPS):
        right = np.where(signs[:, open_] != 0, pull[:, open_] - half * signs[:, open_], 0)
        found[:, open_] = _solution(problem, inverse, signs[:, open_] != 0, right)
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


def _inverse(problem: EncoderProblems) -> NDArray | None:
    """The inverse of ``S + ridge I``; None if that is nearly singular, or too small to gain."""
    (values,), (vectors,) = problem.gram.spectrum
    curvature = values + problem.ridge
    if len(values) <= _SMALL or curvature[0] <= _SINGULAR * curvature[-1]:
        return None
    return (vectors / curvature) @ vectors.T


def _solution(
    problem: EncoderProblems, inverse: NDArray | None, chosen: NDArray, right: NDArray
) -> NDArray:
    """``(S + ridge I) u = right`` in the chosen entries ``(d_k, c)`` of ``u``, the others zero.

    Every column takes a factorisation: of the block of its chosen entries, or with an inverse, if
    they are fewer, of that of the others.
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
        values = _eliminated(inverse, chosen, right)
        rest = np.where(chosen, right - scatter @ values - ridge * values, 0)
        found[:, dense] = values + _eliminated(inverse, chosen, rest)
    return found


def _eliminated(inverse: NDArray, chosen: NDArray, right: NDArray) -> NDArray:
    """Solutions by the inverse, with multipliers that make the entries zero that are not chosen."""
    values = inverse @ right
    for column in np.flatnonzero(~chosen.all(axis=0)):
        index = np.flatnonzero(~chosen[:, column])
        block = inverse[index[:, None], index]
        force = dposv(block.T, values[index, column], lower=1, overwrite_a=1)[1]
        values[:, column] -= force @ inverse[index]
    return np.where(chosen, values, 0)


def _by_splitting(problem: EncoderProblems, encoder: NDArray, decoder: NDArray) -> NDArray:
    """Columns ``(d_k, c)`` of the best encoder, by alternating directions."""
    state = problem.encoder(decoder, encoder, encoder, problem.matrices @ encoder)
    settled = False  # signs: they settle soon, and values late
    for _ in range(_IMPROVEMENTS):
        if settled:
            found, solved = _with_active_sets(problem, np.sign(encoder[0]), decoder[0])
            if solved.all():
                return found
        state = problem.improved(state)
        previous, encoder = encoder, state.slices
        if np.abs(encoder - previous).max() <= _EXACT:
            break
        settled = np.array_equal(np.sign(encoder), np.sign(previous))
    return encoder[0]


def _projected_scatter(samples: NDArray, decoders: Sequence[NDArray], mode: int) -> GramTensor:
    """The scatter along a mode of samples that the decoders of all other modes have projected."""
    for other, decoder in enumerate(decoders):
        if other != mode:
            samples = mode_product(samples, decoder[0].T, other + 1)
    unfolding = unfold(samples, mode + 1)
    return GramTensor((unfolding @ unfolding.T)[None], thin=False)


def _unit_columns(encoder: NDArray) -> NDArray:
    norms = np.linalg.norm(encoder, axis=0)
    return encoder / np.where(norms > 0, norms, 1)
