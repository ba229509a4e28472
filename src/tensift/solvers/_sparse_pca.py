"""Sparse PCA of every slice: a sparse encoder and an orthonormal decoder, updated in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tensift._utils.stacks import adjoint, eigh, peak_phases, squared_modulus
from tensift.moments import GramTensor
from tensift.solvers._coupling import Coupling
from tensift.solvers._decoder import best_decoder
from tensift.solvers._encoder import Encoder, EncoderProblems
from tensift.solvers._sparse_pca_starts import leading_decoder, random_decoder
from tensift.solvers._workers import run_tasks

__all__ = ["SPARSITIES", "SparsePCASolution", "critical_sparsity", "solve_sparse_pca"]

SPARSITIES = ("entries", "features", "components")

_BLOCK_ELEMENTS = 400_000  # of Gram matrices solved together
_MEMORY = 4  # encoders that an extrapolation uses
_GAP = 0.01  # times sqrt(tol): a gap is of first order, a decrease of second
_RIDGE = 1e-8  # in the weights of an extrapolation, as a share of the size of the steps
_NOTABLE = 1e-12  # a share of the trace: smaller decreases may be rounding
_ROUNDING = 1e-15  # a share of the trace: smaller decreases cannot be seen
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class SparsePCASolution:
    """Encoders and decoders of a stack of slices, and how the solver reached them.

    Coupled slices form one problem. Otherwise each slice is a problem of its own.

    Attributes
    ----------
    encoder, decoder : ndarray of shape (p', q, k)
        ``Q`` and ``U`` in the transform domain: ``U Q^H x`` reconstructs ``x``. Components are
        sorted by the energy they explain.
    sparse_encoder : ndarray of shape (p, q, k)
        The encoder in the domain of the penalty, where its zeros are exact: the original domain
        if slices are coupled, else the same as `encoder`.
    objective_path : ndarray of shape (problems, steps)
        The objective after every update: encoder, decoder, encoder, and so on, ending with an
        encoder. NaN after the last update of a problem.
    converged : ndarray of bool, shape (problems,)
        Whether the stopping rule was met before the iterations ran out.
    dual_gap : ndarray of shape (problems,)
        An upper bound of how far the encoder is above the best one for this decoder, as a share of
        the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import solve_sparse_pca
    >>> gram = GramTensor(np.diag([9.0, 4.0, 1.0])[None], thin=False)
    >>> solution = solve_sparse_pca(gram, n_components=1, lam=6.0)
    >>> solution.objective.round(6), solution.converged
    (array([10.]), array([ True]))
    """

    encoder: NDArray
    decoder: NDArray
    sparse_encoder: NDArray
    objective_path: NDArray[np.float64]
    converged: NDArray[np.bool_]
    dual_gap: NDArray[np.float64]

    @property
    def n_iter(self) -> NDArray[np.intp]:
        """The number of encoder updates of every problem."""
        return (np.count_nonzero(~np.isnan(self.objective_path), axis=1) + 1) // 2

    @property
    def objective(self) -> NDArray[np.float64]:
        """The objective of every problem at the end."""
        last = np.count_nonzero(~np.isnan(self.objective_path), axis=1) - 1
        return self.objective_path[np.arange(len(last)), last]

    @classmethod
    def concatenate(cls, parts: Sequence[SparsePCASolution]) -> SparsePCASolution:
        """Solutions of consecutive slices as one."""
        if len(parts) == 1:
            return parts[0]
        steps = max(part.objective_path.shape[1] for part in parts)
        columns = {
            name: [getattr(part, name) for part in parts] for name in cls.__dataclass_fields__
        }
        columns["objective_path"] = [_padded(part.objective_path, steps) for part in parts]
        return cls(**{name: np.concatenate(values) for name, values in columns.items()})

    def or_better(self, other: SparsePCASolution) -> SparsePCASolution:
        """For every problem the solution with the lower objective; this one if they are equal."""
        better = other.objective < self.objective
        if not better.any():
            return self
        if better.all():
            return other
        steps = max(self.objective_path.shape[1], other.objective_path.shape[1])
        chosen = {}
        for name in self.__dataclass_fields__:
            own, others = getattr(self, name), getattr(other, name)
            if name == "objective_path":
                own, others = _padded(own, steps), _padded(others, steps)
            chosen[name] = np.where(better.reshape(-1, *[1] * (own.ndim - 1)), others, own)
        return SparsePCASolution(**chosen)


def critical_sparsity(gram: GramTensor, sparsity: str, coupling: Coupling | None = None) -> float:
    """A lam from which on the encoder of every slice is zero, for any decoders.

    An encoder is zero if the dual norm of ``2 S U`` is at most lam. Over all decoders, this norm is
    at most twice the length of the longest row of ``S`` for sparse entries and features, and at
    most twice the largest eigenvalue for components. For entries of the original domain, rows of
    different slices add up: ``2 max_{l,h} sum_j |M[j,h]| ||S_j[l, :]||``.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    sparsity : {"entries", "features", "components"}
        What is penalised.
    coupling : Coupling, optional
        The map to the domain whose entries are penalised.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import critical_sparsity
    >>> gram = GramTensor(np.array([[[4.0, 3.0], [3.0, 4.0]]]), thin=False)
    >>> [critical_sparsity(gram, sparsity) for sparsity in ("entries", "features", "components")]
    [10.0, 10.0, 14.0]
    """
    _check_sparsity(sparsity, coupling)
    if sparsity == "components":
        return 2 * float(gram.spectrum[0].max())
    rows = np.sqrt(squared_modulus(gram.dense()).sum(axis=2))
    return 2 * float((rows if coupling is None else coupling.reach(rows)).max())


def solve_sparse_pca(
    gram: GramTensor,
    *,
    n_components: int,
    lam: float,
    ridge: float = 0.0,
    sparsity: str = "entries",
    coupling: Coupling | None = None,
    n_init: int = 1,
    random_state: int | np.random.RandomState | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> SparsePCASolution:
    """Minimise ``||X - U Q^H X||^2 + ridge ||Q||_F^2 + lam pen(Q)`` with ``U^H U = I``.

    Encoder ``Q`` and decoder ``U`` are updated in turn. The best decoder for an encoder is a polar
    factor. The encoder for a decoder is improved by alternating directions. Now and then, encoders
    are extrapolated if this lowers the objective. The objective never rises. The problem is not
    convex, so other starts may end lower.

    Without a penalty, or with the penalty on components, the minimum is explicit: the decoder is
    the leading eigenvectors of ``S``, and the encoder is these times
    ``(s - lam / 2)_+ / (s + ridge)``. The reason is that the penalty on components, minimised over
    their rotations, is the nuclear norm of ``U Q^H``.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices ``S``.
    n_components : int
        Number of components of each slice, ``k``.
    lam, ridge : float
        Weights of the penalty and of the squares.
    sparsity : {"entries", "features", "components"}
        What the penalty adds up: moduli of the entries of the encoder, norms of its rows (a
        feature leaves all components of a slice at once), or norms of its columns.
    coupling : Coupling, optional
        Given if entries shall be sparse in the original domain, not in the transform domain.
    n_init : int
        Number of starts; the best result is kept for every problem. The first start is PCA. For
        sparse entries, the second is PCA rotated towards few large entries. The rest are random.
    random_state : int, RandomState or None
        For the random starts.
    tol : float
        A problem is done when one iteration lowers the objective by at most this share and the
        gap of the encoder is small.
    max_iter : int
        Largest number of encoder updates.
    n_jobs : int or None
        Threads over blocks of slices; None means 1, -1 means all cores.
    callback : callable, optional
        Called with the number of slices finished so far, over all starts.

    Returns
    -------
    SparsePCASolution

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import solve_sparse_pca
    >>> X = np.random.default_rng(0).normal(size=(4, 50)) * [[3.0], [3.0], [0.5], [0.5]]
    >>> gram = GramTensor((X @ X.T)[None], thin=False)
    >>> solution = solve_sparse_pca(gram, n_components=2, lam=100.0, sparsity="features")
    >>> np.linalg.norm(solution.encoder[0], axis=1).round(2)
    array([0.87, 0.89, 0.  , 0.  ])
    """
    _check_sparsity(sparsity, coupling)
    if not 1 <= n_components <= gram.size:
        raise ValueError(
            f"n_components={n_components} is not possible for slices of {gram.size} features; "
            f"choose from 1 to {gram.size}"
        )
    if lam == 0 or sparsity == "components":
        solution = _explicit(EncoderProblems(gram, lam, ridge, sparsity, coupling), n_components)
        if callback is not None:
            callback(gram.n_slices)
        return solution

    blocks = [slice(0, gram.n_slices)] if coupling is not None else _blocks(gram)
    seeds = check_random_state(random_state).randint(2**31, size=(n_init - 1, gram.n_slices))
    tasks = [(block, start) for block in blocks for start in range(n_init)]
    solutions: dict[tuple[int, int], SparsePCASolution] = {}
    finished = 0

    def solve(task: tuple[slice, int]) -> SparsePCASolution:
        block, start = task
        part = gram if len(blocks) == 1 else gram[block]  # indexing would lose its eigenvectors
        problems = EncoderProblems(part, lam, ridge, sparsity, coupling)
        rotated = start == 1 and sparsity == "entries"
        if start == 0 or rotated:
            decoder = leading_decoder(problems, n_components, rotated=rotated)
        else:
            decoder = random_decoder(problems, n_components, seeds[start - 1, block])
        return _alternate(problems, decoder, tol, max_iter)

    def store(number: int, solution: SparsePCASolution) -> None:
        nonlocal finished
        solutions[divmod(number, n_init)] = solution
        finished += len(solution.encoder)
        if callback is not None:
            callback(finished)

    run_tasks(solve, tasks, n_jobs, store, single_slice=gram.n_slices == 1)
    best = []
    for block in range(len(blocks)):
        solution = solutions[block, 0]
        for start in range(1, n_init):
            solution = solution.or_better(solutions[block, start])
        best.append(solution)
    return SparsePCASolution.concatenate(best)


def _alternate(
    problems: EncoderProblems, decoder: NDArray, tol: float, max_iter: int
) -> SparsePCASolution:
    """Update encoder and decoder in turn, starting from a decoder; finished problems leave."""
    everything, n_problems = problems, len(problems.trace)
    encoder = result = _zero_encoder(problems, decoder)
    active = np.arange(n_problems)
    path = np.full((n_problems, 2 * max_iter - 1), np.nan)
    converged, gaps = np.zeros(n_problems, dtype=bool), np.zeros(n_problems)
    previous = np.full(n_problems, np.inf)
    history: list[NDArray] = []

    for iteration in range(max_iter):
        encoder = problems.improved(encoder)
        value, gap = problems.value(encoder), problems.relative_gap(encoder)
        path[active, 2 * iteration] = value
        still = previous - value <= tol * value + _ROUNDING * problems.trace
        done = still & (gap <= _GAP * np.sqrt(tol))
        converged[active], gaps[active] = done, gap
        ended = done | (iteration == max_iter - 1)
        if ended.any():
            if ended.all() and len(active) == n_problems:
                result = encoder
                break
            result.put(active[ended], encoder[ended])
            if ended.all():
                break
            active, problems, encoder = active[~ended], problems[~ended], encoder[~ended]
            history = [sparse[~ended] for sparse in history]
            value = value[~ended]
        previous = value
        history.append(encoder.sparse)
        encoder = _decoded(problems, encoder.sparse, encoder.slices)
        if len(history) > _MEMORY:
            encoder = _extrapolated(problems, encoder, history)
            history = []
        path[active, 2 * iteration + 1] = problems.value(encoder)
    return _solution(everything, result, path[:, : 2 * iteration + 1], converged, gaps)


def _decoded(problems: EncoderProblems, sparse: NDArray, slices: NDArray) -> Encoder:
    """An encoder with the best decoder for it."""
    image = problems.matrices @ slices
    dead = np.all(sparse == 0, axis=1)
    if problems.coupling is not None:
        dead = np.broadcast_to(dead.all(axis=0), (len(slices), dead.shape[1]))
    decoder = best_decoder(problems.matrices, image, dead, problems.coupling)
    return problems.encoder(decoder, sparse, slices, image)


def _extrapolated(
    problems: EncoderProblems, encoder: Encoder, history: Sequence[NDArray]
) -> Encoder:
    """Anderson extrapolation of the last encoders, used where it lowers the objective.

    The weights minimise the weighted sum of the last steps. Zeros of the last encoder stay zero.
    """
    together = problems.coupling is not None
    n_problems = 1 if together else len(history[-1])
    points = np.stack([sparse.reshape(n_problems, -1) for sparse in history], axis=1)
    steps = np.diff(points, axis=1)
    products = (steps @ adjoint(steps)).real
    size = np.trace(products, axis1=1, axis2=2)
    products[:, range(_MEMORY), range(_MEMORY)] += (_RIDGE * size + _TINY)[:, None]
    weights = np.linalg.solve(
        products / (size + _TINY)[:, None, None], np.ones((len(size), _MEMORY, 1))
    )
    weights /= weights.sum(axis=1, keepdims=True)
    sparse = (np.swapaxes(weights, 1, 2) @ points[:, 1:]).reshape(history[-1].shape)
    sparse = np.where(history[-1] == 0, 0, sparse)
    other = _decoded(problems, sparse, problems.to_slices(sparse))
    better = problems.value(other) < problems.value(encoder) - _NOTABLE * problems.trace
    return problems.choose(better, other, encoder)


def _explicit(problems: EncoderProblems, n_components: int) -> SparsePCASolution:
    """The minimum without a penalty, or with the penalty on components.

    For one column, ``lam ||q|| = min_t lam (||q||^2 / t + t) / 2``, so the least objective of its
    encoder is ``min_t lam t / 2 - sum_a |v_a^H u|^2 s_a^2 / (s_a + ridge + lam / (2 t))``: a
    concave function of the weights ``|v_a^H u|^2`` of the eigenvectors. The weights of k
    orthonormal columns have rows that sum to one and columns that sum to at most one, so the sum
    over columns is least where they are zeros and ones: at eigenvectors, the leading ones.
    """
    decoder = leading_decoder(problems, n_components)
    values = problems.gram.spectrum[0][:, ::-1][:, :n_components]
    pull = np.maximum(values - problems.lam / 2, 0)
    curvature = values + problems.ridge
    # Without a penalty, directions in which no sample varies count as components of PCA, too.
    shrinkage = np.divide(pull, curvature, out=np.ones_like(pull), where=curvature > 0)
    if problems.lam > 0:
        shrinkage = np.where(curvature > 0, shrinkage, 0)
    sparse = slices = decoder * shrinkage[:, None, :]
    if problems.coupling is not None:
        sparse = problems.coupling.to_original(slices)
    encoder = problems.encoder(decoder, sparse, slices, problems.matrices @ slices)
    path = problems.value(encoder)[:, None]
    return _solution(
        problems, encoder, path, np.ones(len(path), dtype=bool), problems.relative_gap(encoder)
    )


def _zero_encoder(problems: EncoderProblems, decoder: NDArray) -> Encoder:
    coupling = problems.coupling
    slices = np.zeros_like(decoder)
    sparse = slices if coupling is None else coupling.to_original(slices)
    return problems.encoder(decoder, sparse, slices, slices)


def _solution(
    problems: EncoderProblems,
    encoder: Encoder,
    path: NDArray[np.float64],
    converged: NDArray[np.bool_],
    gaps: NDArray[np.float64],
) -> SparsePCASolution:
    """Sort components, and fix the phases and rotations that the objective leaves open."""
    slices, decoder, sparse = encoder.slices, encoder.decoder, encoder.sparse
    cross = adjoint(slices) @ (problems.matrices @ decoder)
    explained = cross + adjoint(cross) - adjoint(slices) @ (problems.matrices @ slices)
    if problems.sparsity == "features":
        # Rotating components does not change row norms: use the axes of explained energy.
        _, axes = eigh(explained)
        axes = axes[:, :, ::-1]
        decoder, slices = decoder @ axes, slices @ axes
        sparse = slices
    else:
        energy = np.einsum("pii->pi", explained).real
        if problems.coupling is not None:
            energy = (problems.coupling.weights @ energy)[None]
        order = np.argsort(-energy, axis=1, kind="stable")[:, None, :]
        decoder, slices, sparse = (
            np.take_along_axis(values, order, axis=2) for values in (decoder, slices, sparse)
        )
    shown = decoder if problems.coupling is None else problems.coupling.to_original(decoder)
    if problems.coupling is not None:
        shown = shown.reshape(1, -1, shown.shape[2])
    turn = peak_phases(shown)[:, None, :]
    # Adding zero turns -0.0 into 0.0.
    slices, decoder, sparse = (values * turn + 0.0 for values in (slices, decoder, sparse))
    return SparsePCASolution(slices, decoder, sparse, path, converged, gaps)


def _blocks(gram: GramTensor) -> list[slice]:
    per_block = max(1, _BLOCK_ELEMENTS // gram.size**2)
    return [
        slice(start, min(start + per_block, gram.n_slices))
        for start in range(0, gram.n_slices, per_block)
    ]


def _padded(path: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    return np.pad(path, ((0, 0), (0, steps - path.shape[1])), constant_values=np.nan)


def _check_sparsity(sparsity: str, coupling: Coupling | None) -> None:
    if sparsity not in SPARSITIES:
        raise ValueError(f"sparsity={sparsity!r} is unknown; choose from {', '.join(SPARSITIES)}")
    if coupling is not None and sparsity != "entries":
        raise ValueError(
            f"coupling is only for sparsity='entries', got sparsity={sparsity!r}, which penalises "
            "each slice by itself; leave coupling out"
        )
