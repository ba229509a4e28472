"""Pictures of what was fitted on samples with names, and on samples without."""

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from tensift import (
    GeometrySelector,
    STPCASelector,
    TensorPCA,
    stability_selection,
    stpca_path,
)
from tensift.comparison import compare_selectors
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.plan import example_pilot, plan_job
from tensift.plotting import (
    ChannelRankingDisplay,
    ChoiceDisplay,
    ComparisonDisplay,
    ComponentMapDisplay,
    ComponentsDisplay,
    EnergyDisplay,
    PathDisplay,
    PlanDisplay,
    ReconstructionCurveDisplay,
    ReconstructionDisplay,
    ReplacementDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionDisplay,
    StabilityDisplay,
)

RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(40, 4, 12)).cumsum(axis=2)
CHANNELS = ["Fz", "Cz", "Pz", "Oz"]
NAMED = TensorDataset(
    VALUES,
    dims=("channel", "time"),
    coords={"channel": CHANNELS, "time": np.arange(12) / 4},
    units={"time": "s"},
)
ELEMENTS = GeometrySelector(6).fit(NAMED)
OF_CHANNELS = STPCASelector(2, feature_mode="channel", orientation="time").fit(NAMED)
WITHOUT = GeometrySelector(6).fit(VALUES)
WITHOUT_OF_CHANNELS = STPCASelector(2, feature_mode=0, orientation=1).fit(VALUES)
PCA = TensorPCA(3, orientation="time").fit(NAMED)


def labels(axis):
    """The texts along an axis, where matplotlib puts its ticks."""
    return [axis.get_major_formatter()(place) for place in axis.get_majorticklocs()]


def axes():
    return Figure().subplots()


@pytest.mark.parametrize("draw", ["scores", "kept"])
def test_axes_of_elements(draw):
    def drawn(selector, X):
        if draw == "scores":
            return ScoreMapDisplay.from_estimator(selector, ax=axes()).ax_
        return SelectedFeaturesDisplay.from_estimator(selector, X, ax=axes()).ax_

    ax = drawn(ELEMENTS, NAMED)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "channel")
    assert labels(ax.yaxis) == CHANNELS
    places = [place for place in ax.get_xticks() if 0 <= place < 12]
    assert [ax.xaxis.get_major_formatter()(p) for p in places] == [f"{p / 4:g}" for p in places]
    ax = drawn(WITHOUT, VALUES)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mode 1", "mode 0")


def test_names_below_each_other_do_not_overlap():
    """In a low picture some names are left out; in a high one, all are there."""
    many = Names((20, 30), ("channel", "time"), {"channel": [f"E{k}" for k in range(20)]})
    for height in (1.5, 2.5, 4, 6):
        figure = Figure(figsize=(4, height))
        ax = ScoreMapDisplay(np.ones((20, 30)), names=many).plot(ax=figure.subplots()).ax_
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_yticklabels() if text.get_text()]
        boxes.sort(key=lambda box: box.y0)
        assert all(a.y1 <= b.y0 + 1 for a, b in itertools.pairwise(boxes))
        assert len(boxes) == 20 if height == 6 else len(boxes) >= 2


@pytest.mark.parametrize(
    ("names", "aspect"),
    [
        (Names((8, 9), ("row", "column")), 1),
        (Names((8, 9)), 1),
        (Names((8, 9), ("lat", "lon"), {"lat": range(8)}), 1),
        (Names((8, 9), ("channel", "time"), {"channel": list("abcdefgh")}), "auto"),
        (Names((8, 9), ("time", "band"), {"time": range(8)}, {"time": "s"}), "auto"),
        (Names((2, 9), ("row", "column")), "auto"),
    ],
)
def test_cells_are_square_where_both_axes_have_one_scale(names, aspect):
    display = ScoreMapDisplay(np.ones(names.shape), names=names).plot(ax=axes())
    assert display.ax_.get_aspect() == aspect


