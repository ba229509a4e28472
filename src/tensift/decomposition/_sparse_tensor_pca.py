"""Sparse principal components of tensors under the star-M product."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift._utils.warnings import warn_user
from tensift.decomposition._base import TensorDecomposition, energy_of_rounding
from tensift.decomposition._coordinates import Coordinates
from tensift.labels import SampleDims
from tensift.moments import GramTensor, Orientation, SamplesInMemory, usable_gram
from tensift.solvers import Coupling, SparsePCASolution, critical_sparsity, solve_sparse_pca
from tensift.stpca import check_fractions

__all__ = ["SparseTensorPCA"]

_NEGLIGIBLE = 1e-13  # smaller weights of an encoder count as zero; usual ones are about 1


class SparseTensorPCA(TensorDecomposition):
    """Principal components of tensors whose encoder uses few features.

    Samples are oriented and transformed as in `TensorPCA`. Every slice ``X_j`` is reconstructed as
    ``U_j Q_j^H X_j``, with a sparse encoder ``Q_j`` and a decoder ``U_j`` with orthonormal
    columns::

        min  sum_j ||X_j - U_j Q_j^H X_j||^2 + ridge ||Q||_F^2 + lam pen(Q)    s.t. U_j^H U_j = I

    With one feature mode (2-D rows) and ``sparsity="entries"``, this is the sparse PCA of Zou,
    Hastie and Tibshirani.

    Parameters
    ----------
    n_components : int, default=2
        The number of components of each slice.
    lam : float, default=0.1
        The weight of the penalty.
    ridge : float, default=0.0
        The weight of the squares. It spreads weight over features that are alike.
    sparsity : {"entries", "features", "components"}, default="entries"
        What the penalty sums up, and so what can become zero.

        - "entries": the absolute values of the entries of ``Q``, in the original domain (the
          paper's "a sparse tensor PCA model based on T-SVDM"). The transforms must be unitary up to
          a factor. Unless the basis is the identity, all slices are one joint problem.
        - "features": the norms of the rows of every ``Q_j``, in the transform domain (the paper's
          "STPCA-MP: transform domain"). A feature leaves all components of a slice at once.
        - "components": the norms of the columns of every ``Q_j``, in the transform domain. It
          shrinks the components of `TensorPCA` and drops weak ones, but drops no feature. The
          paper's theorem 1 holds for this norm: ``U_j Q_j^H`` is Hermitian and positive
          semidefinite. With "features" it is usually neither.
    penalty_units : {"relative", "absolute"}, default="relative"
        "relative": `lam` is a fraction of the value above which every encoder is zero, and `ridge`
        a fraction of the largest eigenvalue of the Gram matrices. "absolute": both are used as they
        are.
    orientation, basis, feature_shape, sample_dim, missing
        As in `TensorPCA`.
    n_init : int, default=1
        The number of starts. The problem is not convex, so the best result is kept, for every
        problem. The first start is `TensorPCA`. For "entries", the second is `TensorPCA` rotated
        towards few large entries. All others are random.
    tol : float, default=1e-7
        Stop when an iteration lowers the objective by no more than this share of it.
    max_iter : int, default=1000
        The largest number of iterations. Each updates the encoder and then the decoder.
    n_jobs : int or None, default=None
        The number of threads over slices and starts. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        The seed of the random starts and of the "random" basis.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    n_components_ : int
        The number of coordinates over all slices. Components with a zero encoder have none.
    components_ : ndarray of shape ``(n_components_, d_1, ..., d_m)``
        What one unit of each coordinate adds to a reconstruction: the decoders, which are not
        sparse. For rows the shape is ``(n_components_, d)``. Computed when read.
    weights_ : ndarray of the same shape
        The weights of the elements of a centred sample in each coordinate: the encoders, which are
        the sparse loadings of sparse PCA. With a basis other than the identity, the zeros are in
        `sparse_encoder_` instead. Computed when read.
    encoder_, decoder_ : ndarray of shape (p, q, k)
        ``Q`` and ``U`` in the transform domain.
    sparse_encoder_ : ndarray of shape (p, q, k)
        The encoder in the domain of the penalty, where it has zeros: ``Q`` in the original domain
        for "entries", else `encoder_`.
    sparsity_ : ndarray of shape (p, k)
        The share of zeros in every column of `sparse_encoder_`.
    explained_variance_, explained_variance_ratio_ : ndarray of shape ``(n_components_,)``
        By how much each component lowers the mean squared error of the reconstruction, descending,
        and the same as a share of the variance. The values can be summed, because decoders are
        orthonormal.
    component_slices_, component_numbers_ : ndarray of shape ``(n_components_,)``
        The slice of each component, in row-major order of the other modes, and the number of the
        component in its slice.
    lam_, ridge_ : float
        The weights of the problem that was solved.
    objective_, n_iter_, dual_gap_ : ndarray of shape (p,), or (1,) if all slices are one problem
        The final objective; the number of updates of the encoder; and a bound on how much a better
        encoder for the same decoder could lower the objective, as a share of it.
    objective_path_ : ndarray of shape (p, steps), or (1, steps)
        The objective after every update of encoder and decoder in turn; NaN after the last one. It
        never rises.
    mean_, scores_, order_, orientation_, feature_shape_, n_features_in_, names_, n_samples_seen_
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
        **TensorDecomposition._may_be_missing,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "sparsity": [StrOptions({"entries", "features", "components"})],
        "penalty_units": [StrOptions({"absolute", "relative"})],
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

    def __init__(
        self,
        n_components: int = 2,
        *,
        lam: float = 0.1,
        ridge: float = 0.0,
        sparsity: str = "entries",
        penalty_units: str = "relative",
        orientation: int | str = 0,
        basis: Any = "identity",
        n_init: int = 1,
        tol: float = 1e-7,
        max_iter: int = 1000,
        feature_shape: tuple[int, ...] | None = None,
        sample_dim: SampleDims = None,
        missing: str = "raise",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.ridge = ridge
        self.sparsity = sparsity
        self.penalty_units = penalty_units
        self.orientation = orientation
        self.basis = basis
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_fractions(self.penalty_units, {"lam": self.lam})

    def _solve(self, samples: SamplesInMemory | None) -> None:
        orientation = self._moments.orientation
        coupling = None
        if self.sparsity == "entries" and not _slices_are_independent(orientation):
            coupling = _coupling(orientation)
        # Give the solver data of about size 1 and unitary transforms. Its encoders are then larger
        # than ours by the scale of our transforms.
        unit, scale = self._moments.peak**2, coupling.scale if coupling else 1.0
        gram = usable_gram(self._moments, "max").scaled(1 / scale)
        lam_unit, ridge_unit = scale * unit, scale**2 * unit
        self.lam_, self.ridge_ = float(self.lam), float(self.ridge)
        if self.penalty_units == "relative":
            critical = critical_sparsity(gram, self.sparsity, coupling)
            self.lam_ = self.lam * critical * lam_unit
            largest = float(gram.spectrum[0].max()) if self.ridge else 0.0
            self.ridge_ = self.ridge * largest * ridge_unit
        # Divide here for both units, so that lam_ and ridge_ given as absolute penalties lead to
        # the same bits.
        lam, ridge = self.lam_ / lam_unit, self.ridge_ / ridge_unit
        callback = None
        if self.verbose:
            callback = progress_bar("decomposing slices", gram.n_slices * self.n_init)
        solution = solve_sparse_pca(
            gram,
            n_components=self._components_per_slice(gram.size),
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
        energy = energy_of_components(self._moments.gram(), solution)
        chosen = np.abs(solution.encoder).max(axis=1) > _NEGLIGIBLE
        chosen &= energy > self._energy_of_rounding()[:, None]
        if not chosen.any():
            hint = (
                ""
                if self.penalty_units == "relative"
                else ", or try 0.1 with penalty_units='relative'"
            )
            raise ValueError(
                f"lam={self.lam} leaves nothing: every encoder is zero; lower lam{hint}"
            )
        self._set_components(
            Coordinates(orientation, solution.encoder, solution.decoder, energy, chosen)
        )
        self._set_solution(solution, None if coupling else orientation, scale, unit)
        if not solution.converged.all():
            missed = np.count_nonzero(~solution.converged)
            warn_user(
                f"{missed} of {len(solution.converged)} problems did not reach tol={self.tol} in "
                f"max_iter={self.max_iter} iterations; increase max_iter or tol",
                ConvergenceWarning,
            )

    def _energy_of_rounding(self) -> NDArray[np.float64]:
        """Return what a component of each slice can explain by rounding errors alone."""
        resolution = np.finfo(float).eps * self._moments.orientation.size
        return np.maximum(
            resolution * self._moments.gram().trace(), energy_of_rounding(self._moments)
        )

    def _components_per_slice(self, size: int) -> int:
        if self.n_components > size:
            warn_user(
                f"n_components={self.n_components} is more than the {size} components of a slice; "
                "all are kept"
            )
        return min(int(self.n_components), size)

    def _set_solution(
        self,
        solution: SparsePCASolution,
        orientation: Orientation | None,
        scale: float,
        unit: float,
    ) -> None:
        """Store the results of the solver. Without orientation, all slices are one problem."""

        def expand(values: NDArray) -> NDArray:
            return values if orientation is None else orientation.expand(values)

        self.sparse_encoder_ = expand(solution.sparse_encoder) / scale
        self.sparsity_ = np.mean(self.sparse_encoder_ == 0, axis=1)
        self.objective_ = unit * expand(solution.objective)
        self.objective_path_ = unit * expand(solution.objective_path)
        self.n_iter_ = expand(solution.n_iter)
        self.dual_gap_ = expand(solution.dual_gap)


def energy_of_components(gram: GramTensor, solution: SparsePCASolution) -> NDArray[np.float64]:
    """Return by how much each component lowers the squared error, ``2 Re u^H S q - q^H S q``."""
    encoder, decoder = solution.encoder, solution.decoder
    images = gram.dense() @ encoder
    return np.einsum("jqk,jqk->jk", np.conj(2 * decoder - encoder), images).real


def _slices_are_independent(orientation: Orientation) -> bool:
    return all(transform.name == "identity" for transform in orientation.transforms)


def _coupling(orientation: Orientation) -> Coupling:
    for transform in orientation.transforms:
        if transform.unitary_factor is None:
            raise ValueError(
                f"sparsity='entries' needs a basis that is unitary up to a factor, but "
                f"{transform.name} of size {transform.size} is not; use sparsity='features'"
            )
    return Coupling(orientation)
