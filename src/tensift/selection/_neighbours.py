"""Which samples look alike: whitened components, a graph of neighbours, and what both say together.

Samples look alike if they are near each other in *whitened* principal components. Without the
singular values, strong nuisance such as light or gain does not decide who is a neighbour.

Everything here is small (``n`` samples, at most a few thousand) and is computed on the host.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import (
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)
from tensift._utils.pool import Pool
from tensift._utils.stacks import eigh

__all__ = ["SampleComponents", "neighbour_graph", "target_of", "whitened_components"]

_COMPONENTS = (20, 50, 100)  # numbers of components that neighbours are found in
_NEIGHBOURS = (3, 5, 8)
_RANKS_OF_COMPONENTS = (5, 10, 20, 40)
_RANKS_OF_GRAPH = (10, 20, 40)
# Smaller eigenvalues, relative to the largest, are rounding errors in data of this precision.
_ROUNDING = {"float64": 1e-10, "float32": 1e-6}
_DENSE = 480  # rows up to which a dense eigenproblem is faster than iterations
_WIDTH = 16  # columns of a block of an iteration
_DIRECTIONS = 2.2  # columns of all blocks, for each wanted vector
_FEWEST_STEPS = 8
_BLUR = 32  # lengths that are rounding errors, in epsilons of the largest
_FAR = 1e-4  # eigenvalues above this share of the largest need no double precision
_ACCURACY = 1e-8  # of eigenvalues of the graph
_IN_CACHE = 2**18  # similarities that are compared together


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
    If both `n` and `d` are above 480, the vectors are found by ten steps of a block Krylov
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
    return SampleComponents(samples, most=most).of_all()


class SampleComponents:
    """Whitened components of all values and of parts of them, from Gram matrices made once.

    Gram matrices are those of samples (``n x n``) or of values (``d x d``), whichever is smaller.
    The first kind adds up over the parts; the second kind has those of the parts as blocks.

    Parameters
    ----------
    samples : array of shape (n, d)
        Centred real samples, of any array library.
    parts : list of arrays of int, optional
        Columns that make up all values, each in one part.
    most : int, default=100
        How many components to return at most.
    pool : Pool, optional
        Its threads share the parts.

    Attributes
    ----------
    products : array of shape (d, d) or None
        The products of all values, where the samples are; None if there are more values than
        samples.
    """

    def __init__(
        self,
        samples: Any,
        parts: list[NDArray[np.intp]] | None = None,
        most: int = max(_COMPONENTS),
        pool: Pool | None = None,
    ) -> None:
        xp = namespace_of(samples)
        n_samples, n_values = samples.shape
        self._samples = samples
        self._parts = parts
        self._count = min(most, max(1, n_samples // 4))
        self._rounding = _ROUNDING[precision_of(samples)]
        self.products = None
        self._grams = []
        if n_values > n_samples:

            def gram_of(part: NDArray[np.intp] | None) -> NDArray[np.float64]:
                block = samples if part is None else self._columns(part)
                return _on_host(xp.matmul(block, block.T))

            run = map if pool is None else pool.map
            self._grams = list(run(gram_of, [None] if parts is None else parts))
        else:
            self.products = xp.matmul(samples.T, samples)

    def of_all(self) -> NDArray[np.float64]:
        """Return the components of all values."""
        if self.products is None:
            return _leading(self._grams, self._count, self._rounding)[1]
        return self._from_values(self._samples, _on_host(self.products))

    def of(self, one: int, other: int) -> NDArray[np.float64]:
        """Return the components of two parts together, given by their numbers."""
        if self.products is None:
            parts = [self._grams[one], self._grams[other]]
            return _leading(parts, self._count, self._rounding)[1]
        assert self._parts is not None
        columns = np.sort(np.concatenate([self._parts[one], self._parts[other]]))
        gram = _on_host(self.products)[np.ix_(columns, columns)]
        return self._from_values(self._columns(columns), gram)

    def _columns(self, columns: NDArray[np.intp]) -> Any:
        samples = self._samples
        if is_device_array(samples):
            columns = moved_to(samples, columns)
        return namespace_of(samples).take(samples, columns, axis=1)

    def _from_values(self, samples: Any, gram: NDArray[np.float64]) -> NDArray[np.float64]:
        energies, right = _leading([gram], min(self._count, len(gram)), self._rounding)
        right = right / np.sqrt(energies)
        if is_device_array(samples):
            right = moved_to(samples, right, samples.dtype)
        return _orthonormal(_on_host(namespace_of(samples).matmul(samples, right)))


def _on_host(values: Any) -> NDArray[np.float64]:
    return np.asarray(to_numpy(values), float)


def _leading(
    parts: list[NDArray[np.float64]], count: int, rounding: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a sum of matrices, in descending order, and their vectors.

    Eigenvalues that are rounding errors are left out.
    """
    size = len(parts[0])
    if size <= _DENSE:  # all of them cost less than some
        values, vectors = _eigh(_sum_of(parts))
        values, vectors = values[size - count :], vectors[:, size - count :]
    elif 2 * _steps(count) * _WIDTH > size:
        top = [size - count, size - 1]
        values, vectors = scipy.linalg.eigh(_sum_of(parts), subset_by_index=top)
    else:
        diagonal = _sum_of([np.diag(part) for part in parts])
        peak = max(float(diagonal.max()), np.finfo(float).tiny)
        scaled = np.empty((size, size), np.float32)
        for row, line in enumerate(scaled):  # without the sum in double precision
            np.divide(_sum_of([part[row] for part in parts]), peak, out=line, casting="same_kind")
        values, vectors = _krylov(scaled, count)
        if values[0] > _FAR * values[-1]:
            values, vectors = peak * values.astype(float), _orthonormal(vectors.astype(float))
        else:  # single precision would blur the last directions
            values, vectors = _krylov(_sum_of(parts), count)
    real = values > rounding * max(values[-1], np.finfo(float).tiny)
    return values[real][::-1], vectors[:, real][:, ::-1]


