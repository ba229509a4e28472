"""Measures without labels against explicit loops, other programs and what must hold."""

import itertools
import math

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tensift.metrics import (
    reconstruction_error,
    redundancy,
    selection_agreement,
    selection_stability,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3, 4)) @ RNG.normal(size=(4, 4)) + 5


def plain_reconstruction_error(rows, kept, n_folds, seed):
    """scikit-learn's ridge at every weight, generalised cross-validation by hat matrices."""
    others = np.setdiff1d(np.arange(rows.shape[1]), kept)
    order = np.random.default_rng(seed).permutation(len(rows))
    missed = total = 0.0
    for test in np.array_split(order, n_folds):
        train = np.array([i for i in order if i not in test])
        A, Y = rows[train][:, kept], rows[train][:, others]
        centred = A - A.mean(axis=0)
        eigenvalues = np.linalg.eigvalsh(centred @ centred.T)
        mean_value = eigenvalues[eigenvalues > 1e-12 * eigenvalues.max()].mean()
        scored = []
        for share in 10.0 ** np.arange(-6, 4):
            weight = share * mean_value
            model = Ridge(alpha=weight).fit(A, Y)
            gram = centred.T @ centred + weight * np.eye(len(kept))
            hat = centred @ np.linalg.solve(gram, centred.T) + 1 / len(A)
            residual = Y - model.predict(A).reshape(Y.shape)
            error = np.sum(residual**2) / np.trace(np.eye(len(A)) - hat) ** 2
            scored.append((error, share, model))
        model = min(scored, key=lambda entry: entry[:2])[2]
        predicted = model.predict(rows[test][:, kept]).reshape(len(test), -1)
        missed += np.sum((rows[test][:, others] - predicted) ** 2)
        total += np.sum((rows[test] - rows[train].mean(axis=0)) ** 2)
    return missed / total


@pytest.mark.parametrize("kept", [[0], [3, 7, 1], list(range(11))])
@pytest.mark.parametrize("n_samples", [60, 8])
def test_reconstruction_error_is_ridge_regression(kept, n_samples):
    data = X[:n_samples]
    expected = plain_reconstruction_error(data.reshape(n_samples, -1), kept, 4, seed=3)
    found = reconstruction_error(data, kept, n_folds=4, random_state=3)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_reconstruction_error_of_mode_features_is_that_of_their_elements():
    elements = np.arange(12).reshape(3, 4)
    for mode, kept in ((0, [2, 0]), (1, [1, 3])):
        flat = np.take(elements, kept, axis=mode).ravel()
        np.testing.assert_allclose(
            reconstruction_error(X, kept, feature_mode=mode), reconstruction_error(X, flat)
        )
        assert reconstruction_error(X, kept, feature_mode=mode - 2) == reconstruction_error(
            X, kept, feature_mode=mode
        )


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e150])
def test_units_do_not_matter(factor):
    plain = reconstruction_error(X, [1, 5])
    np.testing.assert_allclose(reconstruction_error(X * factor, [1, 5]), plain, rtol=1e-9)
    np.testing.assert_allclose(
        redundancy(X * factor, [1, 5, 6]), redundancy(X, [1, 5, 6]), rtol=1e-9
    )


def test_reconstruction_error_at_its_ends():
    assert reconstruction_error(X, np.ones(12, bool)) == 0
    few = RNG.normal(size=(10, 300))  # more features than samples, all of them known
    assert reconstruction_error(few, np.arange(300)) == 0
    twice = np.concatenate([few[:, :3], 2 * few[:, :3]], axis=1)
    assert reconstruction_error(twice, [0, 1, 2], n_folds=2) < 1e-8
    constant_kept = few.copy()
    constant_kept[:, 0] = 4
    # The mean is all that is left; it is judged against itself.
    np.testing.assert_allclose(reconstruction_error(constant_kept, [0]), 1)
    noise = reconstruction_error(RNG.normal(size=(2000, 5)), [0])
    np.testing.assert_allclose(noise, 4 / 5, atol=0.02)


