"""The curve of what a selection explains, read off the axes it was drawn on."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from tensift.plotting import SelectionCurveDisplay
from tensift.rivals import VarianceSelector
from tensift.selection import suggest_count


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(80, 4)) @ rng.normal(size=(4, 20))).reshape(80, 4, 5)


def test_curves_counts_and_reason(ax, X):
    selector = VarianceSelector("auto", selection="geometry").fit(X)
    display = SelectionCurveDisplay.from_estimator(selector, ax=ax)
    curve, mark, held_out, line = ax.lines
    assert_allclose(curve.get_ydata(), 100 * selector.selection_curve_)
    assert list(curve.get_xdata()) == list(range(1, selector.n_features_ + 1))
    assert mark.get_xdata() == [selector.n_features_]
    assert display.count == selector.n_features_
    found = suggest_count(X)
    assert list(held_out.get_xdata()) == list(range(1, len(found.curve) + 1))
    assert_allclose(held_out.get_ydata(), 100 * found.curve)
    band = next(part for part in ax.collections if isinstance(part, PolyCollection))
    edge = {tuple(point) for point in band.get_paths()[0].vertices.round(9)}
    for count, value in enumerate(found.curve, start=1):
        for side in (-1, 1):
            assert (count, round(100 * (value + side * found.spread[count - 1]), 9)) in edge
    assert list(line.get_xdata()) == [found.count] * 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "selected features",
        "neighbours kept, on other samples",
        f"suggested: {found.count}",
    ]
    assert ax.get_ylabel() == "alignment (%)"
    assert f"{selector.n_features_} of 20 kept" in ax.texts[0].get_text()
    assert ax.get_title(loc="left").replace("\n", " ") == selector.suggested_count_.reason


def test_every_rule_names_its_measure(ax, X):
    with pytest.raises(ValueError, match=r"no curve to draw.*'auto'.*'reconstruct'"):
        SelectionCurveDisplay.from_estimator(VarianceSelector(6).fit(X), ax=ax)
    selector = VarianceSelector(6, selection="reconstruct").fit(X)
    display = SelectionCurveDisplay.from_estimator(selector, ax=ax)
    assert_allclose(display.curve, selector.selection_curve_)
    assert display.suggested is None
    assert ax.get_title(loc="left") == ""
    assert ax.get_ylabel() == "variance explained (%)"
    top = VarianceSelector("auto").fit(X)
    display = SelectionCurveDisplay.from_estimator(top, ax=Figure().subplots())
    assert len(display.ax_.lines) == 2  # the curve by which the number was chosen, and the number
    assert_allclose(display.ax_.lines[0].get_ydata(), 100 * top.suggested_count_.curve)


def test_what_is_kept_and_what_is_suggested_are_told_apart(ax, X):
    selector = VarianceSelector("auto", selection="geometry").fit(X)
    found = selector.suggested_count_.count
    assert found > 1
    selector.set_params(n_features_to_select=1)
    display = SelectionCurveDisplay.from_estimator(selector, ax=ax)
    assert display.count == 1
    assert ax.texts[0].get_text().startswith("1 of 20 kept")
    assert list(ax.lines[-1].get_xdata()) == [found, found]


def test_noise_has_no_curve(ax):
    noise = np.random.default_rng(1).normal(size=(80, 12))
    selector = VarianceSelector("auto").fit(noise)
    SelectionCurveDisplay.from_estimator(selector, ax=ax)
    assert not ax.lines
    assert ax.get_title(loc="left").startswith("no structure")
