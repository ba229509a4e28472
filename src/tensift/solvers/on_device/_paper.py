"""The authors' iteration on any device: inverses and products, no eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.full_products import full_products
from tensift._utils.namespace import device_of, is_complex, moved_to, namespace_of, to_numpy
from tensift._utils.stacks import adjoint, diagonal_of
from tensift._utils.warnings import warn_user
from tensift.moments import GramTensor
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._solution import Solution
from tensift.solvers.on_device._sign import psd_part

__all__ = ["solve_paper_on_device"]

_ACCURACY = 1e-9  # of projections of matrices with eigenvalues up to one
# The product of positive and negative part is zero. A projection counts as failed if the product
# exceeds what the accuracy allows by this many units in the last place of the squared norm.
_ROUNDING = 2.0**12
_SINGULAR = 0.1  # how far a matrix times its inverse may be from the identity
_SMALL = 2**15  # elements of a stack: making a smaller one smaller saves no time


@full_products
def solve_paper_on_device(
    problems: SliceProblems,
    *,
    ridge: float,
    smoothing: float = float(np.finfo(float).eps),
    tol: float = 1e-5,
    relative: bool = False,
    max_iter: int = 100,
    watch_conjugate: bool = False,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Run Algorithm 1 of the paper on every slice, on any device.

    Steps and parameters are those of `solve_paper`. The projection onto the cone uses products
    only (`psd_part`). Only a few numbers for every slice leave the device; they decide which
    slices continue.

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve. Their Gram matrices are arrays of any library that follows the
        standard.
    ridge, smoothing, tol, relative, max_iter, watch_conjugate
        As in `solve_paper`.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution
        Its arrays are of the same kind, on the same device.

    Warns
    -----
    UserWarning
        If products failed to project some matrices. The library's own ``eigh`` then decomposes
        them.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import SliceProblems
    >>> from tensift.solvers.on_device import solve_paper_on_device
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_paper_on_device(SliceProblems(gram, lam=2.0, eta=1.0), ridge=1e-3)
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    """
    problems = SliceProblems(
        GramTensor(problems.gram.dense(), thin=False),
        lam=_plain(problems.lam),
        eta=_plain(problems.eta),
        ridge=float(problems.ridge),
    )
    gram = problems.gram.array
    xp = namespace_of(gram)
    n_slices = gram.shape[0]
    watch_conjugate = watch_conjugate and is_complex(gram)

    stack = _Stack.of(problems)
    left: list[tuple[NDArray, Any]] = []  # finished slices with their operators
    path: list[NDArray] = []
    converged = np.zeros(n_slices, bool)
    going = np.ones(n_slices, bool)  # of the slices in the stack
    previous = np.full(n_slices, np.inf)
    norm, n_failures = stack.norm_at_start(float(smoothing), float(ridge)), 0
    for step in range(max_iter):
        active = stack.index[going]
        weights = stack.weights(float(smoothing), float(ridge))
        free, miss = _unconstrained(stack.problems, weights)
        accuracy = _ACCURACY / max(norm, 1.0)
        current = psd_part(free, accuracy)
        facts = _facts(stack.problems, free, current, miss, accuracy, watch_conjugate)
        if not (facts.miss[going] <= _SINGULAR).all():
            raise np.linalg.LinAlgError("Gram matrices are singular to working precision")
        failed = going & ~facts.sound
        if failed.any():
            n_failures += int(np.count_nonzero(failed))
            current = _decomposed(free, current, failed)
            facts = _facts(stack.problems, free, current, miss, accuracy, watch_conjugate)
        # The accuracy of the next projection is relative to this norm.
        norm = float(facts.norm[going].max())
        path.append(np.full(n_slices, np.nan))
        path[-1][active] = facts.value[going]
        value = facts.watched
        with np.errstate(invalid="ignore"):
            change = np.abs(value - previous)
        stopped = going & (change < (tol * np.abs(value) if relative else tol))
        ended = stopped if step + 1 < max_iter else going
        converged[stack.index[stopped]] = True
        stack = stack.stepped(current, facts.norms, ended)
        previous, going = value, going & ~ended
        if ended.any():
            if callback is not None:
                callback(n_slices - int(np.count_nonzero(going)))
            if not going.any():
                break
            stack, going, previous = stack.compressed(going, previous, left)
    left.append((stack.index, stack.operators))
    if n_failures:
        warn_user(
            f"{n_failures} projections onto the cone were made by the library's own eigh, because "
            "products failed; make sure that products have full precision (no TF32)"
        )
    order = np.argsort(np.concatenate([index for index, _ in left]))
    operators = xp.concat([part for _, part in left])
    if len(left) > 1:
        operators = xp.take(operators, moved_to(gram, order), axis=0)
    real = xp.linalg.vector_norm(operators[:1, :1, :1]).dtype
    return Solution(
        operators,
        moved_to(gram, np.stack(path, axis=1), real),
        moved_to(gram, converged),
    )


