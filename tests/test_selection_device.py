"""Selection on arrays of other libraries: the same features as on NumPy's, without moves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift._utils.nearest import nearest
from tensift.moments import GramTensor
from tensift.selection import suggest_count
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.solvers import spectrum_of
from tensift.solvers.on_device import _spectrum


def mixed_features(n=70, n_structured=25, n_noise=20):
    """Some features follow four numbers, the others are noise: two tiers of the order."""
    rng = np.random.default_rng(0)
    structured = rng.normal(size=(n, 4)) @ rng.normal(size=(4, n_structured))
    structured += 0.3 * rng.normal(size=(n, n_structured))
    return np.hstack([structured, rng.normal(size=(n, n_noise))])


@pytest.mark.parametrize("steps", [(45,), (3, 11, 30, 45), (20, 26)])
def test_picks_at_one_request_are_those_one_by_one(library, steps):
    X = mixed_features()
    expected = GeometryOrder(Geometry(X, None))
    found = GeometryOrder(Geometry(library.asarray(X), None))
    n_structured = int(np.count_nonzero(expected.tiers == 0))
    assert 16 < n_structured < 45  # more than one request in the first tier, and a second tier
    for count in steps:
        assert_array_equal(library.numpy(found.extend(count)), expected.extend(count))
        assert_allclose(library.numpy(found.curve), expected.curve, atol=1e-9)
        assert_allclose(float(found.objective), float(expected.objective), rtol=1e-9)


def test_nearest_samples_with_ties(library):
    points = np.array([0.0, 1.0, -1.0, 5.0, 5.0, 2.0])
    distances = (points[:, None] - points) ** 2
    there = library.asarray(distances.copy())
    for count in (1, 2, 4):
        expected = nearest(distances.copy(), points**2, count)
        found = nearest(there, library.asarray(points**2), count)
        assert_allclose(library.numpy(found), expected)
        assert_allclose(expected.sum(axis=1), count)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_suggested_count_is_that_of_the_host(library, weighted):
    X = mixed_features()
    weights = np.random.default_rng(1).integers(1, 4, len(X)) if weighted else None
    expected = suggest_count(X, sample_weight=weights)
    found = suggest_count(library.asarray(X), sample_weight=weights)
    assert found.count == expected.count
    assert_allclose(found.curve, expected.curve, atol=1e-9)


def test_spectra_by_blocks_of_slices(library, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 6, 20))
    matrices = X @ X.transpose(0, 2, 1)
    monkeypatch.setattr(_spectrum, "block_elements", lambda like: 80)  # two slices of 36
    values, vectors = spectrum_of(GramTensor(library.asarray(matrices), thin=False))
    values, vectors = library.numpy(values), library.numpy(vectors)
    assert_allclose(values, np.linalg.eigvalsh(matrices), rtol=1e-10)
    assert_allclose(
        (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1), matrices, atol=1e-9
    )
