"""The updates of CPUFS: the CP decomposition of samples, pseudo-labels and rank-one classifiers.

Symbols are those of the documentation of `CPUFS`. The factor of a mode is stored transposed,
``A_i^T (c, d_i)``, like the classifiers ``U_i``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift.rivals._cpufs_loss import LossFromData, LossFromGram, contract_others, outer_rows
from tensift.solvers import polar_factor

__all__ = ["CPModel", "CPRun"]

_EPS = float(np.finfo(float).eps)
_SWEEPS = 3  # over the classifiers, in each iteration
_MAX_HALVINGS = 60  # of the step, in the search for a first step
_FEATURES_PER_SAMPLE = 3  # with more, the data are less work than their Gram matrix
_WELL_CONDITIONED = 0.01  # ratio of eigenvalues above which a Gram matrix is accurate enough


@dataclass
class CPRun:
    """The state of a run: ``A_i^T``, ``C``, ``F``, ``U_i``, and the objective so far."""

    factors: list[NDArray[np.float64]]
    sample_factor: NDArray[np.float64]
    labels: NDArray[np.float64]
    classifiers: list[NDArray[np.float64]]
    step_size: float
    path: list[float] = field(default_factory=list)
    converged: bool = False


class CPModel:
    """The objective of CPUFS for given data, and the updates that lower it.

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
        Whether classifiers must be non-negative.
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
        errors = LossFromGram if d <= _FEATURES_PER_SAMPLE * n else LossFromData
        self._loss = errors(rows, shape, n_clusters)

    def random_start(self, rng: np.random.RandomState, step_size: float) -> CPRun:
        """Draw the start of a run as the authors do."""
        factors, classifiers = (
            [rng.uniform(size=(self.n_clusters, size)) for size in self.shape] for _ in range(2)
        )
        sample_factor = rng.normal(size=(len(self.rows), self.n_clusters))
        return self._start(factors, sample_factor, classifiers, step_size)

    def given_start(self, init: Mapping[str, Any], step_size: float) -> CPRun:
        """Check given values and start a run from them."""
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
                raise ValueError(f"init[{name!r}] has NaN or infinity; pass finite numbers")
        factors = [np.ascontiguousarray(factor.T) for factor in arrays["factors"]]
        return self._start(factors, arrays["sample_factor"][0], arrays["classifiers"], step_size)

    def _start(
        self, factors: list, sample_factor: NDArray, classifiers: list, step_size: float
    ) -> CPRun:
        return CPRun(factors, sample_factor, np.maximum(sample_factor, 0), classifiers, step_size)

    def search_step_size(self, rng: np.random.RandomState) -> float:
        """Return the first power of 1/2 for which a step improves random classifiers."""
        for halvings in range(_MAX_HALVINGS):
            run = self.random_start(rng, 0.5**halvings)
            self._loss.set_labels(run.labels, run.sample_factor)
            before = self._classifier_value(run, self._loss.outputs(run.classifiers).T)
            outputs = self._improve_classifiers(run, sweeps=1, nonnegative=False)
            if self._classifier_value(run, outputs) < before:
                return run.step_size
        return _EPS

    def iterate(
        self, run: CPRun, max_iter: int, tol: float, report: Callable[[int], object]
    ) -> bool:
        """Iterate a run in place until it ends; return False if it diverged."""
        # The updates of the factors and the objective share the products with C.
        products = self._loss.set_labels(run.labels, run.sample_factor)
        sample_gram = run.sample_factor.T @ run.sample_factor
        outputs = self._loss.outputs(run.classifiers).T
        for iteration in range(1, max_iter + 1):
            self._improve_factors(run, products, sample_gram)
            images = np.ascontiguousarray(self._loss.outputs(run.factors).T)
            target = 2 * images + 2 * self.eta * run.labels
            target -= self.mu * (self.laplacian @ run.labels)
            if not np.isfinite(target).all():
                return False
            run.sample_factor = _nearest_orthonormal(target)
            sample_gram = run.sample_factor.T @ run.sample_factor
            smoothed = self.laplacian @ run.sample_factor
            labels = self.alpha * outputs + self.eta * run.sample_factor - self.mu / 2 * smoothed
            run.labels = np.maximum(
                labels / (self.alpha + self.eta), _EPS if self.nonnegative else 0
            )
            products = self._loss.set_labels(run.labels, run.sample_factor)
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
            if not np.isfinite(run.path[-1]):
                return False  # classifiers are finite, but their squares, the scores, are not
            if tol > 0 and iteration > 1:
                change = abs(run.path[-1] - run.path[-2])
                run.converged = change <= tol * abs(run.path[-1])
                if run.converged:
                    break
        return True

    def scores(self, run: CPRun) -> NDArray[np.float64]:
        """Return the sum of the squared weights of every feature ``(d,)`` in all classifiers."""
        weights = outer_rows(run.classifiers)
        return np.einsum("cd,cd->d", weights, weights)

    def _improve_factors(self, run: CPRun, products: NDArray, sample_gram: NDArray) -> None:
        """Update all ``A_i`` in turn by multiplication, given ``C^T X`` and ``C^T C``."""
        for mode, factor in enumerate(run.factors):
            others = run.factors[:mode] + run.factors[mode + 1 :]
            gram = sample_gram * _gram_of_products(others) if others else sample_gram
            pull = contract_others(products, run.factors, mode)
            run.factors[mode] = factor * pull / (gram @ factor + _EPS)

    def _improve_classifiers(
        self, run: CPRun, *, sweeps: int, nonnegative: bool
    ) -> NDArray[np.float64]:
        """Take gradient steps for all ``U_i`` in turn; return their outputs ``H``."""
        for _ in range(sweeps):
            for mode, classifier in enumerate(run.classifiers):
                error = self._loss.along(mode, run.classifiers)
                slope = 2 * self.alpha * error.half_gradient(classifier)
                slope += self.beta * _norm_slope(run.classifiers, mode)
                updated = classifier - run.step_size * slope
                run.classifiers[mode] = np.maximum(updated, 0) if nonnegative else updated
        return np.ascontiguousarray(error.outputs(run.classifiers[-1]).T)

    def _classifier_value(self, run: CPRun, outputs: NDArray) -> float:
        error = self.alpha * np.sum((outputs - run.labels) ** 2)
        return float(error + self.beta * _group_norms(run.classifiers).sum())


