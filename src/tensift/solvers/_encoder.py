"""The encoder of sparse PCA given its decoder: a convex problem, updated row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, squared_modulus
from tensift.gram import GramTensor
from tensift.solvers._coupling import Coupling

__all__ = ["Encoder", "EncoderProblems", "dual_norm", "inner", "penalty"]

_TINY, _EPS = np.finfo(float).tiny, np.finfo(float).eps
_SWEEPS = 3  # over the rows, in one improvement
_SPLITTINGS, _TRIALS, _RELAXATION = 10, 6, 1.6
_WEIGHT = 0.01  # of the largest eigenvalue, to begin with
_ROUNDING = 1e-15  # of the trace
_FLOOR = 1e-9  # of the trace: gaps are not measured against less, where rounding would show


@dataclass
class Encoder:
    """Encoders ``Q`` of a stack of slices, and the decoders ``U`` they belong to.

    Attributes
    ----------
    decoder : ndarray of shape (p', q, k)
        ``U``, with orthonormal columns.
    captured : ndarray of shape (problems,)
        ``Tr(U^H S U)``.
    sparse : ndarray of shape (p, q, k)
        ``Q`` in the domain of the penalty, with exact zeros.
    slices : ndarray of shape (p', q, k)
        ``Q`` in the transform domain: `sparse` itself unless slices are coupled.
    residual : ndarray of shape (p', q, k)
        ``S (U - Q)``.
    """

    decoder: NDArray
    captured: NDArray[np.float64]
    sparse: NDArray
    slices: NDArray
    residual: NDArray

    def __getitem__(self, index: NDArray) -> Encoder:
        return Encoder(*(value[index] for value in vars(self).values()))

    def put(self, index: NDArray, part: Encoder) -> None:
        """Overwrite some of the slices."""
        for name, value in vars(part).items():
            getattr(self, name)[index] = value


class EncoderProblems:
    """``min  Tr((U - Q)^H S (U - Q)) + ridge ||Q||_F^2 + lam pen(Q)`` over ``Q``, slice by slice.

    Coupled slices are one problem. Its sums count a slice as often as it stands for.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    lam, ridge : float
        Weights of the penalty and of the squares.
    sparsity : {"entries", "features", "components"}
        What the penalty adds up: moduli of entries, norms of rows, or norms of columns.
    coupling : Coupling, optional
        The map to the domain whose entries are penalised.
    """

    def __init__(
        self,
        gram: GramTensor,
        lam: float,
        ridge: float,
        sparsity: str,
        coupling: Coupling | None = None,
    ) -> None:
        self.gram, self.lam, self.ridge = gram, lam, ridge
        self.sparsity, self.coupling = sparsity, coupling
        self.matrices = gram.dense()
        # Columns of S first and slices last: the update of a row then runs along memory.
        self.columns = np.ascontiguousarray(self.matrices.transpose(2, 1, 0))
        self.diagonal = np.einsum("pll->lp", self.matrices).real
        self.weight = 0.0 if coupling is None else _WEIGHT * float(gram.spectrum[0].max())
        self.trace = self.total(gram.trace())

    def __getitem__(self, index: NDArray) -> EncoderProblems:
        return EncoderProblems(self.gram[index], self.lam, self.ridge, self.sparsity)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of slices ``(p',)`` as values of problems: their sum if slices are coupled."""
        return values if self.coupling is None else np.atleast_1d(values @ self.coupling.weights)

    def encoder(
        self, decoder: NDArray, sparse: NDArray, slices: NDArray, image: NDArray
    ) -> Encoder:
        """The encoder with these values in both domains, and `image` ``S Q``."""
        decoder_image = self.matrices @ decoder
        captured = self.total(inner(decoder, decoder_image))
        return Encoder(decoder, captured, sparse, slices, decoder_image - image)

    def to_slices(self, sparse: NDArray) -> NDArray:
        """Values in the domain of the penalty, in the transform domain."""
        return sparse if self.coupling is None else self.coupling.to_slices(sparse)

    def value(self, encoder: Encoder) -> NDArray[np.float64]:
        """The objective of every problem, ``||X - U Q^H X||^2 + ridge ||Q||^2 + lam pen(Q)``."""
        return self.trace - encoder.captured + self._misfit(encoder)

    def relative_gap(self, encoder: Encoder) -> NDArray[np.float64]:
        """How far above the optimum for its decoder an encoder can be, by the objective.

        With ``D^H D = S + ridge I``, the encoder problem is a lasso on rows ``D`` and targets
        ``y``. Its residual ``rho`` is feasible for the dual once it is scaled by ``s`` such that
        the dual norm of ``2 s D^H rho`` is at most lam; the bound is
        ``2 s <rho, y> - s^2 ||rho||^2``.
        """
        floor = np.maximum(_FLOOR * self.trace, _TINY)
        gradient = encoder.residual - self.ridge * encoder.slices
        if self.lam == 0:
            # Nothing is feasible but the optimum, which is known: so is the distance from it.
            values, vectors = self.gram.spectrum
            curvature = np.maximum((values + self.ridge)[:, :, None], _TINY)
            gap = self.total(inner(rotated := adjoint(vectors) @ gradient, rotated / curvature))
            return gap / np.maximum(self.value(encoder), floor)
        if self.coupling is not None:
            gradient = self.coupling.to_original(gradient)
        size = 2 * dual_norm(gradient, self.sparsity)
        if self.coupling is not None:
            size = size.max(keepdims=True)
        square = inner(encoder.decoder - encoder.slices, encoder.residual)
        square = self.total(square + self.ridge * inner(encoder.slices, encoder.slices))
        product = self.total(inner(encoder.decoder, encoder.residual))
        # Neither quotient may overflow where an encoder is exact.
        scale = product / np.maximum(square, _EPS * np.abs(product) + _TINY)
        largest = self.lam / np.maximum(size, _EPS * self.lam)
        scale = np.clip(scale, -largest, largest)
        gap = self._misfit(encoder) - scale * (2 * product - scale * square)
        return np.maximum(gap, 0) / np.maximum(self.value(encoder), floor)

    def improved(self, encoder: Encoder) -> Encoder:
        """A better encoder for the same decoder."""
        if self.coupling is None:
            return self._swept(encoder)
        return self._split(encoder, self.coupling)

    def _swept(self, encoder: Encoder) -> Encoder:
        """Minimise over each row in turn, all slices together."""
        # Copies with rows first and slices last, as the columns of S.
        rows = np.array(encoder.slices.transpose(1, 2, 0), order="C")
        residual = np.array(encoder.residual.transpose(1, 2, 0), order="C")
        step = np.empty_like(residual)
        divisor = self.diagonal + self.ridge
        divisor = np.where(divisor > 0, divisor, 1)
        for _ in range(_SWEEPS):
            for row, values in enumerate(rows):
                target = self.diagonal[row] * values
                target += residual[row]
                new = _shrunk(target, self.lam / 2, groups=self.sparsity == "features")
                new /= divisor[row]
                change = new - values
                if change.any():
                    values[...] = new
                    np.multiply(self.columns[row][:, None, :], change, out=step)
                    residual -= step
        slices, residual = (
            np.ascontiguousarray(values.transpose(2, 0, 1)) for values in (rows, residual)
        )
        return Encoder(encoder.decoder, encoder.captured, slices, slices, residual)

    def _split(self, encoder: Encoder, coupling: Coupling) -> Encoder:
        """Alternating directions: the squares slice by slice, the moduli in the original domain.

        Rows of coupled slices have no closed form, and a bound on all their curvatures is far too
        large for most. Splitting does not descend at every step, so it goes on until it has, and
        if that takes too long, a proximal gradient step is taken, which always does.
        """
        values, vectors = self.gram.spectrum
        vectors_adjoint = adjoint(vectors)
        image = self.matrices @ encoder.decoder
        gradient = coupling.to_original(encoder.residual - self.ridge * encoder.slices)
        sparse = encoder.sparse
        # At the optimum the gradient is the multiplier, so no other has to be remembered.
        slack = (gradient - _shrunk(gradient, self.lam / 2)) / self.weight
        ceiling = self.value(encoder) + _ROUNDING * self.trace
        for _ in range(_TRIALS):
            inverse = 1 / (values + self.ridge + self.weight)[:, :, None]
            for _ in range(_SPLITTINGS):
                right = image + self.weight * coupling.to_slices(sparse - slack)
                slices = vectors @ (inverse * (vectors_adjoint @ right))
                middle = coupling.to_original(slices)
                free = _RELAXATION * middle + (1 - _RELAXATION) * sparse + slack
                previous, sparse = sparse, _shrunk(free, self.lam / (2 * self.weight))
                slack = free - sparse
            # A larger weight keeps the two copies together, a smaller one lets them move.
            apart = np.linalg.norm(middle - sparse)
            moved = np.linalg.norm(sparse - previous)
            factor = 2.0 if apart > 3 * moved else 0.5 if moved > 3 * apart else 1.0
            self.weight *= factor
            slack /= factor
            result = self._with(encoder, sparse)
            if self.value(result)[0] <= ceiling[0]:
                return result
        step = 1 / (values.max() + self.ridge)
        free = encoder.sparse + step * gradient
        return self._with(encoder, _shrunk(free, step * self.lam / 2))

    def _with(self, encoder: Encoder, sparse: NDArray) -> Encoder:
        """Other values for the same decoder."""
        slices = self.to_slices(sparse)
        residual = self.matrices @ (encoder.decoder - slices)
        return Encoder(encoder.decoder, encoder.captured, sparse, slices, residual)

    def _misfit(self, encoder: Encoder) -> NDArray[np.float64]:
        """The objective of the encoder problem."""
        square = inner(encoder.decoder - encoder.slices, encoder.residual)
        smooth = self.total(square + self.ridge * inner(encoder.slices, encoder.slices))
        weight = penalty(encoder.sparse, self.sparsity)
        return smooth + self.lam * (weight if self.coupling is None else weight.sum(keepdims=True))


def inner(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Real part of the inner product of matrices, slice by slice."""
    rows = first.reshape(len(first), 1, -1)
    return (rows.conj() @ second.reshape(len(second), -1, 1))[:, 0, 0].real


def penalty(encoders: NDArray, sparsity: str) -> NDArray[np.float64]:
    """The sum that is penalised, for every slice ``(p, q, k)``."""
    if sparsity == "entries":
        return np.abs(encoders).sum(axis=(1, 2))
    axis = 2 if sparsity == "features" else 1
    return np.sqrt(squared_modulus(encoders).sum(axis=axis)).sum(axis=1)


def dual_norm(gradients: NDArray, sparsity: str) -> NDArray[np.float64]:
    """The dual norm of the penalty, for every slice ``(p, q, k)``."""
    if sparsity == "entries":
        return np.abs(gradients).max(axis=(1, 2))
    axis = 2 if sparsity == "features" else 1
    return np.sqrt(squared_modulus(gradients).sum(axis=axis)).max(axis=1)


def _shrunk(values: NDArray, by: float, *, groups: bool = False) -> NDArray:
    """Take `by` off the modulus of every entry, or off the norm of every column."""
    if groups:
        size = np.sqrt(squared_modulus(values).sum(axis=0))
    elif np.iscomplexobj(values):
        size = np.abs(values)
    else:
        return values - np.clip(values, -by, by)
    return values * (np.maximum(size - by, 0) / np.maximum(size, _TINY))
