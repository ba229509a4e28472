"""Measures without labels against explicit loops, and what must not change them."""

import inspect
import itertools

import numpy as np
import pytest

from tensift import GeometrySelector
from tensift.metrics import (
    SelectionJudgement,
    alignment,
    judge_selections,
    mean_ranks,
    neighbour_agreement,
    neighbours_kept,
)
from tensift.sources import even_subsample

RNG = np.random.default_rng(11)
GROUPS = np.arange(60) % 5
X = 2 * RNG.normal(size=(5, 3, 4))[GROUPS] + RNG.normal(size=(60, 3, 4)) @ RNG.normal(size=(4, 4))
KEPT = [[0], [3, 7, 1], [2, 4, 6, 9, 11], list(range(12))]
BOTH = [neighbours_kept, alignment]


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order():
    global RNG
    RNG = np.random.default_rng(12)


def faces(n_samples=80, n_features=150):
    """Fewer samples than features, and strong light of their own."""
    data = 2 * RNG.normal(size=(8, n_features))[np.arange(n_samples) % 8]
    data += RNG.normal(size=(n_samples, n_features)) + 5 * RNG.normal(size=(n_samples, 1))
    return data


def real_columns(data, features, mode):
    """The columns of every feature, real, one matrix for each."""
    found = []
    for feature in features:
        if mode is None:
            part = data.reshape(len(data), -1)[:, [feature]]
        else:
            part = np.take(data, feature, axis=mode + 1).reshape(len(data), -1)
        found.append(np.hstack([part.real, part.imag]) if np.iscomplexobj(part) else part)
    return found


