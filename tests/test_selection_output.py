"""What goes in and comes out: selection, its inverse, kinds of number, layouts in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector

SHAPES = [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2)]


def samples(shape, n=20, seed=0):
    rng = np.random.default_rng(seed)
    return 0.2 + rng.normal(size=(n, *shape)) * rng.uniform(0.1, 1, size=shape)


def selector_of(count, **params):
    return STPCASelector(count, selection="top", lam=0.1, eta=0.1, **params)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [float, complex])
def test_elements_are_kept_in_row_major_order_and_put_back(shape, kind):
    X = samples(shape).astype(kind)
    if kind is complex and len(shape) == 1:
        X = X.real
    selector = selector_of(3).fit(X)
    best = sorted(np.argsort(-selector.scores_.ravel(), kind="stable")[:3])
    assert_array_equal(selector.get_support(indices=True), best)
    assert_array_equal(np.flatnonzero(selector.get_support()), best)
    assert_array_equal(np.sort(selector.order_[:3]), best)
    kept = selector.transform(X)
    assert kept.shape == (20, 3)
    for column, flat in enumerate(best):
        assert_array_equal(kept[:, column], X[(slice(None), *np.unravel_index(flat, shape))])
    back = selector.inverse_transform(kept)
    assert back.shape == X.shape
    assert back.dtype == X.dtype
    mask = np.zeros(shape, bool)
    mask.ravel()[best] = True
    assert_array_equal(back[:, mask], X[:, mask])
    assert_array_equal(back[:, ~mask], 0)
    assert_array_equal(selector.transform(back), kept)
    assert_array_equal(selector.transform(X[:1]), kept[:1])


@pytest.mark.parametrize("shape", SHAPES)
def test_indices_of_a_mode_are_kept_and_put_back(shape):
    X = samples(shape)
    for mode in range(len(shape)):
        selector = selector_of(2, feature_mode=mode).fit(X)
        best = sorted(np.argsort(-selector.scores_, kind="stable")[:2])
        kept = selector.transform(X)
        assert_array_equal(kept, X.take(best, axis=mode + 1))
        back = selector.inverse_transform(kept)
        assert back.shape == X.shape
        assert_array_equal(back.take(best, axis=mode + 1), kept)
        others = np.setdiff1d(np.arange(shape[mode]), best)
        assert_array_equal(back.take(others, axis=mode + 1), 0)
        assert_array_equal(selector.transform(back), kept)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("feature_mode", [None, 0, -1])
@pytest.mark.parametrize("orientation", [0, -1])
def test_rows_with_a_shape_are_the_tensors(shape, feature_mode, orientation):
    X = samples(shape)
    rows = X.reshape(20, -1)
    params = {"feature_mode": feature_mode, "orientation": orientation, "basis": "dct"}
    tensors = selector_of(2, **params).fit(X)
    flat = selector_of(2, feature_shape=shape, **params).fit(rows)
    assert flat.feature_shape_ == shape
    assert flat.n_features_in_ == rows.shape[1]
    assert_array_equal(flat.scores_, tensors.scores_)
    assert_array_equal(flat.order_, tensors.order_)
    kept = tensors.transform(X)
    assert_array_equal(flat.transform(rows), kept.reshape(20, -1))
    assert_array_equal(flat.transform(X), kept if len(shape) > 1 else kept.reshape(20, -1))
    back = flat.inverse_transform(flat.transform(rows))
    assert back.shape == rows.shape
    assert_array_equal(back, tensors.inverse_transform(kept).reshape(20, -1))
    assert flat.score(rows) == flat.score(X) == tensors.score(X)


def test_rows_without_a_shape_have_one_slice(brute_force):
    X = samples((6,))
    selector = selector_of(2, solver="paper").fit(X)
    assert selector.operators_.shape == (1, 6, 6)
    assert_allclose(selector.scores_, brute_force.fit(X, 0.1, 0.1).scores, atol=1e-9)


def test_complex_rows_with_a_shape_are_complex_tensors():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4, 3)) + 1j * rng.normal(size=(20, 4, 3))
    tensors = selector_of(2).fit(X)
    flat = selector_of(2, feature_shape=(4, 3)).fit(X.reshape(20, 12))
    assert_array_equal(flat.scores_, tensors.scores_)
    assert_array_equal(flat.transform(X.reshape(20, 12)), tensors.transform(X))
    assert_array_equal(
        flat.inverse_transform(tensors.transform(X)),
        tensors.inverse_transform(tensors.transform(X)).reshape(20, 12),
    )


@pytest.mark.parametrize(
    ("share", "count"), [(0.5, 10), (0.26, 5), (0.01, 1), (0.99, 20), (np.float32(0.25), 5)]
)
def test_a_share_of_the_features(share, count):
    X = samples((5, 4))
    selector = selector_of(share).fit(X)
    assert selector.get_support().sum() == count
    assert_array_equal(selector.get_support(indices=True), np.sort(selector.order_[:count]))
    assert selector.transform(X).shape == (20, count)
    channels = selector_of(0.5, feature_mode=1).fit(X)
    assert channels.transform(X).shape == (20, 5, 2)


def test_more_features_than_there_are_warns_and_keeps_all():
    X = samples((3, 2))
    selector = selector_of(7)
    with pytest.warns(
        UserWarning, match="n_features_to_select=7 is more than the 6 .*all are kept"
    ):
        selector.fit(X)
    assert selector.get_support().all()
    assert_array_equal(selector.transform(X), X.reshape(20, 6))
    assert_array_equal(selector.inverse_transform(selector.transform(X)), X)
    assert selector_of(6).fit(X).get_support().all()
    channels = selector_of(4, feature_mode=0)
    with pytest.warns(UserWarning, match="n_features_to_select=4 is more than the 3 features"):
        assert channels.fit_transform(X).shape == X.shape


def test_the_number_of_features_can_be_changed_after_fit():
    X = samples((5, 4))
    selector = selector_of(2).fit(X)
    selector.set_params(n_features_to_select=7)
    assert_array_equal(selector.get_support(indices=True), np.sort(selector.order_[:7]))


# Kinds of number and layouts in memory


@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    n=st.integers(2, 12),
    dtype=st.sampled_from(
        [bool, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64]
        + [np.complex64, np.complex128, object]
    ),
    layout=st.sampled_from(["C", "F", "strided", "reversed", "read-only"]),
    orientation=st.integers(-4, 3),
    by_mode=st.booleans(),
    seed=st.integers(0, 100),
)
def test_any_numbers_in_any_layout(shape, n, dtype, layout, orientation, by_mode, seed):
    rng = np.random.default_rng(seed)
    if len(shape) == 1 and np.dtype(dtype).kind == "c":
        shape = (*shape, 2)
    values = rng.integers(0, 5, size=(n, *shape))
    values.flat[0], values.flat[-1] = 0, 4
    if n * np.prod(shape) < 2 or values.std(axis=0).max() == 0:
        values[0] = 4 - values[1]
        if values.std(axis=0).max() == 0:
            values[0] += 1
    X = values.astype(dtype)
    if X.dtype.kind == "c":
        X += (1j * rng.integers(0, 5, size=X.shape)).astype(dtype)
    if X.dtype == bool and X.std(axis=0).max() == 0:
        X[0] = ~X[0]
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "strided":
        wide = np.zeros((2 * n, *shape), X.dtype)
        wide[1::2] = X
        X = wide[1::2]
    elif layout == "reversed":
        X = X[::-1].copy()[::-1]
    before = X.copy()
    X.flags.writeable = layout != "read-only"

    orientation = orientation % len(shape)
    mode = seed % len(shape) if by_mode else None
    selector = STPCASelector(1, lam=0.1, eta=0.1, orientation=orientation, feature_mode=mode)
    kept = selector.fit(X).transform(X)
    selector.score(X)
    back = selector.inverse_transform(kept)
    selector.partial_fit(X)
    assert_array_equal(X, before)
    assert not np.shares_memory(kept, X)

    double = before.astype(np.complex128 if X.dtype.kind == "c" else np.float64)
    plain = STPCASelector(1, lam=0.1, eta=0.1, orientation=orientation, feature_mode=mode)
    plain.fit(double)
    assert plain.scores_.dtype == np.float64
    assert plain.scores_.shape == (shape if mode is None else (shape[mode],))
    again = STPCASelector(1, lam=0.1, eta=0.1, orientation=orientation, feature_mode=mode).fit(X)
    assert_allclose(again.scores_, plain.scores_, atol=1e-8)
    assert kept.shape == (n, 1) if mode is None else kept.shape[mode + 1] == 1
    assert back.shape == X.shape
    index = again.get_support(indices=True)
    if mode is None:
        expected = double.reshape(n, -1)[:, index]
    else:
        expected = double.take(index, axis=mode + 1)
    assert_array_equal(kept, expected)
    if dtype is not object:
        assert kept.dtype == back.dtype == X.dtype


def test_large_integers_do_not_wrap_around():
    X = samples((4, 3))
    large = np.round(X * 2**60).astype(np.int64)
    assert_allclose(selector_of(2).fit(large).scores_, selector_of(2).fit(X).scores_, atol=1e-9)
    kept = selector_of(2).fit(large).transform(large)
    assert kept.dtype == np.int64
    assert np.isin(kept, large).all()


@pytest.mark.parametrize("shape", [(12,), (4, 3)])
def test_extended_precision_is_computed_in_double(shape):
    X = samples(shape)
    long = selector_of(2).fit(X.astype(np.longdouble))
    assert_allclose(long.scores_, selector_of(2).fit(X).scores_, atol=1e-9)
    if len(shape) > 1:
        X = X + 1j * samples(shape, seed=1)
        long = selector_of(2).fit(X.astype(np.clongdouble))
        assert_allclose(long.scores_, selector_of(2).fit(X).scores_, atol=1e-9)


def test_files_mapped_into_memory(tmp_path):
    X = samples((4, 3))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    selector = selector_of(2).fit(mapped)
    assert_array_equal(selector.scores_, selector_of(2).fit(X).scores_)
    assert_array_equal(selector.transform(mapped), selector.transform(X))
