"""Orthonormal bases of one mode: each function returns the matrix whose rows are the basis."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import is_device_array, namespace_of, to_numpy, widened
from tensift._stacks import adjoint, peak_phases

_BLOCK_ELEMENTS = 2**23  # of samples on a device that are looked at together


def haar_basis(size: int) -> NDArray[np.float64]:
    """Return the orthonormal Haar basis of any length, coarse to fine.

    The first row is constant. Every other row belongs to one interval, split into a left and a
    right part: it is a positive constant on the left, a negative one on the right, zero elsewhere,
    with zero sum and unit norm. The intervals come from halving ``range(size)`` again and again,
    the left part taking the extra element of an odd length, and are listed level by level. A
    power of two gives the classical Haar matrix.
    """
    basis = np.zeros((size, size))
    basis[0] = 1.0 / np.sqrt(size)
    row, level = 1, [(0, size)]
    while level:
        finer = []
        for start, stop in level:
            if stop - start < 2:
                continue
            middle = (start + stop + 1) // 2
            left, right = middle - start, stop - middle
            basis[row, start:middle] = np.sqrt(right / (left * (left + right)))
            basis[row, middle:stop] = -np.sqrt(left / (right * (left + right)))
            row += 1
            finer += [(start, middle), (middle, stop)]
        level = finer
    return basis


def random_basis(size: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
    """Return an orthogonal matrix drawn uniformly (Haar measure) by QR of a Gaussian matrix."""
    q, r = np.linalg.qr(random_state.standard_normal((size, size)))
    # QR leaves the sign of each column to the factorisation; fixing it makes the draw uniform.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def self_correlation(data: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return the uncentred ``X_(k) X_(k)^H`` of one mode, k = `axis`, in double precision.

    Of a device array, whose sums are made where it is, the small matrix comes to the host: that
    is where transforms are made.
    """
    if is_device_array(data):
        return to_numpy(_correlation_on_device(data, axis))
    unfolded = np.moveaxis(data, axis, 0).reshape(data.shape[axis], -1)
    if unfolded.dtype == np.float32:
        unfolded = unfolded.astype(np.float64)
    elif unfolded.dtype == np.complex64:
        unfolded = unfolded.astype(np.complex128)
    return np.asarray(unfolded @ unfolded.conj().T)


def _correlation_on_device(data: Any, axis: int) -> Any:
    """The self-correlation, a block of samples at a time."""
    xp = namespace_of(data)
    size = data.shape[axis]
    others = [other for other in range(data.ndim) if other != axis]
    rows = max(1, _BLOCK_ELEMENTS * data.shape[0] // math.prod(data.shape))
    total = None
    for start in range(0, data.shape[0], rows):
        block = widened(data[start : min(start + rows, data.shape[0]), ...])
        unfolded = xp.reshape(xp.permute_dims(block, (axis, *others)), (size, -1))
        product = xp.matmul(unfolded, adjoint(unfolded))
        total = product if total is None else total + product
    return total


def eigen_basis(correlation: NDArray[Any]) -> NDArray[Any]:
    """Return V^H, V the eigenvectors of a self-correlation, in descending order.

    The entry of largest modulus in each eigenvector (the first of equal ones) is made real and
    positive, so the result does not depend on the phases that the eigensolver happens to return.
    """
    _, ascending = np.linalg.eigh(correlation)
    vectors = ascending[:, ::-1]
    return np.asarray((vectors * peak_phases(vectors)).conj().T)
