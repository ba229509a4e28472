"""Positive semidefinite parts of stacks of Hermitian matrices, by matrix products only.

The positive part of ``B`` is ``(B + |B|) / 2`` with ``|B| = sign(B) B``. The sign is approximated
by a composition of odd polynomials of degree five. Each is the best approximation of 1 on the
interval to which the previous ones map ``[low, 1]``; this composition is the best of its kind. For
eigenvalues below `low` the computed sign has a modulus below one. The error is then a share of an
eigenvalue that is almost zero. So `low` decides the accuracy, and eigenvalues close to zero do no
harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from tensift._utils.full_products import full_products
from tensift._utils.stacks import adjoint

__all__ = [
    "Sign",
    "certified_split",
    "composition_for",
    "psd_part",
    "semidefinite_parts",
    "sign",
    "sign_for",
    "sign_steps",
]

Array = Any  # of any namespace of the array API

# Each step is made for an interval wider by this share than the image of the last step. Outside,
# polynomials grow without bound, and rounding must not push an eigenvalue there.
_MARGIN = {"single": 1e-4, "double": 1e-6}
_FINEST = {"single": 1e-6, "double": 1e-13}  # smaller accuracies are below rounding
# The best polynomial on a wide interval brings some eigenvalues, which were large already, back
# close to zero, where rounding matters most. So polynomials are made for the part of the interval
# above this share of its upper end. Smaller eigenvalues grow by 4.06 instead of 4.26 per step.
_NARROWEST = 0.05
_NARROW = 2e-4  # relative width of an interval on which a Newton-Schulz step is as good
_MOST_STEPS = 40
_MOST_MADE = 64
_made: dict[tuple[Any, ...], Sign] = {}
_LEAST = 1e-30  # norms of fourth powers are not divided by less


@full_products
def psd_part(matrices: Array, accuracy: float = 1e-9) -> Array:
    """The nearest positive semidefinite matrix to each Hermitian matrix, by products only.

    Parameters
    ----------
    matrices : array of shape (p, q, q)
        Hermitian matrices of any namespace of the array API, real or complex.
    accuracy : float, default=1e-9
        Largest error of the result in the spectral norm, relative to a bound of the norm of the
        matrix that is at most ``q**(1/8)`` times too large. It decides the number of products. The
        data type limits what can be reached.

    Returns
    -------
    array of shape (p, q, q)
        Exactly Hermitian.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers.on_device import psd_part
    >>> np.round(psd_part(np.array([[[2.0, 0.0], [0.0, -1.0]]]))[0], 6) + 0.0
    array([[2., 0.],
           [0., 0.]])
    """
    quarter = sign(matrices, accuracy, scale=0.25)  # with both halvings in it
    half = (quarter + 0.25 * _identity(matrices)) @ matrices
    return half + adjoint(half)


@full_products
def certified_split(matrices: Array, accuracy: float = 1e-9) -> tuple[Array, Array]:
    """Positive and negative parts that are positive semidefinite for any accuracy.

    Let ``X`` be the computed sign of ``B``. It is a composition of polynomials
    ``c x ((x^2 + b)^2 + g)`` with ``c, g > 0``. So ``X`` has the eigenvectors of ``B``, and its
    eigenvalues have the same signs as those of ``B``. Hence ``X B`` has no negative eigenvalues,
    and neither has ``K X B K``. With ``K = (I + X) / 2`` this is the positive part, with
    ``K = (I - X) / 2`` the negative one. Their difference is ``X^2 B``, which is ``B`` up to the
    accuracy.

    Only rounding remains, a few units in the last place of the norm. `psd_part` saves two products,
    but its result may have negative eigenvalues of the size of the accuracy.
    """
    half = sign(matrices, accuracy, scale=0.5)
    modulus = half @ matrices
    return semidefinite_parts(half, modulus + adjoint(modulus), _identity(matrices))


def semidefinite_parts(half_sign: Array, modulus: Array, identity: Array) -> tuple[Array, Array]:
    """The parts of `certified_split`, from half the sign of matrices and their modulus."""
    keep = half_sign + 0.5 * identity
    kept = keep @ modulus
    positive = kept @ keep
    positive = 0.5 * (positive + adjoint(positive))
    return positive, positive + modulus - (kept + adjoint(kept))


@full_products
def sign(matrices: Array, accuracy: float = 1e-9, *, scale: float = 1.0) -> Array:
    """The matrix sign of every Hermitian matrix, times `scale`.

    An eigenvalue ``v`` becomes ``x`` with ``|v| |1 - |x|| / 2`` within the accuracy (`psd_part`).
    ``x`` never has the opposite sign, and it is zero if ``v`` is zero.
    """
    xp = array_namespace(matrices)
    tiny = float(xp.finfo(matrices.dtype).smallest_normal)
    largest = xp.linalg.vector_norm(matrices, axis=(-2, -1), ord=float("inf"), keepdims=True)
    current = matrices / xp.where(largest > tiny, largest, xp.ones_like(largest))
    return Sign(current, accuracy, scale=scale)(current)


class Sign:
    """The polynomial of `sign` for matrices of one order, kind and accuracy, with its constants.

    Matrices are not rescaled: fifth powers of their entries must neither overflow nor underflow.
    """

    def __init__(self, like: Array, accuracy: float, *, scale: float = 1.0) -> None:
        steps = _steps(like, accuracy)
        scales = steps.scales(scale)
        identity = _identity(like)
        self._xp = array_namespace(like)
        (a, b, c), self._first_scale = steps.coefficients[0], scales[0]
        self._first = c, b, a * identity
        self._constants = []
        for (a, b, c), before in zip(steps.coefficients[1:], scales, strict=False):
            # a x + b x^3 + c x^5 = c x ((x^2 + shift)^2 + rest); the scales make c one.
            shift = b / (2 * c)
            rest = a / c - shift**2
            self._constants.append(((shift / before**2) * identity, (rest / before**4) * identity))

    def __call__(self, matrices: Array) -> Array:
        """The signs."""
        xp = self._xp
        # The first step's powers bound the norm: ||B||^4 <= ||B^4||_F <= sqrt(q) ||B||^4.
        square = matrices @ matrices
        fourth = square @ square
        size = xp.linalg.vector_norm(fourth, axis=(-2, -1), keepdims=True)
        inverse = xp.clip(size, min=_LEAST) ** -0.25
        c, b, identity = self._first
        power = inverse * inverse
        factor = (c * power * power) * fourth + (b * power) * square + identity
        current = ((inverse / self._first_scale) * matrices) @ factor
        for shift, rest in self._constants:
            square = current @ current + shift
            current = current @ (square @ square + rest)
        return current


def sign_for(like: Array, accuracy: float) -> Sign:
    """Half of the sign for matrices like these; made once for each kind."""
    key = (array_namespace(like).__name__, str(device(like)), str(like.dtype), like.shape[-1])
    if (*key, accuracy) not in _made:
        if len(_made) >= _MOST_MADE:
            _made.clear()
        _made[(*key, accuracy)] = Sign(like, accuracy, scale=0.5)
    return _made[(*key, accuracy)]


def sign_steps(accuracy: float, precision: str = "double") -> int:
    """The number of polynomials that `sign` composes for an accuracy; three products each."""
    accuracy = _rounded_down(accuracy, precision)
    return len(_composition(accuracy, _MARGIN[precision]).coefficients)


@dataclass(frozen=True)
class _Composition:
    """Polynomials ``a x + b x^3 + c x^5`` to be applied one after the other."""

    coefficients: tuple[tuple[float, float, float], ...]

    def scales(self, last: float) -> list[float]:
        """The divisor of the result of each step that makes its leading coefficient one.

        With ``x = t y`` before a step and ``x' = t' y'`` after it, ``t' = c t^5`` leaves
        ``y' = y^5 + ...``. The last step's result is multiplied by `last`.
        """
        scales = [1 / last]
        for _, _, c in reversed(self.coefficients[1:]):
            scales.append((scales[-1] / c) ** 0.2)
        return scales[::-1]

    def __call__(self, x: Any) -> Any:
        for a, b, c in self.coefficients:
            x = x * (a + x * x * (b + c * (x * x)))
        return x


def _steps(matrices: Array, accuracy: float) -> _Composition:
    xp = array_namespace(matrices)
    single = xp.finfo(matrices.dtype).bits == 32
    precision = "single" if single else "double"
    return _composition(_rounded_down(accuracy, precision), _MARGIN[precision])


def _rounded_down(accuracy: float, precision: str) -> float:
    """Round to one of few accuracies, so that polynomials are computed once for each of them."""
    if not 0 < accuracy < 1:
        raise ValueError(f"accuracy must be between 0 and 1; got {accuracy}")
    wanted = max(float(accuracy), _FINEST[precision])
    return float(10 ** (math.floor(4 * math.log10(wanted) + 1e-9) / 4))


@lru_cache(maxsize=64)
def _composition(accuracy: float, margin: float) -> _Composition:
    """The shortest composition with ``x |1 - f(x)| / 2 <= accuracy`` on ``[0, 1]``."""
    grid = np.geomspace(accuracy / 10, 1, 20_001)
    best, best_rank = _Composition(()), (_MOST_STEPS + 1, 0.0)
    # If |x| is below `low`, any sign between 0 and 1 will do. So `low` may be well above the
    # accuracy.
    for low in (accuracy * np.geomspace(2, 40, 8)).tolist():
        steps = _shortest(min(low, 0.5), margin, accuracy)
        error = float(np.max(grid * np.abs(1 - steps(grid)))) / 2
        rank = (len(steps.coefficients), error)
        if error <= accuracy and rank < best_rank:
            best, best_rank = steps, rank
    return best


@lru_cache(maxsize=8)
def composition_for(low: float, accuracy: float) -> _Composition:
    """The composition that maps ``[low, 1]`` to within `accuracy` of 1, up to rounding."""
    return _shortest(low, _MARGIN["double" if accuracy < 1e-9 else "single"], accuracy)


def _shortest(low: float, margin: float, accuracy: float) -> _Composition:
    """Append best polynomials until they map ``[low, 1]`` to within 2 `accuracy` of 1."""
    high = 1 + margin
    coefficients: list[tuple[float, float, float]] = []
    while len(coefficients) < _MOST_STEPS:
        lower = max(low, _NARROWEST * high)
        a, b, c = _best_polynomial(lower, high)
        coefficients.append((a, b, c))
        low, least = (x * (a + x**2 * (b + c * x**2)) for x in (low, lower))
        if 1 - low <= 2 * accuracy:
            break
        low, high = low * (1 - margin), (2 - least) * (1 + margin)
    return _Composition(tuple(coefficients))


def _best_polynomial(low: float, high: float) -> tuple[float, float, float]:
    """The odd polynomial of degree five closest to 1 on an interval, by the Remez algorithm.

    Its error is largest at both ends and at the two extrema between them, with alternating signs:
    below 1 at `low`, above 1 at `high`.
    """
    if high - low <= _NARROW * high:
        middle = (low + high) / 2
        return 15 / 8 / middle, -10 / 8 / middle**3, 3 / 8 / middle**5
    first, second = (3 * low + high) / 4, (low + 3 * high) / 4
    for _ in range(100):
        points = np.array([low, first, second, high])
        system = np.stack([points, points**3, points**5, [1, -1, 1, -1]], axis=1)
        a, b, c, _ = (float(value) for value in np.linalg.solve(system, np.ones(4)))
        root = np.sqrt(9 * b**2 - 20 * a * c)  # of a + 3 b y + 5 c y^2, the slope
        before = first, second
        first = float(np.sqrt((-3 * b - root) / (10 * c)))
        second = float(np.sqrt((-3 * b + root) / (10 * c)))
        if abs(first - before[0]) + abs(second - before[1]) <= 1e-13 * high:
            break
    return a, b, c


def _identity(matrices: Array) -> Array:
    xp = array_namespace(matrices)
    return xp.eye(matrices.shape[-1], dtype=matrices.dtype, device=device(matrices))
