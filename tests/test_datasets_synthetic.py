"""Generators: the geometry they promise, and the published files they are modelled on."""

import numpy as np
import pytest
from scipy import stats

from tensift.datasets import fetch_paper, make_array, make_orbit, make_sea_surface


@pytest.fixture
def paper(monkeypatch, paper_folder):
    monkeypatch.setenv("TENSIFT_DATA", str(paper_folder))
    return fetch_paper


@pytest.fixture
def paper_folder():
    import os
    from pathlib import Path

    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TENSIFT_DATA") or default)
    if not (folder / "array_signal.mat").is_file():
        pytest.skip(f"the paper's datasets are not in {folder} (set TENSIFT_DATA)")
    return folder


def orbit_angles(points):
    """Angles of points (3, t) about the origin, in the plane of the first and a later one."""
    first = points[:, 0] / np.linalg.norm(points[:, 0])
    quarter = points[:, points.shape[1] // 4]
    second = quarter - first * (first @ quarter)
    second /= np.linalg.norm(second)
    return np.unwrap(np.arctan2(second @ points, first @ points))


class TestOrbit:
    @pytest.mark.parametrize("style", ["paper", "file"])
    def test_orbits_are_flat_circles_of_the_class_radius(self, style):
        orbit = make_orbit(31, 7, 25, radii=(1, 3, 4), style=style, random_state=1)
        points = orbit.data[:, orbit.informative]
        scale = 1 if style == "paper" else 4
        radii = np.array([1, 3, 4])[orbit.labels] / scale
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), radii[:, None] * np.ones(25))
        singular = np.linalg.svd(points, compute_uv=False)
        assert np.all(singular[:, 2] < 1e-12 * singular[:, 0])
        turn = 2 * np.pi if style == "paper" else 2 * np.sqrt(10)
        for sample in points:
            np.testing.assert_allclose(orbit_angles(sample), np.linspace(0, turn, 25), atol=1e-9)

    @pytest.mark.parametrize("style", ["paper", "file"])
    def test_one_start_many_planes(self, style):
        orbit = make_orbit(400, style=style, random_state=2)
        points = orbit.data[:, orbit.informative]
        starts = points[:, :, 0] / np.linalg.norm(points[:, :, 0], axis=1, keepdims=True)
        np.testing.assert_allclose(starts, np.tile(starts[0], (400, 1)), atol=1e-12)
        seconds = points[:, :, 10] - starts * np.sum(starts * points[:, :, 10], axis=1)[:, None]
        basis = np.linalg.svd(starts[:1])[2][1:]
        directions = np.arctan2(seconds @ basis[0], seconds @ basis[1])
        assert stats.kstest((directions + np.pi) / (2 * np.pi), "uniform").pvalue > 1e-3

    def test_paper_noise_is_gaussian_and_white(self):
        orbit = make_orbit(200, 9, 41, noise=2.5, random_state=3)
        noise = np.delete(orbit.data, orbit.informative, axis=1)
        assert stats.kstest(noise.ravel() / 2.5, "norm").pvalue > 1e-3
        neighbours = np.corrcoef(noise[:, :, :-1].ravel(), noise[:, :, 1:].ravel())[0, 1]
        assert abs(neighbours) < 5 / np.sqrt(noise.size)

    def test_file_noise_is_uniform_up_to_an_end_of_each_channels_own(self):
        orbit = make_orbit(200, 12, 41, style="file", random_state=4)
        noise = np.delete(orbit.data, orbit.informative, axis=1)
        for channel in np.moveaxis(noise, 1, 0):
            low, high = channel.min(), channel.max()
            assert low == pytest.approx(-1, abs=0.01)
            values = (channel.ravel() - low) / (high - low)
            assert stats.kstest(values, "uniform").pvalue > 1e-3
        assert np.std(noise.max(axis=(0, 2))) > 0.1

    def test_labels_and_places(self):
        orbit = make_orbit(11, 5, 8, informative=[3, 0, 1], random_state=0)
        assert orbit.labels.tolist() == [0] * 6 + [1] * 5
        assert orbit.informative.tolist() == [0, 1, 3]
        assert orbit.feature_mode == 0
        norms = np.linalg.norm(orbit.data[:, [0, 1, 3]], axis=1)
        np.testing.assert_allclose(norms, np.array([2.0, 5.0])[orbit.labels][:, None] * np.ones(8))

    @pytest.mark.parametrize("size", [(1, 3, 1), (2, 3, 2), (7, 40, 100)])
    def test_any_size(self, size):
        orbit = make_orbit(*size, random_state=0)
        assert orbit.data.shape == size
        assert np.isfinite(orbit.data).all()

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"n_channels": 2}, "n_channels"),
            ({"n_samples": 0}, "n_samples"),
            ({"n_times": 0}, "n_times"),
            ({"radii": (1, -1)}, "radii"),
            ({"noise": -1}, "noise"),
            ({"noise": np.nan}, "noise"),
            ({"informative": [1, 2]}, "3 channels"),
            ({"informative": [1, 1, 2]}, "different"),
            ({"informative": [7, 8, 9]}, "from 0 to 8"),
            ({"style": "other"}, "style"),
        ],
    )
    def test_refusals(self, options, match):
        with pytest.raises(ValueError, match=match):
            make_orbit(**options)

    def test_the_published_file_is_what_style_file_says(self, paper):
        """Up to a scale for each channel: start (1, 2, 3), radii 2 to 5, one plane a sample."""
        orbit = paper("Orbit")
        points = orbit.data[:, orbit.informative]
        radii = np.where(orbit.labels == 1, 0.4, 1.0)
        squares = np.moveaxis(points**2, 1, -1).reshape(-1, 3)
        scale = np.sqrt(np.linalg.lstsq(squares, np.repeat(radii**2, 41), rcond=None)[0])
        assert np.all(np.abs(scale - 1) < 0.003)
        points = points * scale[:, None]
        np.testing.assert_allclose(
            np.linalg.norm(points, axis=1), radii[:, None] * np.ones(41), rtol=1e-10
        )
        starts = points[:, :, 0] / radii[:, None]
        np.testing.assert_allclose(starts, np.tile([1, 2, 3] / np.sqrt(14), (100, 1)), atol=1e-9)
        for sample in points[orbit.labels == 1]:
            expected = np.linspace(0, 2 * np.sqrt(10), 41)
            np.testing.assert_allclose(orbit_angles(sample), expected, atol=1e-8)
        noise = np.delete(orbit.data, orbit.informative, axis=1)
        np.testing.assert_allclose(noise.min(axis=(0, 2)), -1)
        for channel in np.moveaxis(noise, 1, 0):
            values = (channel.ravel() + 1) / (channel.max() + 1)
            assert stats.kstest(values, "uniform").pvalue > 1e-3