def test_many_kept_features_do_no_harm():
    """Near as many as samples, plain least squares would be off by far."""
    noise = RNG.normal(size=(100, 300))
    assert reconstruction_error(noise, np.arange(80), n_folds=5) < 1


def test_complex_numbers_count_as_two():
    data = X + 1j * X[::-1]
    real = np.concatenate([data.real.reshape(60, -1), data.imag.reshape(60, -1)], axis=1)
    np.testing.assert_allclose(
        reconstruction_error(data, [2, 5]), reconstruction_error(real, [2, 5, 14, 17])
    )


def plain_rv(A, B):
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    S = A.T @ B
    return np.trace(S @ S.T) / math.sqrt(np.trace(A.T @ A @ A.T @ A) * np.trace(B.T @ B @ B.T @ B))


def test_redundancy_is_the_mean_correlation():
    rows = X.reshape(60, -1)
    kept = [0, 3, 7, 10]
    pairs = [
        abs(np.corrcoef(rows[:, a], rows[:, b])[0, 1]) for a, b in itertools.combinations(kept, 2)
    ]
    np.testing.assert_allclose(redundancy(X, kept), np.mean(pairs))
    mask = np.isin(np.arange(12), kept)
    np.testing.assert_allclose(redundancy(X, mask), np.mean(pairs))


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("n_samples", [30, 5])
@pytest.mark.parametrize("imaginary", [False, True])
def test_redundancy_of_mode_features(mode, n_samples, imaginary):
    data = RNG.normal(size=(n_samples, 3, 4, 5))
    if imaginary:
        data = data + 1j * RNG.normal(size=data.shape)
    parts = [np.take(data, i, axis=mode + 1).reshape(n_samples, -1) for i in range(3)]
    if imaginary:
        parts = [np.concatenate([part.real, part.imag], axis=1) for part in parts]
    expected = np.mean([math.sqrt(plain_rv(a, b)) for a, b in itertools.combinations(parts, 2)])
    np.testing.assert_allclose(redundancy(data, [0, 1, 2], feature_mode=mode), expected)


def test_redundancy_leaves_out_what_does_not_vary():
    data = X.reshape(60, -1).copy()
    data[:, 4] = 0.1
    assert redundancy(data, [1, 4, 2]) == redundancy(data, [1, 2])
    assert math.isnan(redundancy(data, [1, 4]))
    assert math.isnan(redundancy(data, [1]))


def test_agreement_counts_what_is_shared():
    for _ in range(20):
        d = int(RNG.integers(3, 15))
        k, m = RNG.integers(1, d, size=2)
        a, b = RNG.permutation(d)[:k], RNG.permutation(d)[:m]
        shared = sum(1 for feature in a if feature in b)
        expected = (shared * d - k * m) / (min(k, m) * d - k * m)
        np.testing.assert_allclose(selection_agreement(a, b, d), expected, atol=1e-12)
        assert selection_agreement(a, b, d) == selection_agreement(b, a, d)
    assert selection_agreement([4, 2], [2, 4], 6) == 1
    np.testing.assert_allclose(selection_agreement([0, 1], [2, 3], 4), -1)
    assert math.isnan(selection_agreement([0, 1, 2], [1], 3))


def test_agreement_of_all_pairs_is_zero_on_average():
    """Exactly, over every possible selection."""
    every = list(itertools.combinations(range(6), 2))
    values = [selection_agreement(every[0], other, 6) for other in every]
    np.testing.assert_allclose(np.mean(values), 0, atol=1e-12)


def random_masks(n_selections, d, sizes):
    masks = np.zeros((n_selections, d), dtype=bool)
    for row in masks:
        row[RNG.permutation(d)[: RNG.choice(sizes)]] = True
    return masks


def plain_stability(masks):
    """The definition by explicit sums."""
    M, d = masks.shape
    k = masks.sum() / M
    above = 0.0
    for f in range(d):
        p = sum(masks[:, f]) / M
        above += M / (M - 1) * p * (1 - p) / d
    return 1 - above / (k / d * (1 - k / d))


def test_stability_by_its_definition():
    for sizes in ([3], [1, 2, 5, 7]):
        masks = random_masks(6, 9, sizes)
        np.testing.assert_allclose(selection_stability(masks).value, plain_stability(masks))


