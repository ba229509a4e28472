"""What each display draws, read back from the figure."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from tensift import STPCASelector
from tensift.metrics import SelectionEvaluation
from tensift.plotting import (
    ChannelRankingDisplay,
    ConvergenceDisplay,
    EvaluationDisplay,
    ScoreCurveDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionDisplay,
)
from tensift.plotting._matplotlib import ACCENT, MUTED
from tensift.rivals import SPCAFS, VarianceSelector

RNG = np.random.default_rng(5)
X2 = RNG.normal(size=(40, 6, 9)) * np.linspace(0.2, 2, 9)
X3 = RNG.normal(size=(30, 4, 7, 8)) * np.linspace(0.2, 2, 8)


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def fit(X, k=10, **options):
    return STPCASelector(k, lam=1.0, eta=1.0, **options).fit(X)


def lowest_first(**options):
    """A fitted selector whose rule is not the highest score."""
    selector = VarianceSelector(3, **options).fit(X2)
    selector.order_ = selector.order_[::-1]
    return selector.set_params(selection="lowest")


def tick_labels(axis):
    axis.figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_ticklabels()]


# Score map


def test_score_map_of_two_modes_is_the_image_of_the_scores(ax):
    selector = fit(X2)
    display = ScoreMapDisplay.from_estimator(selector, dims=("channel", "time"), ax=ax)
    (image,) = display.ax_.images
    np.testing.assert_array_equal(image.get_array(), selector.scores_)
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("channel", "time")
    assert display.figure_ is ax.figure
    bar = [a for a in display.figure_.axes if a is not display.ax_]
    assert [a.get_ylabel() for a in bar] == ["score"]


def test_score_map_of_a_vector_is_bars_then_a_line():
    scores = RNG.uniform(size=30)
    bars = ScoreMapDisplay(scores).plot(Figure().subplots())
    np.testing.assert_array_equal([bar.get_height() for bar in bars.ax_.patches], scores)
    scores = RNG.uniform(size=300)
    line = ScoreMapDisplay(scores).plot(Figure().subplots())
    np.testing.assert_array_equal(line.ax_.lines[0].get_ydata(), scores)
    assert not line.ax_.patches


def test_score_map_of_mode_features_has_a_bar_for_each_and_their_names(ax):
    selector = fit(X2, k=2, feature_mode=0)
    names = ["Fz", "Cz", "Pz", "O1", "O2", "Oz"]
    display = ScoreMapDisplay.from_estimator(
        selector, dims=("electrode", "time"), coords={"electrode": names}, ax=ax
    )
    np.testing.assert_array_equal([b.get_height() for b in display.ax_.patches], selector.scores_)
    assert tick_labels(display.ax_.xaxis) == names
    assert display.ax_.get_xlabel() == "electrode"


def test_score_map_of_three_modes_is_a_row_of_images_on_one_scale(ax):
    selector = fit(X3)
    display = ScoreMapDisplay.from_estimator(selector, dims=("band", "row", "column"), ax=ax)
    assert len(display.ax_) == 4
    for band, panel in enumerate(display.ax_):
        (image,) = panel.images
        np.testing.assert_array_equal(image.get_array(), selector.scores_[band])
        assert image.get_clim() == (0.0, selector.scores_.max())
        assert panel.get_title() == f"band {band}"


def test_too_many_images_show_the_best_in_order_and_say_so(ax):
    scores = RNG.uniform(size=(9, 20, 30))
    scores[[1, 4, 8]] *= 0.1
    display = ScoreMapDisplay(scores).plot(ax)
    shown = [panel.images[0].get_array() for panel in display.ax_]
    np.testing.assert_array_equal(shown, scores[[0, 2, 3, 5, 6, 7]])
    labels = [a.get_ylabel() for a in display.figure_.axes]
    assert "score (best 6 of 9 images)" in labels


def test_the_two_longest_modes_are_the_image_wherever_they_are(ax):
    scores = RNG.uniform(size=(10, 3, 12))
    display = ScoreMapDisplay(scores).plot(ax)
    shown = [panel.images[0].get_array() for panel in display.ax_]
    np.testing.assert_array_equal(shown, np.moveaxis(scores, 1, 0))


def test_numeric_coordinates_are_on_the_axes(ax):
    coords = {"depth": np.linspace(0, 2.5, 6)}
    display = ScoreMapDisplay(RNG.uniform(size=(6, 4)), dims=("depth", "x"), coords=coords).plot(ax)
    labels = {text for text in tick_labels(display.ax_.yaxis) if text}
    assert labels
    assert labels <= {f"{value:g}" for value in coords["depth"]}


def test_wrong_names_are_an_error_that_names_them(ax):
    with pytest.raises(ValueError, match="dims must name each of the 2 feature modes"):
        ScoreMapDisplay(np.ones((2, 3)), dims=("only one",)).plot(ax)


# Selected features


def test_marked_cells_are_the_support(ax):
    selector = fit(X2)
    display = SelectedFeaturesDisplay.from_estimator(selector, X2, sample=3, ax=ax)
    sample, tint = display.ax_.images
    np.testing.assert_array_equal(sample.get_array(), X2[3])
    marked = tint.get_array()[..., 3] > 0
    np.testing.assert_array_equal(marked.ravel(), selector.get_support())


def test_outline_has_one_segment_for_every_border_of_a_marked_cell(ax):
    support = np.zeros((4, 5), bool)
    support[0, 0] = support[2, 2] = support[2, 3] = True
    display = SelectedFeaturesDisplay(np.zeros((4, 5)), support).plot(ax)
    (outline,) = display.ax_.collections
    drawn = {tuple(map(tuple, np.sort(s, axis=0))) for s in outline.get_segments()}
    single = {((-0.5, -0.5), (0.5, -0.5)), ((-0.5, 0.5), (0.5, 0.5))}
    single |= {((-0.5, -0.5), (-0.5, 0.5)), ((0.5, -0.5), (0.5, 0.5))}
    assert single <= drawn
    assert len(drawn) == 4 + 6  # the pair shares no border inside


def test_rows_are_drawn_in_their_tensor_shape(ax):
    rows = X2.reshape(len(X2), -1)
    selector = fit(rows, feature_shape=(6, 9))
    display = SelectedFeaturesDisplay.from_estimator(selector, rows, ax=ax)
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), X2[0])


def test_points_of_a_vector_are_marked(ax):
    rows = X2.reshape(len(X2), -1)
    selector = fit(rows, k=7)
    display = SelectedFeaturesDisplay.from_estimator(selector, rows, ax=ax)
    (dots,) = display.ax_.collections
    kept = selector.get_support(indices=True)
    np.testing.assert_array_equal(dots.get_offsets(), np.column_stack([kept, rows[0, kept]]))


def test_modulus_of_complex_samples(ax):
    sample = np.array([[3 + 4j, 1j], [0, -2]])
    display = SelectedFeaturesDisplay(sample, np.eye(2, dtype=bool)).plot(ax)
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), [[5, 1], [0, 2]])


@pytest.mark.parametrize("mode", [0, 1, -1])
def test_kept_channels_are_coloured_traces_among_grey_ones(ax, mode):
    selector = fit(X2, k=2, feature_mode=mode)
    display = SelectedFeaturesDisplay.from_estimator(selector, X2, ax=ax)
    traces = X2[0] if mode == 0 else X2[0].T
    lines = display.ax_.lines
    assert len(lines) == len(traces)
    kept = [line.get_color() == ACCENT for line in lines]
    np.testing.assert_array_equal(kept, selector.get_support())
    for index, (line, trace) in enumerate(zip(lines, traces, strict=True)):
        # Upwards on the page is downwards in data, and each channel has its own level.
        offset = index - line.get_ydata()
        assert np.corrcoef(offset, trace)[0, 1] == pytest.approx(1)
        assert np.median(offset) == pytest.approx(0, abs=1e-12)


def test_traces_of_three_modes_are_means_and_say_so(ax):
    selector = fit(X3, k=2, feature_mode=1)
    display = SelectedFeaturesDisplay.from_estimator(
        selector, X3, dims=("band", "row", "column"), ax=ax
    )
    mean = X3[0].mean(axis=0)
    for line, trace in zip(display.ax_.lines, mean, strict=True):
        assert np.corrcoef(-line.get_ydata(), trace)[0, 1] == pytest.approx(1)
    assert display.ax_.get_xlabel() == "column (mean over band)"


def test_panels_mark_their_own_part_of_the_support(ax):
    selector = fit(X3, k=25)
    display = SelectedFeaturesDisplay.from_estimator(selector, X3, ax=ax)
    marked = np.stack([panel.images[1].get_array()[..., 3] > 0 for panel in display.ax_])
    np.testing.assert_array_equal(marked.ravel(), selector.get_support())


def test_a_sample_that_is_not_there(ax):
    with pytest.raises(ValueError, match="sample=40 is not one of the 40 samples"):
        SelectedFeaturesDisplay.from_estimator(fit(X2), X2, sample=40, ax=ax)
    with pytest.raises(ValueError, match="was fitted on samples of shape"):
        SelectedFeaturesDisplay.from_estimator(fit(X2), X3, ax=ax)


# Channel ranking


def test_bars_are_in_the_order_of_selection_named_and_coloured_by_support(ax):
    selector = lowest_first(feature_mode=1)
    names = [f"t{i}" for i in range(9)]
    display = ChannelRankingDisplay.from_estimator(
        selector, dims=("channel", "time"), coords={"time": names}, ax=ax
    )
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == selector.scores_[selector.order_].tolist()
    assert widths == sorted(widths)
    assert tick_labels(display.ax_.yaxis) == [names[i] for i in selector.order_]
    kept, other = to_rgba(ACCENT), to_rgba(MUTED)
    assert [bar.get_facecolor() for bar in display.bars_] == [kept] * 3 + [other] * 6
    assert {int(i) for i in selector.order_[:3]} == set(selector.get_support(indices=True))
    assert display.ax_.get_xlabel() == "score, in the order of selection (lowest)"


def test_bars_of_the_highest_scores_are_sorted(ax):
    selector = fit(X2, k=2, feature_mode=1, selection="top")
    names = [f"t{i}" for i in range(9)]
    display = ChannelRankingDisplay.from_estimator(
        selector, dims=("channel", "time"), coords={"time": names}, ax=ax
    )
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(selector.scores_, reverse=True)
    assert tick_labels(display.ax_.yaxis) == [names[i] for i in selector.order_]
    kept, other = to_rgba(ACCENT), to_rgba(MUTED)
    assert [bar.get_facecolor() for bar in display.bars_] == [kept] * 2 + [other] * 7
    assert display.ax_.get_ylabel() == "time"
    assert display.ax_.get_xlabel() == "score, highest score first"
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the first is on top


def test_only_the_first_of_many_bars(ax):
    scores = RNG.permutation(100).astype(float)
    display = ChannelRankingDisplay(scores, scores > 95).plot(ax, max_bars=12)
    assert [bar.get_width() for bar in display.bars_] == list(range(99, 87, -1))
    label = "score, highest score first\n(88 later channels not shown)"
    assert display.ax_.get_xlabel() == label
    order = np.roll(np.arange(100), 50)
    display = ChannelRankingDisplay(scores, scores > 95, ranking=order).plot(ax, max_bars=12)
    assert [bar.get_width() for bar in display.bars_] == scores[50:62].tolist()


def test_elements_are_no_channels(ax):
    with pytest.raises(ValueError, match="set its feature_mode"):
        ChannelRankingDisplay.from_estimator(fit(X2), ax=ax)


# Score curve


def test_score_curve_paints_what_is_kept_in_the_order_of_selection(ax):
    selector = lowest_first()
    display = ScoreCurveDisplay.from_estimator(selector, ax=ax)
    kept, dropped = display.ax_.patches
    scores = selector.scores_.ravel()
    np.testing.assert_array_equal(kept.get_data().values, scores[selector.order_[:3]])
    assert sorted(kept.get_data().values) == sorted(scores[selector.get_support()])
    assert sorted(dropped.get_data().values) == sorted(scores[~selector.get_support()])
    assert dropped.get_data().values.min() >= kept.get_data().values.max()
    assert display.ax_.get_xlabel() == "feature, in the order of selection (lowest)"


def test_score_curve_of_the_highest_scores_falls_and_is_cut_at_k(ax):
    selector = fit(X2, k=10, selection="top")
    display = ScoreCurveDisplay.from_estimator(selector, ax=ax)
    kept, dropped = display.ax_.patches
    ordered = np.sort(selector.scores_, axis=None)[::-1]
    np.testing.assert_array_equal(kept.get_data().values, ordered[:10])
    np.testing.assert_array_equal(dropped.get_data().values, ordered[10:])
    assert list(display.ax_.lines[0].get_xdata()) == [10, 10]
    assert [text.get_text() for text in display.ax_.texts] == ["10 of 54 kept"]


def test_score_curve_with_everything_kept_or_all_scores_zero(ax):
    display = ScoreCurveDisplay(np.zeros(4), n_selected=4).plot(ax)
    display.figure_.draw_without_rendering()
    assert display.ax_.get_ylim() == (0, 1)


# Convergence


def test_convergence_has_a_line_for_every_slice_and_their_median(ax):
    selector = fit(X2)
    path = selector.objective_path_
    display = ConvergenceDisplay.from_estimator(selector, ax=ax)
    (slices,) = display.ax_.collections
    assert len(slices.get_segments()) == len(path) == 9
    for segment, objective, steps in zip(
        slices.get_segments(), path, selector.n_iter_, strict=True
    ):
        final = objective[steps - 1]
        np.testing.assert_array_equal(segment[:, 0], np.arange(1, steps + 1))
        np.testing.assert_allclose(segment[:, 1], 100 * (objective[:steps] / final - 1), atol=1e-9)
        assert segment[-1, 1] == 0


@pytest.mark.parametrize(
    "path",
    [
        [[4.0, 2.0, np.nan], [3.0, 2.5, 2.0]],
        [[-1.0, -4.0], [-2.0, -3.0]],
        [[5.0], [3.0]],
        [[2.0, 2.0 * (1 + 1e-15), 2.0], [7.0, 7.0, 7.0 * (1 - 1e-15)]],
        [[0.0, 0.0]],
    ],
)
def test_convergence_shows_nothing_below_zero(ax, path):
    display = ConvergenceDisplay(path).plot(ax)
    low, high = display.ax_.get_ylim()
    assert low == 0
    assert high > 0
    assert not any("\N{MINUS SIGN}" in label for label in tick_labels(display.ax_.yaxis))
    assert (display.relative_path_[np.isfinite(display.relative_path_)] >= 0).all()


def test_convergence_draws_rounding_as_zero(ax):
    noise = 1 + 1e-15 * RNG.uniform(-1, 1, size=(5, 9))
    display = ConvergenceDisplay(3 * noise).plot(ax)
    assert (display.relative_path_ == 0).all()
    assert display.ax_.get_ylim() == (0, 1)


def test_median_holds_stopped_slices_at_their_end(ax):
    path = [[4.0, 2.0, np.nan], [3.0, 2.5, 2.0], [6.0, 2.0, np.nan]]
    display = ConvergenceDisplay(path).plot(ax)
    median = next(line for line in display.ax_.lines if line.get_label() == "median")
    np.testing.assert_array_equal(median.get_ydata(), [100, 0, 0])
    np.testing.assert_array_equal(display.steps_ax_.lines[0].get_ydata(), [3, 3, 1])


def test_slices_without_an_objective_are_left_out(ax):
    display = ConvergenceDisplay([[0.0, 0.0], [2.0, 1.0]]).plot(ax)
    np.testing.assert_array_equal(display.relative_path_, [[100.0, 0.0]])
    assert display.steps_ax_.lines[0].get_ydata().tolist() == [2, 2]
    everything = ConvergenceDisplay([[0.0, 0.0]]).plot(Figure().subplots())
    everything.figure_.draw_without_rendering()


def test_axes_outside_a_grid_cannot_be_divided():
    loose = Figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match="ax must come from subplots"):
        ConvergenceDisplay([[2.0, 1.0]]).plot(loose)


# Evaluation


def test_evaluation_draws_a_line_a_method_and_a_level_for_single_counts(ax):
    ours = SelectionEvaluation(
        (5, 10), {"acc": np.array([0.4, 0.8])}, {"acc": np.array([0.1, 0.2])}, 3
    )
    everything = SelectionEvaluation((64,), {"acc": np.array([0.7])}, {"acc": np.zeros(1)}, 3)
    display = EvaluationDisplay({"ours": ours, "all": everything}).plot(ax)
    line, level = display.ax_.lines
    np.testing.assert_array_equal(line.get_xdata(), [5, 10])
    np.testing.assert_array_equal(line.get_ydata(), [0.4, 0.8])
    assert list(level.get_ydata()) == [0.7, 0.7]
    (band,) = display.ax_.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.3, 1.0))
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["ours", "all"]


def test_evaluation_without_the_metric():
    with pytest.raises(ValueError, match="metric='nmi' is not in the evaluation 'ours'"):
        EvaluationDisplay(
            {"ours": SelectionEvaluation((5,), {"acc": np.ones(1)}, {}, 1)}, metric="nmi"
        )


# Without an ax, and without matplotlib


def test_a_figure_of_its_own_where_no_ax_is_given():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    before = set(plt.get_fignums())
    display = ScoreMapDisplay(np.ones((3, 3))).plot()
    assert set(plt.get_fignums()) - before == {display.figure_.number}
    plt.close(display.figure_)


def test_import_works_and_calls_fail_in_one_line_without_matplotlib():
    program = """
import sys
sys.modules["matplotlib"] = None
import numpy as np
from tensift.plotting import ScoreMapDisplay
try:
    ScoreMapDisplay(np.ones((2, 2))).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == 'tensift.plotting needs matplotlib: pip install "tensift[plot]"\n'


def test_convergence_of_methods_without_slices():
    X = np.random.default_rng(0).normal(size=(30, 4, 3))
    spcafs = SPCAFS(4).fit(X)
    display = ConvergenceDisplay.from_estimator(spcafs, ax=Figure().subplots())
    final = spcafs.objective_path_[-1]
    expected = 100 * (spcafs.objective_path_ - final) / abs(final)
    np.testing.assert_allclose(display.relative_path_, expected[None])
    SelectionDisplay.from_estimator(spcafs, X, figure=Figure())
    with pytest.raises(ValueError, match="VarianceSelector takes no steps"):
        ConvergenceDisplay.from_estimator(VarianceSelector(2).fit(X))
