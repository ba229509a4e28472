"""Centred moments of oriented data, accumulated over blocks of samples and merged exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, squared_modulus
from tensift.gram._orientation import Orientation
from tensift.gram._tensor import GramTensor

__all__ = ["Moments"]

_BLOCK_BYTES = 2**21  # of samples taken in at once: what stays in cache is faster than fresh memory


class Moments:
    """Count, mean, spread and Gram tensor of samples seen so far, in double precision.

    Blocks are centred on their own mean and merged with a rank-one correction for the shift
    between means, so no large uncentred sums are ever subtracted. While there are fewer samples
    than features in a slice, the centred samples themselves are kept as thin factors; from then
    on they are folded into dense Gram matrices and memory no longer grows with the samples.

    Parameters
    ----------
    orientation : Orientation
        How samples are turned into slices.

    Attributes
    ----------
    count : int
        Samples seen.
    mean : ndarray of shape feature_shape
        Mean of the samples.
    peak : float
        Largest absolute value seen.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.gram import Moments, Orientation
    >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
    >>> moments = Moments(Orientation((4, 3), 0, make_transforms("identity", [3])))
    >>> moments.update(X[:20]).update(X[20:]).count
    50
    >>> centred = X[:, :, 1] - X[:, :, 1].mean(axis=0)
    >>> bool(np.allclose(moments.gram().dense()[1], centred.T @ centred))
    True
    """

    def __init__(self, orientation: Orientation) -> None:
        self.orientation = orientation
        self.count = 0
        self.peak = 0.0
        self.mean: NDArray = np.zeros(orientation.feature_shape)
        self._squares: NDArray[np.float64] = np.zeros(orientation.feature_shape)
        self._columns: list[NDArray] = []  # thin factors, while they are thin
        self._scatter: NDArray | None = None

    def update(self, samples: NDArray) -> Moments:
        """Take in samples ``(n, d_1, ..., d_m)``, a block at a time."""
        row_bytes = 8 * self.orientation.n_slices * self.orientation.size
        # At least 2 q rows, so that adding to the Gram tensor never costs more than the products.
        rows = max(2 * self.orientation.size, _BLOCK_BYTES // row_bytes)
        for start in range(0, len(samples), rows):
            self._add(samples[start : start + rows])
        return self

    def _add(self, block: NDArray) -> None:
        block = np.asarray(block, dtype=complex if np.iscomplexobj(block) else float)
        peak = largest_modulus(block)
        block_mean = block.mean(axis=0)
        block = block - block_mean
        squares = np.einsum("n...,n...->...", block.conj(), block).real
        columns = [self.orientation.to_slices(block)] if len(block) > 1 or not self.count else []
        self._join(len(block), block_mean, squares, peak, columns, None)

    def merge(self, other: Moments) -> Moments:
        """Take in samples that have other moments of the same orientation, which stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> from tensift.algebra import make_transforms
        >>> from tensift.gram import Moments, Orientation
        >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
        >>> orientation = Orientation((4, 3), 0, make_transforms("identity", [3]))
        >>> one, other = Moments(orientation).update(X[:20]), Moments(orientation).update(X[20:])
        >>> bool(np.allclose(one.merge(other).mean, X.mean(axis=0)))
        True
        """
        if other.count:
            columns, scatter = list(other._columns), other._scatter
            self._join(other.count, other.mean, other._squares, other.peak, columns, scatter)
        return self

    def _join(
        self,
        count: int,
        mean: NDArray,
        squares: NDArray[np.float64],
        peak: float,
        columns: list[NDArray],
        scatter: NDArray | None,
    ) -> None:
        """Add centred moments of more samples, and what the shift between the means adds."""
        self.peak = max(self.peak, peak)
        self._squares = self._squares + squares
        if self.count:
            weight = self.count * count / (self.count + count)
            shift = mean - self.mean
            self._squares += weight * squared_modulus(shift)
            columns.append(np.sqrt(weight) * self.orientation.to_slices(shift[None]))
        self.mean = self.mean + (mean - self.mean) * (count / (self.count + count))
        self.count += count
        self._columns += columns
        if scatter is not None:
            self._scatter = scatter.copy() if self._scatter is None else self._scatter + scatter
        if self._scatter is not None or self.count >= self.orientation.size:
            self._fold()

    def _fold(self) -> None:
        """Add the thin factors to the dense Gram matrices and drop them."""
        while self._columns:
            columns = self._columns.pop()
            product = columns @ adjoint(columns)
            if self._scatter is None:
                self._scatter = product
            else:
                self._scatter += product

    def gram(self) -> GramTensor:
        """The Gram tensor of the kept slices; thin while there are fewer samples than features."""
        if self._scatter is not None:
            return GramTensor(self._scatter, thin=False)
        return GramTensor(np.concatenate(self._columns, axis=2), thin=True)

    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of every feature."""
        return np.sqrt(self._squares / self.count)


def largest_modulus(values: NDArray) -> float:
    """The largest absolute value."""
    if np.iscomplexobj(values):
        return float(np.abs(values).max())
    return max(float(values.max()), -float(values.min()))
