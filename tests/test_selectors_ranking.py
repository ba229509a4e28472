"""The order of features: by score, then by ties, then by index in either numbering."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tensift.selectors import rank_features

levels = st.integers(0, 3).map(float)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@settings(max_examples=80, deadline=None)
@given(shape=shapes, order=st.sampled_from("CF"), with_ties=st.booleans(), data=st.data())
def test_ranking_is_a_sort_by_score_then_ties_then_index(shape, order, with_ties, data):
    size = int(np.prod(shape))
    draw = st.lists(levels, min_size=size, max_size=size)
    scores = np.reshape(data.draw(draw), shape)
    ties = np.reshape(data.draw(draw), shape) if with_ties else None
    weights = np.cumprod([1, *shape[:-1]]) if order == "F" else None

    def key(flat):
        index = np.unravel_index(flat, shape)
        position = flat if order == "C" else int(np.dot(index, weights))
        return (-scores[index], -ties[index] if with_ties else 0, position)

    ranking = rank_features(scores, ties, order=order)
    assert ranking.dtype.kind == "i"
    assert_array_equal(ranking, sorted(range(size), key=key))


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
