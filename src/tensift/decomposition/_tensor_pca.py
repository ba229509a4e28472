"""Principal components of tensors under the star-M product."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift._utils.stacks import eigh, peak_phases
from tensift._utils.warnings import warn_user
from tensift.decomposition._base import TensorDecomposition, energy_of_rounding
from tensift.decomposition._coordinates import Coordinates
from tensift.decomposition._truncation import choose_ranks
from tensift.labels import SampleDims
from tensift.moments import GramTensor, SamplesInMemory, usable_gram

__all__ = ["TensorPCA"]

# A singular value s from a Gram matrix has an error that is larger by s_1 / s than one from the
# samples themselves. If components below this share of the largest energy are kept, they are
# computed from the samples.
_ENERGY_THAT_NEEDS_SAMPLES = 1e-6
_EPS = float(np.finfo(np.float64).eps)


class TensorPCA(TensorDecomposition):
    """Principal component analysis of tensors under the star-M product.

    Samples are oriented and transformed along their other modes by M. Every frontal slice is then
    reconstructed from its own leading principal components. This is the truncated T-SVDM of the
    centred samples (the paper's "TPCA based on T-SVDM"). If M is unitary up to a factor, no other
    decomposition with as many components in each slice has a smaller error. For samples with one
    mode (2-D rows) it is ordinary PCA.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        An int keeps this many components. A float keeps the fewest components that hold this share
        of the energy. None keeps all.
    truncation : {"slice", "global"}, default="slice"
        "slice": `n_components` applies to every slice on its own. "global": it applies to all
        slices together, and the components with the largest singular values are kept, whatever
        their slices. For unitary M, this choice has the smallest total error. A component of a
        conjugate pair of slices counts twice.
    orientation : int, default=0
        The mode whose features are combined into components.
    basis : str, ndarray, pair of callables, or a list of these, default="identity"
        The transform M along every other mode: "identity", "dft", "dct", "haar", "eigen",
        "random", an invertible matrix, or ``(forward, inverse)``. A list has one for each other
        mode, in order.
    whiten : bool, default=False
        Divide coordinates by their standard deviation in the fitted samples (for a conjugate pair,
        by the root mean square of both). Coordinates of one slice are then uncorrelated, with
        variance 1. Coordinates of different slices can still be correlated.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    sample_dim : hashable, list of these or None, default=None
        The dimension of a DataArray that counts samples, or several. None: the first.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed (see
        `STPCASelector`).
    random_state : int, RandomState or None, default=None
        The seed of the "random" basis.

    Attributes
    ----------
    n_components_ : int
        The number of coordinates over all slices. Components without energy are left out.
    components_ : ndarray of shape ``(n_components_, d_1, ..., d_m)``
        What one unit of each coordinate (before whitening) adds to a reconstruction. For rows the
        shape is ``(n_components_, d)``. Orthonormal if M is unitary up to a factor. Computed when
        read.
    weights_ : ndarray of the same shape
        The weights of the elements of a centred sample in each coordinate (before whitening). They
        equal `components_` if M is real and unitary up to a factor. Computed when read.
    explained_variance_, explained_variance_ratio_ : ndarray of shape ``(n_components_,)``
        The variance along each component, descending, and its share of the total variance; in the
        transform domain if M is not unitary up to a factor.
    component_slices_, component_numbers_ : ndarray of shape ``(n_components_,)``
        The slice of each component, in row-major order of the other modes, and the number of the
        component in its slice.
    energy_ : ndarray of shape (p, q)
        The sum of squares of every component of every slice in the transform domain, whether it is
        kept or not.
    ranks_ : ndarray with the shape of the other modes
        How many components each slice keeps (the multirank).
    mean_ : ndarray of shape (d_1, ..., d_m)
        The mean of the samples.
    encoder_, decoder_ : ndarray of shape (p, q, k)
        The components of every slice in the transform domain, as columns. Columns beyond the rank
        of a slice are zero. For `TensorPCA` both arrays are equal.
    scores_ : ndarray of shape (d_1, ..., d_m)
        The weight of every feature in the encoders.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    orientation_, feature_shape_, n_features_in_, names_, n_samples_seen_
        As in `STPCASelector`.

    Notes
    -----
    Components are computed from the Gram matrices of the slices. This is several times faster than
    from the samples, but cannot resolve singular values below about 1e-8 of the largest one in the
    slice. `fit` therefore uses the samples for slices that keep singular values below 1e-3 of the
    largest. `partial_fit` has only the Gram matrices.

    The largest entry (in absolute value) of each column of the decoder is real and positive.

    Examples
    --------
    >>> from tensift import TensorPCA
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> pca = TensorPCA(n_components=0.9, truncation="global", basis="dct").fit(X)
    >>> pca.transform(X).shape
    (1797, 38)
    >>> pca.ranks_
    array([6, 4, 6, 6, 5, 4, 4, 3])
    >>> round(pca.score(X), 2)
    0.91
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorDecomposition._parameter_constraints,
        **TensorDecomposition._may_be_missing,
        "n_components": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "truncation": [StrOptions({"slice", "global"})],
        "whiten": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        truncation: str = "slice",
        orientation: int | str = 0,
        basis: Any = "identity",
        whiten: bool = False,
        feature_shape: tuple[int, ...] | None = None,
        sample_dim: SampleDims = None,
        missing: str = "raise",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.truncation = truncation
        self.orientation = orientation
        self.basis = basis
        self.whiten = whiten
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.random_state = random_state

    def _solve(self, samples: SamplesInMemory | None) -> None:
        moments, orientation = self._moments, self._moments.orientation
        gram = usable_gram(moments)
        self._warn_of_too_many(orientation.size, orientation.n_slices)
        energy, vectors = _principal_components(gram)
        # Energies below this share of the largest are rounding errors, as squares lose half the
        # digits.
        resolution = np.full(len(energy), _EPS * gram.size)
        if gram.thin:
            resolution **= 2
        ranks, available = self._ranks(energy, resolution)
        if samples is not None and not gram.thin:
            last = np.take_along_axis(energy, np.maximum(ranks - 1, 0)[:, None], axis=1)[:, 0]
            unresolved = (ranks == available) & (available < min(gram.size, moments.count - 1))
            fine = np.flatnonzero(unresolved | (last < _ENERGY_THAT_NEEDS_SAMPLES * energy[:, 0]))
            if fine.size:
                slices = orientation.to_slices(samples.with_roots(moments.mean))[fine]
                energy[fine], vectors[fine] = _principal_components(GramTensor(slices, thin=True))
                resolution[fine] **= 2
                ranks, _ = self._ranks(energy, resolution)
        most = int(ranks.max())
        leading = vectors[:, :, :most] * peak_phases(vectors[:, :, :most])[:, None, :]
        self.energy_ = np.zeros((orientation.n_slices, orientation.size))
        self.energy_[:, : energy.shape[1]] = orientation.expand(energy)
        self.ranks_ = orientation.expand(ranks).reshape(orientation.other_shape)
        chosen = np.arange(most) < ranks[:, None]
        self._set_components(Coordinates(orientation, leading, leading, energy[:, :most], chosen))

    def _ranks(
        self, energy: NDArray[np.float64], resolution: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return how many components each slice keeps, and how many exceed rounding errors."""
        floor = np.maximum(resolution * energy[:, 0], energy_of_rounding(self._moments))
        available = np.sum(energy > floor[:, None], axis=1)
        multiplicity = self._moments.orientation.multiplicity
        ranks = choose_ranks(energy, available, multiplicity, self.n_components, self.truncation)
        return ranks, available

    def _warn_of_too_many(self, size: int, n_slices: int) -> None:
        most, where = size, "a slice"
        if self.truncation == "global":
            most, where = size * n_slices, "all slices"
        if self.n_components is not None and self.n_components > most:
            warn_user(
                f"n_components={self.n_components} is more than the {most} components of {where}; "
                "all are kept"
            )

    def _coordinate_scale(self) -> NDArray | float:
        return np.sqrt(self.explained_variance_) if self.whiten else 1.0


def _principal_components(gram: GramTensor) -> tuple[NDArray[np.float64], NDArray]:
    """Return the energies ``(p, r)``, descending, and components ``(p, q, r)`` of all slices."""
    if gram.thin:
        vectors, values, _ = np.linalg.svd(gram.array, full_matrices=False)
        return values**2, vectors
    values, vectors = eigh(gram.array)
    return np.maximum(values[:, ::-1], 0), vectors[:, :, ::-1]