class TestArray:
    def test_paper_echoes_come_from_one_direction(self):
        echoes = make_array(60, (6, 8), noise=0, complex_signal=True, random_state=0)
        clean = echoes.data[echoes.labels == 0]
        np.testing.assert_allclose(clean, np.broadcast_to(clean[0], clean.shape))
        # A plane wave: one phase step along the rows, another along the columns.
        for axis in (0, 1):
            first = np.take(clean[0], range(clean.shape[axis + 1] - 1), axis=axis)
            second = np.take(clean[0], range(1, clean.shape[axis + 1]), axis=axis)
            steps = second / first
            np.testing.assert_allclose(steps, np.full_like(steps, steps.flat[0]))

    def test_paper_errors_are_random_and_bounded_and_at_the_faulty_units_only(self):
        echoes = make_array(1000, (5, 5), noise=0, error=10, complex_signal=True, random_state=0)
        flat = echoes.data.reshape(1000, -1)
        errors = np.degrees(np.angle(flat[echoes.labels == 1] / flat[0]))
        others = np.delete(errors, echoes.informative, axis=1)
        np.testing.assert_allclose(others, 0, atol=1e-9)
        faulty = errors[:, echoes.informative].ravel()
        assert stats.kstest((faulty + 10) / 20, "uniform").pvalue > 1e-3

    def test_paper_noise(self):
        echoes = make_array(500, (4, 4), noise=3, n_faulty=0, complex_signal=True, random_state=0)
        mean = make_array(
            500, (4, 4), noise=0, n_faulty=0, complex_signal=True, random_state=0
        ).data
        noise = np.degrees(np.angle(echoes.data / mean))
        assert stats.kstest(noise.ravel() / 3, "norm").pvalue > 1e-3

    @pytest.mark.parametrize("style", ["paper", "file"])
    def test_real_values_follow_from_the_complex_signal(self, style):
        real = make_array(20, (7, 3), style=style, random_state=5).data
        signal = make_array(20, (7, 3), style=style, complex_signal=True, random_state=5).data
        np.testing.assert_allclose(np.abs(signal), 1)
        if style == "paper":
            np.testing.assert_allclose(real, signal.real, atol=1e-12)
        else:
            np.testing.assert_allclose(np.exp(1j * np.pi * real), signal, atol=1e-12)
            assert np.all((real > -1) & (real <= 1))

    def test_file_style_reproduces_the_published_array_from_its_directions(
        self, paper_folder, paper
    ):
        """The file's directions through the documented formula give every published value."""
        import scipy.io

        condition = scipy.io.loadmat(paper_folder / "array_signal.mat")["condition"][0, 0]
        theta, phi = np.radians(condition["DOA"][:, 0, :].astype(float))
        published = paper("Array")
        assert published.informative.tolist() == [62, 63, 72, 73]
        row, column = np.indices((10, 10))
        phase = 1 - (row + column) * (np.cos(theta) * np.cos(phi))[:, None, None]
        late = (published.labels == 2)[:, None]
        phase.reshape(100, 100)[:, published.informative] += late * 10 / 180
        turns = (phase - published.data) / 2
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)

    def test_file_style_obeys_the_same_formula(self):
        echoes = make_array(300, (6, 5), style="file", faulty=[7, 8], error=20, random_state=0)
        assert echoes.informative.tolist() == [7, 8]
        row, column = np.indices((6, 5))
        step = (1 - echoes.data[:, 0, 1]) % 2
        phase = 1 - (row + column) * step[:, None, None]
        phase.reshape(300, -1)[:, [7, 8]] += echoes.labels[:, None] * 20 / 180
        turns = (phase - echoes.data) / 2
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)
        # cos(θ)cos(φ) with both within 60 degrees lies in [1/4, 1].
        assert step.min() >= 0.25 - 1e-12
        assert step.max() <= 1 + 1e-12

    def test_four_faulty_units_are_a_square(self):
        for seed in range(10):
            units = make_array(2, (10, 10), random_state=seed).informative
            rows, columns = np.unravel_index(units, (10, 10))
            assert np.ptp(rows) == np.ptp(columns) == 1

    @pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (30, 4)])
    def test_any_size(self, shape):
        for style in ("paper", "file"):
            echoes = make_array(3, shape, n_faulty=1, style=style, random_state=0)
            assert echoes.data.shape == (3, *shape)
            assert np.isfinite(echoes.data).all()

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"shape": (3,)}, "shape"),
            ({"shape": (0, 3)}, "rows"),
            ({"n_faulty": 101}, "n_faulty"),
            ({"faulty": [100]}, "faulty"),
            ({"error": -1}, "error"),
            ({"max_angle": np.inf}, "max_angle"),
            ({"style": "other"}, "style"),
        ],
    )
    def test_refusals(self, options, match):
        with pytest.raises(ValueError, match=match):
            make_array(**options)