@dataclass(frozen=True)
class _Facts:
    """Results of a step: column norms on the device; on the host, one number for every slice."""

    norms: Any
    value: NDArray  # the objective
    watched: NDArray  # the value that decides when to stop
    norm: NDArray  # of the matrices that were projected
    miss: NDArray  # the error of the inverses
    sound: NDArray[np.bool_]  # whether the projection succeeded


@dataclass(frozen=True)
class _Stack:
    """Slices that are stepped together, with the operators of those that are finished."""

    problems: SliceProblems
    norms: Any
    operators: Any
    index: NDArray[np.intp]

    @classmethod
    def of(cls, problems: SliceProblems) -> _Stack:
        gram = problems.gram.array
        norms = column_norms(gram)
        half = namespace_of(gram).full_like(norms, 0.5)  # of half the identity
        return cls(problems, half, gram, np.arange(gram.shape[0]))

    def weights(self, smoothing: float, ridge: float) -> Any:
        """Weights of the columns, ``(p, q)`` (equation `W`)."""
        xp = namespace_of(self.norms)
        root = xp.sqrt(self.norms * self.norms + smoothing)
        return _column(self.problems.lam) / (2 * root) + ridge

    def norm_at_start(self, smoothing: float, ridge: float) -> float:
        """A bound of the norms in the first step: ``max(1, eta / 2 / weight)``."""
        xp = namespace_of(self.norms)
        bound = _column(self.problems.eta) / 2 / self.weights(smoothing, ridge)
        return max(1.0, float(xp.max(bound)))

    def stepped(self, current: Any, norms: Any, ended: NDArray[np.bool_]) -> _Stack:
        """The stack after a step; operators are stored for the slices that end with it."""
        operators = self.operators
        if ended.all():
            operators = current
        elif ended.any():
            xp = namespace_of(current)
            mask = moved_to(current, ended)[:, None, None]
            operators = xp.where(mask, current, operators)
        return replace(self, norms=norms, operators=operators)

    def compressed(
        self, going: NDArray[np.bool_], previous: NDArray, left: list[tuple[NDArray, Any]]
    ) -> tuple[_Stack, NDArray[np.bool_], NDArray]:
        """Drop finished slices once they are half of the stack.

        The stack is halved, and some finished slices stay to fill it. So there are few shapes,
        which helps libraries that compile for every shape.
        """
        size = len(going)
        elements = self.norms.shape[1] ** 2
        while np.count_nonzero(going) <= (size + 1) // 2 < size and size * elements > _SMALL:
            size = (size + 1) // 2
        if size == len(going):
            return self, going, previous
        ended = np.flatnonzero(~going)
        out = ended[: len(going) - size]
        kept = np.setdiff1d(np.arange(len(going)), out)
        left.append((self.index[out], self._take(self.operators, out)))
        problems = SliceProblems(
            GramTensor(self._take(self.problems.gram.array, kept), thin=False),
            lam=self._take(self.problems.lam, kept),
            eta=self._take(self.problems.eta, kept),
            ridge=self.problems.ridge,
        )
        norms, operators = (self._take(array, kept) for array in (self.norms, self.operators))
        return (
            _Stack(problems, norms, operators, self.index[kept]),
            going[kept],
            previous[kept],
        )

    def _take(self, array: Any, index: NDArray) -> Any:
        if not getattr(array, "ndim", 0):
            return array  # one penalty for all slices
        xp = namespace_of(self.norms)
        return xp.take(array, moved_to(self.norms, index), axis=0)


