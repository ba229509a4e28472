"""The picture of a path, read back from the figure."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift.plotting import PathDisplay
from tensift.stpca import SelectionPath

RNG = np.random.default_rng(4)


def path_of(shape, lams=(10.0, 0.1), etas=(1.0, 100.0, 0.5)):
    """Scores that grow with the cell; none at lam = 10, eta = 100."""
    lams, etas = np.array(lams), np.array(etas)
    scores = RNG.uniform(0.1, 1, (len(lams), len(etas), *shape))
    scores *= np.arange(1, 1 + lams.size * etas.size).reshape(
        lams.size, etas.size, *[1] * len(shape)
    )
    scores[(lams == 10)[:, None] & (etas == 100)] = 0
    each = np.zeros((len(lams), len(etas), 2))
    return SelectionPath(
        lams, etas, scores, np.ones(shape), each, each, each, each.astype(int), each == 0
    )


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("common", [True, False])
def test_cells_are_the_score_maps_in_order_of_the_penalties(common):
    path = path_of((4, 6))
    display = PathDisplay.from_path(path, common_scale=common, figure=Figure())
    assert display.axes_.shape == (2, 3)
    assert [axes.get_title() for axes in display.axes_[0]] == ["eta = 0.5", "eta = 1", "eta = 100"]
    assert [axes.get_ylabel() for axes in display.axes_[:, 0]] == ["lam = 0.1", "lam = 10"]
    for row, i in enumerate([1, 0]):
        for column, j in enumerate([2, 0, 1]):
            axes = display.axes_[row, column]
            if (row, column) == (1, 2):
                assert texts(axes) == ["all zero"]
                assert not axes.images
                continue
            (image,) = axes.images
            np.testing.assert_array_equal(image.get_array(), path.scores[i, j])
            top = path.scores.max() if common else path.scores[i, j].max()
            assert image.get_clim() == (0, top)
            assert texts(axes) == []
    (bar,) = set(display.figure_.axes) - set(display.axes_.ravel())
    assert bar.get_ylabel() == ("score" if common else "score, of each cell's highest")


@pytest.mark.parametrize("common", [True, False])
def test_features_of_one_mode_are_lines(common):
    path = path_of((9,))
    display = PathDisplay.from_path(path, common_scale=common, dims=("band",), figure=Figure())
    for row, i in enumerate([1, 0]):
        for column, j in enumerate([2, 0, 1]):
            axes = display.axes_[row, column]
            if (row, column) == (1, 2):
                assert texts(axes) == ["all zero"]
                assert not axes.lines
                continue
            np.testing.assert_array_equal(axes.lines[0].get_ydata(), path.scores[i, j])
            top = path.scores.max() if common else path.scores[i, j].max()
            np.testing.assert_allclose(axes.get_ylim(), (0, 1.05 * top))
    assert display.axes_[-1, 0].get_xlabel() == "band"


def test_more_modes_are_images_of_the_highest_score():
    path = path_of((7, 3, 5))
    display = PathDisplay.from_path(path, dims=("row", "band", "column"), figure=Figure())
    image = display.axes_[0, 0].images[0]
    np.testing.assert_array_equal(image.get_array(), path.scores[1, 2].max(axis=1))
    labels = [axes.get_ylabel() for axes in display.figure_.axes]
    assert "score (highest over band)" in labels
    assert display.axes_[-1, 0].get_xlabel() == "row ↓  column →"


@pytest.mark.parametrize("shape", [(4, 6), (9,)])
def test_a_path_without_any_score_is_still_a_picture(shape):
    path = path_of(shape, lams=[10.0], etas=[100.0])
    display = PathDisplay(path).plot(Figure())
    assert texts(display.axes_[0, 0]) == ["all zero"]
    display.figure_.savefig(io.BytesIO(), format="png")


@pytest.mark.parametrize("shape", [(1, 14), (14, 1)])
def test_the_figure_stays_of_a_size_to_look_at(shape):
    lams, etas = (np.arange(1.0, n + 1) for n in shape)
    display = PathDisplay(path_of((8, 8), lams=lams, etas=etas)).plot(Figure())
    assert max(display.figure_.get_size_inches()) <= 14.5


def test_without_a_figure_pyplot_makes_one():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    display = PathDisplay.from_path(path_of((4, 6)))
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_wrong_names_are_an_error_that_names_them():
    with pytest.raises(ValueError, match="dims must name each of the 2 feature modes"):
        PathDisplay(path_of((4, 6)), dims=("one",)).plot(Figure())


def test_without_matplotlib_one_line_says_what_to_install():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from tensift.plotting import PathDisplay\n"
        "try:\n"
        "    PathDisplay(None).plot()\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == 'tensift.plotting needs matplotlib: pip install "tensift[plot]"\n', run
