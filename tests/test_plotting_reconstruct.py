"""Pictures of restored samples and of replacements, read back from the figure."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import ColumnSubsetSelector, GeometrySelector
from tensift.plotting import (
    ReconstructionCurveDisplay,
    ReconstructionDisplay,
    ReplacementDisplay,
)
from tensift.rivals import AllFeatures, VarianceSelector

RNG = np.random.default_rng(3)
X1 = RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 12)) + 0.2 * RNG.normal(size=(60, 12))
X2 = (RNG.normal(size=(80, 4)) @ RNG.normal(size=(4, 54))).reshape(80, 6, 9)
X2 = X2 + 0.3 * RNG.normal(size=X2.shape)
X3 = RNG.normal(size=(50, 3, 5, 4))


@pytest.fixture
def figure():
    return Figure()


def save(display):
    out = io.BytesIO()
    display.figure_.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def image(ax, place=-1):
    return ax.images[place].get_array()


def bars(ax):
    return [patch.get_width() for patch in ax.patches]


# Restored samples


def test_images_of_sample_estimate_difference_and_deviation(figure):
    selector = GeometrySelector(7).fit(X2[:60])
    display = ReconstructionDisplay.from_estimator(selector, X2, samples=[70, 61], figure=figure)
    assert display.axes_.shape == (2, 4)
    found, deviation = selector.reconstruct(selector.transform(X2[[70, 61]]), return_std=True)
    for row, (axes, number) in enumerate(zip(display.axes_, (70, 61), strict=True)):
        expected = [X2[number], found[row], X2[number] - found[row], deviation[row]]
        for ax, values in zip(axes, expected, strict=True):
            np.testing.assert_allclose(image(ax), values)
        (dots,) = axes[0].collections
        right, down = dots.get_offsets().T.astype(int)
        assert set(zip(down, right, strict=True)) == set(
            zip(*np.nonzero(selector.get_support().reshape(6, 9)), strict=True)
        )
    scales = {ax.images[0].get_clim() for ax in display.axes_[:, 2:].ravel()}
    assert len(scales) == 1  # a colour means the same in differences and deviations
    away = np.sum((X2[70] - X2[:60].mean(axis=0)) ** 2)
    assert display.errors_[0] == pytest.approx(np.sum((X2[70] - found[0]) ** 2) / away)
    titles = [ax.get_title() for ax in display.axes_[0]]
    assert titles == ["sample", "reconstruction", "difference", "deviation"]
    save(display)


def test_samples_of_one_mode_are_lines_with_bands(figure):
    selector = ColumnSubsetSelector(3).fit(X1)
    display = ReconstructionDisplay.from_estimator(selector, X1, samples=[4], figure=figure)
    (ax,) = display.axes_.ravel()
    found, deviation = selector.reconstruct(selector.transform(X1[[4]]), return_std=True)
    sample, estimate, kept = ax.lines
    np.testing.assert_allclose(sample.get_ydata(), X1[4])
    np.testing.assert_allclose(estimate.get_ydata(), found[0])
    np.testing.assert_array_equal(kept.get_xdata(), selector.get_support(indices=True))
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((found + 1.645 * deviation).max())
    assert band[:, 1].min() == pytest.approx((found - 1.645 * deviation).min())
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["sample", "kept", "estimate", "90 % of true values"]
    save(display)


@pytest.mark.parametrize("mode", [0, 1])
def test_mode_features_are_one_line_each(figure, mode):
    samples = X2 if mode == 0 else np.swapaxes(X2, 1, 2)
    selector = VarianceSelector(2, feature_mode=mode).fit(samples)
    display = ReconstructionDisplay.from_estimator(selector, samples, samples=[0], figure=figure)
    (ax,) = display.axes_.ravel()
    # A kept one is drawn over the sample, the others are an estimate with a band.
    assert len(ax.lines) == 12
    assert len(ax.collections) == 4
    assert [text.get_text() for text in ax.get_yticklabels()] == list("012345")
    save(display)


def test_many_lines_are_the_worst(figure):
    samples = RNG.normal(size=(50, 30, 4))
    samples[:, 20] *= 5
    selector = VarianceSelector(2, feature_mode=0).fit(samples)
    display = ReconstructionDisplay.from_estimator(selector, samples, samples=[0], figure=figure)
    assert len(display.axes_[0, 0].get_yticks()) == 16
    assert display.axes_[0, 0].get_ylabel() == "mode 0\n(worst 16 of 30)"
    save(display)


def test_mode_features_of_more_modes_are_images(figure):
    selector = VarianceSelector(2, feature_mode=1).fit(X3)
    display = ReconstructionDisplay.from_estimator(selector, X3, samples=[0, 1], figure=figure)
    assert display.axes_.shape == (2, 4)
    assert display.support.sum() == 2 * 12
    save(display)


def test_rows_frames_and_complex_samples(figure):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X2.reshape(80, 54), columns=[f"f{k}" for k in range(54)])
    selector = VarianceSelector(5, feature_shape=(6, 9)).fit(frame)
    selector.set_output(transform="pandas")
    display = ReconstructionDisplay.from_estimator(selector, frame, samples=[3], figure=figure)
    np.testing.assert_array_equal(display.samples[0], X2[3])
    assert type(selector.transform(frame)) is pandas.DataFrame  # nothing changed
    waves = X2 + 1j * np.roll(X2, 1, axis=2)
    display = ReconstructionDisplay.from_estimator(VarianceSelector(5).fit(waves), waves)
    np.testing.assert_allclose(image(display.axes_[0, 0]), np.abs(waves[0]))


def test_arrays_on_a_device(library, figure):
    selector = GeometrySelector(5).fit(library.asarray(X2))
    display = ReconstructionDisplay.from_estimator(
        selector, library.asarray(X2), samples=[0], figure=figure
    )
    np.testing.assert_allclose(display.samples[0], X2[0])
    ReplacementDisplay.from_estimator(selector, figure=Figure())


def test_deviations_and_support_that_do_not_fit():
    with pytest.raises(ValueError, match=r"deviations has shape \(2, 4\), but samples has shape"):
        ReconstructionDisplay(np.ones((2, 3)), np.ones((2, 3)), deviations=np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"support has shape \(4,\), but samples have shape"):
        ReconstructionDisplay(np.ones((2, 3)), np.ones((2, 3)), support=np.ones(4))


# Replacements


def test_a_map_and_a_list_of_losses(figure):
    selector = GeometrySelector(7).fit(X2)
    found = selector.replacements()
    display = ReplacementDisplay.from_estimator(selector, figure=figure)
    drawn = image(display.axes_[0])
    expected = np.full(54, np.nan)
    expected[found.feature] = 100 * found.lost
    np.testing.assert_allclose(drawn.filled(np.nan), expected.reshape(6, 9))
    order = np.argsort(-found.lost, kind="stable")
    right = display.axes_[1]
    np.testing.assert_allclose(bars(right), 100 * found.lost[order])
    dots = right.lines[0].get_xdata()
    np.testing.assert_allclose(dots, 100 * found.lost_with_substitute[order])
    names = [text.get_text() for text in right.get_yticklabels()]
    worst = found[int(order[0])]
    index = [np.unravel_index(one, (6, 9)) for one in (worst.feature, worst.substitute)]
    assert names[0] == " → ".join(f"({row}, {column})" for row, column in index)
    assert right.get_xlabel() == "alignment lost (%)"
    save(display)


def test_a_long_list_has_the_largest_losses(figure):
    selector = VarianceSelector(20).fit(X2)
    display = ReplacementDisplay.from_estimator(selector, most=6, figure=figure)
    drawn = bars(display.axes_[1])
    assert len(drawn) == 6
    expected = np.sort(100 * selector.replacements().lost)[::-1][:6]
    np.testing.assert_allclose(drawn, expected)
    assert display.axes_[1].get_xlabel() == "explained variance lost (%), the 6 largest of 20"


@pytest.mark.parametrize("make", [lambda: VarianceSelector(3, feature_mode=0), lambda: 1])
def test_features_of_one_mode_have_names(figure, make):
    if make() == 1:
        selector, dims, coords = VarianceSelector(3).fit(X1), ["band"], None
    else:
        selector, dims = make().fit(X2), ["channel", "time"]
        coords = {"channel": [f"C{k}" for k in range(6)]}
    display = ReplacementDisplay.from_estimator(selector, dims=dims, coords=coords, figure=figure)
    found = selector.replacements()
    heights = [bar.get_height() for bar in display.axes_[0].patches]
    np.testing.assert_allclose(heights, 100 * found.lost)
    assert display.axes_[0].get_xlabel() == dims[0]
    name = display.axes_[1].get_yticklabels()[0].get_text()
    assert name.startswith("C") == (coords is not None)
    save(display)


def test_three_modes_are_tiles_and_all_features_have_no_substitute(figure):
    display = ReplacementDisplay.from_estimator(AllFeatures().fit(X3), most=5, figure=figure)
    assert "→" not in display.axes_[1].get_yticklabels()[0].get_text()
    assert np.ma.count(image(display.axes_[0])) == 60
    save(display)


def test_replacements_that_cannot_be_drawn():
    found = VarianceSelector(3).fit(X1).replacements()
    with pytest.raises(TypeError, match="replacements must be what the method replacements"):
        ReplacementDisplay([1, 2], (12,))
    with pytest.raises(ValueError, match="most must be at least 1"):
        ReplacementDisplay(found, (12,), most=0)
    with pytest.raises(ValueError, match=r"shape=\(2,\) has 2 features"):
        ReplacementDisplay(found, (2,))


# The curve


@pytest.mark.parametrize("samples", [X1, X2, X3], ids=["line", "image", "tiles"])
def test_the_curve_and_where_errors_remain(samples, figure):
    selector = VarianceSelector(5).fit(samples[:40])
    display = ReconstructionCurveDisplay.from_estimator(selector, samples[40:], figure=figure)
    curve = selector.reconstruction_curve(samples[40:])
    (line,) = display.axes_[0].lines
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 4, 5])
    np.testing.assert_allclose(line.get_ydata(), 100 * curve.errors)
    expected = np.sqrt(curve.element_errors[-1])
    if samples is X1:
        np.testing.assert_allclose(display.axes_[1].lines[0].get_ydata(), expected)
    elif samples is X2:
        np.testing.assert_allclose(image(display.axes_[1]), expected)
    save(display)


def test_counts_are_given_and_curves_are_checked(figure):
    selector = VarianceSelector(5).fit(X1)
    display = ReconstructionCurveDisplay.from_estimator(selector, X1, counts=[3], figure=figure)
    assert display.curve.counts.tolist() == [3]
    save(display)
    with pytest.raises(TypeError, match="curve must be what the method reconstruction_curve"):
        ReconstructionCurveDisplay([1, 2])
