"""The ways CPUFS computes the error of classifiers, against whole weights and differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import polar
from scipy.sparse import csr_array

from tensift.rivals import CPUFS, CPUFSnn
from tensift.rivals import _cpufs_updates as updates
from tensift.rivals._cpufs_loss import LossFromData, LossFromGram

ways = pytest.mark.parametrize("way", [LossFromGram, LossFromData])
# Modes of every number, and one with fewer other features than clusters need.
shapes = pytest.mark.parametrize("shape", [(5,), (4, 3), (1, 6), (3, 2, 4), (2, 3, 2, 2), (7, 2)])


def problem(shape, n=11, c=5):
    rng = np.random.default_rng(len(shape))
    rows = rng.normal(size=(n, int(np.prod(shape))))
    vectors = [rng.normal(size=(c, size)) for size in shape]
    return rows, vectors, rng.normal(size=(n, c)), rng.normal(size=(n, c))


def outputs(rows, shape, vectors):
    """Sample by sample and cluster by cluster."""
    result = np.empty((len(rows), len(vectors[0])))
    for k, sample in enumerate(rows.reshape(-1, *shape)):
        for r in range(result.shape[1]):
            value = sample
            for vector in vectors:
                value = np.tensordot(vector[r], value, axes=1)
            result[k, r] = value
    return result


@ways
@shapes
def test_outputs_and_gradients(way, shape):
    rows, vectors, labels, sample_factor = problem(shape)
    errors = way(rows, shape, 5)
    assert_allclose(
        errors.set_labels(labels, sample_factor), sample_factor.T @ rows, rtol=1e-12, atol=1e-12
    )
    assert_allclose(
        errors.outputs(vectors).T, outputs(rows, shape, vectors), rtol=1e-10, atol=1e-12
    )
    rng = np.random.default_rng(0)
    for mode, size in enumerate(shape):
        along = errors.along(mode, vectors)
        own, step = rng.normal(size=(2, 5, size))

        def error(classifier, mode=mode):
            moved = [*vectors[:mode], classifier, *vectors[mode + 1 :]]
            return np.sum((outputs(rows, shape, moved) - labels) ** 2)

        moved = [*vectors[:mode], own, *vectors[mode + 1 :]]
        assert_allclose(along.outputs(own).T, outputs(rows, shape, moved), rtol=1e-10, atol=1e-12)
        # The error is quadratic along a mode, so central differences are exact.
        slope = (error(own + step) - error(own - step)) / 2
        assert_allclose(2 * np.vdot(along.half_gradient(own), step), slope, rtol=1e-9)


def test_when_modes_are_contracted():
    """Never a single mode; two modes if a matrix for every cluster is smaller than its source."""
    rows = np.ones((4, 12))
    assert LossFromData(rows, (12,), 1)._contracts == [False]
    assert LossFromData(rows, (6, 2), 4)._contracts == [True, True]
    assert LossFromData(rows, (6, 2), 5)._contracts == [False, True]


@pytest.mark.parametrize("method", [CPUFS, CPUFSnn])
@pytest.mark.parametrize("shape", [(6,), (6, 5), (3, 4, 2), (9, 2)])
def test_runs_do_not_depend_on_the_way(method, shape, monkeypatch):
    X = np.random.default_rng(1).random((25, *shape))
    fits = []
    for limit in (0, 1000):
        monkeypatch.setattr(updates, "_FEATURES_PER_SAMPLE", limit)
        fits.append(method(4, n_clusters=5, max_iter=40, random_state=2).fit(X))
    by_data, by_gram = fits
    assert by_data.step_size_ == by_gram.step_size_
    assert_allclose(by_data.objective_path_, by_gram.objective_path_, rtol=1e-11)
    assert_allclose(by_data.scores_, by_gram.scores_, rtol=1e-8)


@pytest.mark.parametrize("smallest", [1.0, 0.2, 1e-3, 1e-9])
@pytest.mark.parametrize("size", [1e-170, 1.0, 1e170])
def test_nearest_orthonormal_columns(smallest, size):
    """Both with and without digits to lose in the Gram matrix, whose entries may overflow."""
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.normal(size=(rows, 4)))[0] for rows in (30, 4))
    matrix = (left * [1.0, 0.9, 0.5, smallest]) @ right.T
    found = updates._nearest_orthonormal(size * matrix)
    assert_allclose(found.T @ found, np.eye(4), atol=1e-13)
    assert_allclose(found, left @ right.T, atol=1e-15 / smallest + 1e-13)
    assert_allclose(found, polar(matrix)[0], atol=1e-15 / smallest + 1e-13)


def test_gradient_of_the_norms():
    rng = np.random.default_rng(4)
    vectors = [rng.normal(size=(3, size)) for size in (4, 3, 2)]

    def norms(vectors):
        weights = np.einsum("ri,rj,rk->rijk", *vectors)
        return np.sqrt((weights**2).sum(axis=0)).sum()

    for mode, size in enumerate((4, 3, 2)):
        step = 1e-5 * rng.normal(size=(3, size))
        ends = [
            norms([*vectors[:mode], vectors[mode] + sign * step, *vectors[mode + 1 :]])
            for sign in (1, -1)
        ]
        slope = np.vdot(updates._norm_slope(vectors, mode), step)
        assert_allclose(slope, (ends[0] - ends[1]) / 2, rtol=1e-6)


def test_a_sparse_laplacian_is_never_made_dense(monkeypatch):
    """Of many samples a dense one would not fit."""
    monkeypatch.setattr(csr_array, "toarray", None)
    monkeypatch.setattr(csr_array, "todense", None)
    X = np.random.default_rng(0).random((50, 4, 3))
    assert CPUFS(3, n_clusters=2, max_iter=2, random_state=0).fit(X).scores_.shape == (4, 3)