def test_axes_of_channels():
    ax = ChannelRankingDisplay.from_estimator(OF_CHANNELS, ax=axes()).ax_
    assert ax.get_ylabel() == "channel"
    first = CHANNELS[int(OF_CHANNELS.order_[0])]
    assert ax.get_yticklabels()[0].get_text() == first
    ax = SelectedFeaturesDisplay.from_estimator(OF_CHANNELS, NAMED, ax=axes()).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "channel")
    ax = ChannelRankingDisplay.from_estimator(WITHOUT_OF_CHANNELS, ax=axes()).ax_
    assert ax.get_ylabel() == "mode 0"


def test_names_by_hand_come_first():
    ax = ScoreMapDisplay.from_estimator(ELEMENTS, dims=("electrode", "when"), ax=axes()).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("when (s)", "electrode")
    assert labels(ax.yaxis) == CHANNELS
    ax = ScoreMapDisplay.from_estimator(ELEMENTS, coords={"channel": list("abcd")}, ax=axes()).ax_
    assert labels(ax.yaxis) == list("abcd")
    with pytest.raises(ValueError, match="dims must name each of the 2 feature modes"):
        ScoreMapDisplay.from_estimator(ELEMENTS, dims=("a",), ax=axes())
    with pytest.raises(ValueError, match=r"names belong to modes of shape \(3,\), but the values"):
        ScoreMapDisplay(np.ones((2, 2)), names=Names((3,), ("a",)))


def test_a_whole_selection():
    display = SelectionDisplay.from_estimator(ELEMENTS, NAMED, figure=Figure())
    assert [part.ax_.get_xlabel() for part in display.displays_[:2]] == ["time (s)", "time (s)"]
    display = SelectionDisplay.from_estimator(OF_CHANNELS, NAMED, figure=Figure())
    assert [part.ax_.get_ylabel() for part in display.displays_[:2]] == ["channel", "channel"]
    display = SelectionDisplay.from_estimator(WITHOUT, VALUES, figure=Figure())
    assert display.displays_[0].ax_.get_xlabel() == "mode 1"


def test_what_is_lost_and_what_is_restored():
    display = ReplacementDisplay.from_estimator(ELEMENTS, figure=Figure())
    assert display.axes_[0].get_xlabel() == "channel ↓  time →"
    assert all(
        any(name in text.get_text() for name in CHANNELS)
        for text in display.axes_[1].get_yticklabels()
    )
    display = ReconstructionDisplay.from_estimator(OF_CHANNELS, NAMED, figure=Figure())
    assert display.axes_[-1, 0].get_xlabel() == "time (s)"
    assert display.axes_[0, 0].get_ylabel() == "channel"
    display = ReconstructionDisplay.from_estimator(PCA, NAMED, figure=Figure())
    assert display.axes_[-1, 0].get_xlabel() == "channel ↓  time →"
    display = ReconstructionCurveDisplay.from_estimator(ELEMENTS, NAMED, figure=Figure())
    assert display.axes_[1].get_xlabel() == "channel ↓  time →"
    display = ReconstructionCurveDisplay.from_estimator(WITHOUT, VALUES, figure=Figure())
    assert display.axes_[1].get_xlabel() == "mode 0 ↓  mode 1 →"


def test_decompositions():
    display = ComponentsDisplay.from_estimator(PCA, figure=Figure())
    slice_ = CHANNELS[int(PCA.component_slices_[0])]
    assert display.axes_[0].get_title().startswith(f"channel {slice_}, no. ")
    assert "channel ↓  time →" in [ax.get_xlabel() for ax in display.axes_]
    ax = ComponentMapDisplay.from_estimator(PCA, NAMED, ax=axes()).ax_
    assert ax.get_xlabel().startswith(f"coordinate 0: channel {slice_}, no. ")
    assert EnergyDisplay.from_estimator(PCA, ax=axes()).ax_.get_ylabel() == "channel"
    # A transform mixes times, so slices are no times any more.
    mixed = TensorPCA(3, basis="dct").fit(NAMED)
    assert EnergyDisplay.from_estimator(mixed, ax=axes()).ax_.get_ylabel() == "time (dct)"
    plain = TensorPCA(3, orientation=1).fit(VALUES)
    assert EnergyDisplay.from_estimator(plain, ax=axes()).ax_.get_ylabel() == "mode 0"