def test_stability_is_the_mean_agreement_of_pairs():
    masks = random_masks(5, 12, [4])
    pairs = [selection_agreement(a, b, 12) for a, b in itertools.combinations(masks, 2)]
    np.testing.assert_allclose(selection_stability(masks).value, np.mean(pairs))


def test_the_order_of_selections_and_features_does_not_matter():
    masks = random_masks(7, 10, [2, 3, 4])
    found = selection_stability(masks)
    again = selection_stability(masks[RNG.permutation(7)][:, RNG.permutation(10)])
    np.testing.assert_allclose(
        [found.value, found.variance, found.low, found.high],
        [again.value, again.variance, again.low, again.high],
    )


def test_stability_at_its_ends():
    same = np.tile(random_masks(1, 8, [3]), (4, 1))
    found = selection_stability(same)
    assert (found.value, found.variance, found.low, found.high) == (1, 0, 1, 1)
    drawn = [selection_stability(random_masks(5, 20, [6])).value for _ in range(400)]
    np.testing.assert_allclose(np.mean(drawn), 0, atol=0.02)
    for constant in (np.ones((3, 4), bool), np.zeros((3, 4), bool)):
        assert math.isnan(selection_stability(constant).value)


def test_the_variance_is_that_of_the_influences():
    """Of each selection on the estimate, by weighing it a little more; sizes differ widely."""
    masks = RNG.uniform(size=(3000, 10)) < np.r_[[0.95] * 3, [0.1] * 7]
    masks[:1000] |= RNG.uniform(size=(1000, 10)) < 0.7

    def weighted(weights):
        p = weights @ masks / weights.sum()
        k = p.mean()
        return 1 - np.mean(p * (1 - p)) / (k * (1 - k))

    def influence(mask):
        step = 1e-3 * len(masks)
        p = (masks.sum(axis=0) + step * mask) / (len(masks) + step)
        more = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
        return (more - weighted(np.ones(len(masks)))) / step * len(masks)

    expected = np.var([influence(mask) for mask in masks]) / len(masks)
    np.testing.assert_allclose(selection_stability(masks).variance, expected, rtol=0.02)


def test_the_variance_is_that_of_repetitions():
    """Selections whose sizes differ: the estimate moves as much as its variance says."""

    def draw():
        weights = np.linspace(0.05, 0.95, 12)
        return RNG.uniform(size=(60, 12)) < weights * RNG.choice([0.6, 1.0], size=(60, 1))

    found = [selection_stability(draw()) for _ in range(600)]
    observed = np.var([one.value for one in found])
    np.testing.assert_allclose(np.mean([one.variance for one in found]), observed, rtol=0.2)
    truth = np.mean([one.value for one in found])
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.9 < covered < 0.99
    narrow = selection_stability(draw(), confidence=0.5)
    np.testing.assert_allclose(
        (narrow.high - narrow.low) / 2, 0.6744898 * math.sqrt(narrow.variance), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reconstruction_error(np.where(X > 9, np.nan, X), [0]), "NaN"),
        (lambda: reconstruction_error(np.ones((5, 4)), [0]), "constant"),
        (lambda: reconstruction_error(X[:1], [0]), "n_folds"),
        (lambda: reconstruction_error(X, [0], n_folds=1), "n_folds"),
        (lambda: reconstruction_error(X, [12]), r"features must contain indices from 0 to 11"),
        (lambda: reconstruction_error(X, []), "at least one"),
        (lambda: reconstruction_error(X, [0], feature_mode=2), "feature_mode=2"),
        (lambda: redundancy(X, [3, 3]), "twice"),
        (lambda: redundancy(X, [3], feature_mode=0), "from 0 to 2"),
        (lambda: selection_agreement([0], [3], 3), "b must contain"),
        (lambda: selection_agreement([0], [0], 2.5), "n_features"),
        (lambda: selection_stability(np.ones((1, 3), bool)), "at least two"),
        (lambda: selection_stability(np.ones((2, 3))), "boolean"),
        (lambda: selection_stability(np.ones((2, 3), bool), confidence=1), "confidence"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
