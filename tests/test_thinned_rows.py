"""The few samples that a selector may look at are the same ones however samples come."""

import pickle
from copy import copy

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tensift import STPCASelector, TensorPCA, collect_moments
from tensift.base import thinned
from tensift.sources import Chunks, _thinned
from tensift.sources._thinned import ThinnedSamples, most_rows, stride_of

N = 150
X = np.random.default_rng(0).normal(size=(N, 6, 5)) + 3


class Wanting(STPCASelector):
    """Asks for rows when it solves, and remembers them."""

    wanted = True

    def _wants_rows(self):
        return self.wanted

    def _solve(self, samples):
        self.seen = self._rows(samples)
        super()._solve(samples)


def wanting(**parameters):
    return Wanting(5, lam=10, eta=10, **parameters)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """At most 20 rows, so that small data are thinned."""
    monkeypatch.setattr(_thinned, "_FEWEST", 1)
    monkeypatch.setattr(_thinned, "_MOST", 20)


EXPECTED = X[::8]  # 150 / 8 are 19 rows; 150 / 4 would be 38


def rows_of(selector):
    _ = selector.scores_
    return selector.seen


def test_the_rule():
    for d in (1, 30, 10**4, 10**7):
        most = most_rows(d)
        for n in [*range(1, 100), 2048, 2049, 10**6]:
            stride = next(s for s in (2**k for k in range(40)) if -(-n // s) <= most)
            assert stride_of(n, d) == stride


@pytest.mark.parametrize(("d", "most"), [(1, 2048), (2048, 2048), (4096, 1024), (10**7, 32)])
def test_how_many_are_kept(monkeypatch, d, most):
    monkeypatch.undo()
    assert most_rows(d) == most


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.complex64, bool])
def test_rows_of_arrays_are_in_double_precision(dtype):
    samples = X.astype(dtype)
    found = thinned(samples)
    assert found.dtype == (np.complex128 if dtype == np.complex64 else np.float64)
    assert_array_equal(found, samples[::8])


def test_few_samples_are_not_copied():
    assert np.may_share_memory(thinned(X[:20]), X)


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(0, 60), min_size=1, max_size=12), as_rows=st.booleans())
def test_any_chunking_keeps_the_same(lengths, as_rows):
    samples = np.random.default_rng(1).normal(size=(sum(lengths), 3, 2)).astype(np.float32)
    kept = ThinnedSamples((3, 2))
    start = 0
    for length in lengths:
        chunk = samples[start : start + length].copy()
        kept.add(chunk.reshape(length, 6) if as_rows else chunk)
        chunk[...] = np.nan  # whoever gives chunks may use their memory again
        start += length
    assert kept.count == len(samples)
    if len(samples):
        assert_array_equal(kept.rows(), thinned(samples))


def test_fit_in_memory():
    assert_array_equal(wanting().fit(X).seen, EXPECTED)
