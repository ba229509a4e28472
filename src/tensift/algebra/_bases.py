"""Orthonormal bases of one mode; each function returns a matrix whose rows are the basis."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, namespace_of, to_numpy, widened
from tensift._utils.stacks import adjoint, peak_phases

_BLOCK_ELEMENTS = 2**23  # elements of samples on a device that are processed at once


def haar_basis(size: int) -> NDArray[np.float64]:
    """Return the orthonormal Haar basis of any length, coarse to fine.

    The first row is constant. Every other row belongs to one interval with a left and a right
    part: it is a positive constant on the left, a negative one on the right, and zero elsewhere,
    with zero sum and unit norm. The intervals come from halving ``range(size)`` repeatedly. If a
    length is odd, the left part gets the extra element. Rows are sorted from long intervals to
    short ones. If `size` is a power of two, this is the classical Haar matrix.
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
    # QR does not define the sign of each column; fixing the signs makes the draw uniform.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def self_correlation(data: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return the uncentred ``X_(k) X_(k)^H`` of one mode, k = `axis`, in double precision.

    A device array is summed up on its device. Only the small result is copied to the host, where
    transforms are made.
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
    """The self-correlation, computed block by block to save memory."""
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
    """Return V^H, where V holds the eigenvectors of a self-correlation, in descending order.

    The entry of largest modulus in each eigenvector (the first one, if several are equal) is made
    real and positive. So the result does not depend on the phases that the eigensolver returns.
    """
    _, ascending = np.linalg.eigh(correlation)
    vectors = ascending[:, ::-1]
    return np.asarray((vectors * peak_phases(vectors)).conj().T)
