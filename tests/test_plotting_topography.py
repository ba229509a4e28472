"""Topographic maps: what they show is read off the axes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import GeometrySelector
from tensift.plotting import TopographyDisplay
from tensift.rivals import VarianceSelector

mne = pytest.importorskip("mne")

MONTAGE = "biosemi16"


@pytest.fixture(autouse=True)
def _quiet():
    with mne.use_log_level("ERROR"):
        yield


@pytest.fixture(scope="module")
def info():
    """16 electrodes, and 8 places on a helmet with a magnetometer and two gradiometers each."""
    montage = mne.channels.make_standard_montage(MONTAGE)
    meg = [f"MEG {place:02d}{k}" for place in range(8) for k in (1, 2, 3)]
    types = ["eeg"] * 16 + ["mag", "grad", "grad"] * 8
    found = mne.create_info(montage.ch_names + meg, 100.0, types)
    found.set_montage(montage)
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    for place, angle in enumerate(angles):
        for k in range(3):
            where = 0.1 * np.array([np.cos(angle), np.sin(angle), 0.2 * (place % 3)])
            found["chs"][16 + 3 * place + k]["loc"][:3] = where
    return found


@pytest.fixture
def epochs(info):
    return mne.EpochsArray(np.random.default_rng(0).normal(size=(20, 40, 10)), info)


def names_on(ax):
    return {name for text in ax.texts for name in text.get_text().split("\n") if name}


def test_a_map_for_each_type_with_the_selected_channels_named(epochs):
    selector = GeometrySelector(12, feature_mode="channel").fit(epochs)
    display = TopographyDisplay.from_selector(selector, figure=Figure())
    assert set(display.axes_) == {"eeg", "mag", "grad"}
    kept = set(selector.get_feature_names_out())
    types = dict(zip(epochs.ch_names, epochs.get_channel_types(), strict=True))
    for kind, ax in display.axes_.items():
        own = {name for name in kept if types[name] == kind}
        assert names_on(ax) == own
        total = sum(one == kind for one in types.values())
        assert ax.get_title() == f"{kind}: {len(own)} of {total} channels kept"
    display.figure_.canvas.draw()


def test_places_and_colours_are_those_of_the_scores(info):
    """One channel with a score: there the map is brightest, and nowhere else."""
    eeg = mne.pick_info(info, range(16))
    scores = np.zeros(16)
    scores[eeg["ch_names"].index("Oz")] = 2.0
    display = TopographyDisplay(scores, scores > 0, eeg["ch_names"], eeg).plot(Figure())
    (image,) = display.axes_["eeg"].images
    shown = np.ma.filled(image.get_array().astype(float), 0)
    row, column = np.unravel_index(shown.argmax(), shown.shape)
    left, right, bottom, top = image.get_extent()
    x = left + (column + 0.5) / shown.shape[1] * (right - left)
    y = bottom + (row + 0.5) / shown.shape[0] * (top - bottom)
    (text,) = [one for one in display.axes_["eeg"].texts if one.get_text()]
    np.testing.assert_allclose((x, y), text.get_position(), atol=0.02)
    assert y < 0.5 * bottom  # at the back of the head
    assert image.get_clim() == (0.0, 2.0)


def test_pairs_of_gradiometers_show_the_larger_score(info):
    places = [k for k in range(40) if info.get_channel_types()[k] == "grad"]
    grads = mne.pick_info(info, places)
    scores = np.zeros(16)
    scores[[4, 5]] = 1.0, 3.0
    display = TopographyDisplay(scores, scores > 0, grads["ch_names"], grads).plot(Figure())
    assert names_on(display.axes_["grad"]) == {grads["ch_names"][4], grads["ch_names"][5]}
    (image,) = display.axes_["grad"].images
    assert image.get_array().max() > 2.0
    assert image.get_clim() == (0.0, 3.0)


def test_other_samples_need_the_info(info, epochs):
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(
        epochs.get_data(), dims=("n", "channel", "time"), coords={"channel": epochs.ch_names}
    )
    selector = VarianceSelector(3, feature_mode="channel").fit(named)
    with pytest.raises(ValueError, match="info is missing: selector was not fitted on a recording"):
        TopographyDisplay.from_selector(selector)
    for given in (info, epochs):  # a recording knows it, too
        display = TopographyDisplay.from_selector(selector, given, figure=Figure())
        found = set().union(*map(names_on, display.axes_.values()))
        assert found == set(selector.get_feature_names_out())


def test_mistakes_are_one_clear_line(epochs, info):
    lost = mne.EpochsArray(epochs.get_data(), mne.create_info(epochs.ch_names, 100.0, "eeg"))
    selector = GeometrySelector(3, feature_mode="channel").fit(lost)
    with pytest.raises(ValueError, match=r"info has no position of channel Fp1.*40 of.*40\)"):
        TopographyDisplay.from_selector(selector)
    with pytest.raises(ValueError, match="info has no channel MEG 001"):
        TopographyDisplay.from_selector(selector, mne.pick_info(info, range(16)))
    inside = mne.EpochsArray(epochs.get_data(), epochs.info.copy()).set_channel_types(
        dict.fromkeys(epochs.ch_names, "seeg"), on_unit_change="ignore"
    )
    with pytest.raises(ValueError, match="'seeg' only, which lie inside of the head"):
        TopographyDisplay.from_selector(GeometrySelector(3, feature_mode="channel").fit(inside))
    with pytest.raises(TypeError, match=r"info must be an mne\.Info or a recording.*got str"):
        TopographyDisplay.from_selector(selector, MONTAGE)
    ring = mne.pick_info(info, [k for k in range(40) if info.get_channel_types()[k] == "mag"])
    for place, channel in enumerate(ring["chs"]):
        angle = place * np.pi / 4
        channel["loc"][:3] = 0.1 * np.array([np.cos(angle), np.sin(angle), 0.5])
    with pytest.raises(ValueError, match="the mag channels in places that no map") as caught:
        TopographyDisplay(np.ones(8), np.ones(8), ring["ch_names"], ring).plot(Figure())
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="no named channels as features"):
        TopographyDisplay.from_selector(GeometrySelector(3).fit(epochs))
    with pytest.raises(ValueError, match="there are 40 names"):
        TopographyDisplay(np.ones(3), np.ones(3), epochs.ch_names, info)
