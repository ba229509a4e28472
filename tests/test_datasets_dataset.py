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
