"""Each metric against its definition, written out the slow way."""

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from tensift.datasets import fetch_paper
from tensift.metrics import (
    _checks,
    between_class_variance,
    clustering_accuracy,
    normalized_mutual_information,
    proportion_correct,
    silhouette_of_labels,
)

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("TENSIFT_DATA") or DEFAULT)


@pytest.fixture
def paper(monkeypatch):
    if not (FOLDER / "PIE.mat").is_file():
        pytest.skip(f"the paper's datasets are not in {FOLDER} (set TENSIFT_DATA)")
    monkeypatch.setenv("TENSIFT_DATA", str(FOLDER))
    return fetch_paper


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestAccuracy:
    @pytest.mark.parametrize(("n_classes", "n_clusters"), [(3, 3), (4, 2), (2, 5), (1, 3)])
    def test_is_the_best_of_all_matchings(self, rng, n_classes, n_clusters):
        for _ in range(20):
            true = rng.integers(n_classes, size=12)
            found = rng.integers(n_clusters, size=12)
            names = list(range(n_classes)) + [None] * n_clusters
            best = max(
                sum(match[c] == t for t, c in zip(true, found, strict=True))
                for match in set(itertools.permutations(names, n_clusters))
            )
            assert clustering_accuracy(true, found) == best / 12

    def test_any_labels(self):
        assert clustering_accuracy(["b", "b", "a"], [-7.5, -7.5, 100.0]) == 1.0
        assert clustering_accuracy([True, False], [1, 1]) == 0.5


class TestMutualInformation:
    def test_is_its_definition(self, rng):
        true, found = rng.integers(3, size=50), rng.integers(4, size=50)
        information = 0.0
        entropies = [0.0, 0.0]
        for a in range(3):
            for b in range(4):
                joint = np.mean((true == a) & (found == b))
                if joint:
                    independent = np.mean(true == a) * np.mean(found == b)
                    information += joint * math.log(joint / independent)
        for place, (labels, count) in enumerate(((true, 3), (found, 4))):
            for value in range(count):
                share = np.mean(labels == value)
                entropies[place] -= share * math.log(share)
        expected = information / math.sqrt(entropies[0] * entropies[1])
        assert normalized_mutual_information(true, found) == pytest.approx(expected, rel=1e-12)

    def test_one_cluster_says_nothing(self):
        assert normalized_mutual_information([0, 0, 1], [5, 5, 5]) == 0


def slow_silhouette(X, labels):
    rows = X.reshape(len(X), -1)
    values = []
    for i in range(len(rows)):
        to_class = {
            label: [
                np.sum(np.abs(rows[i] - rows[j]) ** 2)
                for j in range(len(rows))
                if labels[j] == label and j != i
            ]
            for label in set(labels)
        }
        own = to_class.pop(labels[i])
        within = sum(own) / len(own) if own else 0.0
        between = min(sum(others) / len(others) for others in to_class.values())
        values.append((between - within) / max(within, between))
    return sum(values) / len(values)


class TestSilhouette:
    @pytest.mark.parametrize("shape", [(30, 4), (25, 3, 5), (12, 2, 2, 2)])
    def test_is_its_definition(self, rng, shape):
        X = rng.normal(size=shape)
        labels = rng.integers(4, size=shape[0]).tolist()
        assert silhouette_of_labels(X, labels) == pytest.approx(slow_silhouette(X, labels))

    def test_complex(self, rng):
        X = rng.normal(size=(20, 6)) + 1j * rng.normal(size=(20, 6))
        labels = [0, 1] * 10
        assert silhouette_of_labels(X, labels) == pytest.approx(slow_silhouette(X, labels))

    def test_blocks_do_not_matter(self, rng, monkeypatch):
        X, labels = rng.normal(size=(50, 7)), rng.integers(3, size=50)
        whole = silhouette_of_labels(X, labels)
        monkeypatch.setattr(_checks, "_BLOCK_SIZE", 30)
        assert silhouette_of_labels(X, labels) == pytest.approx(whole, rel=1e-13)

    def test_a_large_offset_cancels(self, rng):
        X = rng.normal(size=(40, 5))
        labels = rng.integers(2, size=40)
        moved = silhouette_of_labels(X + 1e7, labels)
        assert moved == pytest.approx(silhouette_of_labels(X, labels), abs=1e-7)

    def test_near_clusters_beside_a_far_one(self):
        """Two pairs 1e-6 apart, seen from 1e6 away: the difference of squares would lose them."""
        X = np.array([[0.0], [1e-7], [1e-6], [1.1e-6], [1e6], [1e6 + 1]])
        labels = [0, 0, 1, 1, 2, 2]
        assert silhouette_of_labels(X, labels) == pytest.approx(
            slow_silhouette(X, labels), abs=1e-3
        )

    def test_agrees_with_scikit_learn_where_no_class_is_single(self, rng):
        X, labels = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
        expected = silhouette_score(X, labels, metric="sqeuclidean")
        assert silhouette_of_labels(X, labels) == pytest.approx(expected)

    def test_a_class_of_one_has_the_value_one(self):
        X = np.array([[0.0], [2.0], [10.0]])
        # Within 4 and 4; between 100 and 64; and 1 for the lone sample.
        expected = ((100 - 4) / 100 + (64 - 4) / 64 + 1) / 3
        assert silhouette_of_labels(X, [0, 0, 1]) == pytest.approx(expected)

    def test_coinciding_samples(self):
        assert silhouette_of_labels(np.ones((6, 3)), [0, 0, 0, 1, 1, 1]) == 0

    @pytest.mark.parametrize(
        ("name", "published"),
        [
            ("PIE", 0.0127),
            ("COIL20", 0.2105),
            ("JAFFE", -0.0518),
            ("BreastMNIST", 0.0220),
            ("Imm40", 0.0994),
        ],
    )
    def test_published_values_on_all_features(self, paper, name, published):
        dataset = paper(name)
        assert round(silhouette_of_labels(dataset.data, dataset.labels), 4) == published


