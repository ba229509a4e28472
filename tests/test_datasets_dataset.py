"""The container: what it accepts, what it refuses, what it says of itself."""

import dataclasses

import numpy as np
import pytest

from tensift.datasets import TensorDataset, load_digits

DATA = np.zeros((4, 2, 3))


def test_fields_are_normalised():
    dataset = TensorDataset(
        DATA.tolist(),
        labels=[[1], [1], [2], [2]],
        feature_mode=1,
        informative=[0, 2],
        dims=["a", "b"],
        coords={"b": range(3)},
    )
    assert dataset.data.shape == (4, 2, 3)
    assert dataset.labels.shape == (4,)
    assert dataset.n_classes == 2
    assert dataset.dims == ("a", "b")
    assert isinstance(dataset.coords["b"], np.ndarray)
    assert dataset.informative.dtype == np.intp


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TensorDataset(DATA).name = "other"


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"data": np.zeros(3)}, r"got shape \(3,\)"),
        ({"data": np.array([["a", "b"]])}, "must be numbers"),
        ({"data": np.array([[None, 1]])}, "must be numbers"),
        ({"labels": [1, 2, 3]}, "each of the 4 samples"),
        ({"feature_mode": 2}, r"0\.\.1"),
        ({"feature_mode": -1}, r"0\.\.1"),
        ({"informative": [6]}, r"0\.\.5"),
        ({"informative": [2], "feature_mode": 0}, r"0\.\.1"),
        ({"informative": [0.5]}, "indices"),
        ({"dims": ["a"]}, "each of the 2"),
        ({"dims": ["a", "a"]}, "once"),
        ({"coords": {"a": [1, 2]}}, "not in dims"),
        ({"dims": ["a", "b"], "coords": {"a": [1]}}, "each of the 2 indices"),
        ({"dims": ["a", "b"], "units": {"c": "nm"}}, "units names the mode 'c'"),
    ],
)
def test_refusals(fields, match):
    with pytest.raises(ValueError, match=match):
        TensorDataset(**{"data": DATA, **fields})


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits as reference

    digits, expected = load_digits(), reference()
    np.testing.assert_array_equal(digits.data.reshape(1797, 64), expected.data)
    np.testing.assert_array_equal(digits.labels, expected.target)
    assert digits.dims == ("row", "column")


class TestStackedSamples:
    """Samples that come from a map, and values that go back to it."""

    DATA = np.arange(12.0).reshape(4, 3)

    def test_all_places(self):
        dataset = TensorDataset(self.DATA, sample_shape=(2, 2))
        np.testing.assert_array_equal(dataset.unstack(self.DATA), self.DATA.reshape(2, 2, 3))
        assert dataset.unstack([1, 2, 3, 4]).dtype.kind == "i"

    def test_some_places(self):
        dataset = TensorDataset(self.DATA, sample_shape=(2, 3), kept=[5, 0, 2, 3])
        np.testing.assert_array_equal(
            dataset.unstack([1, 2, 3, 4]), [[2, np.nan, 3], [4, np.nan, 1]]
        )
        np.testing.assert_array_equal(
            dataset.unstack(["a", "b", "c", "d"], ""), [["b", "", "c"], ["d", "", "a"]]
        )
        assert dataset.unstack(self.DATA).shape == (2, 3, 3)

    def test_without_a_map(self):
        np.testing.assert_array_equal(TensorDataset(self.DATA).unstack([1, 2, 3, 4]), [1, 2, 3, 4])

    @pytest.mark.parametrize(
        ("places", "words"),
        [
            ({"sample_shape": (2, 3)}, "does not fit 4 samples"),
            ({"kept": [0, 1, 2, 3]}, "give that too"),
            ({"sample_shape": (2, 3), "kept": [0, 1, 2]}, "one place for each of the 4"),
            ({"sample_shape": (2, 3), "kept": [0.0, 1, 2, 3]}, "one place for each of the 4"),
            ({"sample_shape": (2, 3), "kept": [0, 1, 2, 6]}, "different places in 0..5"),
            ({"sample_shape": (2, 3), "kept": [0, 1, 2, -1]}, "different places in 0..5"),
            ({"sample_shape": (2, 3), "kept": [0, 1, 2, 2]}, "different places in 0..5"),
        ],
    )
    def test_places_that_do_not_fit(self, places, words):
        with pytest.raises(ValueError, match=words):
            TensorDataset(self.DATA, **places)

    def test_values_that_do_not_fit(self):
        with pytest.raises(ValueError, match="one entry for each of the 4 samples"):
            TensorDataset(self.DATA, sample_shape=(2, 2)).unstack([1, 2, 3])
