"""The encoder of sparse PCA for a given decoder: a convex problem, split into two easy ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, squared_modulus
from tensift.moments import GramTensor
from tensift.solvers._coupling import Coupling

__all__ = ["Encoder", "EncoderProblems", "dual_norm", "inner", "penalty"]

_TINY, _EPS = np.finfo(float).tiny, np.finfo(float).eps
_SPLITTINGS, _TRIALS, _RELAXATION = 10, 6, 1.6
_WEIGHT, _LEAST = 0.01, 1e-6  # first and smallest weight, as shares of the largest eigenvalue
_ROUNDING = 1e-15  # a share of the trace
_FLOOR = 1e-9  # a share of the trace: gaps relative to less would show rounding


@dataclass
class Encoder:
    """Encoders ``Q`` of a stack of slices, and their decoders ``U``.

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

    Coupled slices form one problem. Its sums count a kept slice as often as it occurs.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    lam, ridge : float
        Weights of the penalty and of the squares.
    sparsity : {"entries", "features", "components"}
        What the penalty adds up: moduli of entries, norms of rows, or norms of columns.
    coupling : Coupling, optional
        The map to the domain in which entries are penalised.
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
        largest = gram.spectrum[0].max(axis=1)
        largest = largest if coupling is None else largest.max(keepdims=True)
        # The largest curvature of the quadratic part, and the weight of the constraint that both
        # copies agree.
        self.stiffness = np.where(largest > 0, largest, 1.0)[:, None, None]
        self.weight = _WEIGHT * self.stiffness
        self.trace = self.total(gram.trace())

    def __getitem__(self, index: NDArray) -> EncoderProblems:
        part = EncoderProblems(self.gram[index], self.lam, self.ridge, self.sparsity)
        part.weight = self.weight[index]
        return part

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
        """From the domain of the penalty to the transform domain."""
        return sparse if self.coupling is None else self.coupling.to_slices(sparse)

    def value(self, encoder: Encoder) -> NDArray[np.float64]:
        """The objective of every problem, ``||X - U Q^H X||^2 + ridge ||Q||^2 + lam pen(Q)``."""
        return self.trace - encoder.captured + self._misfit(encoder)

    def relative_gap(self, encoder: Encoder) -> NDArray[np.float64]:
        """An upper bound of how far an encoder is above the best one, as a share of the objective.

        With ``D^H D = S + ridge I``, the encoder problem is a lasso on rows ``D`` and targets
        ``y``. Its residual ``rho`` is feasible for the dual once it is scaled by ``s`` such that
        the dual norm of ``2 s D^H rho`` is at most lam; the bound is
        ``2 s <rho, y> - s^2 ||rho||^2``.
        """
        floor = np.maximum(_FLOOR * self.trace, _TINY)
        gradient = encoder.residual - self.ridge * encoder.slices
        if self.lam == 0:
            # Only the optimum is feasible for the dual, but here it is explicit: so is the gap.
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
        # Neither quotient may overflow for an exact encoder.
        scale = product / np.maximum(square, _EPS * np.abs(product) + _TINY)
        largest = self.lam / np.maximum(size, _EPS * self.lam)
        scale = np.clip(scale, -largest, largest)
        gap = self._misfit(encoder) - scale * (2 * product - scale * square)
        return np.maximum(gap, 0) / np.maximum(self.value(encoder), floor)

    def improved(self, encoder: Encoder) -> Encoder:
        """A better encoder for the same decoder, by alternating directions.

        One copy minimises the quadratic part in the eigenbasis of ``S``, which works even if ``S``
        is ill-conditioned. The other copy minimises the penalty in its own domain. The first steps
        may raise the objective, so each problem continues until it is lower. If that takes too
        long, it makes a proximal gradient step, which never raises it.
        """
        values, vectors = self.gram.spectrum
        vectors_adjoint = adjoint(vectors)
        image = self.matrices @ encoder.decoder
        gradient = self.to_original(encoder.residual - self.ridge * encoder.slices)
        sparse = encoder.sparse
        # At the optimum the gradient is the multiplier, so none is stored between calls.
        slack = (gradient - self._shrunk(gradient, self.lam / 2)) / self.weight
        ceiling = self.value(encoder) + _ROUNDING * self.trace
        result, waiting = encoder, np.ones(len(ceiling), dtype=bool)
        for _ in range(_TRIALS):
            curvature = (values + self.ridge)[:, :, None] + self.weight
            for _ in range(_SPLITTINGS):
                right = image + self.weight * self.to_slices(sparse - slack)
                middle = self.to_original(vectors @ ((vectors_adjoint @ right) / curvature))
                free = _RELAXATION * middle + (1 - _RELAXATION) * sparse + slack
                previous, sparse = sparse, self._shrunk(free, self.lam / (2 * self.weight))
                slack = free - sparse
            # A larger weight holds the two copies together, a smaller one lets them move.
            apart, moved = self._size(middle - sparse), self._size(sparse - previous)
            factor = np.where(apart > 3 * moved, 2.0, np.where(moved > 3 * apart, 0.5, 1.0))
            old = self.weight
            new = np.clip(old * factor[:, None, None], _LEAST * self.stiffness, self.stiffness)
            self.weight = np.where(waiting[:, None, None], new, old)
            slack = slack * (old / self.weight)
            trial = self._with(encoder, sparse)
            lower = waiting & (self.value(trial) <= ceiling)
            result = self.choose(lower, trial, result)
            waiting = waiting & ~lower
            if not waiting.any():
                return result
        step = 1 / (self.stiffness + self.ridge)
        safe = self._shrunk(encoder.sparse + step * gradient, step * self.lam / 2)
        return self.choose(waiting, self._with(encoder, safe), result)

    def choose(self, wanted: NDArray[np.bool_], first: Encoder, second: Encoder) -> Encoder:
        """The first encoder for the wanted problems, the second for the others."""
        if wanted.all():
            return first
        if self.coupling is None and wanted.any():
            second = second[np.ones_like(wanted)]  # a copy
            second.put(wanted, first[wanted])
        return second

    def _size(self, values: NDArray) -> NDArray[np.float64]:
        """Norms of the values of every problem, in the domain of the penalty."""
        squares = inner(values, values)
        return np.sqrt(squares if self.coupling is None else squares.sum(keepdims=True))

    def _shrunk(self, values: NDArray, by: NDArray | float) -> NDArray:
        """Reduce the modulus of every entry, or the norm of every row, by `by`."""
        if self.sparsity == "features":
            size = np.sqrt(squared_modulus(values).sum(axis=2, keepdims=True))
        elif np.iscomplexobj(values):
            size = np.abs(values)
        else:
            return values - np.clip(values, -by, by)
        return values * (np.maximum(size - by, 0) / np.maximum(size, _TINY))

    def to_original(self, slices: NDArray) -> NDArray:
        """From the transform domain to the domain of the penalty."""
        return slices if self.coupling is None else self.coupling.to_original(slices)

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
    """The penalty of every slice ``(p, q, k)``."""
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
