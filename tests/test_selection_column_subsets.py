"""Greedy column subset selection, against explicit least squares for every candidate set."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.selection import (
    ColumnSubsetOrder,
    _fibres,
    suggest_count_by_reconstruction,
)

RIDGE = 1e-2  # the share of the mean energy of an element that the docstring calls delta


def samples(n=20, shape=(4, 3), seed=0, is_complex=False):
    """Factors that several features share, noise, and features of different scale."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, size)) + rng.normal(size=(n, size))
    if is_complex:
        X = X + 1j * (rng.normal(size=(n, 2)) @ rng.normal(size=(2, size)))
    return (X * rng.uniform(0.3, 2, size) + rng.normal(size=size)).reshape(n, *shape)


def columns_of(X, mode):
    """One centred matrix (n, t) for each feature."""
    X = X - X.mean(axis=0)
    if mode is None:
        return [column[:, None] for column in X.reshape(len(X), -1).T]
    return [np.take(X, j, axis=mode + 1).reshape(len(X), -1) for j in range(X.shape[mode + 1])]


def explained(columns, chosen, ridge):
    """The energy that ridge regression explains: least squares with rows added for the ridge."""
    everything = np.hstack(columns)
    known = np.hstack([columns[j] for j in chosen])
    added = np.sqrt(ridge) * np.eye(known.shape[1])
    target = np.vstack([everything, np.zeros((known.shape[1], everything.shape[1]))])
    weights = np.linalg.lstsq(np.vstack([known, added]), target, rcond=None)[0]
    left = target - np.vstack([known, added]) @ weights
    return np.linalg.norm(everything) ** 2 - np.linalg.norm(left) ** 2


def picks_by_definition(X, mode, count, weights=None):
    columns = columns_of(X, mode)
    energies = [np.linalg.norm(c) ** 2 for c in columns]
    ridge = RIDGE * sum(energies) / np.hstack(columns).shape[1]
    picks, before = [], 0.0
    for _ in range(count):
        gains = np.full(len(columns), -np.inf)
        for j in range(len(columns)):
            if j not in picks:
                gains[j] = explained(columns, [*picks, j], ridge) - before
        merit = gains if weights is None else gains * np.where(np.isinf(gains), 1, weights)
        picks.append(int(np.argmax(merit)))
        before = explained(columns, picks, ridge)
    return picks


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("n", [20, 8])
@pytest.mark.parametrize("scored", [False, True])
def test_picks_maximise_what_is_explained(library, kind, mode, n, scored):
    """More samples than values and fewer, on every library."""
    X = samples(n, is_complex=kind == "complex")
    size = 12 if mode is None else X.shape[mode + 1]
    scores = np.random.default_rng(1).uniform(0.1, 4, size) if scored else None
    count = min(6, size)
    given = None if scores is None else library.asarray(scores)
    order = ColumnSubsetOrder(library.asarray(X), mode, given)
    weights = None if scores is None else np.sqrt(scores)
    expected = picks_by_definition(X, mode, count, weights)
    found = order.extend(count)
    assert type(found) is type(library.asarray(X))
    assert_array_equal(library.numpy(found), expected)
    ranking = library.numpy(order.ranking())
    assert_array_equal(ranking[:count], expected)
    assert_array_equal(np.sort(ranking), np.arange(size))
    columns = columns_of(X, mode)
    everything = np.hstack(columns)
    curve = library.numpy(order.curve)
    assert curve.shape == (count,)
    for k in range(1, count + 1):
        known = np.hstack([columns[j] for j in expected[:k]])
        left = everything - known @ np.linalg.lstsq(known, everything, rcond=None)[0]
        share = 1 - np.linalg.norm(left) ** 2 / np.linalg.norm(everything) ** 2
        assert_allclose(curve[k - 1], share, atol=1e-9)


@pytest.mark.parametrize("mode", [None, 0])
def test_others_are_ranked_by_what_they_would_add_next(mode):
    X = samples(30, (6, 2))
    order = ColumnSubsetOrder(X, mode)
    first = list(order.extend(2))
    columns = columns_of(X, mode)
    ridge = RIDGE * sum(np.linalg.norm(c) ** 2 for c in columns) / 12
    others = [j for j in range(len(columns)) if j not in first]
    gains = [explained(columns, [*first, j], ridge) for j in others]
    assert_array_equal(order.ranking()[2:], np.array(others)[np.argsort(gains)[::-1]])


