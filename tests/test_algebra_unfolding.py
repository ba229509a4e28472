"""Unfolding, folding and mode products against the index formulas of their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import fold, mode_product, unfold

modest = settings(max_examples=40, deadline=None)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=5)
dtypes = st.sampled_from([np.float32, np.float64, np.complex64, np.complex128])


def column(index, shape, mode):
    """Return the paper's column number, j = sum of i_k q_k over k != mode, counted from 0."""
    j = 0
    for k in range(len(shape)):
        if k != mode:
            stride = 1
            for p in range(k):
                if p != mode:
                    stride *= shape[p]
            j += index[k] * stride
    return j


@modest
@given(shape=shapes, data=st.data(), dtype=dtypes, negative=st.booleans())
def test_unfold_follows_the_index_formula_and_fold_undoes_it(shape, data, dtype, negative):
    mode = data.draw(st.integers(0, len(shape) - 1))
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    given_mode = mode - len(shape) if negative else mode
    matrix = unfold(x, given_mode)
    assert matrix.dtype == dtype
    for index in np.ndindex(*shape):
        assert matrix[index[mode], column(index, shape, mode)] == x[index]
    assert_array_equal(fold(matrix, given_mode, shape), x)


@modest
@given(shape=shapes, data=st.data(), rows=st.integers(1, 4), dtype=dtypes, seed=st.integers(0, 100))
def test_mode_product_is_the_sum_over_one_index(shape, data, rows, dtype, seed):
    mode = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(dtype)
    matrix = rng.normal(size=(rows, shape[mode])).astype(dtype)
    result = mode_product(x, matrix, mode)
    assert result.dtype == dtype
    for index in np.ndindex(*result.shape):
        fibre = x[(*index[:mode], slice(None), *index[mode + 1 :])]
        assert_allclose(result[index], sum(matrix[index[mode]] * fibre), atol=1e-5)
    atol = 1e-5 if np.finfo(dtype).dtype == np.float32 else 1e-13
    assert_allclose(unfold(result, mode), matrix @ unfold(x, mode), atol=atol)


def test_mode_product_promotes_to_the_wider_type():
    x = np.ones((2, 3), dtype=np.float32)
    assert mode_product(x, np.ones((1, 3)), 1).dtype == np.float64
    assert mode_product(x, np.ones((1, 3), dtype=np.complex64), 1).dtype == np.complex64


def test_strided_and_read_only_tensors_are_read_and_left_alone():
    whole = np.random.default_rng(0).normal(size=(4, 6, 5))
    kept = whole.copy()
    part = whole[::-1, 1::2].transpose(2, 0, 1)
    part.flags.writeable = False
    assert_array_equal(unfold(part, 1), unfold(part.copy(), 1))
    matrix = np.ones((2, 4))
    assert_allclose(mode_product(part, matrix, 1), mode_product(part.copy(), matrix, 1))
    assert_array_equal(whole, kept)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfold(np.ones((2, 3)), 2), "mode=2 is not an axis of an array with 2 axes"),
        (lambda: unfold(np.ones((2, 3)), 0.5), r"mode=0\.5 is not an axis"),
        (lambda: unfold(np.array(["a"]), 0), "tensor must hold numbers"),
        (lambda: fold(np.ones((2, 5)), 0, (2, 3)), r"matrix has shape \(2, 5\).*shape \(2, 3\)"),
        (lambda: fold(np.ones((2, 3)), 1, (2, 3)), r"has shape \(3, 2\)"),
        (lambda: fold(np.ones((2, 3)), 0, (2, 0)), "shape must be a positive integer"),
        (lambda: mode_product(np.ones((2, 3)), np.ones((4, 2)), 1), "a matrix with 3 columns"),
        (lambda: mode_product(np.ones((2, 3)), np.ones(3), 1), r"matrix has shape \(3,\)"),
    ],
)
def test_hostile_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
