"""Lowest eigenvectors of a diagonal plus or minus a Gram matrix, for a sequence of diagonals.

Reweighting needs them many times: of ``diag(a) + s C C'``, with the same factor ``C`` and sign
``s``, and a diagonal that changes a little every time. The entries of the diagonal may differ by
eight orders of magnitude, so iterations with the matrix itself converge slowly. We iterate with its
inverse about a shift. With ``D = diag(a) - shift`` and ``T = I + s C' D^-1 C`` it is

    (D + s C C')^-1 = D^-1 - s D^-1 C T^-1 C' D^-1,

which costs ``O(d r^2)`` to set up and ``O(d r)`` per vector. A dense eigendecomposition costs
``O(d^3)``. We build a Krylov space of this inverse from a block of vectors, at first those of the
previous diagonal. Eigenvectors that have converged are put aside, and the shift moves to the next.

By Sylvester's law of inertia, ``neg(D) - s neg(T)`` eigenvalues lie below the shift, where ``neg``
counts negative eigenvalues. A last count just above the eigenvalues found proves that none was
missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dsytrf, dsytrs

from tensift.rivals._schur_eigenpairs import lowest_by_schur_complement

__all__ = ["DiagonalAndGram", "LowestEigenpairs"]

Vectors = NDArray[np.float64]

_DENSE_SIZE = 256  # up to this size, a dense decomposition is fastest
_ACCURACY = 1e-10  # of the projector onto the eigenvectors
_MAX_ROUNDS = 40  # each has one shift; a handful is usual
_MAX_ATTEMPTS = 3  # to find an eigenvector that was missed
_STEPS = 5  # blocks in the Krylov space of a round


@dataclass(frozen=True)
class LowestEigenpairs:
    """Ascending eigenvalues ``(m,)`` and eigenvectors ``(d, m)``, and whether they are proved.

    ``certified``: no other eigenvalue is as low, so the space of the eigenvectors is unique to
    working accuracy. ``tied``: the last eigenvalue equals the next one, and rounding errors chose
    between them. ``block`` has some further vectors, as a start for the next diagonal.
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
        """Return the `count` lowest eigenpairs for this diagonal; `start` spans a guess at them."""
        if start is not None and self.size > _DENSE_SIZE and start.shape[1] > count:
            guess = start[:, : count + _spare(count)]
            found = lowest_by_schur_complement(self, diagonal, count, guess)
            if found is not None:
                values, vectors = found
                return LowestEigenpairs(values[:count], vectors[:, :count], vectors, True)
        if self.size <= max(_DENSE_SIZE, 4 * self.rank, 5 * count) or self.rank == 0:
            return self._dense(diagonal, count)
        for seed in range(_MAX_ATTEMPTS):
            block = self._first_block(start, count, _spare(count), seed)
            result = self._search(diagonal, count, block)
            if result.certified or result.tied:
                break
            start = result.vectors  # with new noise, to reach what the block did not contain
        return result

    def count_below(self, diagonal: Vectors, bound: float) -> int:
        """Count the eigenvalues below `bound`."""
        return _Inverse(self, diagonal, bound).n_below

    def matrix(self, diagonal: Vectors) -> Vectors:
        """Return the matrix with this diagonal."""
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
        order = np.argsort(-diagonal)  # a descending diagonal loses least to rounding
        graded = self.matrix(diagonal)[np.ix_(order, order)]
        values, vectors = eigh(graded, subset_by_index=(0, last))
        vectors = vectors[np.argsort(order)]
        lowest, largest = np.abs(diagonal).min(), np.abs(diagonal).max()
        # Errors grow with the size of the matrix, unless its diagonal is graded.
        errors = 16 * self.size if largest < 100 * lowest else 1
        rounding = errors * np.finfo(float).eps * largest
        tied = bool(count < self.size and values[count] - values[count - 1] <= rounding)
        return LowestEigenpairs(values[:count], vectors[:, :count], vectors, not tied, tied)

    def _search(self, diagonal: Vectors, count: int, block: Vectors) -> LowestEigenpairs:
        found, values = block[:, :0], np.empty(0)
        ritz = np.asarray(np.linalg.eigvalsh(self.compressed(diagonal, block)), dtype=float)
        for _ in range(_MAX_ROUNDS):
            wanted = count - len(values)
            inverse = self._inverse_below(diagonal, ritz, wanted, values)
            krylov = _Krylov(inverse, block, found)
            krylov.extend()  # a block that looks accurate may still lack an eigenvector
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
        """Whether there are no other eigenvalues below a number just above these."""
        last = values.max()
        bounds = (last + share * (following - last) for share in (0.3, 0.03, 0.003))
        return any(self.count_below(diagonal, bound) == len(values) for bound in bounds)

    def _inverse_below(
        self, diagonal: Vectors, ritz: Vectors, wanted: int, values: Vectors
    ) -> _Inverse:
        """Return the inverse about a shift somewhat below the eigenvalues still to be found.

        Ritz values are above the eigenvalues, so the first shift may be too high. It is if more
        eigenvalues lie below it than were found before.
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
        """Return the matrix compressed to the span of a block."""
        inner = self.factor.T @ block
        return block.T @ (diagonal[:, None] * block) + self.sign * (inner.T @ inner)

    def _first_block(self, start: Vectors | None, count: int, spare: int, seed: int) -> Vectors:
        """Return orthonormal columns: the guess, if there is one, and noise with a fixed seed."""
        block = np.random.RandomState(seed).standard_normal((self.size, count + spare))
        if start is not None:
            start = start[:, : count + spare]
            block[:, : start.shape[1]] = start
        return np.linalg.qr(block)[0]


def _spare(count: int) -> int:
    """Return how many vectors to iterate in addition to the wanted ones."""
    return max(3, count // 3)


class _Inverse:
    """The inverse of a matrix minus a shift, and the number of eigenvalues below the shift."""

    def __init__(self, family: DiagonalAndGram, diagonal: Vectors, shift: float) -> None:
        self.shift = shift
        self._sign = family.sign
        self._shifted = (diagonal - shift)[:, None]
        self._scaled = family.factor / self._shifted
        inner = self._sign * (family.factor.T @ self._scaled)
        inner.flat[:: len(inner) + 1] += 1
        self._factored, self._pivots, info = dsytrf(inner, lower=1, overwrite_a=1)
        # A 2 x 2 pivot has a negative determinant, so one of its eigenvalues is negative.
        single = self._pivots > 0
        negative = np.count_nonzero(np.diagonal(self._factored)[single] < 0)
        negative += np.count_nonzero(~single) // 2
        self.n_below = int(np.count_nonzero(self._shifted < 0) - self._sign * negative)
        if info:  # the shift is an eigenvalue to the last digit: treat it as too high
            self.n_below = family.size + 1

    def __matmul__(self, vectors: Vectors) -> Vectors:
        inner, _ = dsytrs(self._factored, self._pivots, self._scaled.T @ vectors, lower=1)
        return vectors / self._shifted - self._sign * (self._scaled @ inner)


class _Krylov:
    """The Krylov space of a block and an operator, and the Ritz pairs in it.

    ``values`` (descending) and ``vectors`` are the Ritz pairs with the largest values, as many as
    the block has columns. The space is orthogonal to the vectors `found` before.
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
        """Add the image of the last block to the space."""
        new = self._images[:, -self._width :]
        for _ in range(2):  # twice, to remove what rounding errors leave
            new = new - self._basis @ (self._basis.T @ new)
            new = np.linalg.qr(new - self._found @ (self._found.T @ new))[0]
        self._basis = np.hstack([self._basis, new])
        self._images = np.hstack([self._images, self._image(new)])
        self._find_ritz_pairs()

    def n_accurate(self, wanted: int) -> int:
        """Count the leading vectors, of the first `wanted`, that are accurate enough."""
        gaps = self.values[:wanted] - self.values[wanted]
        accurate = self._residuals[:wanted] <= _ACCURACY * gaps
        return wanted if accurate.all() else int(np.argmin(accurate))

    def tied(self, wanted: int) -> bool:
        """Whether rounding errors decide which of the vectors come first."""
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