def _nearest_orthonormal(target: NDArray) -> NDArray[np.float64]:
    """Return the polar factor of ``(n, c)``, from the Gram matrix unless that loses digits."""
    target = target / (np.abs(target).max() or 1.0)
    values, vectors = np.linalg.eigh(target.T @ target)
    if values[0] > _WELL_CONDITIONED * values[-1]:
        return target @ ((vectors / np.sqrt(values)) @ vectors.T)
    return polar_factor(target[None])[0]


def _gram_of_products(factors: Sequence[NDArray]) -> NDArray[np.float64]:
    """Return the Gram matrix ``(c, c)`` of `outer_rows`: the entrywise product of all Grams."""
    return reduce(np.multiply, [factor @ factor.T for factor in factors])


def _group_norms(classifiers: Sequence[NDArray], mode: int = 0) -> NDArray[np.float64]:
    """Return the norm of the weights of every feature, ``(d_k, d / d_k)`` for a mode ``k``."""
    return np.sqrt((classifiers[mode] ** 2).T @ _squares_of_others(classifiers, mode))


def _norm_slope(classifiers: Sequence[NDArray], mode: int) -> NDArray[np.float64]:
    """Return the gradient ``(c, d_k)`` of the sum of `_group_norms` along a mode."""
    inverse = 1 / (_group_norms(classifiers, mode) + _EPS)
    return classifiers[mode] * (_squares_of_others(classifiers, mode) @ inverse.T)


def _squares_of_others(classifiers: Sequence[NDArray], mode: int) -> NDArray[np.float64]:
    """Return the squared outer products of all other modes, ``(c, d / d_k)``."""
    ones = np.ones((len(classifiers[0]), 1))
    others = [ones, *classifiers[:mode], *classifiers[mode + 1 :]]
    return outer_rows(others) ** 2
