"""Which samples look alike: whitened components, a graph of neighbours, and what both say together.

Samples look alike if they are near each other in *whitened* principal components. Without the
singular values, strong nuisance such as light or gain does not decide who is a neighbour.

Everything here is small (``n`` samples, at most a few thousand) and is computed on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import is_device_array, moved_to, namespace_of, to_numpy

__all__ = ["SampleComponents", "neighbour_graph", "target_of", "whitened_components"]

_COMPONENTS = (20, 50, 100)  # numbers of components that neighbours are found in
_NEIGHBOURS = (3, 5, 8)
_RANKS_OF_COMPONENTS = (5, 10, 20, 40)
_RANKS_OF_GRAPH = (10, 20, 40)
_ROUNDING = 1e-10  # smaller eigenvalues, relative to the largest, are rounding errors
_DENSE = 768  # rows up to which a dense eigenproblem is faster than iterations
_MORE = 20  # columns of a block beyond the wanted ones


def whitened_components(samples: Any, most: int = max(_COMPONENTS)) -> NDArray[np.float64]:
    """Return the leading left singular vectors of centred samples, on the host.

    Parameters
    ----------
    samples : array of shape (n, d)
        Centred real samples, of any array library.
    most : int, default=100
        How many to return at most. There are never more than ``n / 4``, nor more than the rank.

    Returns
    -------
    ndarray of shape (n, m)
        Orthonormal columns, in descending order of their singular values.

    Notes
    -----
    If both `n` and `d` are above 768, the vectors are found by three steps of a block Krylov
    iteration. Those with a gap below them are accurate; among directions of nearly equal energy, as
    in noise, it returns some of them instead of exactly the leading ones.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import whitened_components
    >>> samples = np.random.default_rng(0).normal(size=(40, 6))
    >>> components = whitened_components(samples - samples.mean(axis=0))
    >>> components.shape, bool(np.allclose(components.T @ components, np.eye(6)))
    ((40, 6), True)
    """
    refuse_masked(samples, "samples")
    return SampleComponents(samples, most).of_all()


class SampleComponents:
    """Whitened components of all values and of halves of them, from one Gram matrix.

    The Gram matrix is that of samples (``n x n``) or of values (``d x d``), whichever is smaller.
    The first kind adds up over values, so that of the second half is a difference. The second kind
    has those of the halves as blocks.
    """

    def __init__(self, samples: Any, most: int = max(_COMPONENTS)) -> None:
        xp = namespace_of(samples)
        n_samples, n_values = samples.shape
        self._samples = samples
        self._count = min(most, max(1, n_samples // 4))
        self._by_samples = n_values > n_samples
        left, right = (samples, samples.T) if self._by_samples else (samples.T, samples)
        self._gram = np.asarray(to_numpy(xp.matmul(left, right)), float)

    def of_all(self) -> NDArray[np.float64]:
        """Return the components of all values."""
        if self._by_samples:
            return _leading(self._gram, self._count)[1]
        return self._from_values(self._samples, self._gram)

    def of_halves(self, halves: list[NDArray[np.intp]]) -> list[NDArray[np.float64]]:
        """Return the components of two halves of the values, given by their columns."""
        if self._by_samples:
            part = self._columns(halves[0])
            first = np.asarray(to_numpy(namespace_of(part).matmul(part, part.T)), float)
            del part  # as large as half of the samples
            return [_leading(gram, self._count)[1] for gram in (first, self._gram - first)]
        return [
            self._from_values(self._columns(half), self._gram[np.ix_(half, half)])
            for half in halves
        ]

    def _columns(self, columns: NDArray[np.intp]) -> Any:
        samples = self._samples
        if is_device_array(samples):
            columns = moved_to(samples, columns)
        return namespace_of(samples).take(samples, columns, axis=1)

    def _from_values(self, samples: Any, gram: NDArray[np.float64]) -> NDArray[np.float64]:
        energies, right = _leading(gram, min(self._count, len(gram)))
        right = right / np.sqrt(energies)
        if is_device_array(samples):
            right = moved_to(samples, right, samples.dtype)
        return np.asarray(to_numpy(namespace_of(samples).matmul(samples, right)), float)


def _leading(
    gram: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues above rounding and their vectors, in descending order."""
    size = len(gram)
    if size <= _DENSE or 3 * (count + _MORE) > size:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1])
    else:
        values, vectors = _krylov(gram, count)
    real = values > _ROUNDING * max(values[-1], np.finfo(float).tiny)
    return values[real][::-1], vectors[:, real][:, ::-1]


