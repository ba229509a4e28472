"""What slices cost at the optimum, estimated from their spectra, for many pairs of penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, moved_to, to_numpy
from tensift._utils.pool import Pool
from tensift._utils.stacks import adjoint, eigh
from tensift.moments import GramTensor, blocks_of
from tensift.solvers._algebra import HOST, Algebra
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import best_sizes
from tensift.solvers._problem import SliceProblems
from tensift.solvers.on_device._spectrum import spectrum_of

__all__ = ["estimated_objectives", "keep_spectrum"]

_ZERO = 1e-14  # times the largest eigenvalue
_KEPT = 2**25  # elements of eigenvectors that are kept for the next estimates and the solver


def estimated_objectives(
    gram: GramTensor,
    lams: NDArray[np.float64],
    etas: NDArray[np.float64],
    ridge: float = 0.0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the sum of the objectives of all slices at operators that are close to the optimum.

    The operators are the best ones with the eigenvectors of ``S``, from which the exact solver
    starts. So the result is never below the sum of the optima, up to rounding; on images it is
    above it by less than a thousandth. Once the eigenvectors are known, a pair of penalties takes
    of the order of q^2 operations for each slice, and an operator is never formed.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices of the slices.
    lams, etas : ndarray of shape (k,)
        Pairs of penalties.
    ridge : float
        The ridge of the problems.
    n_jobs : int or None
        Threads over blocks of slices. The result does not depend on it.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import estimated_objectives
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> np.round(estimated_objectives(gram, np.array([2.0, 50.0]), np.array([1.0, 0.0])), 3)
    array([ 3.758, 10.   ])
    """
    if is_device_array(gram.array):
        return _of_stack(gram, lams, etas, ridge)
    keep_spectrum(gram, n_jobs)

    def work(block: slice) -> NDArray[np.float64]:
        return _of_stack(gram[block], lams, etas, ridge)

    with Pool(n_jobs, single=gram.n_slices == 1) as pool:
        return np.sum(pool.map(work, blocks_of(gram)), axis=0)


def keep_spectrum(gram: GramTensor, n_jobs: int | None = None) -> None:
    """Decompose dense Gram matrices in threads, unless their eigenvectors would take much memory.

    The penalties are chosen from the eigenvectors, and the exact solver works in them.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import keep_spectrum
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> keep_spectrum(gram)
    >>> gram.spectrum[0]  # known already
    array([[1., 9.]])
    """
    if gram.thin or gram.n_slices * gram.size**2 > _KEPT or "spectrum" in vars(gram):
        return
    values = np.empty((gram.n_slices, gram.size))
    vectors = np.empty_like(gram.array)

    def work(block: slice) -> None:
        values[block], vectors[block] = gram[block].spectrum

    with Pool(n_jobs, single=gram.n_slices == 1) as pool:
        pool.map(work, blocks_of(gram))
    vars(gram)["spectrum"] = values, vectors


def _of_stack(
    gram: GramTensor, lams: NDArray[np.float64], etas: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    on_device = is_device_array(gram.array)
    algebra = Algebra(gram.array) if on_device else HOST
    spectrum = spectrum_of(gram) if on_device else _spectrum_of_host(gram)
    problems = DiagonalProblems.of(SliceProblems(gram, 0.0, 0.0, ridge), algebra, spectrum)
    unit = problems.unit[:, :, None]
    lam, eta = (_like(values, unit) / unit for values in (lams, etas))
    *_, value = best_sizes(
        algebra,
        algebra.squared_modulus(problems.vectors),
        algebra.at_least(2 * problems.values[:, :, None] - eta, 0.0),
        2 * (problems.values + problems.ridge)[:, :, None],
        lam,
    )
    return to_numpy(algebra.xp.sum((problems.trace[:, None] + value) * problems.unit, axis=0))


def _spectrum_of_host(gram: GramTensor) -> tuple[NDArray[np.float64], NDArray]:
    """Return eigenvalues and eigenvectors; of thin factors only those that are not zero."""
    if not gram.thin or "spectrum" in vars(gram):
        return gram.spectrum
    factor = gram.array
    values, inner = eigh(adjoint(factor) @ factor)
    values = np.maximum(values, 0)
    lengths = np.sqrt(np.maximum(values, _ZERO * values[:, -1:]))
    return values, factor @ inner / np.where(lengths > 0, lengths, 1.0)[:, None, :]


def _like(values: NDArray[np.float64], like: Any) -> Any:
    """Penalties along the last axis, in the library, type and place of another array."""
    shaped = np.asarray(values, dtype=float)[None, None, :]
    return moved_to(like, shaped) if is_device_array(like) else shaped
