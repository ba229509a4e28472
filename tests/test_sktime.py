"""The channel selector of sktime: sktime's checks, its pipelines, its kinds of panels."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sktime", reason="sktime is not installed (make test-series has it)")

from sktime.classification.feature_based import SummaryClassifier
from sktime.datatypes import convert_to
from sktime.pipeline import make_pipeline
from sktime.utils.estimator_checks import check_estimator

from tensift import GeometrySelector, STPCASelector
from tensift.rivals import VarianceSelector
from tensift.series import SktimeChannelSelector

NAMES = ["ax", "ay", "az", "gx", "gy", "gz"]


def test_sktime_checks():
    found = check_estimator(SktimeChannelSelector, raise_exceptions=True, verbose=False)
    assert len(found) > 200
    assert {name: result for name, result in found.items() if result != "PASSED"} == {}


@pytest.fixture(scope="module")
def series():
    """40 cases in two classes of different amplitude, which channels 2 and 4 of 6 show."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6, 30))
    y = np.repeat([0, 1], 20)
    X[:, [2, 4]] += (1 + 3 * y)[:, None, None] * np.sin(np.arange(30) / 4)
    return X, y


@pytest.fixture(scope="module")
def panel(series):
    """The same as a data frame, one row for each case and time, with names of channels."""
    index = pd.MultiIndex.from_product([range(40), range(30)], names=["case", "time"])
    return pd.DataFrame(series[0].swapaxes(1, 2).reshape(-1, 6), index, NAMES)


@pytest.mark.parametrize(
    "selector",
    [None, GeometrySelector(), VarianceSelector(3), STPCASelector(0.4, lam=0.1, eta=0.1)],
    ids=lambda one: type(one).__name__,
)
def test_the_channels_are_those_of_the_selector(selector, series, panel):
    X, y = series
    found = SktimeChannelSelector(selector)
    kept = found.fit(X, y).transform(X)
    truth = GeometrySelector() if selector is None else type(selector)(**selector.get_params())
    mask = truth.set_params(feature_mode=0).fit(X).get_support()
    assert found.channels_selected_ == [channel for channel in range(6) if mask[channel]]
    np.testing.assert_array_equal(kept, np.stack([case[mask] for case in X]))
    named = SktimeChannelSelector(selector)
    pd.testing.assert_frame_equal(named.fit_transform(panel), panel.loc[:, mask])
    assert named.channels_selected_ == found.channels_selected_
    assert named.channels_selected_idx_ == [
        name for name, kept in zip(NAMES, mask, strict=True) if kept
    ]


@pytest.mark.parametrize("mtype", ["nested_univ", "df-list", "numpy3D"])
def test_panels_of_other_types(mtype, panel):
    truth = SktimeChannelSelector(n_channels=2).fit_transform(panel)
    found = SktimeChannelSelector(n_channels=2).fit_transform(convert_to(panel, mtype))
    np.testing.assert_allclose(convert_to(found, "numpy3D"), convert_to(truth, "numpy3D"))
    if mtype != "numpy3D":
        assert list(convert_to(found, "pd-multiindex").columns) == list(truth.columns)


def test_a_single_series_has_its_times_as_samples(series):
    X, _ = series
    one = pd.DataFrame(np.concatenate(X, axis=1).T, columns=NAMES)
    found = SktimeChannelSelector(n_channels=2).fit(one)
    assert found.channels_selected_ == sorted(GeometrySelector().fit(one.to_numpy()).order_[:2])
    pd.testing.assert_frame_equal(found.transform(one), one[found.channels_selected_idx_])


@pytest.mark.parametrize("how", ["operator", "make_pipeline"])
def test_in_a_pipeline(how, series):
    X, y = series
    steps = SktimeChannelSelector(n_channels=2), SummaryClassifier(random_state=0)
    pipeline = make_pipeline(*steps) if how == "make_pipeline" else steps[0] * steps[1]
    by_hand = SummaryClassifier(random_state=0).fit(X[:, [2, 4]], y)
    np.testing.assert_array_equal(pipeline.fit(X, y).predict(X), by_hand.predict(X[:, [2, 4]]))


def test_channels_are_found_by_name(panel):
    found = SktimeChannelSelector(n_channels=2).fit(panel)
    turned = panel[NAMES[::-1]]
    pd.testing.assert_frame_equal(found.transform(turned), found.transform(panel))
    with pytest.raises(ValueError, match=r"^X has no channel 'gx', which the fitted series have"):
        found.transform(panel.drop(columns="gx"))
    with pytest.raises(ValueError, match=r"^X has 5 channels, but the fitted series have 6"):
        found.transform(np.zeros((3, 5, 30)))


def test_series_of_different_lengths_cannot_be_fitted_but_transformed(panel):
    ragged = panel.drop(index=[(0, 29), (7, 29), (7, 28)])
    found = SktimeChannelSelector(n_channels=2).fit(panel)
    pd.testing.assert_frame_equal(found.transform(ragged), ragged[found.channels_selected_idx_])
    with pytest.raises(
        ValueError, match=r"^X has series of different lengths, 28 to 30; .*Padding"
    ):
        found.fit(ragged)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_channels": 0}, ValueError, "^n_channels must be a number of channels.*got 0$"),
        ({"selector": "variance"}, TypeError, "^selector must be a selector of tensift"),
        (
            {"selector": GeometrySelector(feature_mode=1)},
            ValueError,
            "^selector has feature_mode=1",
        ),
    ],
)
def test_wrong_parameters(arguments, error, message, series):
    with pytest.raises(error, match=message):
        SktimeChannelSelector(**arguments).fit(series[0])
