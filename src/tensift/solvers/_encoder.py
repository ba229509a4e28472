"""The encoder of sparse PCA given its decoder: a convex problem, updated row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, squared_modulus
from tensift.gram import GramTensor
from tensift.solvers._coupling import Coupling

__all__ = ["Encoder", "EncoderProblems", "dual_norm", "inner", "penalty"]

_TINY = np.finfo(float).tiny
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
        if coupling is not None:
            self.diagonal = self.diagonal.max(axis=1, keepdims=True)
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
        scale = product / np.maximum(square, _TINY)
        largest = self.lam / np.maximum(size, _TINY)
        scale = np.clip(scale, -largest, largest)
        gap = self._misfit(encoder) - scale * (2 * product - scale * square)
        return np.maximum(gap, 0) / np.maximum(self.value(encoder), floor)

    def sweep(self, encoder: Encoder, times: int) -> Encoder:
        """Minimise over each row in turn, all slices together, a number of `times`."""
        # Rows first and slices last, as the columns of S.
        slices = np.ascontiguousarray(encoder.slices.transpose(1, 2, 0))
        residual = np.ascontiguousarray(encoder.residual.transpose(1, 2, 0))
        sparse = slices
        if self.coupling is not None:
            sparse = np.ascontiguousarray(encoder.sparse.transpose(1, 2, 0))
        step = np.empty_like(residual)
        for _ in range(times):
            changed = False
            for row in range(len(slices)):
                new, new_slices = self._best_row(row, sparse[row], residual[row])
                change = new_slices - slices[row]
                if not change.any():
                    continue
                changed = True
                sparse[row] = new
                slices[row] = new_slices
                np.multiply(self.columns[row][:, None, :], change, out=step)
                residual -= step
            if not changed:
                break
        result = np.ascontiguousarray(slices.transpose(2, 0, 1))
        return Encoder(
            encoder.decoder,
            encoder.captured,
            result if self.coupling is None else np.ascontiguousarray(sparse.transpose(2, 0, 1)),
            result,
            np.ascontiguousarray(residual.transpose(2, 0, 1)),
        )

    def _best_row(self, row: int, values: NDArray, residual: NDArray) -> tuple[NDArray, NDArray]:
        """The best values ``(k, p)`` of a row given the others, and the same in the slices.

        Coupled slices differ in their curvature ``S_j[l, l]``, whose largest bounds them all in
        the original domain: the row then goes to the minimum of that bound.
        """
        curvature = self.diagonal[row]
        if self.coupling is not None:
            residual = self.coupling.to_original(residual.T).T
        target = curvature * values
        target += residual
        divisor = curvature + self.ridge
        divisor = np.where(divisor > 0, divisor, 1)
        new = _shrunk(target, self.lam / 2, groups=self.sparsity == "features")
        new /= divisor
        return new, new if self.coupling is None else self.coupling.to_slices(new.T).T

    def _misfit(self, encoder: Encoder) -> NDArray[np.float64]:
        """The objective of the encoder problem."""
        square = inner(encoder.decoder - encoder.slices, encoder.residual)
        smooth = self.total(square + self.ridge * inner(encoder.slices, encoder.slices))
        weight = penalty(encoder.sparse, self.sparsity)
        return smooth + self.lam * (weight if self.coupling is None else weight.sum(keepdims=True))


def inner(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Real part of the inner product of matrices, slice by slice."""
    product = first.conj() * second if np.iscomplexobj(first) else first * second
    return product.sum(axis=(1, 2)).real


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


def _shrunk(values: NDArray, by: float, *, groups: bool) -> NDArray:
    """Take `by` off the modulus of every entry, or off the norm of every column."""
    if groups:
        size = np.sqrt(squared_modulus(values).sum(axis=0))
    elif np.iscomplexobj(values):
        size = np.abs(values)
    else:
        return values - np.clip(values, -by, by)
    return values * (np.maximum(size - by, 0) / np.maximum(size, _TINY))
