"""The order of features: by score, then by ties, then by index in either numbering."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tensift.selection import rank_features

levels = st.integers(0, 3).map(float)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@settings(max_examples=80, deadline=None)
@given(
    shape=shapes,
    order=st.sampled_from("CF"),
    n_ties=st.integers(0, 3),
    data=st.data(),
)
def test_ranking_is_a_sort_by_score_then_ties_in_turn_then_index(shape, order, n_ties, data):
    size = int(np.prod(shape))
    draw = st.lists(levels, min_size=size, max_size=size)
    scores = np.reshape(data.draw(draw), shape)
    ties = [np.reshape(data.draw(draw), shape) for _ in range(n_ties)]
    weights = np.cumprod([1, *shape[:-1]]) if order == "F" else None

    def key(flat):
        index = np.unravel_index(flat, shape)
        position = flat if order == "C" else int(np.dot(index, weights))
        return (-scores[index], *(-tie[index] for tie in ties), position)

    expected = sorted(range(size), key=key)
    ranking = rank_features(scores, ties, order=order)
    assert ranking.dtype.kind == "i"
    assert_array_equal(ranking, expected)
    assert_array_equal(rank_features(scores, tuple(t.tolist() for t in ties), order), expected)
    if n_ties == 0:
        assert_array_equal(rank_features(scores, order=order), expected)
    if n_ties == 1:
        assert_array_equal(rank_features(scores, ties[0], order=order), expected)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float32])
def test_any_kind_of_real_number_has_its_order(dtype):
    scores = np.array([0, 1, 0, 1], dtype)
    ties = np.array([0, 0, 1, 1], dtype)
    assert_array_equal(rank_features(scores, ties), [3, 1, 2, 0])


def test_each_of_several_ties_is_checked():
    with pytest.raises(ValueError, match=r"ties has shape \(2, 2\), but scores has \(3,\)"):
        rank_features([1, 2, 3], ties=[[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="ties has NaN"):
        rank_features([1, 2], ties=[[1, 2], [3, np.nan]])


def test_column_major_order_matters_for_ties_only():
    scores = np.zeros((2, 3))
    assert_array_equal(rank_features(scores), [0, 1, 2, 3, 4, 5])
    assert_array_equal(rank_features(scores, order="F"), [0, 3, 1, 4, 2, 5])
    distinct = np.arange(6.0).reshape(2, 3)
    assert_array_equal(rank_features(distinct, order="F"), rank_features(distinct))


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1][::-1], np.ndarray.tolist])
def test_layout_in_memory_does_not_matter(layout):
    scores = np.array([[1.0, 3.0, 3.0], [0.0, 3.0, 2.0]])
    for order in "CF":
        ranking = rank_features(layout(scores), order=order)
        assert_array_equal(ranking, rank_features(scores, order=order))


def test_scores_are_not_modified():
    scores = np.array([2.0, 1.0, 2.0])
    scores.flags.writeable = False
    assert_array_equal(rank_features(scores, scores), [0, 2, 1])
