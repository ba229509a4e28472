"""Datasets of tensift, from files or made by hand, are samples for every estimator."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tensift import (
    GeometrySelector,
    SelectFromDecomposition,
    SparseTensorPCA,
    STPCASelector,
    TensorPCA,
    collect_moments,
)
from tensift.datasets import TensorDataset, read_tensor
from tensift.rivals import list_selectors

CHANNELS = ["Fz", "Cz", "Pz", "Oz"]
X = np.random.default_rng(0).normal(size=(30, 4, 3)) + np.repeat([0, 2], 15)[:, None, None]
NAMED = TensorDataset(X, dims=("channel", "time"), coords={"channel": CHANNELS})
SMALL = {"n_clusters": 2, "n_neighbors": 3, "n_components": 2, "random_state": 0, "max_iter": 30}
SELECTORS = {info.name: info for info in list_selectors()}


def make(name, **settings):
    info = SELECTORS[name]
    known = {key: value for key, value in SMALL.items() if key in info.parameters}
    return info.make(2, **known, **settings)


@pytest.mark.filterwarnings("ignore:X has negative values, and CPUFS")
@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("mode", [None, "channel"])
def test_every_selector_takes_a_dataset_and_keeps_its_names(name, mode):
    named = make(name, feature_mode=mode).fit(NAMED)
    plain = make(name, feature_mode=None if mode is None else 0).fit(X)
    assert_array_equal(named.order_, plain.order_)
    assert_array_equal(named.transform(NAMED), plain.transform(X))
    truth = CHANNELS if mode else [f"channel={c},time={t}" for c in CHANNELS for t in range(3)]
    mask = plain.get_support()
    assert list(named.get_feature_names_out()) == [
        title for title, kept in zip(truth, mask, strict=True) if kept
    ]


@pytest.mark.parametrize(
    "estimator",
    [
        TensorPCA(2),
        SparseTensorPCA(2),
        SelectFromDecomposition(TensorPCA(2), n_features_to_select=3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_decompositions_take_a_dataset(estimator):
    named = estimator.fit(NAMED).transform(NAMED)
    assert estimator.names_.dims == ("channel", "time")
    assert_array_equal(named, estimator.fit(X).transform(X))


def test_moments_keep_the_names_of_a_dataset():
    moments = collect_moments(NAMED, orientation="channel")
    assert STPCASelector(2).fit(moments).names_.coords["channel"].tolist() == CHANNELS


def test_a_frame_of_results_has_the_names():
    selector = GeometrySelector(2).set_output(transform="pandas").fit(NAMED)
    found = selector.transform(NAMED)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == list(selector.get_feature_names_out())


def test_what_is_read_from_a_file_can_be_passed_on(tmp_path):
    rows = X.reshape(30, 12)
    titles = [f"c{k}" for k in range(12)]
    table = pd.DataFrame(rows, columns=titles).assign(y=["u", "v"] * 15)
    table.to_csv(tmp_path / "rows.csv", index=False)
    np.savez(tmp_path / "X.npz", data=X, dims=["channel", "time"], coords_channel=CHANNELS)
    np.save(tmp_path / "X.npy", np.repeat(X, 2000, axis=0))
    plain = GeometrySelector(3).fit(rows)
    found = GeometrySelector(3).fit(read_tensor(tmp_path / "rows.csv"))
    assert_array_equal(found.order_, plain.order_)
    assert list(found.get_feature_names_out()) == [
        titles[k] for k in plain.get_support(indices=True)
    ]
    named = GeometrySelector(2, feature_mode="channel").fit(read_tensor(tmp_path / "X.npz"))
    truth = GeometrySelector(2, feature_mode=0).fit(X)
    assert list(named.get_feature_names_out()) == [
        CHANNELS[k] for k in truth.get_support(indices=True)
    ]
    large = STPCASelector(3).fit(read_tensor(tmp_path / "X.npy"))
    assert large.n_samples_seen_ == 60000


def test_other_names_than_those_of_the_fit_are_refused():
    selector = GeometrySelector(2).fit(NAMED)
    other = TensorDataset(X, dims=NAMED.dims, coords={"channel": ["Fz", "Pz", "Cz", "Oz"]})
    with pytest.raises(ValueError, match=r"^X has 'Pz' at place 1 of 'channel', where the fitted"):
        selector.transform(other)
    unnamed = TensorDataset(X)
    assert_array_equal(selector.transform(unnamed), selector.transform(NAMED))
