"""How much of the variance of slices their features share with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensift._utils.namespace import is_complex, is_device_array, namespace_of
from tensift._utils.stacks import diagonal_of, squared_modulus
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
    ridge = _RIDGE * xp.max(energy, axis=1)
    ridge = xp.where(ridge > 0, ridge, xp.ones_like(ridge))  # constant slices
    inverse = _diagonal_of_inverse(gram, ridge)
    left = (n_samples - 1) / (n_samples - gram.size) / inverse
    return total, total - float(xp.sum(xp.minimum(left, energy)))


def _diagonal_of_inverse(gram: GramTensor, ridge: Any) -> Any:
    """Return the diagonals of ``(S + ridge I)^-1``; from the eigenvectors, if they are known."""
    xp = namespace_of(ridge)
    if "spectrum" in vars(gram) and not is_device_array(ridge):
        values, vectors = gram.spectrum
        shares = 1 / (values + ridge[:, None])
        # One slice after another: the squares of all would take as much memory as the eigenvectors.
        pairs = zip(vectors, shares, strict=True)
        return np.stack([squared_modulus(one) @ share for one, share in pairs])
    matrices: Any = gram.dense()
    one = xp.eye(gram.size, dtype=matrices.dtype, device=matrices.device)
    inverse = diagonal_of(xp.linalg.inv(matrices + ridge[:, None, None] * one))
    return xp.real(inverse) if is_complex(inverse) else inverse
