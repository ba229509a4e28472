"""Lowest eigenvectors of a diagonal plus or minus a Gram matrix, one diagonal after another.

Reweighting asks for them again and again: of ``diag(a) + s C C'``, with the same factor ``C`` and
sign ``s``, and a diagonal that changes a little every time. Its entries may differ by eight orders
of magnitude, so the matrix itself is no operator to iterate with; its inverse about a shift is.
With ``D = diag(a) - shift`` and ``T = I + s C' D^-1 C``,

    (D + s C C')^-1 = D^-1 - s D^-1 C T^-1 C' D^-1,

which costs ``O(d r^2)`` to set up and ``O(d r)`` for a vector, where a dense eigendecomposition
costs ``O(d^3)``. A block of vectors, those of the previous diagonal to begin with, spans a Krylov
space of this inverse. Eigenvectors that have converged are put aside, and the shift moves on to
the next.

By Sylvester's law of inertia ``neg(D) - s neg(T)`` eigenvalues lie below the shift. A last count
just above the eigenvalues found tells whether there are others as low: if not, none was missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dsytrf, dsytrs

from tensift.selectors._condensation import condensed_lowest

__all__ = ["DiagonalAndGram", "LowestEigenpairs"]

Vectors = NDArray[np.float64]

_DENSE_SIZE = 256  # up to this size a dense decomposition is as fast as anything
_ACCURACY = 1e-10  # of the projector onto the eigenvectors
_MAX_ROUNDS = 40  # a round has one shift; a handful is usual
_MAX_ATTEMPTS = 3  # to find an eigenvector that was missed
_STEPS = 5  # blocks in the Krylov space of a round


@dataclass(frozen=True)
class LowestEigenpairs:
    """Ascending eigenvalues ``(m,)`` and eigenvectors ``(d, m)``, and how sure they are.

    ``certified``: there are no others as low, so that the space they span is unique to working
    accuracy. ``tied``: the last of them and the next one are equal, and rounding has decided.
    ``block`` has some further vectors, to begin with under the next diagonal.
    """

    values: Vectors
    vectors: Vectors
    block: Vectors
    certified: bool
    tied: bool = False


class DiagonalAndGram:
    """Matrices ``diag(a) + sign * factor @ factor.T`` that share `factor`, ``(d, r)``."""

    def __init__(self, factor: Vectors, sign: int) -> None:
        self.factor = np.ascontiguousarray(factor)
        self.sign = sign
        self.size, self.rank = factor.shape

    def lowest(
        self, diagonal: Vectors, count: int, start: Vectors | None = None
    ) -> LowestEigenpairs:
        """The `count` lowest eigenpairs under this diagonal; `start` spans a guess at them."""
        if start is not None and self.size > _DENSE_SIZE and start.shape[1] > count:
            guess = start[:, : count + _spare(count)]
            condensed = condensed_lowest(self, diagonal, count, guess)
            if condensed is not None:
                values, vectors = condensed
                return LowestEigenpairs(values[:count], vectors[:, :count], vectors, True)
        if self.size <= max(_DENSE_SIZE, 4 * self.rank, 5 * count) or self.rank == 0:
            return self._dense(diagonal, count)
        for seed in range(_MAX_ATTEMPTS):
            block = self._first_block(start, count, _spare(count), seed)
            result = self._search(diagonal, count, block)
            if result.certified or result.tied:
                break
            start = result.vectors  # and other noise beside it, for what had no part in the block
        return result

    def count_below(self, diagonal: Vectors, bound: float) -> int:
        """The number of eigenvalues below `bound`."""
        return _Inverse(self, diagonal, bound).n_below

    def matrix(self, diagonal: Vectors) -> Vectors:
        """The matrix itself."""
        matrix = self.gram.copy()
        matrix.flat[:: self.size + 1] += diagonal
        return matrix

    @cached_property
    def gram(self) -> Vectors:
        """The matrix without its diagonal."""
        return self.sign * (self.factor @ self.factor.T)

    @cached_property
    def energy(self) -> float:
        """A bound on the eigenvalues of the Gram matrix."""
        return float(np.sum(self.factor**2))

    def _dense(self, diagonal: Vectors, count: int) -> LowestEigenpairs:
        last = min(count, self.size - 1)
        order = np.argsort(-diagonal)  # a matrix graded downwards loses least to rounding
        graded = self.matrix(diagonal)[np.ix_(order, order)]
        values, vectors = eigh(graded, subset_by_index=(0, last))
        vectors = vectors[np.argsort(order)]
        rounding = np.finfo(float).eps * np.abs(diagonal).max()
        tied = bool(count < self.size and values[count] - values[count - 1] <= rounding)
        return LowestEigenpairs(values[:count], vectors[:, :count], vectors, not tied, tied)

    def _search(self, diagonal: Vectors, count: int, block: Vectors) -> LowestEigenpairs:
        found, values = block[:, :0], np.empty(0)
        ritz = np.asarray(np.linalg.eigvalsh(self.compressed(diagonal, block)), dtype=float)
        for _ in range(_MAX_ROUNDS):
            wanted = count - len(values)
            inverse = self._inverse_below(diagonal, ritz, wanted, values)
            krylov = _Krylov(inverse, block, found)
            krylov.extend()  # a block that looks accurate by itself may lack an eigenvector
            while krylov.n_accurate(wanted) < wanted and krylov.n_steps < _STEPS:
                krylov.extend()
            ritz, n_done = inverse.shift + 1 / krylov.values, krylov.n_accurate(wanted)
            found = np.hstack([found, krylov.vectors[:, :n_done]])
            values = np.concatenate([values, ritz[:n_done]])
            ritz, block = ritz[n_done:], krylov.vectors[:, n_done:]
            tied = n_done < wanted and krylov.tied(wanted)
            if n_done == wanted or tied:
                break
        certified = len(values) == count and self._complete(diagonal, values, ritz[0])
        vectors = np.hstack([found, block])
        values = np.concatenate([values, ritz])[:count]
        return LowestEigenpairs(values, vectors[:, :count], vectors, certified, tied)

    def _complete(self, diagonal: Vectors, values: Vectors, following: float) -> bool:
        """Whether no more eigenvalues than these lie below some number that is above them."""
        last = values.max()
        bounds = (last + share * (following - last) for share in (0.3, 0.03, 0.003))
        return any(self.count_below(diagonal, bound) == len(values) for bound in bounds)

    def _inverse_below(
        self, diagonal: Vectors, ritz: Vectors, wanted: int, values: Vectors
    ) -> _Inverse:
        """The inverse about a shift somewhat below the eigenvalues that are still to be found.

        Ritz values are above the eigenvalues, so the first shift may be too high. The count of
        eigenvalues below it shows this: more than were found before.
        """
        floor = 1e-8 * max(np.abs(ritz[0]), np.abs(diagonal).min())
        margin = max(0.1 * (ritz[wanted] - ritz[0]), floor, np.finfo(float).tiny)
        while True:
            shift = ritz[0] - margin
            for obstacles in (diagonal, values):
                while np.any(np.abs(obstacles - shift) < 1e-4 * margin):
                    shift -= 3e-4 * margin
            inverse = _Inverse(self, diagonal, shift)
            if inverse.n_below <= np.count_nonzero(values < shift):
                return inverse
            margin *= 8

    def compressed(self, diagonal: Vectors, block: Vectors) -> Vectors:
        """The matrix within the span of a block."""
        inner = self.factor.T @ block
        return block.T @ (diagonal[:, None] * block) + self.sign * (inner.T @ inner)

    def _first_block(self, start: Vectors | None, count: int, spare: int, seed: int) -> Vectors:
        """Orthonormal columns: the guess, if there is one, and noise that is always the same."""
        block = np.random.RandomState(seed).standard_normal((self.size, count + spare))
        if start is not None:
            start = start[:, : count + spare]
            block[:, : start.shape[1]] = start
        return np.linalg.qr(block)[0]


def _spare(count: int) -> int:
    """How many vectors are carried along beside those that are wanted."""
    return max(3, count // 3)


class _Inverse:
    """Products with the inverse of a matrix less a shift, and the eigenvalues below that."""

    def __init__(self, family: DiagonalAndGram, diagonal: Vectors, shift: float) -> None:
        self.shift = shift
        self._sign = family.sign
        self._shifted = (diagonal - shift)[:, None]
        self._scaled = family.factor / self._shifted
        inner = self._sign * (family.factor.T @ self._scaled)
        inner.flat[:: len(inner) + 1] += 1
        self._factored, self._pivots, info = dsytrf(inner, lower=1, overwrite_a=1)
        # A pivot of two rows has a negative determinant, thus one negative eigenvalue.
        single = self._pivots > 0
        negative = np.count_nonzero(np.diagonal(self._factored)[single] < 0)
        negative += np.count_nonzero(~single) // 2
        self.n_below = int(np.count_nonzero(self._shifted < 0) - self._sign * negative)
        if info:  # the shift is an eigenvalue to the last digit: no inverse, no count
            self.n_below = family.size + 1

    def __matmul__(self, vectors: Vectors) -> Vectors:
        inner, _ = dsytrs(self._factored, self._pivots, self._scaled.T @ vectors, lower=1)
        return vectors / self._shifted - self._sign * (self._scaled @ inner)


class _Krylov:
    """The space of a block and its images under an operator, and the best vectors in it.

    ``values`` (descending) and ``vectors`` are the Ritz pairs with the largest values, as many as
    the block is wide. All of it is orthogonal to what was `found` before.
    """

    def __init__(self, operator: _Inverse, block: Vectors, found: Vectors) -> None:
        self._operator = operator
        self._found = found
        self._width = block.shape[1]
        self._basis = block
        self._images = self._image(block)
        self._find_ritz_pairs()

    @property
    def n_steps(self) -> int:
        return self._basis.shape[1] // self._width

    def extend(self) -> None:
        """Take in the image of the last block."""
        new = self._images[:, -self._width :]
        for _ in range(2):  # once more, for what rounding left of the others
            new = new - self._basis @ (self._basis.T @ new)
            new = np.linalg.qr(new - self._found @ (self._found.T @ new))[0]
        self._basis = np.hstack([self._basis, new])
        self._images = np.hstack([self._images, self._image(new)])
        self._find_ritz_pairs()

    def n_accurate(self, wanted: int) -> int:
        """How many vectors, of the first `wanted`, are as accurate as their span has to be."""
        gaps = self.values[:wanted] - self.values[wanted]
        accurate = self._residuals[:wanted] <= _ACCURACY * gaps
        return wanted if accurate.all() else int(np.argmin(accurate))

    def tied(self, wanted: int) -> bool:
        """Whether rounding decides which of the vectors come first."""
        gap = self.values[0] - self.values[wanted]
        return bool(gap <= 1e-5 * self.values[0] and self._residuals[0] <= 1e-9 * self.values[0])

    def _image(self, block: Vectors) -> Vectors:
        image = self._operator @ block
        return image - self._found @ (self._found.T @ image)

    def _find_ritz_pairs(self) -> None:
        compressed = self._basis.T @ self._images
        values, coordinates = np.linalg.eigh((compressed + compressed.T) / 2)
        best = slice(None, -self._width - 1, -1)
        self.values, coordinates = values[best], coordinates[:, best]
        self.vectors = self._basis @ coordinates
        residuals = self._images @ coordinates - self.vectors * self.values
        self._residuals = np.linalg.norm(residuals, axis=0)
