"""The channel selector of aeon: aeon's checks, its pipelines, its kinds of collections."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

pytest.importorskip("aeon", reason="aeon is not installed (make test-series has it)")

from aeon.classification.feature_based import SummaryClassifier
from aeon.pipeline import make_pipeline
from aeon.testing.estimator_checking import parametrize_with_checks
from aeon.transformations.collection.channel_selection.base import BaseChannelSelector

from tensift import GeometrySelector, STPCASelector
from tensift.rivals import VarianceSelector
from tensift.series import ChannelSelector


@parametrize_with_checks([ChannelSelector])
def test_aeon_checks(check):
    check()


@pytest.fixture(scope="module")
def series():
    """40 cases in two classes of different amplitude, which channels 2 and 4 of 6 show."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6, 30))
    y = np.repeat([0, 1], 20)
    X[:, [2, 4]] += (1 + 3 * y)[:, None, None] * np.sin(np.arange(30) / 4)
    return X, y


@pytest.mark.parametrize(
    "selector",
    [None, GeometrySelector(), VarianceSelector(3), STPCASelector(0.4, lam=0.1, eta=0.1)],
    ids=lambda one: type(one).__name__,
)
def test_the_channels_are_those_of_the_selector(selector, series):
    X, y = series
    before = None if selector is None else selector.get_params()
    found = ChannelSelector(selector)
    assert isinstance(found, BaseChannelSelector)
    kept = found.fit(X, y).transform(X)
    truth = GeometrySelector() if selector is None else type(selector)(**selector.get_params())
    mask = truth.set_params(feature_mode=0).fit(X).get_support()
    assert found.channels_selected_ == [channel for channel in range(6) if mask[channel]]
    np.testing.assert_array_equal(kept, np.stack([case[mask] for case in X]))
    np.testing.assert_array_equal(found.selector_.scores_, truth.scores_)
    assert selector is None or (before == selector.get_params() and not hasattr(selector, "order_"))


@pytest.mark.parametrize(("n_channels", "count"), [(1, 1), (5, 5), (0.5, 3), (np.int64(2), 2)])
def test_numbers_of_channels_win_over_those_of_the_selector(n_channels, count, series):
    X, _ = series
    for selector in (None, VarianceSelector(4)):
        assert ChannelSelector(selector, n_channels).fit_transform(X).shape == (40, count, 30)


def test_the_number_can_be_chosen_and_labels_are_not_looked_at(series):
    X, y = series
    selector = ChannelSelector(n_channels="auto").fit(X, y)
    assert selector.channels_selected_ == ChannelSelector().fit(X, y[::-1]).channels_selected_
    assert {2} <= set(selector.channels_selected_) <= {2, 4}
    assert selector.selector_.suggested_count_.count == len(selector.channels_selected_)


def test_more_channels_than_there_are(series):
    with pytest.warns(UserWarning, match="^n_channels=9 is more than the 6 channels"):
        assert ChannelSelector(n_channels=9).fit_transform(series[0]).shape == (40, 6, 30)


def test_collections_of_other_types_give_the_same_channels(series):
    X, _ = series
    truth = ChannelSelector(n_channels=2).fit(X).channels_selected_
    index = pd.MultiIndex.from_product([range(40), range(30)])
    frame = pd.DataFrame(X.swapaxes(1, 2).reshape(-1, 6), index)
    for collection in (list(X), [pd.DataFrame(case) for case in X], frame):
        found = ChannelSelector(n_channels=2)
        np.testing.assert_allclose(found.fit_transform(collection), X[:, truth])
        assert found.channels_selected_ == truth


def test_in_a_pipeline_and_a_grid_search(series):
    X, y = series
    pipeline = make_pipeline(ChannelSelector(n_channels=2), SummaryClassifier(random_state=0))
    assert pipeline.fit(X, y).score(X, y) == 1.0
    by_hand = SummaryClassifier(random_state=0).fit(X[:, [2, 4]], y)
    np.testing.assert_array_equal(pipeline.predict(X), by_hand.predict(X[:, [2, 4]]))


def test_in_a_search_of_scikit_learn(series):
    X, y = series
    steps = [("select", ChannelSelector()), ("classify", SummaryClassifier(random_state=0))]
    grid = {"select__n_channels": [1, 2], "select__selector": [None, VarianceSelector()]}
    search = GridSearchCV(Pipeline(steps), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert set(search.best_estimator_.named_steps["select"].channels_selected_) <= {2, 4}


def test_series_of_different_lengths_are_refused_in_one_line(series):
    X, _ = series
    ragged = [case[:, : 20 + k % 3] for k, case in enumerate(X)]
    for call in (ChannelSelector().fit, ChannelSelector().fit(X).transform):
        with pytest.raises(ValueError, match=r"^X has series of different lengths; .* Padder\(\)"):
            call(ragged)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_channels": 0}, ValueError, "^n_channels must be a number of channels.*got 0$"),
        ({"n_channels": 1.5}, ValueError, "^n_channels must .*got 1.5$"),
        ({"n_channels": True}, ValueError, "^n_channels must .*got True$"),
        ({"n_channels": "all"}, ValueError, "^n_channels must .*got 'all'$"),
        ({"selector": 3}, TypeError, r"^selector must be .*; is it the .*, n_channels=3\?$"),
        ({"selector": SummaryClassifier()}, TypeError, "^selector must be a selector"),
        (
            {"selector": GeometrySelector(feature_mode=1)},
            ValueError,
            "^selector has feature_mode=1",
        ),
        ({"selector": VarianceSelector, "n_channels": 2}, TypeError, "^selector must be"),
    ],
)
def test_wrong_parameters(arguments, error, message, series):
    with pytest.raises(error, match=message):
        ChannelSelector(**arguments).fit(series[0])
