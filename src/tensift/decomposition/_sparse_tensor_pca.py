"""Sparse principal components of tensors under the star-M product."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from tensift._progress import progress_bar
from tensift._warnings import warn_user
from tensift.base import usable_gram
from tensift.decomposition._base import TensorDecomposition, energy_of_rounding
from tensift.decomposition._coordinates import Coordinates
from tensift.gram import GramTensor, Orientation
from tensift.selectors._penalties import check_fractions
from tensift.solvers import Coupling, SparsePCASolution, critical_sparsity, solve_sparse_pca

__all__ = ["SparseTensorPCA"]

_NEGLIGIBLE = 1e-13  # weights of an encoder, which are of the order of one


class SparseTensorPCA(TensorDecomposition):
    """Principal components of tensors whose encoder reads few features.

    Samples are oriented and transformed as in `TensorPCA`. Every slice ``X_j`` is reconstructed
    as ``U_j Q_j^H X_j`` by an encoder ``Q_j`` that is sparse and a decoder ``U_j`` with
    orthonormal columns::

        min  sum_j ||X_j - U_j Q_j^H X_j||^2 + ridge ||Q||_F^2 + lam pen(Q)    s.t. U_j^H U_j = I

    With one feature mode, as in 2-D rows, and sparse entries it is the sparse PCA of Zou, Hastie
    and Tibshirani.

    Parameters
    ----------
    n_components : int, default=2
        Components of each slice.
    lam : float, default=0.1
        Weight of the penalty.
    ridge : float, default=0.0
        Weight of the squares. It shares weight out among features that say the same.
    sparsity : {"entries", "features", "components"}, default="entries"
        What the penalty adds up, and so what becomes zero.

        - "entries": the moduli of the entries of ``Q``, in the original domain (the paper's "a
          sparse tensor PCA model based on T-SVDM"). The transforms have to be unitary up to a
          factor. Under any but the identity all slices are one problem.
        - "features": the norms of the rows of every ``Q_j``, in the transform domain (its
          "STPCA-MP: transform domain"). A feature leaves all components of a slice at once.
        - "components": the norms of the columns of every ``Q_j``, in the transform domain. It
          shrinks the components of `TensorPCA` and drops the weak ones, but no feature. This is
          the norm for which the paper's theorem 1 holds: ``U_j Q_j^H`` is Hermitian and positive
          semidefinite. With "features" it is neither, as a rule.
    penalty : {"relative", "absolute"}, default="relative"
        "relative": `lam` is a fraction of the value above which every encoder is zero, `ridge` of
        the largest eigenvalue of the Gram matrices. "absolute": both are taken as they stand.
    orientation, transform, feature_shape
        As in `TensorPCA`.
    n_init : int, default=1
        Starts, of which the best is kept for every problem, since it is not convex. The first is
        from `TensorPCA`; for "entries" the second is from the same, rotated towards few large
        entries; the others are random.
    tol : float, default=1e-7
        A problem is done when an iteration lowers its objective by no more than this share.
    max_iter : int, default=1000
        Iterations at most; each updates the encoder and then the decoder.
    n_jobs : int or None, default=None
        Threads over slices and starts. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the random starts and of the "random" transform.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    n_components_ : int
        The number of coordinates, over all slices: of the components whose encoder is not zero.
    components_ : ndarray of shape ``(n_components_, d_1, ..., d_m)``
        What one unit of each coordinate adds to a reconstruction: the decoders, which are not
        sparse; for rows ``(n_components_, d)``. Computed when read.
    weights_ : ndarray of the same shape
        What each coordinate multiplies the elements of a centred sample by: the encoders, the
        sparse loadings of sparse PCA. Under a transform their zeros are in `sparse_encoder_`.
        Computed when read.
    encoder_, decoder_ : ndarray of shape (p, q, k)
        ``Q`` and ``U`` in the transform domain.
    sparse_encoder_ : ndarray of shape (p, q, k)
        The encoder in the domain of the penalty, where its zeros are: ``Q`` in the original domain
        for sparse entries, else `encoder_`.
    sparsity_ : ndarray of shape (p, k)
        Share of zeros in every column of `sparse_encoder_`.
    explained_variance_, explained_variance_ratio_ : ndarray of shape ``(n_components_,)``
        By how much each component lowers the mean squared error of the reconstruction, descending,
        and that as a share of the variance. They add up, since decoders are orthonormal.
    component_slices_, component_numbers_ : ndarray of shape ``(n_components_,)``
        The slice that each component belongs to, in row-major order of the other modes, and its
        number there.
    lam_, ridge_ : float
        The weights of the problem that was solved.
    objective_, n_iter_, dual_gap_ : ndarray of shape (p,), or (1,) if all slices are one problem
        The objective in the end; how often the encoder was updated; by how much a better encoder
        for the same decoder could lower the objective at most, as a share of it.
    objective_path_ : ndarray of shape (p, steps), or (1, steps)
        The objective after every update, encoder and decoder by turns; NaN after the last one. It
        never rises.
    mean_, scores_, ranking_, orientation_, feature_shape_, n_features_in_, n_samples_seen_
        As in `TensorPCA`.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection.

    H. Zou, T. Hastie, R. Tibshirani: Sparse Principal Component Analysis, 2006.

    Examples
    --------
    >>> from tensift import SparseTensorPCA, TensorPCA
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> pca = SparseTensorPCA(n_components=2, lam=0.05).fit(X)
    >>> pca.transform(X).shape
    (1797, 13)
    >>> float(pca.sparsity_.mean().round(2)), round(pca.score(X), 2)
    (0.59, 0.58)
    >>> round(TensorPCA(n_components=2).fit(X).score(X), 2)
    0.6
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorDecomposition._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "sparsity": [StrOptions({"entries", "features", "components"})],
        "penalty": [StrOptions({"absolute", "relative"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "verbose": ["verbose"],
    }
    _results: ClassVar[tuple[str, ...]] = (
        *TensorDecomposition._results,
        "lam_",
        "ridge_",
        "sparse_encoder_",
        "sparsity_",
        "objective_",
        "objective_path_",
        "n_iter_",
        "dual_gap_",
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        lam: float = 0.1,
        ridge: float = 0.0,
        sparsity: str = "entries",
        penalty: str = "relative",
        orientation: int = 0,
        transform: Any = "identity",
        n_init: int = 1,
        tol: float = 1e-7,
        max_iter: int = 1000,
        feature_shape: tuple[int, ...] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.ridge = ridge
        self.sparsity = sparsity
        self.penalty = penalty
        self.orientation = orientation
        self.transform = transform  # type: ignore[method-assign]
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.feature_shape = feature_shape
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_fractions(self.penalty, {"lam": self.lam})

    def _solve(self, samples: NDArray | None) -> None:
        orientation = self._moments.orientation
        coupling = None
        if self.sparsity == "entries" and not _slices_are_apart(orientation):
            coupling = _coupling(orientation)
        # The solver has data of the order of one, and unitary transforms, under which encoders are
        # larger by the scale of the given ones.
        unit, scale = self._moments.peak**2, coupling.scale if coupling else 1.0
        gram = usable_gram(self._moments, "max").scaled(1 / scale)
        lam, ridge = self.lam / (scale * unit), self.ridge / (scale**2 * unit)
        if self.penalty == "relative":
            lam = self.lam * critical_sparsity(gram, self.sparsity, coupling)
            ridge = self.ridge * float(gram.spectrum[0].max()) if self.ridge else 0.0
        self.lam_, self.ridge_ = lam * scale * unit, ridge * scale**2 * unit
        callback = None
        if self.verbose:
            callback = progress_bar("decomposing slices", gram.n_slices * self.n_init)
        solution = solve_sparse_pca(
            gram,
            n_components=self._n_in_slice(gram.size),
            lam=lam,
            ridge=ridge,
            sparsity=self.sparsity,
            coupling=coupling,
            n_init=self.n_init,
            random_state=self.random_state,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            callback=callback,
        )
        energy = explained_energy(self._moments.gram(), solution)
        chosen = np.abs(solution.encoder).max(axis=1) > _NEGLIGIBLE
        chosen &= energy > self._energy_of_rounding()[:, None]
        if not chosen.any():
            hint = "" if self.penalty == "relative" else ", or try 0.1 with penalty='relative'"
            raise ValueError(
                f"lam={self.lam} leaves nothing: every encoder is zero; lower it{hint}"
            )
        self._set_components(
            Coordinates(orientation, solution.encoder, solution.decoder, energy, chosen)
        )
        self._set_solution(solution, None if coupling else orientation, scale, unit)
        if not solution.converged.all():
            missed = np.count_nonzero(~solution.converged)
            warn_user(
                f"{missed} of {len(solution.converged)} problems still moved after "
                f"max_iter={self.max_iter} iterations; increase max_iter or tol",
                ConvergenceWarning,
            )

    def _energy_of_rounding(self) -> NDArray[np.float64]:
        """What a component of every slice can explain by rounding alone."""
        resolution = np.finfo(float).eps * self._moments.orientation.size
        return np.maximum(
            resolution * self._moments.gram().trace(), energy_of_rounding(self._moments)
        )

    def _n_in_slice(self, size: int) -> int:
        if self.n_components > size:
            warn_user(
                f"n_components={self.n_components} is more than the {size} components there are "
                "in a slice; all are kept"
            )
        return min(int(self.n_components), size)

    def _set_solution(
        self,
        solution: SparsePCASolution,
        orientation: Orientation | None,
        scale: float,
        unit: float,
    ) -> None:
        """Store what the solver says of its problems; without orientation they are one."""

        def expand(values: NDArray) -> NDArray:
            return values if orientation is None else orientation.expand(values)

        self.sparse_encoder_ = expand(solution.sparse_encoder) / scale
        self.sparsity_ = np.mean(self.sparse_encoder_ == 0, axis=1)
        self.objective_ = unit * expand(solution.objective)
        self.objective_path_ = unit * expand(solution.objective_path)
        self.n_iter_ = expand(solution.n_iter)
        self.dual_gap_ = expand(solution.dual_gap)


def explained_energy(gram: GramTensor, solution: SparsePCASolution) -> NDArray[np.float64]:
    """By how much every component lowers the squared error, ``2 Re u^H S q - q^H S q``."""
    encoder, decoder = solution.encoder, solution.decoder
    images = gram.dense() @ encoder
    return np.einsum("jqk,jqk->jk", np.conj(2 * decoder - encoder), images).real


def _slices_are_apart(orientation: Orientation) -> bool:
    return all(transform.name == "identity" for transform in orientation.transforms)


def _coupling(orientation: Orientation) -> Coupling:
    for transform in orientation.transforms:
        if transform.unitary_factor is None:
            raise ValueError(
                f"sparsity='entries' needs transforms that are unitary up to a factor, which the "
                f"{transform.name} of size {transform.size} is not; use sparsity='features'"
            )
    return Coupling(orientation)
