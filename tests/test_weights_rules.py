"""Rules on samples with weights, by explicit loops over copies; which samples are kept."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift.metrics import (
    Judge,
    Reconstruction,
    alignment,
    judge_selections,
    neighbours_kept,
    redundancy,
)
from tensift.selection import ColumnSubsetOrder
from tensift.selection._agreement import agreement_of
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._halves import halves_of
from tensift.selection._linear_estimate import LinearEstimate
from tensift.selection._neighbours import neighbour_graph, target_of, whitened_components
from tensift.sources import EvenSubsample, KeptSamples, SampleWeights, _even_subsample, kept_samples

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3)) @ RNG.normal(size=(3, 8)) + 0.5 * RNG.normal(size=(25, 8))
W = RNG.integers(1, 4, 25).astype(float)
COPY = np.repeat(np.arange(25), W.astype(int))  # the sample that each copy is one of


# Geometry, in the space of all copies


def geometry_of_copies(graph_of_samples, components_of_samples):
    """``W``, ``D`` and ``T`` as matrices over copies, with no edge between copies of a sample."""
    edges = np.zeros((len(COPY), len(COPY)))
    for a, b in itertools.product(range(len(COPY)), repeat=2):
        edges[a, b] = graph_of_samples[COPY[a], COPY[b]]
    return edges, np.diag(edges.sum(axis=1))


def plain_graph(components):
    """The mean of nine graphs of nearest neighbours, by explicit loops, without weights."""
    total = np.zeros((25, 25))
    for count, number in itertools.product((20, 50, 100), (3, 5, 8)):
        few = components[:, :count]
        unit = few / np.linalg.norm(few, axis=1, keepdims=True)
        cosines = (unit.astype(np.float32) @ unit.astype(np.float32).T).astype(float)
        np.fill_diagonal(cosines, -np.inf)
        one = np.zeros((25, 25))
        for row in range(25):
            one[row, np.argsort(-cosines[row], kind="stable")[:number]] = 1
        total += np.maximum(one, one.T) / 9
    return total


def centred_copies():
    copies = X[COPY]
    return copies - copies.mean(axis=0)


def test_components_are_singular_vectors_of_all_copies():
    centred = X - np.average(X, axis=0, weights=W)
    components = whitened_components(np.sqrt(W)[:, None] * centred)
    left = np.linalg.svd(centred_copies(), full_matrices=False)[0][:, : components.shape[1]]
    of_copies = components[COPY] / np.sqrt(W)[COPY, None]
    assert_allclose(np.abs(np.sum(of_copies * left, axis=0)), 1, rtol=1e-9)


def test_agreement_by_loops_over_copies():
    shares = W / W.mean()
    centred = X - np.average(X, axis=0, weights=W)
    values = np.sqrt(shares)[:, None] * centred
    components = whitened_components(values)
    found = agreement_of(values, 1, neighbour_graph(components, shares), shares)
    edges, degrees = geometry_of_copies(plain_graph(components), components)
    copies = centred_copies()
    for j in range(8):
        own = copies[:, j] - (degrees.sum(axis=1) @ copies[:, j]) / degrees.sum()
        assert_allclose(found[j], (own @ edges @ own) / (own @ degrees @ own), rtol=1e-9)


def test_target_and_alignment_in_the_space_of_copies():
    geometry = Geometry(KeptSamples(X, W), None)
    spread = np.array([np.zeros(25)] * len(COPY))
    for row, sample in enumerate(COPY):  # copies of a sample have equal entries
        spread[row, sample] = 1 / np.sqrt(W[sample])
    components = geometry._components
    edges, degrees = geometry_of_copies(plain_graph(components), components)
    # The graph over copies, normalised, has the eigenvectors that the target is made of.
    root = np.diag(1 / np.sqrt(degrees.diagonal()))
    values = np.linalg.eigvalsh(root @ edges @ root)[::-1]
    shares = W / W.mean()
    small = neighbour_graph(components, shares).toarray()
    small_root = np.diag(1 / np.sqrt(small.sum(axis=1)))
    own = np.linalg.eigvalsh(small_root @ small @ small_root)[::-1]
    assert_allclose(values[:5], own[:5], atol=1e-9)
    target = target_of(components, neighbour_graph(components, shares))
    of_copies = spread @ target
    copies = centred_copies() / np.abs(X - np.average(X, axis=0, weights=W)).max()
    # ``a_j`` and ``b_ij`` up to the scale of values, which is the same for all.
    deviation = copies.std(axis=0)
    scaled = copies / np.sqrt(deviation)
    aligned = np.sum((of_copies.T @ scaled) ** 2, axis=0)
    assert_allclose(geometry.aligned / geometry.aligned[0], aligned / aligned[0], rtol=1e-9)
    products = (scaled.T @ scaled) ** 2
    squares = np.asarray(geometry.overlaps.squares)
    assert_allclose(squares / squares[0], np.diag(products) / products[0, 0], rtol=1e-9)
    order = np.arange(8)
    sums = [scaled[:, : k + 1] @ scaled[:, : k + 1].T for k in range(8)]
    whole = of_copies @ of_copies.T
    cosines = [np.sum(one * whole) / np.linalg.norm(one) / np.linalg.norm(whole) for one in sums]
    assert_allclose(geometry.alignment(order), cosines, rtol=1e-9)


def test_copies_are_no_neighbours():
    """Copies do not agree on noise, with or without weights."""
    noise = RNG.normal(size=(60, 20))
    alone = Geometry(noise, None)
    copied = Geometry(np.tile(noise, (3, 1)), None)
    assert_allclose(copied.agreement, alone.agreement, atol=1e-12)
    assert_array_equal(GeometryOrder(copied).extend(20), GeometryOrder(alone).extend(20))
    assert copied.effective_size == 60


def test_column_subsets_explain_the_energy_of_copies():
    weighted, copied = ColumnSubsetOrder(KeptSamples(X, W), None), ColumnSubsetOrder(X[COPY], None)
    assert_array_equal(weighted.extend(8), copied.extend(8))
    picks = weighted.extend(8)
    copies = centred_copies()
    for count, share in enumerate(weighted.curve, start=1):
        known = copies[:, picks[:count]]
        left = copies - known @ np.linalg.lstsq(known, copies, rcond=None)[0]
        assert_allclose(share, 1 - np.sum(left**2) / np.sum(copies**2), rtol=1e-9)


# Estimates


def test_estimates_are_weighted_ridge_regressions():
    known = np.array([0, 2, 5])
    weights = RNG.uniform(0.5, 2, 25)
    estimate = LinearEstimate(KeptSamples(X, weights), known)
    total = weights.sum() ** 2 / np.sum(weights**2)
    scaled = weights * total / weights.sum()
    mean = np.average(X, axis=0, weights=weights)
    Z, F = (X - mean)[:, known], X - mean
    gram = Z.T @ (scaled[:, None] * Z) + estimate.ridge * np.eye(3)
    coefficients = np.linalg.solve(gram, Z.T @ (scaled[:, None] * F))
    new = RNG.normal(size=(4, 3))
    found, deviation = estimate.of(new, return_std=True)
    expected = (new - mean[known]) @ coefficients + mean
    assert_allclose(np.delete(found, known, 1), np.delete(expected, known, 1), rtol=1e-8)
    # Deviations: of errors on samples that were left out, with all of their weight.
    squares = np.zeros(8)
    for i in range(25):
        others = np.arange(25) != i
        left = np.average(X[others], axis=0, weights=weights[others])
        own = X[others] - left
        part = own[:, known]
        matrix = part.T @ (scaled[others, None] * part) + estimate.ridge * np.eye(3)
        fit = np.linalg.solve(matrix, part.T @ (scaled[others, None] * own))
        here = X[i, known] - left[known]
        error = X[i] - left - here @ fit
        inflation = 1 + 1 / scaled[others].sum() + here @ np.linalg.solve(matrix, here)
        squares += scaled[i] * error**2 / inflation / total
    leverage = [1 / total + row @ np.linalg.solve(gram, row) for row in new - mean[known]]
    expected = np.sqrt(np.outer(1 + np.array(leverage), squares))
    assert_allclose(np.delete(deviation, known, 1), np.delete(expected, known, 1), rtol=1e-8)


def test_equal_weights_change_no_estimate():
    for noise in (None, np.array([0.1, 0.0, 0.3])):
        one, other = (
            LinearEstimate(kept, np.array([0, 2, 5]), noise)
            for kept in (KeptSamples(X, np.full(25, 5.0)), X)
        )
        for found, expected in zip(
            one.of(X[:, [0, 2, 5]], return_std=True),
            other.of(X[:, [0, 2, 5]], return_std=True),
            strict=True,
        ):
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# Measures


def test_measures_of_weighted_samples():
    features = np.array([1, 4, 6])
    copies = X[COPY]
    assert_allclose(
        redundancy(X, features, sample_weight=W), redundancy(copies, features), rtol=1e-12
    )
    judge, plain = Judge(X, None, W), Judge(X)
    assert judge.alignment(features) != plain.alignment(features)
    half = np.arange(25) < 13
    one = Reconstruction(X, features, None, W).missed(half.nonzero()[0], (~half).nonzero()[0])
    test = np.flatnonzero(~half[COPY])
    mean = np.average(X[half], axis=0, weights=W[half])
    total = np.sum((copies[test] / np.abs(X).max() - mean / np.abs(X).max()) ** 2)
    assert_allclose(one[1], total, rtol=1e-9)
    equal = judge_selections(X, [features], sample_weight=np.full(25, 3))
    assert_allclose(equal.neighbours_kept, [neighbours_kept(X, features, n_neighbors=6)])
    assert_allclose(Judge(X, None, np.ones(25)).alignment(features), alignment(X, features))


# Samples that are kept


@pytest.fixture
def few(monkeypatch):
    for name, count in (("_FEWEST", 1), ("_ENOUGH", 20), ("_MOST", 20)):
        monkeypatch.setattr(_even_subsample, name, count)


def expected_of(weights, most=20):
    """Which samples are kept, in exact arithmetic."""
    exact = [Fraction(float(w)) for w in weights]
    begins = [Fraction(0), *itertools.accumulate(exact)]
    if len(exact) <= most:
        return np.arange(len(exact)), np.asarray(weights, float)
    for power in range(-40, 40):
        spacing = Fraction(2) ** power
        kept = [
            k for k, w in enumerate(exact) if -(-begins[k] // spacing) * spacing < begins[k] + w
        ]
        if len(kept) <= most:
            return np.array(kept), np.maximum([float(exact[k]) for k in kept], float(spacing))
    raise AssertionError


@pytest.mark.usefixtures("few")
@given(st.lists(st.integers(1, 40), min_size=1, max_size=150), st.data())
@settings(max_examples=60, deadline=None)
def test_kept_samples_do_not_depend_on_chunks(values, data):
    weights = np.array(values) / 8
    rows = np.arange(len(weights), dtype=float)[:, None]
    index, mass = expected_of(weights)
    whole = kept_samples(rows, SampleWeights(weights))
    assert_array_equal(whole.rows[:, 0], index)
    assert_array_equal(whole.weights, mass)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(weights)), max_size=4)))
    streamed = EvenSubsample((1,))
    for start, stop in itertools.pairwise([0, *cuts, len(weights)]):
        if stop > start:
            streamed.add(rows[start:stop], SampleWeights(weights[start:stop]))
    assert_array_equal(streamed.kept().rows[:, 0], index)
    assert_array_equal(streamed.kept().weights, mass)


@pytest.mark.usefixtures("few")
def test_equal_weights_keep_evenly_spaced_samples():
    rows = np.arange(150.0)[:, None]
    for weight in (1.0, 0.1, 7.0):
        plain, weighted = EvenSubsample((1,)), EvenSubsample((1,))
        plain.add(rows)
        weighted.add(rows, SampleWeights(np.full(150, weight)))
        assert len(weighted.kept()) <= 20
        if weight == 1:
            assert_array_equal(weighted.rows(), plain.rows())
            assert_array_equal(weighted.kept().weights, np.full(19, 8))
    mixed = EvenSubsample((1,))
    mixed.add(rows[:70])
    mixed.add(rows[70:], SampleWeights(np.ones(80)))
    assert_array_equal(mixed.rows(), plain.rows())


@pytest.mark.usefixtures("few")
def test_heavy_samples_are_always_kept():
    weights = np.full(1000, 1e-3)
    weights[[5, 400, 731]] = 50
    kept = kept_samples(np.arange(1000.0)[:, None], SampleWeights(weights))
    assert {5, 400, 731} <= set(kept.rows[:, 0].astype(int).tolist())
    assert_array_equal(kept.weights[np.isin(kept.rows[:, 0], [5, 400, 731])], 50)


def test_subsamples_continue_from_their_state():
    weights = SampleWeights.of(W, np.arange(25) % 3)
    whole, first = EvenSubsample((8,)), EvenSubsample((8,))
    whole.add(X, weights)
    first.add(X[:10], weights.take(slice(0, 10)))
    second = EvenSubsample((8,))
    second.restore(first.state(), 10)
    second.add(X[10:], weights.take(slice(10, 25)))
    for name in ("rows", "weights", "groups"):
        assert_array_equal(getattr(second.kept(), name), getattr(whole.kept(), name))


def test_distinct_samples(library):
    rows = np.array([[1.0, 2], [3, 4], [1, 2], [2, 1], [3, 4], [1, 2]])
    given = KeptSamples(library.asarray(rows), np.arange(1.0, 7), np.array([0, 0, 0, 1, 1, 1]))
    found = given.distinct()
    assert_array_equal(library.numpy(found.rows), [[1, 2], [3, 4], [2, 1]])
    assert_array_equal(found.weights, [1 + 3 + 6, 2 + 5, 4])
    apart = given.distinct(across_groups=False)
    assert_array_equal(library.numpy(apart.rows), [[1, 2], [3, 4], [2, 1], [3, 4], [1, 2]])
    assert_array_equal(apart.weights, [1 + 3, 2, 4, 5, 6])
    assert_array_equal(apart.groups, [0, 0, 1, 1, 1])
    same = KeptSamples(library.asarray(rows[[0, 1, 3]]))
    assert same.distinct() is same


def test_halves_are_halves_of_groups():
    groups = np.repeat(np.arange(5), [30, 5, 20, 10, 8])
    kept = KeptSamples(RNG.normal(size=(73, 4)), np.ones(73), groups)
    halves = halves_of(kept)
    assert halves.of_groups
    assert len(halves.sides) == 2
    for number, side in enumerate(halves.sides):
        for group in range(5):
            assert len(np.unique(side[groups == group])) == 1
        one, other = halves.pair(number)
        assert not set(one.groups) & set(other.groups)
        assert len(one) + len(other) == 73
    assert not halves_of(kept.take(np.arange(32))).sides  # one half would have two samples
    alone = halves_of(KeptSamples(kept.rows, None, np.zeros(73, int)))
    assert not alone.of_groups
    assert len(alone.sides) == 2