def _sum_of(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _eigh(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values, vectors = eigh(matrix[None])
    return values[0], vectors[0]


def _steps(count: int) -> int:
    """Return the number of blocks of a Krylov iteration."""
    return max(_FEWEST_STEPS, math.ceil(_DIRECTIONS * count / _WIDTH))


def _krylov(gram: NDArray[Any], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the same by a block Krylov iteration, in ascending order.

    Many narrow blocks are more accurate than few wide ones with as many columns together.
    """
    draw = _Directions(np.diag(gram))
    basis = np.empty((len(gram), _steps(count) * _WIDTH), gram.dtype, order="F")
    images = np.empty_like(basis)
    block = gram @ draw(_WIDTH)
    scale = 0.0
    for start in range(0, basis.shape[1], _WIDTH):
        place = slice(start, start + _WIDTH)
        scale = max(scale, float(np.linalg.norm(block, axis=0).max()))
        least = _BLUR * float(np.finfo(gram.dtype).eps) * scale
        basis[:, place] = _what_is_new(block, basis[:, :start], least, draw)
        block = images[:, place] = gram @ basis[:, place]
    inner = basis.T @ images
    top = [len(inner) - count, len(inner) - 1]
    values, vectors = scipy.linalg.eigh((inner + inner.T) / 2, subset_by_index=top)
    return values, basis @ vectors


def _what_is_new(
    block: NDArray[Any], known: NDArray[Any], least: float, draw: _Directions
) -> NDArray[Any]:
    """Return orthonormal directions that a block adds to known ones, as many as its columns.

    Directions shorter than `least` are rounding errors, and random ones take their place: in
    matrices of low rank, rounding would repeat known directions.
    """
    block = block - known @ (known.T @ block)
    found, lengths = np.linalg.qr(block)
    short = np.abs(np.diag(lengths)) <= least
    if short.any():
        found[:, short] = draw(int(np.count_nonzero(short))) / math.sqrt(len(found))
    # Once is not enough for orthogonality.
    return _orthonormal(found - known @ (known.T @ found))


def _orthonormal(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return orthonormal columns; the first ``k`` span what the first ``k`` given ones span."""
    try:
        root = scipy.linalg.cholesky(vectors.T @ vectors, check_finite=False)
    except scipy.linalg.LinAlgError:  # some columns are nearly dependent
        return np.linalg.qr(vectors)[0]
    # Several times faster than the decomposition above, and as accurate for such columns.
    solved = scipy.linalg.solve_triangular(root, vectors.T, trans=1, check_finite=False)
    return np.asarray(solved.T)


class _Directions:
    """Random directions, the same at every call.

    They are drawn for diagonal entries in descending order, so that a reordered matrix gives the
    same result, reordered.
    """

    def __init__(self, diagonal: NDArray[Any]) -> None:
        self._random = np.random.RandomState(0)
        self._dtype = diagonal.dtype
        self._place = np.empty(len(diagonal), dtype=np.intp)
        self._place[np.argsort(-diagonal, kind="stable")] = np.arange(len(diagonal))

    def __call__(self, count: int) -> NDArray[Any]:
        drawn = self._random.standard_normal((len(self._place), count))
        return drawn.astype(self._dtype)[self._place]


def neighbour_graph(
    components: NDArray[np.float64], shares: NDArray[np.float64] | None = None
) -> scipy.sparse.csr_array:
    """Return the mean of nine symmetric 0/1 graphs of nearest neighbours (by cosine).

    They differ in the number of components and of neighbours, so that no single number has to be
    right. Edges between samples with weights are multiplied by the weights of both.
    """
    n_samples, available = components.shape
    most = min(max(_NEIGHBOURS), n_samples - 1)
    # A neighbour of rank r (from 0) is an edge in each graph with more than r neighbours. Weights
    # fall with the rank, so a maximum over both directions symmetrises all of these at once.
    weights = np.sum([np.arange(most) < k for k in _NEIGHBOURS], axis=0)
    weights = weights / (len(_NEIGHBOURS) * len(_COMPONENTS))
    starts = np.arange(0, n_samples * most + 1, most)
    total = scipy.sparse.csr_array((n_samples, n_samples))
    for count, times in Counter(min(count, available) for count in _COMPONENTS).items():
        nearest = _nearest(components[:, :count], most)
        graph = scipy.sparse.csr_array(
            (np.tile(times * weights, n_samples), nearest.ravel(), starts),
            shape=(n_samples, n_samples),
        )
        total = total + graph.maximum(graph.T)
    if shares is not None:
        masses = scipy.sparse.diags_array(shares)
        total = masses @ total @ masses
    return scipy.sparse.csr_array(total)


def _nearest(components: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the `count` most similar other samples of each sample, the nearest first."""
    size = len(components)
    length = np.linalg.norm(components, axis=1, keepdims=True)
    # In single precision rounding errors of the components vanish: they must not decide between
    # samples that are equally near.
    unit = (components / np.where(length > 0, length, 1)).astype(np.float32)
    nearest = np.empty((size, count), dtype=np.intp)
    step = max(1, _IN_CACHE // size)
    for start in range(0, size, step):
        similarity = unit[start : start + step] @ unit.T
        rows = np.arange(len(similarity))
        similarity[rows, start + rows] = -np.inf
        for rank in range(count):  # much faster than a partial sort, since there are so few
            found = nearest[start : start + step, rank] = np.argmax(similarity, axis=1)
            similarity[rows, found] = -np.inf
    return nearest


def target_of(
    components: NDArray[np.float64], graph: scipy.sparse.csr_array
) -> NDArray[np.float64]:
    """Return ``Y`` with ``T = Y Y^T``: what the samples look like together.

    Its columns are leading components and leading eigenvectors of the normalised graph (without
    the trivial one), weighted by the number of ranks that contain them.
    """
    size = len(components)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = scipy.sparse.diags_array(1 / np.sqrt(degrees))
    normalised = root @ graph @ root
    count = min(max(_RANKS_OF_GRAPH) + 1, max(2, size // 4 + 1), size)
    if size <= _DENSE or 3 * count > size:
        values, vectors = _eigh(normalised.toarray())
        values, vectors = values[size - count :], vectors[:, size - count :]
    else:
        values, vectors = scipy.sparse.linalg.eigsh(
            normalised, count, which="LA", v0=degrees, tol=_ACCURACY
        )
    vectors = _without(np.sqrt(degrees / degrees.sum()), values, vectors)
    components = components[:, : max(_RANKS_OF_COMPONENTS)]
    return np.concatenate(
        [
            components * _weights(components.shape[1], _RANKS_OF_COMPONENTS),
            vectors * _weights(vectors.shape[1], _RANKS_OF_GRAPH),
        ],
        axis=1,
    )


def _without(
    trivial: NDArray[np.float64], values: NDArray[np.float64], vectors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return eigenvectors in descending order, without the trivial one.

    If the graph has several pieces, its largest eigenvalue is a multiple one, and eigenvectors are
    any basis of its space. So they are turned until the trivial one is one of them.
    """
    inner = np.diag(values) - 3 * np.outer(trivial @ vectors, trivial @ vectors)
    return np.asarray(vectors @ _eigh(inner)[1][:, :0:-1])  # the trivial one is lowest


def _weights(available: int, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the roots of the number of ranks that contain each column."""
    number = np.arange(available)
    return np.sqrt(np.sum([number < rank for rank in ranks], axis=0, dtype=float))
