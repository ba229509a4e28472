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

from tensift.selectors._cpufs_errors import (
    ErrorsByData,
    ErrorsByGram,
    contract_others,
    outer_rows,
)
from tensift.solvers._decoder import polar_factor

__all__ = ["CPModel", "CPRun"]

_XI = float(np.finfo(float).eps)
_SWEEPS = 3  # over the classifiers, in one iteration
_HALVINGS = 60  # of the step, in the search for one
_FEW_SAMPLES = 3  # features a sample, above which data are less work than their Gram matrix
_WELL_CONDITIONED = 0.01  # ratio of eigenvalues at which a Gram matrix costs no accuracy


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
        errors = ErrorsByGram if d <= _FEW_SAMPLES * n else ErrorsByData
        self._errors = errors(rows, shape, n_clusters)

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
            self._errors.set_labels(run.labels, run.sample_factor)
            before = self._classifier_value(run, self._errors.outputs(run.classifiers).T)
            outputs = self._improve_classifiers(run, sweeps=1, nonnegative=False)
            if self._classifier_value(run, outputs) < before:
                return run.step_size
        return _XI

    def iterate(
        self, run: CPRun, max_iter: int, tol: float, report: Callable[[int], object]
    ) -> bool:
        """Take a run to its end, in place; False if it diverged."""
        # The factors' updates and the objective share what has to do with C.
        products = self._errors.set_labels(run.labels, run.sample_factor)
        sample_gram = run.sample_factor.T @ run.sample_factor
        outputs = self._errors.outputs(run.classifiers).T
        for iteration in range(1, max_iter + 1):
            self._improve_factors(run, products, sample_gram)
            images = np.ascontiguousarray(self._errors.outputs(run.factors).T)
            target = 2 * images + 2 * self.eta * run.labels
            target -= self.mu * (self.laplacian @ run.labels)
            if not np.isfinite(target).all():
                return False
            run.sample_factor = _nearest_orthonormal(target)
            sample_gram = run.sample_factor.T @ run.sample_factor
            smoothed = self.laplacian @ run.sample_factor
            labels = self.alpha * outputs + self.eta * run.sample_factor - self.mu / 2 * smoothed
            run.labels = np.maximum(
                labels / (self.alpha + self.eta), _XI if self.nonnegative else 0
            )
            products = self._errors.set_labels(run.labels, run.sample_factor)
            outputs = self._improve_classifiers(run, sweeps=_SWEEPS, nonnegative=self.nonnegative)
            if not all(np.isfinite(classifier).all() for classifier in run.classifiers):
                return False
            decomposition = np.sum(sample_gram * _gram_of_products(run.factors))
            run.path.append(
                float(
                    self._energy
                    - 2 * np.vdot(run.sample_factor, images)
                    + decomposition
                    + self.mu * np.vdot(smoothed, run.labels)
                    + self._classifier_value(run, outputs)
                    + self.eta * np.sum((run.sample_factor - run.labels) ** 2)
                )
            )
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

    def _improve_factors(self, run: CPRun, products: NDArray, sample_gram: NDArray) -> None:
        """Multiplicative updates of all ``A_i`` in turn, given ``C^T X`` and ``C^T C``."""
        for mode, factor in enumerate(run.factors):
            others = run.factors[:mode] + run.factors[mode + 1 :]
            gram = sample_gram * _gram_of_products(others) if others else sample_gram
            pull = contract_others(products, run.factors, mode)
            run.factors[mode] = factor * pull / (gram @ factor + _XI)

    def _improve_classifiers(
        self, run: CPRun, *, sweeps: int, nonnegative: bool
    ) -> NDArray[np.float64]:
        """Gradient steps on all ``U_i`` in turn; their outputs ``H`` after that."""
        for _ in range(sweeps):
            for mode, classifier in enumerate(run.classifiers):
                error = self._errors.along(mode, run.classifiers)
                slope = 2 * self.alpha * error.half_gradient(classifier)
                slope += self.beta * _norm_slope(run.classifiers, mode)
                updated = classifier - run.step_size * slope
                run.classifiers[mode] = np.maximum(updated, 0) if nonnegative else updated
        return np.ascontiguousarray(error.outputs(run.classifiers[-1]).T)

    def _classifier_value(self, run: CPRun, outputs: NDArray) -> float:
        error = self.alpha * np.sum((outputs - run.labels) ** 2)
        return float(error + self.beta * _group_norms(run.classifiers).sum())


def _nearest_orthonormal(target: NDArray) -> NDArray[np.float64]:
    """The polar factor of a matrix ``(n, c)``, by its Gram matrix unless that loses digits."""
    target = target / (np.abs(target).max() or 1.0)
    values, vectors = np.linalg.eigh(target.T @ target)
    if values[0] > _WELL_CONDITIONED * values[-1]:
        return target @ ((vectors / np.sqrt(values)) @ vectors.T)
    return polar_factor(target[None])[0]


def _gram_of_products(factors: Sequence[NDArray]) -> NDArray[np.float64]:
    """The Gram matrix ``(c, c)`` of `outer_rows`: the product, by entries, of theirs."""
    return reduce(np.multiply, [factor @ factor.T for factor in factors])


def _group_norms(classifiers: Sequence[NDArray], mode: int = 0) -> NDArray[np.float64]:
    """The norm of every feature's weights, ``(d_k, d / d_k)`` for a mode ``k``."""
    return np.sqrt((classifiers[mode] ** 2).T @ _squares_of_others(classifiers, mode))


def _norm_slope(classifiers: Sequence[NDArray], mode: int) -> NDArray[np.float64]:
    """The gradient of the sum of these norms along a mode, ``(c, d_k)``."""
    inverse = 1 / (_group_norms(classifiers, mode) + _XI)
    return classifiers[mode] * (_squares_of_others(classifiers, mode) @ inverse.T)


def _squares_of_others(classifiers: Sequence[NDArray], mode: int) -> NDArray[np.float64]:
    """Squared weights, but for the mode's part in them, ``(c, d / d_k)``."""
    ones = np.ones((len(classifiers[0]), 1))
    others = [ones, *classifiers[:mode], *classifiers[mode + 1 :]]
    return outer_rows(others) ** 2