def test_results_keep_the_names():
    found = stability_selection(ELEMENTS, NAMED, n_resamples=2)
    assert found.plot(figure=Figure()).displays_[1].ax_.get_xlabel() == "time (s)"
    assert found.plot(dims=("a", "b"), figure=Figure()).displays_[1].ax_.get_ylabel() == "a"
    plain = stability_selection(WITHOUT, VALUES, n_resamples=2)
    assert plain.plot(figure=Figure()).displays_[1].ax_.get_xlabel() == "mode 1"
    assert isinstance(found.plot(figure=Figure()), StabilityDisplay)

    path = stpca_path(NAMED, [1, 10], [1, 10])
    assert PathDisplay.from_path(path, figure=Figure()).axes_[-1, 0].get_xlabel() == (
        "channel ↓  time →"
    )
    path = stpca_path(NAMED, [1, 10], [1, 10], feature_mode="time")
    corner = PathDisplay.from_path(path, figure=Figure()).axes_[-1, 0]
    assert corner.get_xlabel() == "time (s)"

    settings = {"n_resamples": 2, "n_seeds": 1}
    found = compare_selectors(NAMED, ["geometry"], 2, feature_mode="channel", **settings)
    ax = ComparisonDisplay(found).plot(Figure()).map_axes_[0]
    assert ax.get_xlabel() == "channel"
    assert labels(ax.xaxis) == CHANNELS
    found = compare_selectors(NAMED, ["geometry"], 2, **settings)
    ax = ComparisonDisplay(found).plot(Figure()).map_axes_[0]
    assert ax.get_xlabel() == "channel ↓  time →"
    found = compare_selectors(VALUES, ["geometry"], 2, feature_mode=0, **settings)
    assert ComparisonDisplay(found).plot(Figure()).map_axes_[0].get_xlabel() == "mode 0"


def test_choices_and_plans():
    chosen = STPCASelector(6, orientation="auto", lam=1, eta=1).fit(NAMED)
    ax = ChoiceDisplay.from_estimator(chosen, figure=Figure()).axes_[-1]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "channel, identity",
        "time, identity",
    ]
    name = NAMED.dims[chosen.orientation_]
    assert chosen.choice_.orientation.reason.startswith(f"orientation={name!r}, ")
    plan = plan_job(data=NAMED, orientation="time", pilot=example_pilot)
    assert "orientation 1 (time): 4 slices of 12 features" in str(plan)
    display = PlanDisplay.from_plan(plan, ax=axes())
    assert list(display.orientations) == ["0 (channel, q = 4)", "1 (time, q = 12)"]
    assert plan.to_dict()["job"]["dims"] == ["channel", "time"]


def test_columns_of_a_data_frame_are_names_too():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(RNG.normal(size=(30, 3)), columns=["age", "height", "weight"])
    selector = GeometrySelector(2).fit(table)
    ax = ScoreMapDisplay.from_estimator(selector, ax=axes()).ax_
    assert ax.get_xlabel() == "column"
    assert labels(ax.xaxis) == ["age", "height", "weight"]


def test_arrays_of_xarray_are_drawn_in_the_order_of_the_fit():
    xarray = pytest.importorskip("xarray")
    units = {"units": "s"}
    array = xarray.DataArray(
        VALUES.transpose(2, 0, 1),
        dims=["time", "trial", "channel"],
        coords={"channel": CHANNELS, "time": ("time", np.arange(12) / 4, units)},
    )
    selector = GeometrySelector(6, sample_dim="trial").fit(array.transpose("trial", ...))
    display = SelectedFeaturesDisplay.from_estimator(selector, array, sample=3, ax=axes())
    np.testing.assert_array_equal(display.sample, VALUES[3].T)
    assert display.ax_.get_ylabel() == "time (s)"
    pca = TensorPCA(2, sample_dim="trial").fit(array)
    display = ComponentMapDisplay.from_estimator(pca, array, ax=axes())
    np.testing.assert_allclose(display.points, pca.transform(array).values[:, :2])
    display = ReconstructionDisplay.from_estimator(selector, array, samples=[3], figure=Figure())
    np.testing.assert_array_equal(display.samples[0], VALUES[3].T)
