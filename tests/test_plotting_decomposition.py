"""Pictures of decompositions, read back from the figure."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from tensift import SparseTensorPCA, STPCASelector, TensorPCA
from tensift.labels import Names
from tensift.plotting import (
    ComponentMapDisplay,
    ComponentsDisplay,
    EnergyDisplay,
    ReconstructionDisplay,
)
from tensift.plotting._component_map import _far_apart
from tensift.plotting._matplotlib import PALETTE
from tensift.plotting._montage import Montage

RNG = np.random.default_rng(8)
X1 = RNG.normal(size=(30, 12)) * np.linspace(0.2, 2, 12)
X2 = RNG.normal(size=(40, 6, 9)) * np.linspace(0.2, 2, 9)
X3 = RNG.normal(size=(30, 5, 3, 7)) * np.linspace(0.2, 2, 7)


@pytest.fixture
def ax():
    return Figure(figsize=(8, 4), layout="constrained").subplots()


@pytest.fixture
def figure():
    return Figure()


def fit(X, n_components=4, **options):
    return TensorPCA(n_components, **{"truncation": "global", "basis": "dct", **options}).fit(X)


def tick_labels(axis):
    axis.figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_ticklabels()]


def line(axes, label):
    return next(drawn for drawn in axes.lines if drawn.get_label().startswith(label))


def save(display):
    out = io.BytesIO()
    display.figure_.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def from_estimator(display, estimator, X):
    if display in (EnergyDisplay, ComponentsDisplay):
        return display.from_estimator(estimator)
    return display.from_estimator(estimator, X)


# Energy


def test_energy_map_has_the_shares_and_a_line_behind_the_kept_ones(ax):
    pca = fit(X2, 11)
    display = EnergyDisplay.from_estimator(pca, dims=("row", "column"), ax=ax)
    (image,) = display.ax_.images
    np.testing.assert_allclose(image.get_array(), 100 * pca.energy_ / pca.energy_.sum())
    assert isinstance(image.norm, LogNorm)
    x, y = display.ax_.lines[0].get_data()
    for number, rank in enumerate(pca.ranks_):
        assert list(x[2 * number : 2 * number + 2]) == [rank - 0.5] * 2
        assert list(y[2 * number : 2 * number + 2]) == [number - 0.5, number + 0.5]
    assert display.ax_.get_ylabel() == "column (dct)"


def test_curves_are_the_energy_that_either_truncation_would_keep(ax):
    display = EnergyDisplay.from_estimator(fit(X2, 11), ax=ax)
    total = fit(X2, None).energy_.sum()
    anywhere = line(display.curve_ax_, "largest first").get_ydata()
    for count in (1, 11, 30):
        pca = fit(X2, count)
        assert anywhere[count - 1] == pytest.approx(100 * pca.explained_variance_ratio_.sum())
    counts, by_slice = line(display.curve_ax_, "as many of every slice").get_data()
    assert list(counts) == [9, 18, 27, 36, 45, 54]
    for rank in (1, 4):
        kept = fit(X2, rank, truncation="slice").explained_variance_.sum() * (len(X2) - 1)
        assert by_slice[rank - 1] == pytest.approx(100 * kept / total)


@pytest.mark.parametrize("options", [{"truncation": "slice"}, {"truncation": "global"}])
@pytest.mark.parametrize("transform", ["identity", "dft", "haar"])
def test_the_kept_number_and_its_share(ax, options, transform):
    X = X2[:, :, :8]
    pca = TensorPCA(0.6, basis=transform, **options).fit(X)
    display = EnergyDisplay.from_estimator(pca, ax=ax)
    kept = line(display.curve_ax_, "kept")
    ((count,), (share,)) = kept.get_data()
    assert count == pca.n_components_
    assert share == pytest.approx(100 * pca.score(X))
    assert kept.get_label() == f"kept: {count} of 48, {share:.3g} %"


def test_a_single_slice_is_a_curve(ax):
    pca = TensorPCA(5).fit(X1)
    display = EnergyDisplay.from_estimator(pca, ax=ax)
    assert not display.ax_.images
    shares = 100 * pca.energy_[0] / pca.energy_.sum()
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), shares)
    (dots,) = display.ax_.collections
    np.testing.assert_allclose(dots.get_offsets(), np.column_stack([range(5), shares[:5]]))
    assert len(display.curve_ax_.lines) == 2  # nothing to compare with


def test_slices_are_named_by_coordinates_unless_a_transform_mixes_them(ax):
    names = list("abcdefghi")
    options = {"dims": ("row", "column"), "coords": {"column": names}}
    display = EnergyDisplay.from_estimator(fit(X2, basis="identity"), ax=ax, **options)
    assert tick_labels(display.ax_.yaxis) == names
    mixed = EnergyDisplay.from_estimator(fit(X2), ax=Figure().subplots(), **options)
    assert set(tick_labels(mixed.ax_.yaxis)) <= {"", *map(str, range(9))}


def test_slices_of_several_modes_in_row_major_order(ax):
    pca = fit(X3, basis=["identity", "dct"])
    display = EnergyDisplay.from_estimator(
        pca, dims=("row", "band", "time"), coords={"band": ["r", "g", "b"]}, ax=ax
    )
    assert display.ax_.get_ylabel() == "band, time (dct)"
    name = display.ax_.yaxis.get_major_formatter()
    assert [name(0), name(8), name(20), name(21), name(0.5)] == ["r, 0", "g, 1", "b, 6", "", ""]


@pytest.mark.parametrize(
    ("transform", "sparsity"),
    [("identity", "entries"), ("dct", "features"), ("dft", "components"), ("dct", "entries")],
)
def test_sparse_components_have_shares_sums_and_zeros(ax, transform, sparsity):
    pca = SparseTensorPCA(2, lam=0.2, basis=transform, sparsity=sparsity).fit(X2)
    display = EnergyDisplay.from_estimator(pca, ax=ax)
    shares, sums, zeros = (
        [bar.get_height() for bar in axes.patches]
        for axes in (display.ax_, display.curve_ax_, display.sparsity_ax_)
    )
    np.testing.assert_allclose(shares, 100 * pca.explained_variance_ratio_)
    assert sums[0] == shares[0]
    assert sums[-1] == pytest.approx(100 * pca.score(X2))
    for slice_, number, drawn in zip(
        pca.component_slices_, pca.component_numbers_, zeros, strict=True
    ):
        if (transform, sparsity) == ("dct", "entries"):
            column = pca.sparse_encoder_[:, :, number]
        else:
            column = pca.encoder_[slice_, :, number]
        assert drawn == pytest.approx(100 * np.mean(column == 0))
    save(display)


def test_many_sparse_components_are_steps(ax):
    shares = np.full(200, 0.002)
    display = EnergyDisplay(shares, sparsity=np.ones(200)).plot(ax)
    np.testing.assert_allclose(display.curve_ax_.patches[0].get_data().values[-1], 40)


def test_energy_without_much_to_show(ax):
    save(EnergyDisplay(np.zeros(0)).plot(ax))
    save(EnergyDisplay([], energy=np.zeros((3, 2)), ranks=[0, 0, 0]).plot(Figure().subplots()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"energy": np.ones((2, 3))}, "give both energy and ranks, or neither"),
        ({"energy": np.ones((2, 3)), "ranks": [1, 1, 1]}, "for the p slices that ranks has"),
        ({"sparsity": [0.5, 0.5]}, r"sparsity has shape \(2,\), but shares has \(1,\)"),
    ],
)
def test_energy_of_arrays_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        EnergyDisplay([1.0], **options)


# Components


@pytest.mark.parametrize("common", [True, False])
def test_patterns_are_images_symmetric_about_zero(figure, common):
    pca = fit(X2, 7)
    display = ComponentsDisplay.from_estimator(pca, common_scale=common, figure=figure)
    assert len(display.axes_) == 7
    largest = np.abs(pca.components_).max()
    for axes, pattern in zip(display.axes_, pca.components_, strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), pattern)
        top = largest if common else np.abs(pattern).max()
        assert image.get_clim() == (-top, top)
    (bar,) = set(figure.axes) - set(display.axes_)
    assert bar.get_ylabel() == ("value" if common else "value, of each\npattern's largest")


def test_titles_give_slice_number_and_share(figure):
    pca = fit(X2, 7, basis="identity")
    display = ComponentsDisplay.from_estimator(
        pca, dims=("row", "t"), coords={"t": list("abcdefghi")}, figure=figure
    )
    for k, axes in enumerate(display.axes_):
        where = f"t {'abcdefghi'[pca.component_slices_[k]]}, no. {pca.component_numbers_[k]}"
        share = f"{100 * pca.explained_variance_ratio_[k]:.3g} % of energy"
        assert axes.get_title() == f"{where}\n{share}"


def test_the_first_eight_unless_told(figure):
    pca = fit(X2, 20)
    assert len(ComponentsDisplay.from_estimator(pca, figure=figure).axes_) == 8
    chosen = ComponentsDisplay.from_estimator(pca, coordinates=[19, 2], figure=Figure())
    drawn = [axes.images[0].get_array() for axes in chosen.axes_]
    np.testing.assert_array_equal(drawn, pca.components_[[19, 2]])


def test_weights_of_a_sparse_decomposition_show_its_zeros(figure):
    pca = SparseTensorPCA(1, lam=0.1).fit(X2)
    display = ComponentsDisplay.from_estimator(pca, weights=True, figure=figure)
    drawn = np.array([axes.images[0].get_array() for axes in display.axes_])
    np.testing.assert_array_equal(drawn, pca.weights_[: len(drawn)])
    assert np.mean(drawn == 0) > np.mean(pca.components_ == 0)


def test_rows_are_drawn_in_their_tensor_shape(figure):
    rows = X2.reshape(len(X2), -1)
    pca = fit(rows, feature_shape=(6, 9))
    display = ComponentsDisplay.from_estimator(pca, figure=figure)
    np.testing.assert_array_equal(
        display.axes_[0].images[0].get_array(), pca.components_[0].reshape(6, 9)
    )


def test_patterns_of_one_mode_are_traces(figure):
    pca = TensorPCA(3).fit(X1)
    display = ComponentsDisplay.from_estimator(pca, dims=("band",), figure=figure)
    for axes, pattern in zip(display.axes_, pca.components_, strict=True):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), pattern)
        low, high = axes.get_ylim()
        assert low == pytest.approx(-high)
    assert display.axes_[0].get_title().startswith("no. 0\n")
    assert display.axes_[0].get_xlabel() == "band →"


def test_more_modes_are_tiles(figure):
    pca = fit(X3)
    display = ComponentsDisplay.from_estimator(pca, dims=("row", "band", "time"), figure=figure)
    image = display.axes_[0].images[0].get_array().filled(np.nan)
    assert image.shape == (5, 3 * 7 + 2)  # three bands, with a gap between them
    for band, left in enumerate([0, 8, 16]):
        np.testing.assert_array_equal(image[:, left : left + 7], pca.components_[0, :, band])
    assert np.isnan(image[:, [7, 15]]).all()
    assert display.axes_[0].get_xlabel() == "row ↓  time →  tiles: band"


@pytest.mark.parametrize(
    ("shape", "grid"),
    [((4, 6), (1, 1)), ((6, 4, 6), (1, 4)), ((9, 4, 9), (1, 4)), ((7, 9, 9), (3, 3)),
     ((2, 3, 9, 9), (2, 3)), ((2, 2, 3, 9, 9), (4, 3))],
)  # fmt: skip
def test_every_element_is_once_in_a_montage(shape, grid):
    sample = np.arange(np.prod(shape)).reshape(shape)
    montage = Montage.choose(Names(shape))
    assert montage.grid == grid
    image = montage.image(sample)
    np.testing.assert_array_equal(np.sort(image[~np.isnan(image)]), sample.ravel())


def test_complex_patterns_show_their_real_part(figure):
    patterns = RNG.normal(size=(1, 3, 4)) + 1j * RNG.normal(size=(1, 3, 4))
    display = ComponentsDisplay(patterns).plot(figure)
    np.testing.assert_array_equal(display.axes_[0].images[0].get_array(), patterns[0].real)


@pytest.mark.parametrize(
    ("shape", "count"),
    [((8, 8), 1), ((64, 64), 8), ((8, 8), 12), ((3, 40), 8), ((5, 200), 8), ((20, 9, 30), 12)],
)
def test_titles_do_not_meet(figure, shape, count):
    patterns = RNG.normal(size=(count, *shape))
    titles = [f"frequency (dct) {k}, channel (haar) {k}, no. {k}\n12.3 %" for k in range(count)]
    display = ComponentsDisplay(patterns, titles=titles).plot(figure)
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in display.axes_]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    width, height = figure.get_size_inches()
    assert max(width, height) < 12


@pytest.mark.parametrize("wanted", [[4], [-1], [0, 1.5], ["0"]])
def test_coordinates_that_do_not_exist(figure, wanted):
    message = f"coordinates has {wanted[-1]!r}, but the decomposition has 4 coordinates"
    with pytest.raises(ValueError, match=message):
        ComponentsDisplay.from_estimator(fit(X2), coordinates=wanted, figure=figure)
    with pytest.raises(ValueError, match=message):
        ComponentMapDisplay.from_estimator(fit(X2), X2, coordinates=[0, wanted[-1]])


def test_components_of_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="components must be one or more patterns"):
        ComponentsDisplay(np.ones((0, 3)))
    with pytest.raises(ValueError, match="titles has 1 entries for 2 components"):
        ComponentsDisplay(np.ones((2, 3)), titles=["one"])


# Map


def test_points_lie_at_two_coordinates(ax):
    pca = fit(X2)
    display = ComponentMapDisplay.from_estimator(
        pca, X2, coordinates=(1, 3), dims=("row", "t"), ax=ax
    )
    (dots,) = display.ax_.collections
    np.testing.assert_array_equal(dots.get_offsets(), pca.transform(X2)[:, [1, 3]])
    label = f"coordinate 1: t (dct) {pca.component_slices_[1]}, no. {pca.component_numbers_[1]}"
    assert display.ax_.get_xlabel() == f"{label} ({100 * pca.explained_variance_ratio_[1]:.3g} %)"
    assert display.ax_.get_aspect() == 1
    assert not display.thumbnails_.size


@pytest.mark.parametrize("kind", [int, float, str, object])
def test_classes_have_a_colour_each_and_are_named(ax, kind):
    labels = np.repeat([3, 1, 2, 1], 10).astype(kind)
    pca = fit(X2)
    display = ComponentMapDisplay.from_estimator(pca, X2, labels=labels, ax=ax)
    points = pca.transform(X2)[:, :2]
    assert len(display.ax_.collections) == 3
    for dots, name, colour in zip(display.ax_.collections, "123", PALETTE, strict=False):
        own = labels.astype(float) == float(name)
        np.testing.assert_array_equal(dots.get_offsets(), points[own])
        assert to_hex(dots.get_facecolor()[0]) == colour
    legend = display.ax_.get_legend()
    names = [text.get_text().removesuffix(".0") for text in legend.get_texts()]
    assert names == ["1", "2", "3"]
    assert legend.get_title().get_text() == "label (only for colour)"


def test_beyond_the_palette_classes_differ_in_shape(ax):
    points = RNG.normal(size=(24, 2))
    display = ComponentMapDisplay(points, labels=[f"class {i:02}" for i in range(24)]).plot(ax)
    looks = {
        (to_hex(dots.get_facecolor()[0]), dots.get_paths()[0].vertices.tobytes())
        for dots in display.ax_.collections
    }
    assert len(looks) == 24


def test_many_numbers_are_a_scale(ax):
    values = np.linspace(0, 1, 40)
    display = ComponentMapDisplay(RNG.normal(size=(40, 2)), labels=values).plot(ax)
    (dots,) = display.ax_.collections
    np.testing.assert_array_equal(dots.get_array(), values)
    assert display.ax_.get_legend() is None


def test_labels_do_not_move_points():
    pca = fit(X2)
    labels = RNG.integers(2, size=40)
    with_labels = ComponentMapDisplay.from_estimator(pca, X2, labels=labels, ax=Figure().subplots())
    without = ComponentMapDisplay.from_estimator(pca, X2, ax=Figure().subplots())
    np.testing.assert_array_equal(with_labels.points, without.points)


@pytest.mark.parametrize("X", [X2, X3, RNG.normal(size=(30, 3, 90))])
def test_thumbnails_are_samples_at_their_points_and_do_not_overlap(ax, X):
    pca = fit(X)
    display = ComponentMapDisplay.from_estimator(pca, X, thumbnails=12, ax=ax)
    display.figure_.draw_without_rendering()
    boxes = [art for art in display.ax_.get_children() if isinstance(art, AnnotationBbox)]
    assert 3 <= len(boxes) == len(set(display.thumbnails_)) <= 12
    for box, index in zip(boxes, display.thumbnails_, strict=True):
        np.testing.assert_array_equal(box.xy, display.points[index])
    extents = [box.offsetbox.get_window_extent() for box in boxes]
    assert not any(a.overlaps(b) for i, a in enumerate(extents) for b in extents[:i])
    if X is X2:
        shown = boxes[0].offsetbox.get_children()[0].get_array()
        np.testing.assert_array_equal(shown, X[display.thumbnails_[0]])


@pytest.mark.parametrize("size", [(6.4, 5.2), (3, 3), (9, 3)])
@pytest.mark.parametrize("shape", [(8, 8), (3, 90), (20, 10)])
def test_frames_of_many_thumbnails_do_not_overlap(size, shape):
    ax = Figure(size, layout="constrained").subplots()
    points, labels = RNG.normal(size=(500, 2)) * [3, 1], np.arange(500) % 10
    display = ComponentMapDisplay(points, labels=labels, samples=np.zeros((500, *shape)))
    display.plot(ax, thumbnails=100).figure_.draw_without_rendering()
    frames = [
        art.patch.get_window_extent()
        for art in display.ax_.get_children()
        if isinstance(art, AnnotationBbox)
    ]
    assert len(frames) > 1
    assert not any(a.overlaps(b) for i, a in enumerate(frames) for b in frames[:i])


def test_thumbnails_spread_over_the_corners_first():
    points = np.array([[45.0, 45], [46, 46], [0, 0], [90, 0], [0, 90], [90, 90], [1, 89]])
    assert set(_far_apart(points, 4)) == {2, 3, 4, 5}
    # One of the two in the middle, and one of the two in a corner, would cover the other.
    assert set(_far_apart(points, 99)) == {0, 2, 3, 4, 5}
    assert len(_far_apart(np.zeros((5, 2)), 3)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [1, 2]}, r"labels has shape \(2,\), but there are 40 samples"),
        ({"labels": [f"{i}" for i in range(40)]}, "labels has 40 different names"),
        ({"coordinates": (0, 1, 2)}, "coordinates must be two numbers, got 3"),
        ({"thumbnails": -1}, "thumbnails must be 0 or more, got -1"),
    ],
)
def test_map_of_what_does_not_fit(ax, options, message):
    with pytest.raises(ValueError, match=message):
        ComponentMapDisplay.from_estimator(fit(X2), X2, ax=ax, **options)


def test_points_that_no_plane_holds(ax):
    with pytest.raises(ValueError, match=r"points must have shape \(n, 2\), got \(4, 3\)"):
        ComponentMapDisplay(np.ones((4, 3)))
    with pytest.raises(ValueError, match="points are complex"):
        ComponentMapDisplay(np.ones((4, 2)) * 1j)
    with pytest.raises(ValueError, match="samples has 3 entries for 4 points"):
        ComponentMapDisplay(np.ones((4, 2)), samples=np.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="thumbnails need samples of two or more modes"):
        ComponentMapDisplay.from_estimator(TensorPCA(2).fit(X1), X1, thumbnails=3, ax=ax)


# Reconstruction


@pytest.mark.parametrize("whiten", [True, False])
def test_rows_are_sample_reconstruction_and_difference(figure, whiten):
    pca = fit(X2, whiten=whiten)
    display = ReconstructionDisplay.from_estimator(pca, X2, samples=[5, 0], figure=figure)
    restored = pca.inverse_transform(pca.transform(X2))
    assert display.axes_.shape == (2, 3)
    for axes, index in zip(display.axes_, [5, 0], strict=True):
        drawn = [panel.images[0].get_array() for panel in axes]
        expected = [X2[index], restored[index], X2[index] - restored[index]]
        np.testing.assert_allclose(drawn, expected, atol=1e-12)
        assert axes[0].get_ylabel().startswith(f"sample {index}\nerror ")
    scales = [panel.images[0].get_clim() for panel in display.axes_.ravel()]
    assert scales[0] == scales[1] == scales[3] == scales[4]
    assert scales[2] == scales[5]
    assert scales[2][0] == -scales[2][1]


def test_the_error_is_the_energy_that_the_score_misses(figure):
    pca = fit(X2, 9)
    display = ReconstructionDisplay.from_estimator(pca, X2, samples=range(3), figure=figure)
    for index, error in enumerate(display.errors_):
        assert error == pytest.approx(1 - pca.score(X2[[index]]))
        words = f"sample {index}\nerror {100 * error:.3g} %"
        assert display.axes_[index, 0].get_ylabel() == words


def test_errors_of_the_mean_itself():
    mean = np.full(3, 7)
    display = ReconstructionDisplay([mean, mean], [mean, mean + 1], mean=mean)
    assert list(display.errors_) == [0, np.inf]


def test_small_integers_do_not_wrap_around(figure):
    sample, restored = np.array([[[0, 9]]], np.uint8), np.array([[[1, 9]]], np.uint8)
    display = ReconstructionDisplay(sample, restored).plot(figure)
    np.testing.assert_array_equal(display.axes_[0, 2].images[0].get_array(), [[-1, 0]])


def test_complex_samples_show_moduli(figure):
    samples = RNG.normal(size=(9, 3, 4)) + 1j * RNG.normal(size=(9, 3, 4))
    pca = TensorPCA(1, basis="dft").fit(samples)
    display = ReconstructionDisplay.from_estimator(pca, samples, samples=[0], figure=figure)
    restored = pca.inverse_transform(pca.transform(samples[:1]))
    drawn = [panel.images[0].get_array() for panel in display.axes_[0]]
    expected = np.abs([samples[0], restored[0], samples[0] - restored[0]])
    np.testing.assert_allclose(drawn, expected)


def test_traces_of_one_mode(figure):
    pca = TensorPCA(3).fit(X1)
    display = ReconstructionDisplay.from_estimator(pca, X1, figure=figure)
    assert display.axes_.shape == (4, 3)
    restored = pca.inverse_transform(pca.transform(X1))
    for row, axes in enumerate(display.axes_):
        drawn = [panel.lines[0].get_ydata() for panel in axes]
        expected = [X1[row], restored[row], X1[row] - restored[row]]
        np.testing.assert_allclose(drawn, expected, atol=1e-12)
        assert axes[0].get_ylim() == axes[1].get_ylim()


def test_data_frames_keep_their_names(figure):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X1, columns=[f"f{i}" for i in range(12)])
    pca = TensorPCA(3).fit(frame).set_output(transform="pandas")
    display = ReconstructionDisplay.from_estimator(pca, frame, samples=[2], figure=figure)
    np.testing.assert_array_equal(display.samples[0], X1[2])
    ComponentMapDisplay.from_estimator(pca, frame, ax=Figure().subplots())


def test_one_number_is_no_sequence(figure):
    with pytest.raises(ValueError, match=r"coordinates must be a sequence, got 3; give \[3\]"):
        ComponentsDisplay.from_estimator(fit(X2), coordinates=3, figure=figure)
    with pytest.raises(ValueError, match=r"samples must be a sequence, got 3; .* range\(3\)"):
        ReconstructionDisplay.from_estimator(fit(X2), X2, samples=3, figure=figure)


def test_many_samples_stay_on_a_page(figure):
    ReconstructionDisplay.from_estimator(fit(X2), X2, samples=range(12), figure=figure)
    assert max(figure.get_size_inches()) < 10.5


@pytest.mark.parametrize("wanted", [40, -41, 0.5])
def test_samples_that_are_not_there(figure, wanted):
    with pytest.raises(ValueError, match=f"samples has {wanted}, which is not one of the 40 in X"):
        ReconstructionDisplay.from_estimator(fit(X2), X2, samples=[wanted], figure=figure)


def test_reconstructions_of_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="samples must be one or more samples"):
        ReconstructionDisplay(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="reconstructions has shape"):
        ReconstructionDisplay(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"mean has shape \(4,\), but samples have shape \(3,\)"):
        ReconstructionDisplay(np.ones((2, 3)), np.ones((2, 3)), mean=np.ones(4))
    with pytest.raises(ValueError, match="titles has 1 entries for 2 samples"):
        ReconstructionDisplay(np.ones((2, 3)), np.ones((2, 3)), titles=["one"])


# All of them

DISPLAYS = [EnergyDisplay, ComponentsDisplay, ComponentMapDisplay, ReconstructionDisplay]


@pytest.mark.parametrize("display", DISPLAYS)
def test_not_fitted(display):
    with pytest.raises(NotFittedError):
        from_estimator(display, TensorPCA(2), X2)


@pytest.mark.parametrize(
    ("display", "other"),
    [
        *((display, PCA(2)) for display in DISPLAYS),
        *((display, STPCASelector(3, lam=1, eta=1)) for display in DISPLAYS[:-1]),
    ],
)
def test_estimators_of_another_kind(display, other):
    other.fit(X1)
    message = f"must be a TensorPCA or a SparseTensorPCA, got {type(other).__name__}"
    with pytest.raises(TypeError, match=message):
        from_estimator(display, other, X1)


@pytest.mark.parametrize("display", [ComponentMapDisplay, ReconstructionDisplay])
def test_samples_of_another_shape(display):
    with pytest.raises(ValueError, match=r"samples of shape \(5, 3, 7\), but TensorPCA was fitted"):
        from_estimator(display, fit(X2), X3)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(
    ("X", "estimator"),
    [
        *[(X, TensorPCA(2, basis="dft")) for X in (X1, X2, X3, X3[..., None])],
        *[(X, SparseTensorPCA(2)) for X in (X1, X2)],
    ],
)
def test_every_kind_of_samples_becomes_a_picture(display, X, estimator):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    drawn = from_estimator(display, clone(estimator).fit(X), X)
    assert drawn.figure_.number in plt.get_fignums()
    save(drawn)
    plt.close(drawn.figure_)


def test_a_decomposition_of_a_stream_is_computed_when_drawn(ax):
    pca = TensorPCA(2).partial_fit(X2[:20]).partial_fit(X2[20:])
    display = EnergyDisplay.from_estimator(pca, ax=ax)
    np.testing.assert_allclose(display.energy, TensorPCA(2).fit(X2).energy_)


@pytest.mark.parametrize("display", DISPLAYS)
def test_wrong_names_are_an_error_that_names_them(display):
    extra = () if display in (EnergyDisplay, ComponentsDisplay) else (X2,)
    with pytest.raises(ValueError, match="dims must name each of the 2 feature modes"):
        display.from_estimator(fit(X2), *extra, dims=("one",))


def test_without_matplotlib_one_line_says_what_to_install():
    script = """
import sys
sys.modules["matplotlib"] = None
import numpy as np
from tensift.plotting import *
for display in (
    EnergyDisplay([1.0]),
    ComponentsDisplay(np.ones((1, 2))),
    ComponentMapDisplay(np.ones((1, 2))),
    ReconstructionDisplay(np.ones((1, 2)), np.ones((1, 2))),
):
    try:
        display.plot()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == 4 * 'tensift.plotting needs matplotlib: pip install "tensift[plot]"\n', run
