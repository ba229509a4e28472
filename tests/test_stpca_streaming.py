"""`partial_fit` over any chunks gives what `fit` gives on all samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector


def chunked(X, cuts):
    return np.split(X, sorted({cut % len(X) for cut in cuts} - {0}))


def assert_same_fit(one, other, atol=1e-8):
    assert one.n_samples_seen_ == other.n_samples_seen_
    assert one.feature_shape_ == other.feature_shape_
    top = np.abs(other.scores_).max()
    assert_allclose(one.scores_, other.scores_, atol=atol * max(top, 1e-3))
    assert_array_equal(one.n_iter_, other.n_iter_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-8)
    assert_allclose(one.operators_, other.operators_, atol=atol)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 25),
    shape=st.sampled_from([(4,), (9,), (4, 3), (9, 2), (3, 2, 2)]),
    spec=st.sampled_from(["identity", "dct", "dft", "haar"]),
    orientation=st.integers(0, 2),
    is_complex=st.booleans(),
    cuts=st.lists(st.integers(0, 25), max_size=25),
    seed=st.integers(0, 50),
)
def test_any_chunking_equals_fit(n, shape, spec, orientation, is_complex, cuts, seed):
    rng = np.random.default_rng(seed)
    X = 0.5 + rng.normal(size=(n, *shape)) * rng.uniform(0.2, 1, size=shape)
    if is_complex and len(shape) > 1:
        X = X + 1j * rng.normal(size=X.shape)
    params = {"basis": spec, "orientation": orientation % len(shape), "score_by": "energy"}
    whole = STPCASelector(1, lam=0.3, eta=0.2, **params).fit(X)
    parts = STPCASelector(1, lam=0.3, eta=0.2, **params)
    for chunk in chunked(X, cuts):
        parts.partial_fit(chunk)
    assert_same_fit(parts, whole)


@pytest.mark.parametrize("n", [5, 30], ids=["n<q", "n>q"])
def test_single_samples_equal_fit(n):
    X = np.random.default_rng(0).normal(size=(n, 8, 3))
    parts = STPCASelector(3, lam=0.3, eta=0.2)
    for sample in X:
        parts.partial_fit(sample[None])
    assert parts.n_samples_seen_ == n
    assert_same_fit(parts, STPCASelector(3, lam=0.3, eta=0.2).fit(X))


def test_slices_are_solved_after_every_chunk_or_when_asked(monkeypatch):
    solved = []
    original = STPCASelector._solve

    def watched(self, samples):
        solved.append(self)
        return original(self, samples)

    monkeypatch.setattr(STPCASelector, "_solve", watched)
    X = np.random.default_rng(1).normal(size=(20, 4, 3))
    selector = STPCASelector(3, lam=0.3, eta=0.2)
    for chunk in np.split(X, 4):
        selector.partial_fit(chunk, solve=False)
    assert not hasattr(selector, "scores_")
    with pytest.raises(AttributeError, match=r"call solve\(\) to compute results"):
        selector.transform(X)
    assert solved == []
    selector.solve()
    for name in ("scores_", "order_", "operators_", "objective_path_"):
        getattr(selector, name)
    selector.transform(X)
    assert len(solved) == 1
    selector.partial_fit(X)
    selector.get_support()
    assert len(solved) == 2
    selector.partial_fit(X, solve=False)
    assert not hasattr(selector, "operators_")
    assert STPCASelector(3).partial_fit(X[:1]).n_samples_seen_ == 1  # too few to solve


@pytest.mark.parametrize(
    "read",
    ["scores_", "order_", "operators_", "objective_", "objective_path_", "n_iter_"],
)
def test_any_result_can_be_the_first_one_read(read):
    X = np.random.default_rng(2).normal(size=(20, 4, 3))
    whole = STPCASelector(3, lam=0.3, eta=0.2).fit(X)
    parts = STPCASelector(3, lam=0.3, eta=0.2).partial_fit(X[:7]).partial_fit(X[7:])
    assert_allclose(getattr(parts, read), getattr(whole, read), atol=1e-8)


def test_results_are_not_stale_after_another_chunk():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4, 3))
    X[20:, 2] *= 5
    selector = STPCASelector(3, lam=0.3, eta=0.2).partial_fit(X[:20])
    before = selector.scores_.copy()
    selector.partial_fit(X[20:])
    assert np.abs(selector.scores_ - before).max() > 1e-3
    assert_same_fit(selector, STPCASelector(3, lam=0.3, eta=0.2).fit(X))


def test_fit_starts_anew_and_partial_fit_goes_on_from_fit():
    X = np.random.default_rng(4).normal(size=(30, 4, 3))
    selector = STPCASelector(3, lam=0.3, eta=0.2).partial_fit(100 * X)
    selector.fit(X[:20])
    assert selector.n_samples_seen_ == 20
    assert_same_fit(selector, STPCASelector(3, lam=0.3, eta=0.2).fit(X[:20]))
    selector.partial_fit(X[20:])
    assert_same_fit(selector, STPCASelector(3, lam=0.3, eta=0.2).fit(X))
    selector.fit(X[:, :, :2])
    assert selector.feature_shape_ == (4, 2)


def test_rows_and_tensors_may_be_mixed_when_the_shape_is_given():
    X = np.random.default_rng(5).normal(size=(30, 4, 3))
    selector = STPCASelector(3, lam=0.3, eta=0.2, feature_shape=(4, 3))
    selector.partial_fit(X[:10].reshape(10, 12)).partial_fit(X[10:])
    assert_same_fit(selector, STPCASelector(3, lam=0.3, eta=0.2).fit(X))


def test_the_largest_value_of_all_chunks_is_the_scale():
    X = np.random.default_rng(6).normal(size=(30, 4, 3))
    X[25, 0, 0] = -9
    selector = STPCASelector(3, lam=0.01, eta=0.01)
    for chunk in np.split(X, 10):
        selector.partial_fit(chunk)
    plain = STPCASelector(3, lam=0.01, eta=0.01, scale=None).fit(X / 9)
    assert_same_fit(selector, plain)


def test_real_chunks_after_complex_ones_are_complex_numbers():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(20, 4, 3)) + 1j * rng.normal(size=(20, 4, 3))
    X[10:] = X[10:].real
    parts = STPCASelector(3, lam=0.3, eta=0.2).partial_fit(X[:10]).partial_fit(X[10:].real)
    assert_same_fit(parts, STPCASelector(3, lam=0.3, eta=0.2).fit(X))


def test_the_random_transform_stays_the_same_between_chunks():
    X = np.random.default_rng(8).normal(size=(20, 4, 3))
    params = {"basis": "random", "random_state": 5, "lam": 0.3, "eta": 0.2}
    parts = STPCASelector(3, **params).partial_fit(X[:10]).partial_fit(X[10:])
    assert_same_fit(parts, STPCASelector(3, **params).fit(X))


def test_eigen_transform_can_be_streamed_as_a_matrix():
    from tensift.algebra import make_transform

    X = np.random.default_rng(9).normal(size=(20, 4, 3))
    matrix = make_transform("eigen", 3, data=X, axis=2).matrix
    parts = STPCASelector(3, basis=matrix, lam=0.3, eta=0.2)
    parts.partial_fit(X[:10]).partial_fit(X[10:])
    assert_same_fit(parts, STPCASelector(3, basis="eigen", lam=0.3, eta=0.2).fit(X))