def _krylov(
    gram: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same by a block Krylov iteration, in ascending order.

    It starts from columns of the matrix, evenly spaced by the rank of their diagonal entries, so
    that a reordered matrix gives the same result, reordered.
    """
    ranked = np.argsort(-np.diag(gram), kind="stable")
    spaced = np.linspace(0, len(gram) - 1, count + _MORE).astype(int)
    block = gram[:, ranked[spaced]]
    basis = np.empty((len(gram), 0))
    images = np.empty((len(gram), 0))
    for _ in range(3):
        for _ in range(2):  # once is not enough for orthogonality
            block = block - basis @ (basis.T @ block)
        block = np.linalg.qr(block)[0]
        basis = np.concatenate([basis, block], axis=1)
        block = gram @ block
        images = np.concatenate([images, block], axis=1)
    inner = basis.T @ images
    top = [len(inner) - count, len(inner) - 1]
    values, vectors = scipy.linalg.eigh((inner + inner.T) / 2, subset_by_index=top)
    return values, basis @ vectors


def neighbour_graph(components: NDArray[np.float64]) -> scipy.sparse.csr_array:
    """Return the mean of nine symmetric 0/1 graphs of nearest neighbours (by cosine).

    They differ in the number of components and of neighbours, so that no single number has to be
    right.
    """
    n_samples, available = components.shape
    most = min(max(_NEIGHBOURS), n_samples - 1)
    # A neighbour of rank r (from 0) is an edge in each graph with more than r neighbours. Weights
    # fall with the rank, so a maximum over both directions symmetrises all of these at once.
    weights = np.sum([np.arange(most) < k for k in _NEIGHBOURS], axis=0)
    weights = weights / (len(_NEIGHBOURS) * len(_COMPONENTS))
    starts = np.arange(0, n_samples * most + 1, most)
    total = scipy.sparse.csr_array((n_samples, n_samples))
    for count in _COMPONENTS:
        nearest = _nearest(components[:, : min(count, available)], most)
        graph = scipy.sparse.csr_array(
            (np.tile(weights, n_samples), nearest.ravel(), starts), shape=(n_samples, n_samples)
        )
        total = total + graph.maximum(graph.T)
    return scipy.sparse.csr_array(total)


def _nearest(components: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the `count` most similar other samples of each sample, the nearest first."""
    length = np.linalg.norm(components, axis=1, keepdims=True)
    unit = components / np.where(length > 0, length, 1)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.empty((len(unit), count), dtype=np.intp)
    own = np.arange(len(unit))
    for rank in range(count):  # much faster than a partial sort, since there are so few
        nearest[:, rank] = np.argmax(similarity, axis=1)
        similarity[own, nearest[:, rank]] = -np.inf
    return nearest


def target_of(
    components: NDArray[np.float64], graph: scipy.sparse.csr_array
) -> NDArray[np.float64]:
    """Return ``Y`` with ``T = Y Y^T``: what the samples look like together.

    Its columns are leading components and leading eigenvectors of the normalised graph (without
    the trivial one), weighted by the number of ranks that contain them.
    """
    size = len(components)
    root = 1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    normalised = scipy.sparse.diags_array(root) @ graph @ scipy.sparse.diags_array(root)
    count = min(max(_RANKS_OF_GRAPH) + 1, max(2, size // 4 + 1), size)
    if size <= _DENSE or 3 * count > size:
        top = [size - count, size - 1]
        vectors = scipy.linalg.eigh(normalised.toarray(), subset_by_index=top)[1]
    else:
        vectors = scipy.sparse.linalg.eigsh(normalised, count, which="LA", v0=1 / root**2)[1]
    vectors = vectors[:, -2::-1]  # descending, without the trivial one
    return np.concatenate(
        [
            components * _weights(components.shape[1], _RANKS_OF_COMPONENTS),
            vectors * _weights(vectors.shape[1], _RANKS_OF_GRAPH),
        ],
        axis=1,
    )


def _weights(available: int, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the roots of the number of ranks that contain each column."""
    number = np.arange(available)
    return np.sqrt(np.sum([number < rank for rank in ranks], axis=0, dtype=float))
