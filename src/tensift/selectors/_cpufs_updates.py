"""The updates of CPUFS: a CP decomposition of samples, pseudo-labels, and classifiers of rank one.

Symbols are those of the documentation of `CPUFS`. Factors of a mode are held as ``A_i^T (c, d_i)``,
like the classifiers ``U_i``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift.solvers._decoder import polar_factor

__all__ = ["CPModel", "CPRun", "outer_rows"]

_XI = float(np.finfo(float).eps)
_SWEEPS = 3  # over the classifiers, in one iteration
_HALVINGS = 60  # of the step, in the search for one


@dataclass
class CPRun:
    """Where a run is: ``A_i^T``, ``C``, ``F`` and ``U_i``, and the objective on the way."""

    factors: list[NDArray[np.float64]]
    sample_factor: NDArray[np.float64]
    labels: NDArray[np.float64]
    classifiers: list[NDArray[np.float64]]
    step_size: float
    path: list[float] = field(default_factory=list)
    converged: bool = False


class CPModel:
    """The objective of CPUFS on given data, and its updates.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Samples.
    shape : tuple of int
        The shape of one sample.
    laplacian : csr_array of shape (n, n)
        Symmetric Laplacian of the graph of samples.
    n_clusters : int
        ``c``.
    mu, alpha, beta, eta : float
        Weights of the graph, of the error and the sparsity of classifiers, and of ``||C - F||^2``.
    nonnegative : bool
        Whether classifiers have to be non-negative.
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        shape: tuple[int, ...],
        laplacian: csr_array,
        n_clusters: int,
        *,
        mu: float,
        alpha: float,
        beta: float,
        eta: float,
        nonnegative: bool,
    ) -> None:
        self.rows, self.shape, self.laplacian, self.n_clusters = rows, shape, laplacian, n_clusters
        self.mu, self.alpha, self.beta, self.eta = mu, alpha, beta, eta
        self.nonnegative = nonnegative
        n, d = rows.shape
        self._energy = float(np.vdot(rows, rows))
        # One product with the Gram matrix does for a gradient what two with the data do.
        self._gram = rows.T @ rows if d <= 2 * n else None

    def random_start(self, rng: np.random.RandomState, step_size: float) -> CPRun:
        """A run about to begin, drawn as the authors do."""
        factors, classifiers = (
            [rng.uniform(size=(self.n_clusters, size)) for size in self.shape] for _ in range(2)
        )
        sample_factor = rng.normal(size=(len(self.rows), self.n_clusters))
        return self._start(factors, sample_factor, classifiers, step_size)

    def given_start(self, init: Mapping[str, Any], step_size: float) -> CPRun:
        """A run about to begin from given values, after checking them."""
        c = self.n_clusters
        shapes: dict[str, list[tuple[int, ...]]] = {
            "factors": [(size, c) for size in self.shape],
            "sample_factor": [(len(self.rows), c)],
            "classifiers": [(c, size) for size in self.shape],
        }
        if set(init) != set(shapes):
            raise ValueError(f"init must have the keys {list(shapes)}, got {list(init)}")
        arrays = {}
        for name, wanted in shapes.items():
            values = [init[name]] if name == "sample_factor" else init[name]
            arrays[name] = [np.array(value, dtype=float) for value in values]
            got = [array.shape for array in arrays[name]]
            if got != wanted:
                raise ValueError(f"init[{name!r}] has arrays of shapes {got}, but needs {wanted}")
            if not all(np.isfinite(array).all() for array in arrays[name]):
                raise ValueError(f"init[{name!r}] has NaN or infinity; give numbers")
        factors = [np.ascontiguousarray(factor.T) for factor in arrays["factors"]]
        return self._start(factors, arrays["sample_factor"][0], arrays["classifiers"], step_size)

    def _start(
        self, factors: list, sample_factor: NDArray, classifiers: list, step_size: float
    ) -> CPRun:
        return CPRun(factors, sample_factor, np.maximum(sample_factor, 0), classifiers, step_size)

    def search_step_size(self, rng: np.random.RandomState) -> float:
        """The first power of 1/2 by which a step on random classifiers improves them."""
        for halvings in range(_HALVINGS):
            run = self.random_start(rng, 0.5**halvings)
            before = self._classifier_objective(run)
            self._improve_classifiers(run, sweeps=1, nonnegative=False)
            if self._classifier_objective(run) < before:
                return run.step_size
        return _XI

    def iterate(
        self, run: CPRun, max_iter: int, tol: float, report: Callable[[int], object]
    ) -> bool:
        """Take a run to its end, in place; False if it diverged."""
        outputs = self.rows @ outer_rows(run.classifiers).T
        for iteration in range(1, max_iter + 1):
            self._improve_factors(run)
            images = self.rows @ outer_rows(run.factors).T
            target = 2 * images + 2 * self.eta * run.labels
            target -= self.mu * (self.laplacian @ run.labels)
            if not np.isfinite(target).all():
                return False
            run.sample_factor = polar_factor(target[None])[0]
            labels = self.alpha * outputs + self.eta * run.sample_factor
            labels -= self.mu / 2 * (self.laplacian @ run.sample_factor)
            run.labels = np.maximum(
                labels / (self.alpha + self.eta), _XI if self.nonnegative else 0
            )
            self._improve_classifiers(run, sweeps=_SWEEPS, nonnegative=self.nonnegative)
            if not all(np.isfinite(classifier).all() for classifier in run.classifiers):
                return False
            outputs = self.rows @ outer_rows(run.classifiers).T
            run.path.append(self._objective(run, images, outputs))
            report(iteration)
            if tol > 0 and iteration > 1:
                change = abs(run.path[-1] - run.path[-2])
                run.converged = change <= tol * abs(run.path[-1])
                if run.converged:
                    break
        return True

    def scores(self, run: CPRun) -> NDArray[np.float64]:
        """The squared weight of every feature ``(d,)`` in all classifiers."""
        weights = outer_rows(run.classifiers)
        return np.einsum("cd,cd->d", weights, weights)

    def _improve_factors(self, run: CPRun) -> None:
        """Multiplicative updates of all ``A_i`` in turn, which share one product with the data."""
        products = run.sample_factor.T @ self.rows
        for mode, factor in enumerate(run.factors):
            others = run.factors[:mode] + run.factors[mode + 1 :]
            gram = _gram_of_products([run.sample_factor.T, *others])
            pull = contract_others(products, run.factors, mode)
            run.factors[mode] = factor * pull / (gram @ factor + _XI)

    def _improve_classifiers(self, run: CPRun, *, sweeps: int, nonnegative: bool) -> None:
        """Gradient steps on all ``U_i`` in turn."""
        residual_image = self._residual_image(run.labels.T)
        for _ in range(sweeps):
            for mode, classifier in enumerate(run.classifiers):
                weights = outer_rows(run.classifiers)
                gradient = residual_image(weights)
                gradient *= 2 * self.alpha
                gradient += weights * (self.beta / (_group_norms(weights) + _XI))
                slope = contract_others(gradient, run.classifiers, mode)
                updated = classifier - run.step_size * slope
                run.classifiers[mode] = np.maximum(updated, 0) if nonnegative else updated

    def _residual_image(self, labels: NDArray) -> Callable[[NDArray], NDArray]:
        """The map from weights ``W`` to ``(H - F)^T X``, for labels ``F^T``."""
        if self._gram is None:
            return lambda weights: (weights @ self.rows.T - labels) @ self.rows
        gram, fixed = self._gram, labels @ self.rows
        return lambda weights: weights @ gram - fixed

    def _classifier_objective(self, run: CPRun) -> float:
        weights = outer_rows(run.classifiers)
        return self._classifier_value(run, weights, self.rows @ weights.T)

    def _classifier_value(self, run: CPRun, weights: NDArray, outputs: NDArray) -> float:
        error = self.alpha * np.sum((outputs - run.labels) ** 2)
        return float(error + self.beta * _group_norms(weights).sum())

    def _objective(self, run: CPRun, images: NDArray, outputs: NDArray) -> float:
        """The whole objective, given `images` ``X W_A^T`` of the factors and `outputs` ``H``."""
        sample_factor, labels = run.sample_factor, run.labels
        decomposition = _gram_of_products([sample_factor.T, *run.factors]).sum()
        misfit = self._energy - 2 * np.vdot(sample_factor, images) + decomposition
        smoothness = np.vdot(sample_factor, self.laplacian @ labels)
        return float(
            misfit
            + self.mu * smoothness
            + self._classifier_value(run, outer_rows(run.classifiers), outputs)
            + self.eta * np.sum((sample_factor - labels) ** 2)
        )


def outer_rows(factors: Sequence[NDArray]) -> NDArray[np.float64]:
    """Row ``r`` of the result ``(c, d)`` is the outer product of the rows ``r`` of all factors."""
    return reduce(
        lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), factors
    )


def contract_others(values: NDArray, factors: Sequence[NDArray], mode: int) -> NDArray:
    """Contract row ``r`` of `values` ``(c, d)`` with row ``r`` of every factor but one."""
    n_rows = len(values)
    for factor in reversed(factors[mode + 1 :]):
        values = values.reshape(n_rows, -1, factor.shape[1]) @ factor[:, :, None]
    for factor in factors[:mode]:
        values = factor[:, None, :] @ values.reshape(n_rows, factor.shape[1], -1)
    return values.reshape(n_rows, -1)


def _gram_of_products(factors: Sequence[NDArray]) -> NDArray[np.float64]:
    """The Gram matrix ``(c, c)`` of `outer_rows`: the product, by entries, of theirs."""
    return reduce(np.multiply, [factor @ factor.T for factor in factors])


def _group_norms(weights: NDArray) -> NDArray[np.float64]:
    """The norm of every feature's weights ``(c, d)``."""
    return np.sqrt(np.einsum("cd,cd->d", weights, weights))
