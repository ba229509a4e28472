"""The evaluation protocol: seeding, averaging, restriction to features, odd data."""

import csv
import io
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info

from tensift.datasets import fetch_paper
from tensift.metrics import evaluate_selection, proportion_correct, silhouette_of_labels
from tensift.metrics._kmeans import cluster_once, plain_seeds

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("TENSIFT_DATA") or DEFAULT)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def blobs(rng, n_classes, each, n_noise=0):
    """Well separated classes in two features, then features of noise."""
    centres = 20 * np.stack(np.divmod(np.arange(n_classes), 7), axis=1)
    labels = np.repeat(np.arange(n_classes), each)
    good = centres[labels] + rng.normal(size=(len(labels), 2))
    return np.hstack([good, 40 * rng.normal(size=(len(labels), n_noise))]), labels


class TestPlainSeeds:
    def test_next_centre_is_drawn_by_squared_distance(self):
        rows = np.array([[0.0], [1.0], [3.0]])
        expected = np.zeros((3, 3))
        for first in range(3):
            squares = (rows[:, 0] - rows[first, 0]) ** 2
            expected[first] = squares / squares.sum() / 3
        rng = np.random.default_rng(1)
        drawn = np.zeros((3, 3))
        n_draws = 6000
        for _ in range(n_draws):
            first, second = plain_seeds(rows, 2, rng)
            drawn[
                int(first[0] > 0) + int(first[0] > 2), int(second[0] > 0) + int(second[0] > 2)
            ] += 1
        deviation = np.sqrt(expected * (1 - expected) / n_draws)
        assert np.all(np.abs(drawn / n_draws - expected) <= 4.5 * deviation)

    def test_centres_are_different_samples(self, rng):
        rows = rng.normal(size=(30, 4))
        centres = plain_seeds(rows, 30, np.random.default_rng(0))
        assert sorted(map(tuple, centres)) == sorted(map(tuple, rows))

    def test_fewer_centres_than_clusters_where_samples_coincide(self):
        rows = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
        centres = plain_seeds(rows, 6, np.random.default_rng(0))
        assert sorted(map(tuple, centres)) == [(0.0, 1.0), (5.0, 5.0)]

    def test_clusters_are_a_fixed_point_of_lloyds_iteration(self, rng):
        rows = rng.normal(size=(80, 3))
        labels = cluster_once(rows, 5, "k-means++", 3)
        means = np.stack([rows[labels == k].mean(axis=0) for k in range(5)])
        np.testing.assert_array_equal(cdist(rows, means).argmin(axis=1), labels)


