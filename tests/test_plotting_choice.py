"""What was chosen automatically, read off the axes it was drawn on."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from tensift import STPCASelector
from tensift.plotting import ChoiceDisplay


@pytest.fixture
def X():
    return np.cumsum(np.random.default_rng(0).normal(size=(40, 5, 6)), axis=2)


def test_penalties_that_were_tried_and_the_one_that_was_kept(X):
    selector = STPCASelector(4).fit(X)
    (ax,) = ChoiceDisplay.from_estimator(selector, figure=Figure()).axes_
    choice = selector.choice_.penalties
    target, curve, mark = ax.lines
    assert_allclose(target.get_ydata(), 100 * choice.target)
    assert_allclose(curve.get_xydata(), np.column_stack([choice.tried, 100 * choice.shares]))
    assert_allclose(mark.get_xdata(), choice.fraction)
    assert f"lam = {selector.lam_:.3g}" in ax.texts[0].get_text()
    assert ax.get_title(loc="left").replace("\n", " ") == choice.reason


def test_orientations_and_transforms_that_were_tried(X):
    selector = STPCASelector(4, orientation="auto", basis="auto").fit(X)
    _, ax = ChoiceDisplay.from_estimator(selector, figure=Figure()).axes_
    choice = selector.choice_.orientation
    widths = np.reshape([bar.get_width() for bar in ax.patches], (2, -1))
    assert_allclose(widths, [choice.neighbours_kept, choice.neighbour_agreement])
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["0, identity", "0, dct"]
    count = len(choice.candidates)
    colors = [bar.get_facecolor() for bar in ax.patches]
    kept = {color for i, color in enumerate(colors) if i % count == choice.chosen}
    rest = {color for i, color in enumerate(colors) if i % count != choice.chosen}
    assert not kept & rest


def test_given_parameters_leave_nothing_to_draw(X):
    selector = STPCASelector(4, lam=1, eta=1).fit(X)
    with pytest.raises(ValueError, match="nothing to draw: no parameter"):
        ChoiceDisplay.from_estimator(selector, figure=Figure())
