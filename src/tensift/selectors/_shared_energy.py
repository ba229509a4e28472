"""How much of their energy the features of slices share with one another."""

from __future__ import annotations

from typing import Any

from tensift._namespace import is_complex, namespace_of
from tensift._stacks import diagonal_of
from tensift.gram import GramTensor
from tensift.selectors._scoring import variances

__all__ = ["energies_of"]

_RIDGE = 1e-9  # as a share of the largest variance of a slice, for features that depend on others


def energies_of(gram: GramTensor, n_samples: int) -> tuple[float, float]:
    """The sum of squares of slices, and the part of it that features share.

    A feature shares what least squares on the other features of its slice explain of it. The sum
    of squares they leave is the inverse of a diagonal element of the inverse of the Gram matrix;
    ``q - 1`` regressors and a mean fitted to ``n`` samples make it too small by the factor
    ``(n - q) / (n - 1)``. Where samples are no more than features, others explain everything, and
    nothing can be said: all energy counts as shared.
    """
    energy = variances(gram)
    xp = namespace_of(energy)
    total = float(xp.sum(energy))
    if n_samples <= gram.size:
        return total, total
    matrices: Any = gram.dense()
    ridge = _RIDGE * xp.max(energy, axis=1)
    ridge = xp.where(ridge > 0, ridge, xp.ones_like(ridge))  # slices that do not vary
    one = xp.eye(gram.size, dtype=matrices.dtype, device=matrices.device)
    inverse = diagonal_of(xp.linalg.inv(matrices + ridge[:, None, None] * one))
    inverse = xp.real(inverse) if is_complex(inverse) else inverse
    left = (n_samples - 1) / (n_samples - gram.size) / inverse
    return total, total - float(xp.sum(xp.minimum(left, energy)))
