"""The picture of a comparison: what it shows is what was found, at few methods and at many."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tensift.comparison import compare_selectors
from tensift.plotting import ComparisonDisplay
from tensift.rivals import LaplacianScore, VarianceSelector

RNG = np.random.default_rng(2)
LABELS = np.arange(30) % 3
X = RNG.normal(size=(30, 4, 6)) * np.linspace(0.2, 2, 6) + RNG.normal(size=(3, 4, 6))[LABELS]
QUICK = {"n_resamples": 2, "n_seeds": 1, "n_repeats": 1}


def draw(data=X, selectors=("stpca",), count=5, dims=None, **settings):
    found = compare_selectors(data, selectors, count, **{**QUICK, **settings})
    figure = Figure()
    display = ComparisonDisplay(found, dims=dims).plot(figure)
    FigureCanvasAgg(figure).draw()
    return found, display


def kept_in(ax):
    """Where the orange layer is."""
    return ~np.ma.getmaskarray(ax.images[1].get_array())


def test_maps_show_what_is_kept():
    found, display = draw()
    assert [ax.get_title() for ax in display.map_axes_] == list(found.methods)
    for ax, method in zip(display.map_axes_, found.methods, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), found.scores[method])
        mask = kept_in(ax)
        np.testing.assert_array_equal(np.flatnonzero(mask), np.sort(found.features[method]))


@pytest.mark.parametrize("mode", [None, 0])
def test_methods_that_do_not_keep_the_best_scores_are_named(mode):
    rows = {"first": VarianceSelector(2), "other": LaplacianScore(2)}
    found = compare_selectors(X, rows, 2, feature_mode=mode, **QUICK)
    for rules, words in (
        ({"first": "top", "other": "top"}, ""),
        ({"first": "top", "other": "odd"}, ". Not kept by score alone: odd (other)"),
        ({"first": "odd", "other": "odd"}, ". Not kept by score alone: odd (first, other)"),
    ):
        changed = replace(found, rules={**found.rules, **rules})
        figure = ComparisonDisplay(changed).plot(Figure()).figure_
        heading = figure.subfigs[0].get_suptitle().replace("\n", " ")
        assert heading.partition("orange")[2] == words


def test_three_modes_are_seen_from_one_side():
    data = RNG.normal(size=(12, 3, 5, 4))
    found, display = draw(data, count=7)
    scores = found.scores["STPCASelector"]
    np.testing.assert_array_equal(display.map_axes_[0].images[0].get_array(), scores.max(axis=0))
    places = np.unravel_index(found.features["STPCASelector"], (3, 5, 4))
    expected = np.zeros((5, 4), bool)
    expected[places[1:]] = True
    np.testing.assert_array_equal(kept_in(display.map_axes_[0]), expected)


@pytest.mark.parametrize("data", [X, X[:, 0, :]])
def test_features_in_a_row(data):
    mode = 1 if data.ndim == 3 else None
    dims = ("channel", "time")[: data.ndim - 1]
    found, display = draw(data, count=2, feature_mode=mode, dims=dims)
    assert len(display.map_axes_) == 1
    mask = kept_in(display.map_axes_[0])
    for row, method in enumerate(found.methods):
        np.testing.assert_array_equal(np.flatnonzero(mask[row]), np.sort(found.features[method]))
    assert display.map_axes_[0].get_xlabel() == dims[-1]


def test_measures_and_their_spreads():
    found, display = draw(labels=LABELS)
    assert list(display.measure_axes_) == [
        "neighbours_kept", "neighbour_agreement", "reconstruction_error", "stability", "redundancy",
        "seconds", "acc", "nmi", "silhouette", "poc",
    ]  # fmt: skip
    for measure in ("neighbours_kept", "neighbour_agreement", "reconstruction_error", "redundancy"):
        ax = display.measure_axes_[measure]
        marked = [line for line in ax.lines if line.get_marker() == "D"]
        values = [line.get_xdata()[0] for line in marked]
        expected = [found.mean(measure, method) for method in found.methods]
        np.testing.assert_array_equal(values, expected)
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        for line, method in zip(dots, found.methods, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), found.runs[measure][method])
        bars = [line for line in ax.lines if line.get_linewidth() == 1.6]
        half = [np.ptp(line.get_xdata()) / 2 for line in bars if line.get_marker() == "None"]
        stds = [found.stds[measure][method] for method in found.methods]
        np.testing.assert_allclose(half, stds)
    # The first panel of each row names the methods.
    for measure in ("neighbours_kept", "acc"):
        ax = display.measure_axes_[measure]
        assert [text.get_text() for text in ax.get_yticklabels()] == list(found.methods)


def test_measures_of_labels_have_a_row_of_their_own():
    _, display = draw(labels=LABELS)
    tops = {measure: ax.get_position().y1 for measure, ax in display.measure_axes_.items()}
    below = ["acc", "nmi", "silhouette", "poc"]
    rows = [[v for k, v in tops.items() if (k in below) is labelled] for labelled in (False, True)]
    assert min(rows[0]) > max(rows[1])
    assert max(map(np.ptp, rows)) < 1e-9
    assert display.figure_.get_size_inches()[0] < 16


def test_agreement():
    found, display = draw()
    ax = display.agreement_ax_
    np.testing.assert_array_equal(ax.images[0].get_array(), found.agreement)
    assert len(ax.texts) == 9
    assert ax.texts[0].get_text() == "1.0"


def test_methods_that_failed():
    found, display = draw(X + 1j * X[::-1], selectors=["stpca", "mcfs"])
    assert len(display.map_axes_) == 3
    for ax in display.measure_axes_.values():
        assert [text.get_text() for text in ax.texts] == ["failed"]
        assert round(ax.texts[0].get_position()[1]) == found.methods.index("MCFS")


def test_many_methods_fit_into_the_picture():
    names = {f"a method of long name {i}": "variance" for i in range(15)}
    _, display = draw(selectors=names)
    figure = display.figure_
    width, height = figure.get_size_inches()
    assert width < 20
    assert height < 16
    assert len(display.map_axes_) == 17
    frame = figure.bbox
    renderer = figure.canvas.get_renderer()
    for ax in [*display.map_axes_, *display.measure_axes_.values(), display.agreement_ax_]:
        box = ax.get_tightbbox(renderer)
        assert box.x0 >= frame.x0 - 1
        assert box.x1 <= frame.x1 + 1
        assert box.y0 >= frame.y0 - 1
        assert box.y1 <= frame.y1 + 1
        assert ax.get_window_extent().width > 30
    assert len(display.agreement_ax_.texts) == 0
    # Names of maps do not run into one another.
    titles = [ax.title.get_window_extent(renderer) for ax in display.map_axes_[:8]]
    for left, right in itertools.pairwise(titles):
        assert left.x1 <= right.x0 + 1