@pytest.mark.parametrize("make", [make_orbit, make_array])
@pytest.mark.parametrize("style", ["paper", "file"])
def test_seeds(make, style):
    one, same, other = (make(style=style, random_state=seed).data for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


class TestSeaSurface:
    def test_three_tenths_are_land_where_nothing_is_measured(self):
        sea = make_sea_surface(20, (30, 40), random_state=3)
        at_sea = np.isin(np.arange(1200), sea.informative)
        flat = sea.data.reshape(20, -1)
        assert np.all(flat[:, ~at_sea] == 0)
        assert np.all(flat[:, at_sea].std(axis=0) > 0)
        assert abs(at_sea.mean() - 0.7) < 0.01

    def test_seasons_are_opposite_north_and_south(self):
        sea = make_sea_surface(104, n_patterns=0, eddies=0, noise=0, random_state=0)
        is_sea = np.isin(np.arange(sea.data[0].size), sea.informative).reshape(sea.feature_shape)
        south, north = (sea.data[:, row][:, is_sea[row]].mean(axis=1) for row in (0, -1))
        np.testing.assert_allclose(south, -north, atol=1e-12)
        np.testing.assert_allclose(north[:52], north[52:], atol=1e-12)  # every year

    def test_patterns_without_seasons_have_their_rank(self):
        quiet = make_sea_surface(60, n_patterns=3, eddies=0, noise=0, random_state=1)
        spectrum = np.linalg.svd(quiet.data.reshape(60, -1), compute_uv=False)
        assert spectrum[3] > 1e-3  # three patterns and the seasons
        assert spectrum[4] < 1e-9 * spectrum[0]

    def test_noise_and_eddies_have_the_given_size(self):
        calm = make_sea_surface(200, n_patterns=0, eddies=0, noise=0, random_state=5)
        for given in ({"eddies": 0.7, "noise": 0.0}, {"eddies": 0.0, "noise": 0.3}):
            rough = make_sea_surface(200, n_patterns=0, random_state=5, **given)
            added = (rough.data - calm.data).reshape(200, -1)[:, calm.informative]
            assert added.std() == pytest.approx(max(given.values()), rel=0.1)

    def test_coordinates_name_the_places(self):
        sea = make_sea_surface(5, (7, 9), random_state=0)
        assert sea.dims == ("latitude", "longitude")
        np.testing.assert_allclose(sea.coords["latitude"][[0, 3, 6]], [-60, 0, 60], atol=1e-12)
        assert sea.coords["longitude"].shape == (9,)

    def test_the_seed_decides(self):
        first, same, other = (make_sea_surface(9, random_state=seed).data for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, same)
        assert np.any(first != other)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"n_samples": 0}, "n_samples must be at least 1"),
            ({"shape": (5,)}, "shape must be"),
            ({"shape": (1, 5)}, "rows must be at least 2"),
            ({"n_patterns": -1}, "n_patterns must be at least 0"),
            ({"noise": -1}, "noise must be a number"),
            ({"eddies": np.nan}, "eddies must be a number"),
        ],
    )
    def test_wrong_arguments_are_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            make_sea_surface(**given)