def test_picks_are_nested_and_can_be_continued():
    X = samples(25)
    whole = ColumnSubsetOrder(X, None).extend(12)
    order = ColumnSubsetOrder(X, None)
    assert order.curve.shape == order.extend(0).shape == (0,)
    for count in (1, 4, 3, 12, 20):
        assert_array_equal(order.extend(count), whole[:count])
    assert_array_equal(order.ranking(), whole)
    F = X.reshape(len(X), -1) - X.reshape(len(X), -1).mean(axis=0)
    for t in range(1, 13):
        chosen = F[:, whole[:t]]
        rest = F - chosen @ np.linalg.lstsq(chosen, F)[0]
        assert_allclose(order.curve[t - 1], 1 - np.sum(rest**2) / np.sum(F**2), atol=1e-9)
    again = ColumnSubsetOrder(X, None)
    again.extend(5)
    assert_allclose(again.curve, order.curve[:5], atol=1e-12)


@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("n", [9, 40])
def test_invariances(mode, n):
    rng = np.random.default_rng(3)
    X = samples(n, (5, 4))
    size = 20 if mode is None else X.shape[mode + 1]
    expected = ColumnSubsetOrder(X, mode).extend(size)
    for changed in (
        X[rng.permutation(n)],
        1e-120 * X,
        1e80 * X,
        -3 * X,
        X + 100 * rng.normal(size=X.shape[1:]),
    ):
        assert_array_equal(ColumnSubsetOrder(changed, mode).extend(size), expected)
    if mode is None:
        moved = rng.permutation(20)
        permuted = X.reshape(n, 20)[:, moved]
    else:
        moved = rng.permutation(size)
        permuted = np.take(X, moved, axis=mode + 1)
    assert_array_equal(moved[ColumnSubsetOrder(permuted, mode).extend(size)], expected)


def test_equal_gains_go_to_the_smaller_index():
    rng = np.random.default_rng(0)
    block = rng.normal(size=(30, 4))
    order = ColumnSubsetOrder(np.hstack([block, block, block]), None)
    first = order.extend(4)
    assert set(first) == {0, 1, 2, 3}
    assert_allclose(order.curve[3], 1, atol=1e-12)


def test_copies_come_after_everything_else():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 6)) * [3, 3, 1, 1, 1, 1]
    X[:, 1] = X[:, 0]
    assert_array_equal(ColumnSubsetOrder(X, None).ranking()[:1], [0])
    order = ColumnSubsetOrder(X, None)
    assert 1 not in order.extend(5)


def test_features_that_hardly_vary_never_start_the_list():
    """Although one of them, in other units, would explain as much as the best."""
    rng = np.random.default_rng(2)
    X = samples(40, (10,))
    best = ColumnSubsetOrder(X, None).extend(1)[0]
    tiny = 1e-4 * X[:, [best]]
    faint = np.hstack([tiny, X, np.full((40, 1), 7.0)])
    order = ColumnSubsetOrder(faint, None).extend(12)
    assert order[0] == best + 1
    assert_array_equal(order[-2:], [0, 11])
    only_rounding = np.hstack([X, np.full((40, 1), 1e15) + rng.integers(0, 2, (40, 1))])
    assert ColumnSubsetOrder(only_rounding, None).extend(11)[-1] == 10


def test_features_without_a_score_come_after_those_with_one():
    X = samples(40, (10,))
    scores = np.array([0, 1, 0, 2, 0, 1, 1, 0, 0, 3.0])
    order = ColumnSubsetOrder(X, None, scores)
    found = order.extend(10)
    assert set(found[:5]) == {1, 3, 5, 6, 9}
    early = ColumnSubsetOrder(X, None, scores)
    early.extend(2)
    assert set(early.ranking()[:5]) == {1, 3, 5, 6, 9}
    shifted = ColumnSubsetOrder(X, None, np.where(scores == 0, -1, scores - 1))
    assert_array_equal(shifted.extend(5), found[:5])
    plain = ColumnSubsetOrder(X, None)
    assert_array_equal(ColumnSubsetOrder(X, None, np.zeros(10)).extend(10), plain.extend(10))
    with pytest.raises(ValueError, match="scores has 9 values, but there are 10 features"):
        ColumnSubsetOrder(X, None, scores[:9])


