"""The curve of what a selection explains, read off the axes it was drawn on."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from tensift.plotting import SelectionCurveDisplay
from tensift.rivals import VarianceSelector
from tensift.selection import explained_energy


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(80, 4)) @ rng.normal(size=(4, 20))).reshape(80, 4, 5)


def test_curve_line_of_equal_shares_count_and_reason(ax, X):
    selector = VarianceSelector("auto", selection="diverse").fit(X)
    display = SelectionCurveDisplay.from_estimator(selector, ax=ax)
    equal, curve, mark = ax.lines
    assert_allclose(equal.get_ydata(), 100 * np.arange(selector.n_features_ + 1) / 20)
    expected = explained_energy(X, selector.order_[: selector.n_features_])
    assert_allclose(curve.get_ydata(), 100 * np.concatenate([[0], expected]))
    assert mark.get_xdata() == [selector.n_features_]
    assert display.count == selector.n_features_
    assert f"{selector.n_features_} of 20 kept" in ax.texts[0].get_text()
    assert ax.get_title(loc="left").replace("\n", " ") == selector.suggested_count_.reason


def test_samples_are_needed_where_the_selector_has_not_looked(ax, X):
    selector = VarianceSelector(6, feature_mode=None).fit(X)
    with pytest.raises(ValueError, match=r"did not compute.*give X.*selection='diverse'"):
        SelectionCurveDisplay.from_estimator(selector, ax=ax)
    display = SelectionCurveDisplay.from_estimator(selector, X, ax=ax)
    assert_allclose(display.explained, explained_energy(X, selector.order_[:6]))
    assert display.reason is None
    assert ax.get_title(loc="left") == ""


def test_another_count_has_another_reason_than_that_found(ax, X):
    selector = VarianceSelector("auto", selection="diverse").fit(X)
    selector.set_params(n_features_to_select=1)
    display = SelectionCurveDisplay.from_estimator(selector, ax=ax)
    assert (display.count, display.reason) == (1, None)