def _decomposed(free: Any, current: Any, failed: NDArray[np.bool_]) -> Any:
    """Projections; those that failed are replaced by ones from the library's eigenvectors."""
    xp = namespace_of(free)
    index = np.flatnonzero(failed)
    values, vectors = xp.linalg.eigh(xp.take(free, moved_to(free, index), axis=0))
    parts = (vectors * xp.clip(values, min=0.0)[:, None, :]) @ adjoint(vectors)
    place = np.zeros(len(failed), int)
    place[index] = np.arange(len(index))
    spread = xp.take(parts, moved_to(free, place), axis=0)
    return xp.where(moved_to(free, failed)[:, None, None], spread, current)


def _facts(
    problems: SliceProblems,
    free: Any,
    current: Any,
    miss: Any,
    accuracy: float,
    watch_conjugate: bool,
) -> _Facts:
    """Objectives, and whether the projections succeeded; all in one transfer to the host."""
    xp = namespace_of(free)
    norms = column_norms(current)
    value = problems.value(current, norms)
    watched = problems.value(xp.conj(current), norms) if watch_conjugate else value
    norm = xp.linalg.vector_norm(free, axis=(-2, -1))
    product = xp.linalg.vector_norm(current @ (current - free), axis=(-2, -1))
    host = to_numpy(xp.stack([value, watched, norm, miss, product]))
    limit = 4 * accuracy + _ROUNDING * float(xp.finfo(free.dtype).eps)
    with np.errstate(over="ignore"):
        sound = host[4] <= limit * host[2] ** 2
    return _Facts(norms, host[0], host[1], host[2], host[3], sound)


def _unconstrained(problems: SliceProblems, weights: Any) -> tuple[Any, Any]:
    """Hermitian part of ``(S - eta/2 I) (S + D)^-1``, ``D = diag(weights)`` (`Derivative of A`).

    Also the error of the inverse of every slice.
    """
    gram, half_eta = problems.gram.array, _column(problems.eta) / 2
    xp = namespace_of(gram)
    identity = xp.eye(gram.shape[-1], dtype=weights.dtype, device=device_of(gram))
    shifted = gram + identity * weights[:, None, :]
    inverse = _inverse(shifted)
    inverse = 0.5 * (inverse + adjoint(inverse))
    miss = xp.linalg.vector_norm(shifted @ inverse - identity, axis=(-2, -1), ord=float("inf"))
    # As in `solve_paper`: scaled entries of the inverse, with a diagonal free of cancellation.
    fitted = xp.linalg.vecdot(inverse, gram)
    diagonal = fitted - half_eta * diagonal_of(inverse)
    half = -0.5 * (weights + half_eta)
    scaled = inverse * (half[:, :, None] + half[:, None, :])
    return xp.where(identity > 0, diagonal[:, :, None], scaled), miss


def _inverse(matrices: Any) -> Any:
    """Inverses; every library's error for a singular matrix becomes NumPy's LinAlgError."""
    try:
        return namespace_of(matrices).linalg.inv(matrices)
    except Exception as error:
        if "LinAlgError" in type(error).__name__:
            raise np.linalg.LinAlgError(str(error)) from error
        raise


def _plain(penalty: Any) -> Any:
    """A penalty as an array or a Python float, which work with arrays of any library."""
    return penalty if getattr(penalty, "ndim", 0) else float(penalty)


def _column(penalty: Any) -> Any:
    """A penalty in a shape that broadcasts with ``(p, q)``."""
    return penalty[:, None] if getattr(penalty, "ndim", 0) else penalty