class TestEvaluation:
    def test_good_features_first(self, rng):
        X, labels = blobs(rng, 3, 20, n_noise=10)
        scores = evaluate_selection(
            X, labels, np.arange(12), counts=[2, 12], n_repeats=8, metrics=("acc", "nmi")
        )
        assert scores.best("acc")[0] == 2
        assert scores.means["acc"][0] > 0.85
        assert scores.means["acc"][1] < 0.75
        assert np.all(scores.stds["acc"] >= 0)

    def test_metrics_without_clustering_are_the_functions_own(self, rng):
        X, labels = rng.normal(size=(40, 4, 5)), rng.integers(3, size=40)
        ranking = rng.permutation(20)
        scores = evaluate_selection(
            X, labels, ranking, counts=(3, 11), metrics=("silhouette", "poc")
        )
        flat = X.reshape(40, 20)
        for place, count in enumerate((3, 11)):
            first = ranking[:count]
            assert scores.means["silhouette"][place] == pytest.approx(
                silhouette_of_labels(flat[:, first], labels)
            )
            assert scores.means["poc"][place] == proportion_correct(first, X, labels)
        assert scores.stds == {}

    @pytest.mark.parametrize("mode", [0, 1])
    def test_mode_features_are_whole_slices(self, rng, mode):
        labels = np.repeat([0, 1], 15)
        X = rng.normal(size=(30, 4, 5))
        np.moveaxis(X, mode + 1, 1)[15:, 2] += 100
        good, bad = (
            evaluate_selection(
                X, labels, [channel], n_repeats=3, feature_mode=mode, metrics=("acc", "silhouette")
            )
            for channel in (2, 1)
        )
        assert good.counts == (1,)
        assert good.means["acc"][0] == 1
        assert bad.means["acc"][0] < 0.9
        assert good.means["silhouette"][0] == pytest.approx(
            silhouette_of_labels(np.take(X, [2], axis=mode + 1), labels)
        )

    def test_same_seed_same_numbers_and_counts_do_not_interact(self, rng):
        X, labels = rng.normal(size=(60, 30)), rng.integers(4, size=60)
        ranking = rng.permutation(30)
        both = evaluate_selection(X, labels, ranking, counts=[5, 20], n_repeats=4)
        again = evaluate_selection(X, labels, ranking, counts=[5, 20], n_repeats=4)
        alone = evaluate_selection(X, labels, ranking, counts=[20], n_repeats=4)
        other = evaluate_selection(X, labels, ranking, counts=[20], n_repeats=4, random_state=1)
        for metric in ("acc", "nmi", "silhouette"):
            np.testing.assert_array_equal(both.means[metric], again.means[metric])
            assert both.means[metric][1] == alone.means[metric][0]
        assert other.means["nmi"][0] != alone.means["nmi"][0]

    def test_mean_and_spread_are_over_the_repeats(self, rng):
        """Two repeats with a known first one give the second, and with it the spread."""
        X, labels = rng.normal(size=(50, 6)), rng.integers(3, size=50)
        one, two = (
            evaluate_selection(X, labels, range(6), n_repeats=repeats, metrics=("acc",))
            for repeats in (1, 2)
        )
        first = one.means["acc"][0]
        second = 2 * two.means["acc"][0] - first
        assert one.stds["acc"][0] == 0
        assert two.stds["acc"][0] == pytest.approx(abs(first - second) / 2, abs=1e-12)
        # Accuracies are multiples of 1/50.
        assert second * 50 == pytest.approx(round(second * 50))

    def test_a_mask_is_scored_whole(self, rng):
        X, labels = rng.normal(size=(20, 8, 10)), [0, 1] * 10
        mask = rng.random((8, 10)) < 0.8
        scores = evaluate_selection(X, labels, mask, metrics=("silhouette",))
        assert scores.counts == (mask.sum(),)
        assert scores.means["silhouette"][0] == pytest.approx(
            silhouette_of_labels(X[:, mask], labels)
        )

    @pytest.mark.parametrize(
        ("n_features", "counts"),
        [(20, (20,)), (120, (50, 100)), (400, (50, 100, 150, 200, 250, 300))],
    )
    def test_default_counts(self, rng, n_features, counts):
        X = rng.normal(size=(6, n_features))
        scores = evaluate_selection(
            X, [0, 0, 0, 1, 1, 1], range(n_features), metrics=("silhouette",)
        )
        assert scores.counts == counts

    @pytest.mark.parametrize("seeding", ["k-means++", "greedy"])
    def test_collapsed_features_need_no_warning(self, seeding):
        X, labels = np.ones((12, 3)), np.repeat([0, 1, 2], [6, 4, 2])
        scores = evaluate_selection(X, labels, [0, 1], n_repeats=3, seeding=seeding)
        # One cluster: the best match is the largest class.
        assert scores.means["acc"][0] == 0.5
        assert scores.means["nmi"][0] == 0
        X[6:] = 2
        scores = evaluate_selection(X, labels, [0, 1], n_repeats=3, seeding=seeding)
        assert scores.means["acc"][0] == pytest.approx(10 / 12)

    def test_greedy_seeding_finds_many_clusters_more_often(self, rng):
        X, labels = blobs(rng, 30, 8)
        plain, greedy = (
            evaluate_selection(X, labels, [0, 1], n_repeats=10, seeding=seeding, metrics=("acc",))
            for seeding in ("k-means++", "greedy")
        )
        assert plain.means["acc"][0] < greedy.means["acc"][0] - 0.02

    def test_another_number_of_clusters(self, rng):
        X, labels = blobs(rng, 4, 10)
        scores = evaluate_selection(X, labels, [0, 1], n_clusters=1, n_repeats=2, metrics=("acc",))
        assert scores.means["acc"][0] == 0.25

    def test_complex_data(self, rng):
        X, labels = blobs(rng, 2, 20)
        signal = X[:, :1] + 1j * X[:, 1:]
        real, imaginary = (
            evaluate_selection(data, labels, range(data.shape[1]), n_repeats=3)
            for data in (X, signal)
        )
        assert real.means["acc"][0] == imaginary.means["acc"][0] == 1
        assert real.means["silhouette"][0] == pytest.approx(imaginary.means["silhouette"][0])

    def test_threads_are_given_back(self, rng):
        before = [pool["num_threads"] for pool in threadpool_info()]
        evaluate_selection(rng.normal(size=(10, 4)), [0, 1] * 5, [0, 1], n_repeats=1)
        assert [pool["num_threads"] for pool in threadpool_info()] == before

    def test_rows_make_a_csv(self, rng):
        X, labels = rng.normal(size=(20, 9)), [0, 1] * 10
        scores = evaluate_selection(X, labels, range(9), counts=[2, 4], n_repeats=2)
        rows = scores.to_rows()
        stream = io.StringIO()
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        header, first, _ = stream.getvalue().splitlines()
        assert header == "n_features,acc,acc_std,nmi,nmi_std,silhouette"
        assert float(first.split(",")[1]) == scores.means["acc"][0]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"counts": [7]}, "from 1 to 6"),
        ({"counts": [0]}, "from 1 to 6"),
        ({"counts": [1.5]}, "integers"),
        ({"counts": []}, "at least one"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 5}, "n_clusters"),
        ({"seeding": "random"}, "seeding"),
        ({"metrics": ("acc", "f1")}, "metrics"),
        ({"metrics": "acc"}, "metrics"),
        ({"metrics": ()}, "metrics"),
        ({"feature_mode": 2}, "feature_mode"),
        ({"ranking_or_support": [6]}, "from 0 to 5"),
        ({"ranking_or_support": [1, 1]}, "twice"),
        ({"labels": [0, 1]}, "2 values for 4"),
        ({"X": np.full((4, 2, 3), np.inf)}, "infinity"),
    ],
)
def test_refusals(options, match):
    arguments = {"X": np.eye(4, 6).reshape(4, 2, 3), "labels": [0, 0, 1, 1]}
    arguments |= {"ranking_or_support": range(6)} | options
    with pytest.raises(ValueError, match=match):
        evaluate_selection(**arguments)


def test_best_of_an_unknown_metric():
    scores = evaluate_selection(np.eye(4), [0, 0, 1, 1], range(4), metrics=("silhouette",))
    with pytest.raises(ValueError, match="silhouette"):
        scores.best("acc")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "accuracy"), [("Imm40", 0.4843), ("JAFFE", 0.2016), ("BreastMNIST", 0.5825)]
)
def test_published_accuracies_on_all_features(monkeypatch, name, accuracy):
    """The paper's baseline rows, within what twenty seeds scatter."""
    if not (FOLDER / f"{name}.mat").is_file():
        pytest.skip(f"the paper's datasets are not in {FOLDER} (set TENSIFT_DATA)")
    monkeypatch.setenv("TENSIFT_DATA", str(FOLDER))
    dataset = fetch_paper(name)
    X = dataset.data / np.abs(dataset.data).max()
    n_features = X[0].size
    scores = evaluate_selection(
        X, dataset.labels, range(n_features), counts=[n_features], n_repeats=20, metrics=("acc",)
    )
    assert scores.means["acc"][0] == pytest.approx(accuracy, abs=0.025)
