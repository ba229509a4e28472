"""The eigenbases of Gram matrices that are on a device."""

from __future__ import annotations

from typing import Any

from tensift._utils.namespace import namespace_of
from tensift.moments import GramTensor
from tensift.solvers.on_device._eigen import eigh

__all__ = ["spectrum_of"]

Array = Any  # of any namespace of the array API


def spectrum_of(gram: GramTensor) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Gram matrices; computed once and kept with them."""
    known = vars(gram)
    if "spectrum" not in known:
        values, vectors = eigh(gram.dense())
        known["spectrum"] = namespace_of(values).clip(values, min=0.0), vectors
    return known["spectrum"]
