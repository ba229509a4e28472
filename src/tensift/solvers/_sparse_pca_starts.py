"""Decoders that sparse PCA starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, first_peak, squared_modulus
from tensift.solvers._decoder import polar_factor
from tensift.solvers._encoder import EncoderProblems

__all__ = ["leading_decoder", "random_decoder"]

_ROTATIONS = 100  # rounds of quartimax


def leading_decoder(
    problems: EncoderProblems, n_components: int, *, rotated: bool = False
) -> NDArray:
    """The leading eigenvectors of every slice.

    If slices are coupled, phases are chosen so that all slices add up at the entry with the
    strongest pull. If `rotated`, the eigenvectors are rotated towards few large entries, as in
    quartimax: each round maximises a linear lower bound of the sum of fourth powers, by a polar
    factor.
    """
    values, vectors = problems.gram.spectrum
    decoder = vectors[:, :, ::-1][:, :, :n_components].copy()
    if rotated:
        leading = decoder
        for _ in range(_ROTATIONS):
            bound = adjoint(leading) @ (decoder * squared_modulus(decoder))
            decoder = leading @ polar_factor(bound)
    if problems.coupling is None:
        return decoder
    pull = values[:, ::-1][:, None, :n_components] * decoder
    reach = problems.coupling.reach(np.abs(pull))
    for component in range(n_components):
        peak = first_peak(reach[:, :, component])
        position, row = np.unravel_index(peak, reach.shape[:2])
        wanted = problems.coupling.phases(int(position))
        decoder[:, :, component] *= (wanted * _phase(decoder[:, row, component]).conj())[:, None]
    return decoder


def random_decoder(problems: EncoderProblems, n_components: int, seeds: NDArray) -> NDArray:
    """Decoders of random encoders, each drawn from its own seed."""
    coupling = problems.coupling
    shape: tuple[int, ...] = (problems.gram.size, n_components)
    is_complex = (
        np.iscomplexobj(problems.matrices)
        if coupling is None
        else not coupling.orientation.stays_real
    )
    if coupling is not None:
        # Drawing in the original domain makes conjugate slices conjugate.
        shape, seeds = (coupling.orientation.n_slices, *shape), seeds[:1]
    draws = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        draw = rng.normal(size=shape)
        draws.append(draw + 1j * rng.normal(size=shape) if is_complex else draw)
    encoder = np.stack(draws) if coupling is None else coupling.to_slices(draws[0])
    return polar_factor(problems.matrices @ encoder)


def _phase(values: NDArray) -> NDArray:
    """Values divided by their moduli; one where they are zero."""
    size = np.abs(values)
    return np.where(size > 0, values / np.where(size > 0, size, 1), 1)
