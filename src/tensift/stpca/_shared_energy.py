"""How much of the variance of slices their features share with each other."""

from __future__ import annotations

from typing import Any

from tensift._utils.namespace import is_complex, namespace_of
from tensift._utils.stacks import diagonal_of
from tensift.moments import GramTensor, variances

__all__ = ["energies_of"]

_RIDGE = 1e-9  # times the largest variance of a slice; makes singular Gram matrices invertible


def energies_of(gram: GramTensor, n_samples: float) -> tuple[float, float]:
    """Return the sum of squares of slices, and the part of it that features share.

    The shared part of a feature is what a least-squares fit on the other features of its slice
    explains. The residual sum of squares of feature ``l`` is ``1 / (S^-1)[l, l]``. It is too small
    by the factor ``(n - q) / (n - 1)``, because ``q - 1`` coefficients and a mean were fitted to
    ``n`` samples; this is corrected. With ``n <= q`` the other features explain everything, so
    the shared part cannot be estimated: all energy counts as shared.
    """
    energy = variances(gram)
    xp = namespace_of(energy)
    total = float(xp.sum(energy))
    if n_samples <= gram.size:
        return total, total
    matrices: Any = gram.dense()
    ridge = _RIDGE * xp.max(energy, axis=1)
    ridge = xp.where(ridge > 0, ridge, xp.ones_like(ridge))  # constant slices
    one = xp.eye(gram.size, dtype=matrices.dtype, device=matrices.device)
    inverse = diagonal_of(xp.linalg.inv(matrices + ridge[:, None, None] * one))
    inverse = xp.real(inverse) if is_complex(inverse) else inverse
    left = (n_samples - 1) / (n_samples - gram.size) / inverse
    return total, total - float(xp.sum(xp.minimum(left, energy)))