@pytest.mark.parametrize("n", [20, 200])
def test_long_fibres_are_seen_through_their_leading_components(n, monkeypatch):
    """With as many components as values nothing changes; with few, little."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 6 * 30)) + 0.05 * rng.normal(size=(n, 180))
    X = X.reshape(n, 6, 30) * np.array([1, 2, 3, 1, 2, 3])[:, None]
    whole = ColumnSubsetOrder(X, 0)
    first = whole.extend(2)
    monkeypatch.setattr(_fibres, "_WIDEST", 29)
    nearly = ColumnSubsetOrder(X, 0)
    assert_array_equal(nearly.extend(2), first)
    assert_allclose(nearly.curve, whole.curve, atol=1e-2)
    monkeypatch.setattr(_fibres, "_WIDEST", 8)
    few = ColumnSubsetOrder(X, 0)
    few.extend(2)
    # The leading components hold nearly all of the energy; what they leave is not counted.
    assert 0.9 < few.curve[1] <= whole.curve[1] + 1e-12


def test_one_fibre_explains_everything_where_it_is_longer_than_samples():
    order = ColumnSubsetOrder(samples(4, (3, 6)), 0)
    assert_array_equal(np.sort(order.extend(3)), np.arange(3))
    assert_allclose(order.curve, 1, atol=1e-12)


def test_no_array_is_moved_to_the_host_for_a_pick(library):
    """Picks are arrays of the library, and the loop asks for none of their values."""
    order = ColumnSubsetOrder(library.asarray(samples()), None)
    kind = type(library.asarray(np.zeros(1)))

    def forbidden(*_):
        raise AssertionError("a value was asked for")

    with pytest.MonkeyPatch.context() as patch:
        if library.name == "array_api_strict":
            for name in ("__bool__", "__int__", "__float__", "__index__", "__array__"):
                patch.setattr(kind, name, forbidden, raising=False)
        elif library.name == "torch":
            for name in ("item", "tolist", "numpy", "__bool__", "__int__", "__float__"):
                patch.setattr(kind, name, forbidden)
        picks = order.extend(5)
        curve = order.curve
    assert_array_equal(library.numpy(picks), ColumnSubsetOrder(samples(), None).extend(5))
    assert library.numpy(curve).shape == (5,)


@pytest.mark.parametrize("mode", [None, 0])
def test_exchanges_are_the_same_on_every_library(library, mode):
    """They explain what explicit regressions explain, at least as much as the greedy picks."""
    X = samples(20, (8, 2), seed=6)
    columns = columns_of(X, mode)
    ridge = RIDGE * sum(np.linalg.norm(c) ** 2 for c in columns) / 16
    order = ColumnSubsetOrder(library.asarray(X), mode)
    before = library.numpy(order.extend(4))
    after = library.numpy(order.exchanged(4, 50))
    assert len(set(after)) == 4
    assert explained(columns, after, ridge) >= explained(columns, before, ridge) * (1 - 1e-9)
    assert_array_equal(after, ColumnSubsetOrder(X, mode).exchanged(4, 50))
    assert_array_equal(before, ColumnSubsetOrder(X, mode).exchanged(4, 0))
    further = ColumnSubsetOrder(X, mode)
    further.extend(6)
    assert_array_equal(further.exchanged(4, 50), after)


def test_gains_are_what_regressions_explain_in_addition(library):
    X = samples(20)
    columns = columns_of(X, None)
    energy = sum(np.linalg.norm(c) ** 2 for c in columns)
    order = ColumnSubsetOrder(library.asarray(X), None)
    assert order.gains.shape == (0,)
    picks = library.numpy(order.extend(5))
    totals = [explained(columns, picks[:k], RIDGE * energy / 12) for k in range(1, 6)]
    gains = np.diff([0, *totals]) / energy
    assert_allclose(library.numpy(order.gains), gains, rtol=1e-8)
    following = library.numpy(order.next_gains)
    for j in set(range(12)) - set(picks):
        more = explained(columns, [*picks, j], RIDGE * energy / 12)
        assert_allclose(following[j], (more - totals[-1]) / energy, rtol=1e-7)


# How many


def test_the_suggested_count_is_judged_on_held_out_samples(library):
    """The curve equals ridge regressions on the other half, written out."""
    X = samples(41, (7,), seed=5)
    found = suggest_count_by_reconstruction(library.asarray(X))
    curves = []
    for known, new in ((X[::2], X[1::2]), (X[1::2], X[::2])):
        mean = known.mean(axis=0)
        known, new = known - mean, new - mean
        ridge = RIDGE * np.sum(known**2) / 7
        picks = picks_by_definition(known, None, 7)
        curve = []
        for k in range(1, 8):
            A = known[:, picks[:k]]
            weights = np.linalg.solve(A.T @ A + ridge * np.eye(k), A.T @ known)
            missed = np.sum((new - new[:, picks[:k]] @ weights) ** 2)
            curve.append(1 - missed / np.sum(new**2))
        curves.append(curve)
    assert_allclose(found.curve, np.mean(curves, axis=0), atol=1e-9)
    assert_allclose(found.spread, np.abs(np.subtract(*curves)) / 2, atol=1e-9)
    mean = np.mean(curves, axis=0)
    assert found.count == np.flatnonzero(mean >= 0.98 * mean.max())[0] + 1
    assert (found.n_structured, found.n_features) == (7, 7)
    assert f"the first {found.count} of 7 features" in found.reason


@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n", [18, 60])
def test_the_held_out_curve_of_fibres_and_complex_values(library, mode, is_complex, n):
    X = samples(n, (4, 3), seed=2, is_complex=is_complex)
    found = suggest_count_by_reconstruction(library.asarray(X), mode)
    count = len(found.curve)
    elements = np.arange(12).reshape(4, 3)
    curves = []
    for known, new in ((X[::2], X[1::2]), (X[1::2], X[::2])):
        mean = known.mean(axis=0)
        known, new = (known - mean).reshape(-1, 12), (new - mean).reshape(-1, 12)
        ridge = RIDGE * np.linalg.norm(known) ** 2 / 12
        picks = picks_by_definition(known.reshape(-1, 4, 3), mode, count)
        curve = []
        for k in range(1, count + 1):
            parts = [
                [pick] if mode is None else np.take(elements, pick, axis=mode) for pick in picks[:k]
            ]
            A, B = (values[:, np.concatenate(parts)] for values in (known, new))
            inner = A.conj().T @ A + ridge * np.eye(A.shape[1])
            missed = new - B @ np.linalg.solve(inner, A.conj().T @ known)
            curve.append(1 - np.linalg.norm(missed) ** 2 / np.linalg.norm(new) ** 2)
        curves.append(curve)
    assert_allclose(found.curve, np.mean(curves, axis=0), atol=1e-9)
    assert_allclose(found.spread, np.abs(np.subtract(*curves)) / 2, atol=1e-9)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("factors", [2, 5])
def test_planted_factors_are_counted(n, factors):
    rng = np.random.default_rng(factors)
    X = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, 100))
    X = X + 0.05 * rng.normal(size=X.shape)
    assert suggest_count_by_reconstruction(X).count == factors


def test_mode_features_are_counted_too():
    rng = np.random.default_rng(0)
    sources = rng.normal(size=(200, 2, 5))
    X = np.einsum("cs,nst->nct", rng.normal(size=(12, 2)), sources)
    found = suggest_count_by_reconstruction(X + 0.02 * rng.normal(size=X.shape), 0)
    assert found.count == 2
    assert found.n_features == 12
    long = np.einsum("cs,nst->nct", rng.normal(size=(6, 2)), rng.normal(size=(200, 2, 70)))
    assert suggest_count_by_reconstruction(long, 0).curve.max() < 1


def test_no_more_features_are_tried_once_all_is_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 100))
    found = suggest_count_by_reconstruction(X + 1e-4 * rng.normal(size=X.shape))
    assert found.count <= 5
    assert len(found.curve) == 16  # one block
    noisy = suggest_count_by_reconstruction(X + 0.3 * rng.normal(size=X.shape))
    assert len(noisy.curve) == 100


def test_independent_features_are_nearly_all_needed():
    X = np.random.default_rng(0).normal(size=(400, 30))
    assert suggest_count_by_reconstruction(X).count >= 28


@pytest.mark.parametrize("n", [2, 3, 9, 17])
@pytest.mark.parametrize("mode", [None, 0])
def test_few_samples_and_constants_give_a_number_too(n, mode):
    X = np.random.default_rng(0).normal(size=(n, 4, 3)).cumsum(axis=1)
    found = suggest_count_by_reconstruction(X, mode)
    assert 1 <= found.count <= found.n_features == (12 if mode is None else 4)
    constant = suggest_count_by_reconstruction(np.ones((n, 4, 3)), mode)
    assert (constant.count, constant.n_structured) == (1, 0)
    assert "no feature varies" in constant.reason
