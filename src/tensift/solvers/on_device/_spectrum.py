"""The eigenbases of Gram matrices that are on a device."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tensift._utils.namespace import namespace_of
from tensift.moments import GramTensor
from tensift.solvers.on_device._eigen import eigh
from tensift.solvers.on_device._memory import block_elements

__all__ = ["spectrum_of"]

Array = Any  # of any namespace of the array API


def spectrum_of(gram: GramTensor) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Gram matrices; computed once and kept with them."""
    known = vars(gram)
    if "spectrum" not in known:
        matrices = gram.dense()
        xp = namespace_of(matrices)
        together = max(1, block_elements(matrices) // gram.size**2)
        cuts = [*range(0, gram.n_slices, together), gram.n_slices]
        parts = [eigh(matrices[first:end, ...]) for first, end in pairwise(cuts)]
        values, vectors = parts[0]
        if len(parts) > 1:
            values, vectors = (xp.concat(list(part)) for part in zip(*parts, strict=True))
        known["spectrum"] = xp.clip(values, min=0.0), vectors
    return known["spectrum"]