def cosines(data):
    """Between the rows of the leading left singular vectors, pair by pair."""
    rows = data.reshape(len(data), -1)
    rows = np.hstack([rows.real, rows.imag])
    U, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    count = min(50, len(rows) // 4, np.count_nonzero(values > 1e-5 * values[0]))
    U = U[:, :count]
    found = np.zeros((len(U), len(U)))
    for a, b in np.ndindex(found.shape):
        found[a, b] = U[a] @ U[b] / np.sqrt((U[a] @ U[a]) * (U[b] @ U[b]))
    return found


def plain_neighbours_kept(data, features, count, mode=None):
    alike = cosines(data)
    rows = np.hstack(real_columns(data, features, mode))
    shares = []
    for a in range(len(rows)):
        others = [b for b in range(len(rows)) if b != a]
        true = sorted(others, key=lambda b, a=a: -alike[a, b])[:count]
        near = sorted(others, key=lambda b, a=a: np.linalg.norm(rows[a] - rows[b]))[:count]
        shares.append(len(set(true) & set(near)) / count)
    return np.mean(shares)


def plain_alignment(data, features, mode=None):
    T = cosines(data)
    n_features = data[0].size if mode is None else data.shape[mode + 1]
    columns = [c - c.mean(axis=0) for c in real_columns(data, range(n_features), mode)]
    deviations = [np.sqrt(np.sum(np.abs(c) ** 2) / len(c)) for c in columns]
    K = np.zeros_like(T)
    for j in features:
        if deviations[j] > 1e-3 * max(deviations):
            K += columns[j] @ columns[j].T / deviations[j]
    return np.sum(K * T) / np.sqrt(np.sum(K**2) * np.sum(T**2))


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("n_samples", [60, 13])
def test_neighbours_kept_by_its_definition(kept, n_samples):
    data = X[:n_samples]
    for count in (10, 3):
        found = neighbours_kept(data, kept, n_neighbors=count)
        np.testing.assert_allclose(found, plain_neighbours_kept(data, kept, count))
    assert neighbours_kept(data, kept) == neighbours_kept(data, kept, n_neighbors=10)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("n_samples", [60, 13])
def test_alignment_by_its_definition(kept, n_samples):
    data = X[:n_samples]
    np.testing.assert_allclose(alignment(data, kept), plain_alignment(data, kept))


def test_more_features_than_samples():
    data = faces()
    for kept in ([3, 100, 40, 41], list(range(90))):
        np.testing.assert_allclose(
            neighbours_kept(data, kept), plain_neighbours_kept(data, kept, 10)
        )
        np.testing.assert_allclose(alignment(data, kept), plain_alignment(data, kept))


@pytest.mark.parametrize("mode", [None, 0, 1, -1])
@pytest.mark.parametrize("imaginary", [False, True])
def test_modes_and_complex_numbers(mode, imaginary):
    data = X + 1j * RNG.normal(size=X.shape) if imaginary else X
    kept = [2, 0]
    plain_mode = 1 if mode == -1 else mode
    np.testing.assert_allclose(
        neighbours_kept(data, kept, feature_mode=mode),
        plain_neighbours_kept(data, kept, 10, plain_mode),
    )
    np.testing.assert_allclose(
        alignment(data, kept, feature_mode=mode), plain_alignment(data, kept, plain_mode)
    )


@pytest.mark.parametrize("measure", BOTH)
def test_order_of_samples_and_features_does_not_matter(measure):
    samples, features = RNG.permutation(60), RNG.permutation(12)
    rows = X.reshape(60, 12)
    plain = measure(rows, [1, 5, 6])
    np.testing.assert_allclose(measure(rows[samples], [1, 5, 6]), plain)
    np.testing.assert_allclose(measure(rows, [6, 1, 5]), plain)
    np.testing.assert_allclose(measure(rows, np.isin(np.arange(12), [1, 5, 6])), plain)
    moved = np.flatnonzero(np.isin(features, [1, 5, 6]))
    np.testing.assert_allclose(measure(rows[:, features], moved), plain)
    np.testing.assert_allclose(measure(rows.reshape(60, 2, 6), [1, 5, 6]), plain)


@pytest.mark.parametrize("measure", BOTH)
@pytest.mark.parametrize("factor", [-1.0, 1e-200, 1e-3, 1e150])
def test_a_common_factor_and_constants_do_not_matter(measure, factor):
    plain = measure(X, [1, 5, 6])
    np.testing.assert_allclose(measure(X * factor, [1, 5, 6]), plain)
    shift = 10 * RNG.normal(size=(3, 4))
    np.testing.assert_allclose(measure(X + shift, [1, 5, 6]), plain, rtol=1e-7)


@pytest.mark.parametrize("measure", BOTH)
def test_turning_the_columns_of_a_feature_does_not_matter(measure):
    """An orthogonal change inside mode features keeps distances, products and components."""
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    plain = measure(X, [0, 2], feature_mode=0)
    np.testing.assert_allclose(measure(X @ turn, [0, 2], feature_mode=0), plain)


@pytest.mark.parametrize("measure", BOTH)
def test_constant_features_change_nothing(measure):
    rows = np.hstack([X.reshape(60, 12), np.full((60, 2), 0.1)])
    np.testing.assert_allclose(measure(rows, [1, 5, 12]), measure(X, [1, 5]))


def test_features_that_say_nothing():
    constant = np.hstack([X.reshape(60, 12), np.full((60, 1), 3.0)])
    # All distances tie: exactly what chance gives.
    np.testing.assert_allclose(neighbours_kept(constant, [12]), 10 / 59)
    assert alignment(constant, [12]) == 0
    # Quiet noise beside 150 loud features is in none of the 50 components.
    rows = np.hstack([faces(200, 150), 1e-2 * RNG.normal(size=(200, 20))])
    noise = neighbours_kept(rows, np.arange(150, 170))
    np.testing.assert_allclose(noise, 10 / 199, atol=0.02)
    assert neighbours_kept(rows, np.arange(20)) > 3 * noise


def test_ties_are_shared():
    """The mean over all ways to break them: against every order of four equal samples."""
    rows = RNG.normal(size=(9, 6))
    rows[5:, :2] = rows[4, :2]  # five samples in one place
    found = neighbours_kept(rows, [0, 1], n_neighbors=2)
    plain = [
        plain_neighbours_kept(rows[order], [0, 1], 2)
        for order in (np.r_[:4, list(places)] for places in itertools.permutations(range(4, 9)))
    ]
    np.testing.assert_allclose(found, np.mean(plain))


def test_whole_numbers_with_many_ties_do_not_depend_on_the_order():
    rows = RNG.integers(0, 3, size=(120, 30)).astype(float)
    plain = neighbours_kept(rows, np.arange(6))
    for _ in range(5):
        shuffled = rows[RNG.permutation(120)]
        np.testing.assert_allclose(neighbours_kept(shuffled, np.arange(6)), plain)


def test_copies_of_a_feature_align_no_better():
    rows = X.reshape(60, 12)
    copied = np.hstack([rows, rows[:, [3]]])
    np.testing.assert_allclose(alignment(copied, [3, 12]), alignment(copied, [3]))
    assert alignment(copied, [3, 12]) < alignment(copied, [3, 7])


@pytest.mark.parametrize("measure", BOTH)
def test_many_samples_are_thinned_evenly(measure):
    rows = RNG.normal(size=(5000, 4)) @ RNG.normal(size=(4, 6))
    kept = even_subsample(rows)
    assert len(kept) == 1250
    assert measure(rows, [0, 3]) == measure(kept, [0, 3])


def test_truncated_components_are_those_of_the_whole_decomposition():
    """More than 1024 rows take another path."""
    groups = np.arange(1100) % 60
    data = 3 * RNG.normal(size=(60, 1200))[groups] + RNG.normal(size=(1100, 1200))
    U = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[0][:, :50]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    T = U @ U.T
    columns = data[:, :30] - data[:, :30].mean(axis=0)
    columns /= np.sqrt(columns.std(axis=0))
    K = columns @ columns.T
    expected = np.sum(K * T) / (np.linalg.norm(K) * np.linalg.norm(T))
    np.testing.assert_allclose(alignment(data, np.arange(30)), expected)


def plain_agreement(data, features):
    """Neighbours in one half of the features, loops over pairs in the other; two splits."""
    rows = data.reshape(len(data), -1)
    rank = np.argsort(np.argsort(-rows.std(axis=0)))
    agreement = np.zeros(rows.shape[1])
    for side in (rank % 2, (rank + rank // 2) % 2):
        for half in (0, 1):
            own, others = np.flatnonzero(side == half), np.flatnonzero(side != half)
            W = plain_graph(rows[:, others])
            D = W.sum(axis=1)
            for j in own:
                x = rows[:, j] - D @ rows[:, j] / D.sum()
                shared = sum(W[a, b] * x[a] * x[b] for a, b in np.ndindex(W.shape))
                agreement[j] += shared / (D @ x**2) / 2
    return np.mean(agreement[features])


def plain_graph(rows):
    """The mean of nine symmetric graphs: 20, 50 or 100 components, 3, 5 or 8 neighbours."""
    n = len(rows)
    U, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    U = U[:, values > 1e-5 * values[0]][:, : n // 4]
    total = np.zeros((n, n))
    for components in (20, 50, 100):
        unit = U[:, :components] / np.linalg.norm(U[:, :components], axis=1, keepdims=True)
        alike = unit @ unit.T
        for count in (3, 5, 8):
            graph = np.zeros((n, n))
            for a in range(n):
                others = [b for b in range(n) if b != a]
                graph[a, sorted(others, key=lambda b, a=a: -alike[a, b])[:count]] = 1
            total += np.maximum(graph, graph.T) / 9
    return total


@pytest.mark.parametrize("kept", KEPT)
def test_agreement_by_its_definition(kept):
    np.testing.assert_allclose(neighbour_agreement(X, kept), plain_agreement(X, kept))


def test_agreement_is_that_of_the_selector():
    for mode, kept in ((None, [5, 2]), (0, [2, 0]), (1, [3])):
        scores = GeometrySelector(1, feature_mode=mode).fit(X).scores_
        found = neighbour_agreement(X, kept, feature_mode=mode)
        np.testing.assert_allclose(found, np.ravel(scores)[kept].mean())


def test_what_does_not_change_agreement():
    rng = np.random.default_rng(5)
    rows, kept = X.reshape(60, 12), [1, 5, 6]
    plain = neighbour_agreement(rows, kept)
    np.testing.assert_allclose(neighbour_agreement(rows[rng.permutation(60)], kept), plain)
    order = rng.permutation(12)
    moved = np.flatnonzero(np.isin(order, kept))
    np.testing.assert_allclose(neighbour_agreement(rows[:, order], moved), plain)
    np.testing.assert_allclose(neighbour_agreement(rows, np.isin(np.arange(12), kept)), plain)
    for factor in (-1.0, 1e-200, 1e150):
        np.testing.assert_allclose(neighbour_agreement(rows * factor, kept), plain)
    shifted = rows + 10 * rng.normal(size=12)
    np.testing.assert_allclose(neighbour_agreement(shifted, kept), plain, rtol=1e-7)
    constant = np.hstack([rows, np.full((60, 1), 0.1)])
    assert neighbour_agreement(constant, [12]) == 0
    many = rng.normal(size=(5000, 4)) @ rng.normal(size=(4, 6))
    found = neighbour_agreement(many, [0, 3])
    assert found == neighbour_agreement(even_subsample(many), [0, 3])


def test_copies_agree_but_do_not_win():
    """Agreement alone would choose copies; with neighbours kept, it does not."""
    rows = X.reshape(60, 12)
    copied = np.hstack([rows, rows[:, [3, 3, 3]]])
    found = judge_selections(copied, [[3, 12, 13, 14], [3, 7, 1, 10]])
    assert found.neighbour_agreement[0] > found.neighbour_agreement[1]
    assert found.neighbours_kept[0] < found.neighbours_kept[1]


def test_nothing_takes_labels():
    for function in (*BOTH, neighbour_agreement, judge_selections):
        assert not {"labels", "y"} & set(inspect.signature(function).parameters)


def test_judge_ranks_by_both_measures():
    selections = [RNG.permutation(12)[:4] for _ in range(7)]
    found = judge_selections(X, selections)
    kept = [neighbours_kept(X, one) for one in selections]
    agreed = [neighbour_agreement(X, one) for one in selections]
    np.testing.assert_array_equal(found.neighbours_kept, kept)
    np.testing.assert_array_equal(found.neighbour_agreement, agreed)
    for place in range(7):
        ranks = [1 + sum(v > values[place] for v in values) for values in (kept, agreed)]
        assert found.ranks[place] == np.mean(ranks)
    assert found.ranks[found.best] == found.ranks.min()


def test_judge_of_modes_masks_and_few_samples():
    masks = [np.array([True, False, True]), np.array([False, True, True])]
    found = judge_selections(X[:20], masks, feature_mode=0)
    expected = [
        neighbours_kept(X[:20], one, feature_mode=0, n_neighbors=5) for one in ([0, 2], [1, 2])
    ]
    np.testing.assert_array_equal(found.neighbours_kept, expected)
    expected = [neighbour_agreement(X[:20], one, feature_mode=0) for one in ([0, 2], [1, 2])]
    np.testing.assert_array_equal(found.neighbour_agreement, expected)
    assert judge_selections(X[:2], [[0]]).ranks == [1]


def test_equal_ranks_are_decided_by_the_values():
    split = SelectionJudgement(np.array([0.4, 0.5]), np.array([0.9, 0.7]))
    np.testing.assert_array_equal(split.ranks, [1.5, 1.5])
    assert split.best == 0
    same = SelectionJudgement(np.array([0.4, 0.4]), np.array([0.9, 0.9]))
    assert same.best == 0


def test_mean_ranks_count_who_is_better():
    first, second = RNG.integers(0, 4, size=(2, 9))
    expected = np.zeros(9)
    for values in (first, second):
        for k in range(9):
            equal = np.sum(values == values[k])
            expected[k] += (np.sum(values > values[k]) + (equal + 1) / 2) / 2
    np.testing.assert_allclose(mean_ranks(first, second), expected)
    np.testing.assert_array_equal(mean_ranks([3, 1, 2]), [1, 3, 2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: neighbours_kept(np.where(X > 4, np.nan, X), [0]), "NaN"),
        (lambda: neighbours_kept(np.ma.masked_greater(X, 4), [0]), "masked values"),
        (lambda: neighbours_kept(np.ones((20, 4)), [0]), "constant"),
        (lambda: alignment(np.ones((20, 4)), [0]), "constant"),
        (lambda: alignment(X[:1], [0]), r"1 sample\(s\); neighbours need at least 2"),
        (lambda: neighbours_kept(X, [12]), "features must contain indices from 0 to 11"),
        (lambda: alignment(X, []), "features must contain at least one"),
        (lambda: alignment(X, [0, 0]), "twice"),
        (lambda: alignment(X, [0], feature_mode=2), "feature_mode=2"),
        (lambda: neighbours_kept(X, [0], n_neighbors=0), "n_neighbors.* from 1 to 59"),
        (lambda: neighbours_kept(X[:8], [0]), "n_neighbors.* from 1 to 7"),
        (lambda: neighbours_kept(X, [0], n_neighbors=2.5), "n_neighbors"),
        (lambda: judge_selections(X, []), "at least one selection"),
        (lambda: judge_selections(X, [[0], [12]]), r"selections\[1\] must contain indices"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