def slow_variance(X, labels):
    values = np.zeros(X.shape[1:])
    classes = sorted(set(labels))
    for place in np.ndindex(*X.shape[1:]):
        column = [sample[place] for sample in X]
        mean = sum(column) / len(column)
        for value in classes:
            members = [c for c, label in zip(column, labels, strict=True) if label == value]
            values[place] += abs(sum(members) / len(members) - mean) ** 2
    return values / (len(classes) - 1)


class TestBetweenClassVariance:
    @pytest.mark.parametrize("shape", [(20, 6), (20, 3, 4), (20, 2, 3, 2)])
    def test_is_its_definition(self, rng, shape):
        X, labels = rng.normal(size=shape), list("abbcccdddd" * 2)
        np.testing.assert_allclose(
            between_class_variance(X, labels), slow_variance(X, labels), rtol=1e-10
        )

    def test_complex(self, rng):
        X = rng.normal(size=(9, 2, 3)) + 1j * rng.normal(size=(9, 2, 3))
        labels = [0, 1, 2] * 3
        np.testing.assert_allclose(
            between_class_variance(X, labels), slow_variance(X, labels), rtol=1e-10
        )

    def test_mode_features_sum_over_the_other_modes(self, rng):
        X, labels = rng.normal(size=(20, 3, 4, 2)), [0, 1] * 10
        whole = slow_variance(X, labels)
        for mode, others in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1)), (-1, (0, 1)), (-3, (1, 2))):
            np.testing.assert_allclose(
                between_class_variance(X, labels, feature_mode=mode), whole.sum(axis=others)
            )

    def test_a_large_offset_cancels(self, rng):
        X, labels = rng.normal(size=(30, 4)), [0, 1, 2] * 10
        np.testing.assert_allclose(
            between_class_variance(X + 1e8, labels), slow_variance(X, labels), rtol=1e-5
        )

    def test_small_integers_do_not_overflow(self):
        X = np.repeat(np.array([[0], [255]], dtype=np.uint8), 100, axis=0)
        assert between_class_variance(X, [0] * 100 + [1] * 100) == pytest.approx(255**2 / 2)

    def test_the_papers_informative_channels_are_the_largest(self, paper):
        """The authors' file lists, in order, the six ASCH channels of largest variance."""
        dataset = paper("ASCH")
        variance = between_class_variance(dataset.data, dataset.labels, feature_mode=0)
        assert np.argsort(-variance)[:6].tolist() == dataset.informative.tolist()


class TestProportionCorrect:
    def test_is_its_definition(self, rng):
        X, labels = rng.normal(size=(30, 4, 5)), rng.integers(3, size=30)
        variance = slow_variance(X, labels.tolist())
        best = set(np.argsort(-variance.ravel())[:7].tolist())
        for _ in range(10):
            selected = rng.permutation(20)[:7]
            expected = len(best & set(selected.tolist())) / 7
            assert proportion_correct(selected, X, labels) == pytest.approx(expected)
            mask = np.zeros((4, 5), dtype=bool)
            mask.flat[selected] = True
            assert proportion_correct(mask, X, labels) == pytest.approx(expected)

    def test_mode_features(self, rng):
        X, labels = rng.normal(size=(20, 3, 6)), [0, 1] * 10
        X[1::2, 1] += 3
        assert proportion_correct([1], X, labels, feature_mode=0) == 1
        assert proportion_correct([0], X, labels, feature_mode=0) == 0

    def test_ties_do_not_depend_on_the_order_of_features(self):
        X = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
        assert [proportion_correct([i], X, [0, 1]) for i in range(4)] == [1, 1, 1, 0]


X = np.zeros((4, 2, 3))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: clustering_accuracy([1, 2], [1]), "1 values for 2 samples"),
        (lambda: clustering_accuracy([], []), "one value per sample"),
        (lambda: normalized_mutual_information([[1]], [1]), "one value per sample"),
        (lambda: silhouette_of_labels(X, [0, 0, 0, 0]), "two classes"),
        (lambda: silhouette_of_labels(X, [0, 1]), "2 values for 4 samples"),
        (lambda: silhouette_of_labels(np.zeros(4), [0] * 4), "shape"),
        (lambda: silhouette_of_labels(X + np.nan, [0, 0, 1, 1]), "NaN"),
        (lambda: silhouette_of_labels(np.array([["a"]] * 4), [0, 0, 1, 1]), "must contain numbers"),
        (lambda: between_class_variance(X, [0] * 4), "two classes"),
        (lambda: between_class_variance(X, [0, 0, 1, 1], feature_mode=2), "feature_mode"),
        (lambda: between_class_variance(X, [0, 0, 1, 1], feature_mode=-5), "feature_mode=-5"),
        (lambda: proportion_correct([6], X, [0, 0, 1, 1]), "from 0 to 5"),
        (lambda: proportion_correct([1, 1], X, [0, 0, 1, 1]), "twice"),
        (lambda: proportion_correct([], X, [0, 0, 1, 1]), "at least one"),
        (lambda: proportion_correct([0.5], X, [0, 0, 1, 1]), "indices"),
        (lambda: proportion_correct([True], X, [0, 0, 1, 1]), "mask of 1"),
    ],
)
def test_refusals(call, match):
    with pytest.raises(ValueError, match=match):
        call()
