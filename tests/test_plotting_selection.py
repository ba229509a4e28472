"""The summary figure: which parts it has, and that it leaves no trace."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from tensift import STPCASelector
from tensift.labels import Names
from tensift.plotting import SelectionDisplay
from tensift.selection import TensorSelector

RNG = np.random.default_rng(2)
X2 = RNG.normal(size=(40, 6, 9)) * np.linspace(0.2, 2, 9)

ELEMENTS = [
    "ScoreMapDisplay",
    "SelectedFeaturesDisplay",
    "ScoreCurveDisplay",
    "ConvergenceDisplay",
]
CHANNELS = ["ChannelRankingDisplay", "SelectedFeaturesDisplay", "ConvergenceDisplay"]


class Largest(TensorSelector):
    """A selector that does not iterate."""

    def __init__(self, n_features_to_select=3, feature_mode=None, feature_shape=None):
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def fit(self, X, y=None):
        X = self._validate_samples(X, reset=True)
        self._set_scores(X.var(axis=0), ties=X.var(axis=0))
        return self


@pytest.mark.parametrize(
    ("shape", "feature_mode", "parts"),
    [
        ((54,), None, ELEMENTS),
        ((54,), 0, ELEMENTS),
        ((6, 9), None, ELEMENTS),
        ((6, 9), 0, CHANNELS),
        ((6, 9), 1, CHANNELS),
        ((2, 3, 9), None, ELEMENTS),
        ((2, 3, 9), 2, CHANNELS),
        ((2, 3, 3, 3), None, ELEMENTS),
    ],
)
def test_parts_for_every_kind_of_features(shape, feature_mode, parts):
    X = X2.reshape(len(X2), *shape)
    selector = STPCASelector(2, lam=1, eta=1, feature_mode=feature_mode).fit(X)
    display = SelectionDisplay.from_estimator(selector, X, figure=Figure())
    assert [type(part).__name__ for part in display.displays_] == parts
    assert all(part.figure_ is display.figure_ for part in display.displays_)
    out = io.BytesIO()
    display.figure_.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def test_a_selector_that_does_not_iterate_has_no_convergence():
    display = SelectionDisplay.from_estimator(Largest().fit(X2), X2, figure=Figure())
    assert [type(part).__name__ for part in display.displays_] == ELEMENTS[:-1]
    display = SelectionDisplay.from_estimator(Largest(feature_mode=0).fit(X2), X2, figure=Figure())
    assert [type(part).__name__ for part in display.displays_] == CHANNELS[:-1]


def test_names_title_and_sample_reach_the_parts():
    selector = STPCASelector(5, lam=1, eta=1).fit(X2)
    display = SelectionDisplay.from_estimator(
        selector, X2, sample=7, title="mine", dims=("row", "column"), figure=Figure()
    )
    assert display.figure_.get_suptitle() == "mine"
    assert display.displays_[0].ax_.get_ylabel() == "row"
    np.testing.assert_array_equal(display.displays_[1].ax_.images[0].get_array(), X2[7])
    assert [part.get_suptitle() for part in display.figure_.subfigs][1] == "Kept, on sample 7"


def test_default_title_counts():
    selector = STPCASelector(5, lam=1, eta=1).fit(X2)
    display = SelectionDisplay.from_estimator(selector, X2, figure=Figure())
    assert display.figure_.get_suptitle() == "5 of 54 features kept"


def test_drawing_into_a_given_figure_registers_nothing():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    selector = STPCASelector(5, lam=1, eta=1).fit(X2)
    SelectionDisplay.from_estimator(selector, X2, figure=Figure())
    assert plt.get_fignums() == before


def test_without_a_figure_there_is_a_new_one():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    selector = STPCASelector(5, lam=1, eta=1).fit(X2)
    display = SelectionDisplay.from_estimator(selector, X2)
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_an_unfitted_selector_is_refused():
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(STPCASelector(5), X2, figure=Figure())


def test_names_in_words():
    names = Names((2, 3), ("ch", "t"), {"ch": ["left", "right"], "t": [0.5, 1.0, 1.5]})
    assert names.describe((1, 2)) == "ch right, t 1.5"
    assert names.only([1]).describe((0,)) == "t 0.5"
    assert Names((2, 3)).describe((1, 2)) == "mode 0: 1, mode 1: 2"
    assert Names((2, 3)).only([1]).title(0) == "mode 1"
    assert Names((1, 1), ("a", "b"), {"a": np.array([b"x"])}).label(0, 0) == "x"
