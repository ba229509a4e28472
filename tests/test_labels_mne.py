"""Recordings of MNE-Python in and out: values equal those of arrays that are scaled by hand."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn import clone

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    SelectFromDecomposition,
    SparseTensorPCA,
    STPCASelector,
    TensorPCA,
    collect_moments,
)
from tensift.labels import unlabelled
from tensift.metrics import evaluate_selection
from tensift.rivals import LaplacianScore, VarianceSelector

mne = pytest.importorskip("mne")

NAMES = ["Fz", "STI", "Cz", "M1", "G1", "Pz", "M2", "Oz", "EOG", "G2"]
TYPES = ["eeg", "stim", "eeg", "mag", "grad", "eeg", "mag", "eeg", "eog", "grad"]
UNITS = {"eeg": 2e-5, "mag": 3e-13, "grad": 5e-12, "stim": 1.0, "eog": 1e-4}
GOOD = ["Fz", "Cz", "M1", "G1", "M2", "Oz", "G2"]  # data channels; Pz is bad
PLACES = [NAMES.index(name) for name in GOOD]
RATE = 100.0


@pytest.fixture(autouse=True)
def _quiet():
    with mne.use_log_level("ERROR"):
        yield


def info_of(names=NAMES, types=TYPES, bads=("Pz",)):
    info = mne.create_info(list(names), RATE, list(types))
    info["bads"] = [name for name in bads if name in names]
    return info


def numbers(n=40, times=12, seed=0):
    """Values of all channels in the units of their types, which differ by many orders."""
    rng = np.random.default_rng(seed)
    mixed = np.einsum(
        "nct,cd->ndt",
        rng.normal(size=(n, 10, times)),
        np.random.default_rng(9).normal(size=(10, 10)),
    )
    return (mixed + 3) * np.array([UNITS[kind] for kind in TYPES])[:, None]


def epochs_of(values, **options):
    events = np.c_[
        np.arange(len(values)) * 50, np.zeros(len(values), int), np.arange(len(values)) % 2 + 1
    ]
    options = {"tmin": -0.05, "events": events, "event_id": {"open": 1, "closed": 2}} | options
    return mne.EpochsArray(values, info_of(), **options)


def scaled_by_hand(values):
    """The good channels, each type divided by the spread around the means of its channels."""
    found = values[:, PLACES].astype(float)
    for kind in ("eeg", "mag", "grad"):
        of_kind = [k for k, place in enumerate(PLACES) if TYPES[place] == kind]
        squares = [np.mean((found[:, k] - found[:, k].mean()) ** 2) for k in of_kind]
        found[:, of_kind] /= np.sqrt(np.mean(squares))
    return found


@pytest.fixture(scope="module")
def values():
    return numbers()


@pytest.fixture
def epochs(values):
    return epochs_of(values)


SELECTORS = [
    STPCASelector(3, lam=0.1, eta=0.1),
    GeometrySelector(3),
    ColumnSubsetSelector(3),
    VarianceSelector(3),
    LaplacianScore(3),
    SelectFromDecomposition(TensorPCA(3, truncation="global"), n_features_to_select=3),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("mode", [None, "channel", "time"])
def test_a_selection_is_that_of_scaled_arrays(selector, mode, epochs, values):
    number = {None: None, "channel": 0, "time": 1}[mode]
    named = clone(selector).set_params(feature_mode=mode).fit(epochs)
    plain = clone(selector).set_params(feature_mode=number).fit(scaled_by_hand(values))
    np.testing.assert_allclose(named.scores_, plain.scores_, rtol=1e-6)
    np.testing.assert_array_equal(named.order_[:3], plain.order_[:3])
    kept = named.transform(epochs)
    if mode == "channel":
        best = [GOOD[k] for k in sorted(plain.order_[:3])]
        assert list(named.get_feature_names_out()) == best == kept.ch_names
        np.testing.assert_array_equal(named.picks_, [NAMES.index(name) for name in best])
        picked = epochs.copy().pick(named.picks_)
        np.testing.assert_array_equal(kept.get_data(), picked.get_data())
        np.testing.assert_array_equal(kept.events, epochs.events)
        assert kept.event_id == epochs.event_id
    else:  # in the units of the recording, without rounding
        np.testing.assert_array_equal(kept, plain.transform(values[:, PLACES]))


def test_names_and_units_of_modes(epochs):
    names = GeometrySelector(3).fit(epochs).names_
    assert names.dims == ("channel", "time")
    assert list(names.coords["channel"]) == GOOD
    np.testing.assert_array_equal(names.coords["time"], epochs.times)
    assert names.units == {"time": "s"}
    assert list(names.sensors.types) == [TYPES[place] for place in PLACES]


@pytest.mark.parametrize("kind", ["eeg", "mag", "grad"])
def test_units_of_a_type_do_not_decide(kind, epochs, values):
    other = values.copy()
    other[:, [k for k, one in enumerate(TYPES) if one == kind]] *= 1e6
    for selector in SELECTORS[:5]:
        first = clone(selector).set_params(feature_mode="channel").fit(epochs)
        second = clone(selector).set_params(feature_mode="channel").fit(epochs_of(other))
        np.testing.assert_allclose(first.scores_, second.scores_, rtol=1e-6)
        assert list(first.get_feature_names_out()) == list(second.get_feature_names_out())


def test_order_and_further_channels_do_not_matter(epochs, values):
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs)
    elements = GeometrySelector(3).fit(epochs)
    pca = TensorPCA(2, truncation="global").fit(epochs)
    turned = epochs.copy().reorder_channels(NAMES[::-1])
    turned.info["bads"] = ["Oz"]
    more = mne.create_info(["new"], RATE, "eeg")
    turned.add_channels(
        [mne.EpochsArray(values[:, :1], more, tmin=epochs.tmin)], force_update_info=True
    )
    assert selector.transform(turned).ch_names == list(selector.get_feature_names_out())
    np.testing.assert_array_equal(
        selector.transform(turned).get_data(), selector.transform(epochs).get_data()
    )
    np.testing.assert_array_equal(elements.transform(turned), elements.transform(epochs))
    np.testing.assert_array_equal(pca.transform(turned), pca.transform(epochs))
    # Channels are enough that are kept; those of a cap with fewer electrodes.
    few = epochs.copy().pick(list(selector.get_feature_names_out())[::-1])
    assert selector.transform(few).ch_names == list(selector.get_feature_names_out())


def test_missing_channels_are_one_clear_error(epochs):
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs)
    kept = list(selector.get_feature_names_out())
    without = epochs.copy().drop_channels(kept[0])
    with pytest.raises(ValueError, match=rf"X has no channel {kept[0]} \(1 of 3 missing\)"):
        selector.transform(without)
    with pytest.raises(ValueError, match=rf"X has no channel {kept[0]} .* selector keeps"):
        selector.reconstruct(without)
    pca = TensorPCA(2, truncation="global").fit(epochs)
    with pytest.raises(ValueError, match=r"X has no channel Oz \(1 of 7 missing\)"):
        pca.transform(epochs.copy().drop_channels("Oz"))


@pytest.mark.parametrize("selector", [GeometrySelector(3), STPCASelector(3, lam=0.1, eta=0.1)])
def test_whole_epochs_come_back_in_their_units(selector, epochs, values):
    selector = clone(selector).set_params(feature_mode="channel").fit(epochs)
    plain = clone(selector).set_params(feature_mode=0).fit(scaled_by_hand(values))
    kept = selector.transform(epochs)
    scales = (values[:, PLACES] / scaled_by_hand(values))[:1, :, :1]
    indices = selector.get_support(indices=True)
    truth = plain.reconstruct(scaled_by_hand(values)[:, indices], return_std=True)
    found = selector.reconstruct(kept, return_std=True)
    for ours, theirs in zip(found, truth, strict=True):
        assert ours.ch_names == GOOD
        np.testing.assert_array_equal(ours.events, epochs.events)
        assert ours.tmin == epochs.tmin
        np.testing.assert_allclose(ours.get_data(), theirs * scales, rtol=1e-6, atol=1e-22)
    chosen = found[0].copy().pick(kept.ch_names)
    np.testing.assert_array_equal(chosen.get_data(), kept.get_data())
    np.testing.assert_array_equal(selector.reconstruct(kept.get_data()), found[0].get_data())
    back = selector.inverse_transform(kept)
    assert back.ch_names == GOOD
    np.testing.assert_array_equal(back.get_data()[:, indices], kept.get_data())
    assert np.count_nonzero(np.delete(back.get_data(), indices, axis=1)) == 0


def test_noise_has_the_units_of_the_recording(epochs, values):
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs)
    plain = GeometrySelector(3, feature_mode=0).fit(scaled_by_hand(values))
    scales = (values[:, PLACES] / scaled_by_hand(values))[0, :, 0]
    indices = selector.get_support(indices=True)
    noise = 0.3 * scales[indices]
    found = selector.reconstruct(selector.transform(epochs), noise=noise).get_data()
    truth = plain.reconstruct(scaled_by_hand(values)[:, indices], noise=0.3)
    np.testing.assert_allclose(found, truth * scales[:, None], rtol=1e-6, atol=1e-22)


def test_arrays_have_the_units_of_the_fitted_recording(epochs, values, tmp_path):
    """The same numbers without names, in memory, on disk and in chunks, give the same."""
    pca = TensorPCA(2, truncation="global").fit(epochs)
    truth = TensorPCA(2, truncation="global").fit(scaled_by_hand(values))
    array = np.ascontiguousarray(values[:, PLACES])
    expected = truth.transform(scaled_by_hand(values))
    np.save(tmp_path / "a.npy", array)
    for given in (
        epochs,
        array,
        np.load(tmp_path / "a.npy", mmap_mode="r"),
        iter([array[:9], array[9:]]),
    ):
        found = pca.transform(given)
        np.testing.assert_allclose(abs(found), abs(expected), rtol=1e-6)
    dask = pytest.importorskip("dask.array")
    found = np.asarray(pca.transform(dask.from_array(array, chunks=(9, 7, 12))))
    np.testing.assert_allclose(abs(found), abs(expected), rtol=1e-6)
    assert pca.score(array) == pytest.approx(truth.score(scaled_by_hand(values)))
    back = pca.inverse_transform(pca.transform(epochs))
    scales = (array / scaled_by_hand(values))[:1, :, :1]
    np.testing.assert_allclose(
        back, truth.inverse_transform(expected) * scales, rtol=1e-6, atol=1e-20
    )
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(array, dims=("epoch", "channel", "time"), coords={"channel": GOOD})
    np.testing.assert_allclose(pca.transform(named).values, pca.transform(epochs), rtol=1e-9)
    elements = GeometrySelector(4).fit(epochs)
    np.testing.assert_array_equal(elements.transform(array), elements.transform(epochs))
    restored = elements.reconstruct(elements.transform(epochs))
    lazy = elements.reconstruct(dask.from_array(elements.transform(epochs), chunks=(7, 4)))
    np.testing.assert_allclose(np.asarray(lazy), restored, rtol=1e-9)


def test_averages_are_samples(epochs, values):
    evokeds = [epochs[k].average(picks="all") for k in range(len(epochs))]
    selector = GeometrySelector(3, feature_mode="channel").fit(evokeds)
    plain = GeometrySelector(3, feature_mode=0).fit(scaled_by_hand(values))
    np.testing.assert_array_equal(selector.order_, plain.order_)
    kept = selector.transform(evokeds)
    assert [one.ch_names for one in kept] == [list(selector.get_feature_names_out())] * len(kept)
    one = selector.transform(evokeds[3])
    np.testing.assert_array_equal(one.data, kept[3].data)
    whole = selector.reconstruct(kept)
    assert whole[3].ch_names == GOOD
    assert whole[3].comment == evokeds[3].comment
    assert whole[3].nave == evokeds[3].nave
    alone = selector.reconstruct(one)
    np.testing.assert_allclose(alone.data, whole[3].data)
    with pytest.raises(ValueError, match="one Evoked object, which is one sample"):
        GeometrySelector(3).fit(evokeds[0])
    # What was learned from epochs serves for averages.
    np.testing.assert_array_equal(
        GeometrySelector(3, feature_mode="channel").fit(epochs).transform(one.copy()).data, one.data
    )


@pytest.fixture
def raw():
    values = numbers(1, 3000, seed=4)[0]
    found = mne.io.RawArray(values, info_of(), first_samp=500)
    found.set_meas_date(1_000_000_000)
    found.set_annotations(
        mne.Annotations(
            [7.0, 9.5, 20.0, 34.5, 33.0],
            [0.5, 1.0, 0.0, 10.0, 0.2],
            ["BAD blink", "bad_muscle", "BAD nothing", "BAD end", "fine"],
            orig_time=found.info["meas_date"],
        )
    )
    return found


def test_times_of_a_recording_are_samples_without_bad_segments(raw, tmp_path):
    good = raw.get_data(picks=GOOD, reject_by_annotation="omit").T
    assert len(good) < raw.n_times - 100
    scaled = _scaled_rows(good)
    raw.save(tmp_path / "a_raw.fif")
    lazy = mne.io.read_raw_fif(tmp_path / "a_raw.fif")
    for given in (raw, lazy):
        for selector in SELECTORS[:4]:
            named = clone(selector).set_params(feature_mode="channel").fit(given)
            plain = clone(selector).set_params(feature_mode=0).fit(scaled)
            np.testing.assert_allclose(named.scores_, plain.scores_, rtol=1e-4)
            assert list(named.get_feature_names_out()) == [
                GOOD[k] for k in sorted(plain.order_[:3])
            ]
        whole = named.transform(given)
        assert whole.ch_names == list(named.get_feature_names_out())
        assert whole.n_times == raw.n_times
        assert whole.preload is given.preload
    assert not lazy.preload


def _scaled_rows(rows):
    """Rows of the good channels, scaled as epochs of one time each."""
    padded = np.zeros((len(rows), len(NAMES), 1))
    padded[:, PLACES, 0] = rows
    return scaled_by_hand(padded)[..., 0]


def test_recordings_on_disk_are_read_in_parts(raw, tmp_path, monkeypatch):
    from tensift.labels import _mne_raw

    monkeypatch.setattr(_mne_raw, "_ROWS_AT_ONCE", 64)
    raw.save(tmp_path / "a_raw.fif")
    lazy = mne.io.read_raw_fif(tmp_path / "a_raw.fif")
    rows = unlabelled(lazy, None).samples
    good = raw.get_data(picks=GOOD, reject_by_annotation="omit").T
    assert not isinstance(rows, np.ndarray)
    assert rows.shape == good.shape
    np.testing.assert_allclose(rows[:], good, rtol=1e-5)
    np.testing.assert_allclose(rows[100:900], good[100:900], rtol=1e-5)
    np.testing.assert_allclose(rows[-1], good[-1], rtol=1e-5)
    np.testing.assert_allclose(np.asarray(rows), good, rtol=1e-5)
    factors = unlabelled(lazy, None).names.sensors.factors(1)
    np.testing.assert_allclose(factors, (good / _scaled_rows(good))[0], rtol=1e-5)


def test_recordings_come_back_with_their_times_and_notes(raw):
    selector = GeometrySelector(3).fit(raw)
    kept = selector.transform(raw)
    whole, deviation = selector.reconstruct(kept, return_std=True)
    for one in (whole, deviation, selector.inverse_transform(kept)):
        assert one.ch_names == GOOD
        assert one.first_samp == raw.first_samp
        assert one.info["meas_date"] == raw.info["meas_date"]
        assert list(one.annotations.description) == list(raw.annotations.description)
        np.testing.assert_allclose(one.annotations.onset, raw.annotations.onset)
    np.testing.assert_array_equal(whole.copy().pick(kept.ch_names).get_data(), kept.get_data())
    pca = TensorPCA(2).fit(raw)
    assert pca.transform(raw).shape == (raw.n_times, 2)  # bad segments, too: one row for each time
    good = raw.get_data(picks=GOOD, reject_by_annotation="omit").T
    assert pca.score(raw) == pytest.approx(pca.score(good))


def test_epochs_that_are_not_loaded(epochs, tmp_path):
    epochs.save(tmp_path / "a-epo.fif")
    stored = mne.read_epochs(tmp_path / "a-epo.fif", preload=False)
    loaded = mne.read_epochs(tmp_path / "a-epo.fif")
    selector = GeometrySelector(3, feature_mode="channel").fit(stored)
    truth = GeometrySelector(3, feature_mode="channel").fit(loaded)
    assert not stored.preload
    np.testing.assert_array_equal(selector.scores_, truth.scores_)
    np.testing.assert_array_equal(
        selector.transform(stored).get_data(), truth.transform(loaded).get_data()
    )
    assert not stored.preload


def test_epochs_of_a_recording_that_were_not_rejected_yet(raw):
    raw.set_annotations(None)
    events = np.c_[np.arange(500, 3400, 100), np.zeros(29, int), np.ones(29, int)]
    options = {"tmin": 0, "tmax": 0.5, "baseline": None}
    ranges = np.ptp(mne.Epochs(raw, events, **options).get_data(picks="eeg"), axis=-1).max(axis=1)
    options["reject"] = {"eeg": float(np.median(ranges))}
    late = mne.Epochs(raw, events, **options)
    early = mne.Epochs(raw, events, preload=True, **options)
    assert 2 < len(early) < 29
    kept = GeometrySelector(3, feature_mode="channel").fit(late)
    truth = GeometrySelector(3, feature_mode="channel").fit(early)
    np.testing.assert_array_equal(kept.scores_, truth.scores_)
    whole = kept.reconstruct(late)
    np.testing.assert_array_equal(whole.events, early.events)
    assert len(whole.drop_log) == 29


@pytest.mark.parametrize("as_dict", [False, True])
def test_several_people_are_scaled_each_by_itself(as_dict):
    parts = [numbers(20, seed=k) * factor for k, factor in enumerate((1.0, 50.0, 1e-3))]
    people = [epochs_of(part) for part in parts]
    given = dict(zip("abc", people, strict=True)) if as_dict else people
    selector = GeometrySelector(3, feature_mode="channel").fit(given)
    hand = np.concatenate([scaled_by_hand(part) for part in parts])
    plain = GeometrySelector(3, feature_mode=0).fit(hand)
    np.testing.assert_allclose(selector.scores_, plain.scores_, rtol=1e-9)
    assert list(selector.get_feature_names_out()) == [GOOD[k] for k in sorted(plain.order_[:3])]
    found = unlabelled(given)
    assert list(found.groups) == [k for k in ("abc" if as_dict else range(3)) for _ in range(20)]
    np.testing.assert_allclose(found.samples / found.scales, hand)
    kept = selector.transform(given)
    assert type(kept) is type(given)
    first, whole = (kept["b"], people[1]) if as_dict else (kept[1], people[1])
    np.testing.assert_array_equal(first.get_data(), whole.copy().pick(selector.picks_).get_data())
    restored = selector.reconstruct(kept)
    assert type(restored) is type(given)
    assert [len(one) for one in (restored.values() if as_dict else restored)] == [20] * 3
    pca = TensorPCA(2, truncation="global").fit(given)
    truth = TensorPCA(2, truncation="global").fit(hand)
    np.testing.assert_allclose(abs(pca.transform(given)), abs(truth.transform(hand)), rtol=1e-6)


def test_people_share_channels_by_name():
    first, second = epochs_of(numbers(20)), epochs_of(numbers(20, seed=1))
    first.info["bads"] = ["Pz", "Cz"]
    second.reorder_channels(NAMES[::-1]).drop_channels("G2")
    with pytest.warns(UserWarning, match="X has 2 channels .* left out: G2, Cz") as caught:
        selector = GeometrySelector(2, feature_mode="channel").fit([first, second])
    assert len(caught) == 1
    common = [name for name in GOOD if name not in ("Cz", "G2")]
    assert list(selector.names_.coords["channel"]) == common
    with pytest.raises(
        AttributeError, match=r"order their channels differently.*get_feature_names_out"
    ):
        selector.picks_  # noqa: B018
    for one in selector.transform([first, second]):
        assert one.ch_names == list(selector.get_feature_names_out())


def test_moments_and_streams_keep_what_is_known_of_channels(epochs, values):
    moments = collect_moments(epochs)
    selector = STPCASelector(3, lam=0.1, eta=0.1, feature_mode="channel").fit(moments)
    whole = STPCASelector(3, lam=0.1, eta=0.1, feature_mode="channel").fit(epochs)
    np.testing.assert_allclose(selector.scores_, whole.scores_, rtol=1e-9)
    np.testing.assert_array_equal(selector.picks_, whole.picks_)
    # Later parts of a stream are divided by the scales of the first one.
    stream = STPCASelector(3, lam=0.1, eta=0.1, feature_mode="channel")
    stream.partial_fit(epochs[:30]).partial_fit(epochs[30:])
    scales = (values[:30, PLACES] / scaled_by_hand(values[:30]))[:1, :, :1]
    plain = STPCASelector(3, lam=0.1, eta=0.1, feature_mode=0).fit(values[:, PLACES] / scales)
    np.testing.assert_allclose(stream.scores_, plain.scores_, rtol=1e-6)


def test_sparse_components_and_automatic_choices(epochs, values):
    sparse = SparseTensorPCA(2, lam=0.01).fit(epochs)
    truth = SparseTensorPCA(2, lam=0.01).fit(scaled_by_hand(values))
    np.testing.assert_allclose(
        sparse.transform(epochs), truth.transform(scaled_by_hand(values)), rtol=1e-5
    )
    auto = STPCASelector(3, orientation="auto", lam=0.1, eta=0.1, feature_mode="channel").fit(
        epochs
    )
    plain = STPCASelector(3, orientation="auto", lam=0.1, eta=0.1, feature_mode=0)
    plain.fit(scaled_by_hand(values))
    assert list(auto.get_feature_names_out()) == [GOOD[k] for k in sorted(plain.order_[:3])]


def test_a_fitted_selector_can_be_pickled(epochs):
    epochs.info["subject_info"] = {"his_id": "somebody"}
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs)
    stored = pickle.dumps(selector)
    assert b"somebody" not in stored
    copy = pickle.loads(stored)
    kept = copy.transform(epochs)
    assert kept.ch_names == list(selector.get_feature_names_out())
    np.testing.assert_array_equal(
        copy.reconstruct(kept).get_data(), selector.reconstruct(kept).get_data()
    )


def test_other_containers_can_be_asked_for(epochs):
    pytest.importorskip("pandas")
    frame = GeometrySelector(3).set_output(transform="pandas").fit_transform(epochs)
    assert frame.shape == (40, 3)
    xarray = pytest.importorskip("xarray")
    found = GeometrySelector(3, feature_mode="channel").set_output(transform="xarray")
    array = found.fit_transform(epochs)
    assert isinstance(array, xarray.DataArray)
    assert list(array.channel.values) == list(found.get_feature_names_out())
    np.testing.assert_array_equal(array.values, epochs.get_data(picks=list(array.channel.values)))


def test_mne_is_not_imported_for_others():
    code = (
        "import sys, numpy, tensift; tensift.GeometrySelector(2).fit(numpy.eye(5));"
        "assert not any(name.split('.')[0] == 'mne' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_samples_in_one_unit_for_functions_without_units(epochs, values):
    found = unlabelled(epochs).in_one_unit()
    np.testing.assert_allclose(found.samples, scaled_by_hand(values))
    selector = GeometrySelector(3, feature_mode="channel").fit(found)
    truth = GeometrySelector(3, feature_mode="channel").fit(epochs)
    np.testing.assert_array_equal(selector.order_, truth.order_)
    plain = unlabelled(values)
    assert plain.in_one_unit() is plain


def test_other_objects_of_mne_are_refused(epochs):
    spectrum = epochs.copy().pick("eeg").compute_psd(fmax=40)
    with pytest.raises(ValueError, match="X is EpochsSpectrum; of MNE-Python, pass Epochs"):
        GeometrySelector(3, feature_mode="channel").fit(spectrum)


def test_metrics_take_the_data_channels_in_one_unit(epochs):
    plain = unlabelled(epochs).in_one_unit().samples
    assert plain.shape[1] < len(epochs.ch_names)  # some are no data, or bad
    labels, settings = np.arange(len(epochs)) % 2, {"n_repeats": 2}
    found = evaluate_selection(epochs, labels, [0, 1], feature_mode="channel", **settings)
    expected = evaluate_selection(plain, labels, [0, 1], feature_mode=0, **settings)
    assert found.to_rows() == expected.to_rows()


def test_mistakes_are_one_clear_line(epochs, values, raw):
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs)
    evoked = epochs.average()
    one = mne.EpochsArray(values[:, :2], mne.create_info(2, RATE, "misc"))
    slow = mne.EpochsArray(values, mne.create_info(NAMES, 50.0, TYPES))
    bad = raw.copy().set_annotations(mne.Annotations([0], [100], ["BAD"], orig_time=None))
    mistakes = [
        (lambda: GeometrySelector(3).fit(one), "X has no data channels .* the types are misc"),
        (lambda: GeometrySelector(3).fit([epochs, evoked]), r"X\[1\] is EvokedArray, but several"),
        (lambda: GeometrySelector(3).fit([evoked, epochs]), "X is a list of Evoked objects and of"),
        (lambda: GeometrySelector(3).fit({"a": [evoked]}), r"X\['a'\] is list, but several"),
        (lambda: GeometrySelector(3).fit([[evoked], [evoked]]), r"X\[0\] is list, but several"),
        (lambda: GeometrySelector(3).fit([raw, raw]), r"X\[0\] is RawArray.*concatenate_raws"),
        (lambda: GeometrySelector(3).fit({"a": epochs, "b": epochs.copy().crop(0, None)}),
         r"X\['b'\] has 7 times at 100 Hz, but the first recording has 12"),
        (lambda: GeometrySelector(3).fit(bad), "no time outside of segments"),
        (lambda: GeometrySelector(3, sample_dim="epoch").fit(epochs), "sample_dim='epoch' is for"),
        (lambda: GeometrySelector(3, feature_shape=(9, 9)).fit(epochs), "has 81 elements"),
        (lambda: GeometrySelector(3, feature_shape=(7, 1)).fit(raw), "leave it out"),
        (lambda: GeometrySelector(3).fit(epochs[:0]), "X has no epochs left"),
        (lambda: selector.reconstruct(slow), "X has 50 samples per second.*has 100"),
        (lambda: TensorPCA(2).fit(epochs).transform(slow), "X has 50 samples per second"),
        (lambda: GeometrySelector(3).fit(epochs).transform(epochs.copy().crop(0, None)),
         r"X has samples of shape \(7, 7\)"),
        (lambda: GeometrySelector(3).fit(epochs).reconstruct(epochs), "are not channels"),
        (lambda: selector.transform(raw.copy().pick("stim")), r"X has no channel .* \(3 of 3"),
    ]  # fmt: skip
    for mistake, message in mistakes:
        with pytest.raises(ValueError, match=message) as caught:
            mistake()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("selector", SELECTORS[:3], ids=lambda one: type(one).__name__)
def test_there_are_picks_only_of_channels_of_recordings(selector, epochs, values):
    assert not hasattr(selector, "picks_")
    with pytest.raises(AttributeError, match="not fitted"):
        clone(selector).picks_  # noqa: B018
    for fitted in (clone(selector).fit(epochs), clone(selector).fit(values)):
        with pytest.raises(AttributeError, match="picks_ is for selectors of channels"):
            fitted.picks_  # noqa: B018


def test_values_that_are_missing_are_refused_as_in_arrays(values):
    broken = values.copy()
    broken[3, 0, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GeometrySelector(3).fit(epochs_of(broken))
    flat = values.copy()
    flat[:, [k for k, kind in enumerate(TYPES) if kind == "mag"]] = 1e-13
    selector = GeometrySelector(3, feature_mode="channel").fit(epochs_of(flat))
    assert not {"M1", "M2"} & set(selector.get_feature_names_out())
