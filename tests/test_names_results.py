"""Functions take samples with names; their numbers are those of plain arrays."""

import json
import re

import numpy as np
import pytest

from tensift import (
    Constraints,
    GeometrySelector,
    STPCASelector,
    stability_selection,
    stpca_path,
)
from tensift import metrics as tensift_metrics
from tensift.comparison import compare_selectors
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.metrics import (
    between_class_variance,
    evaluate_selection,
    judge_selections,
    proportion_correct,
    silhouette_of_labels,
)
from tensift.plan import example_pilot, plan_job
from tensift.report import make_alternatives, make_report
from tensift.stpca import SelectionPath

RNG = np.random.default_rng(7)
VALUES = RNG.normal(size=(40, 4, 12)).cumsum(axis=2)
LABELS = np.arange(40) % 2
CHANNELS = ["Fz", "Cz", "Pz", "Oz"]
NAMED = TensorDataset(
    VALUES,
    dims=("channel", "time"),
    coords={"channel": CHANNELS, "time": np.arange(12) / 4},
    units={"time": "s"},
    name="rest",
)


def as_dataset():
    return NAMED


def as_data_array():
    xarray = pytest.importorskip("xarray")
    coords = {"channel": CHANNELS, "time": ("time", np.arange(12) / 4, {"units": "s"})}
    return xarray.DataArray(VALUES, dims=["trial", "channel", "time"], coords=coords, name="rest")


@pytest.fixture(params=[as_dataset, as_data_array], ids=["dataset", "DataArray"])
def named(request):
    return request.param()


def scores_of(judgement):
    return [judgement.neighbours_kept.tolist(), judgement.neighbour_agreement.tolist()]


METRICS = {
    "neighbours_kept": tensift_metrics.neighbours_kept,
    "neighbour_agreement": tensift_metrics.neighbour_agreement,
    "alignment": tensift_metrics.alignment,
    "redundancy": tensift_metrics.redundancy,
    "reconstruction_error": tensift_metrics.reconstruction_error,
    "judge": lambda X, f, **mode: scores_of(judge_selections(X, [f], **mode)),
    "bcv": lambda X, f, **mode: between_class_variance(X, LABELS, **mode).tolist(),
    "poc": lambda X, f, **mode: proportion_correct(f, X, LABELS, **mode),
    "evaluate": lambda X, f, **mode: evaluate_selection(
        X, LABELS, f, n_repeats=2, **mode
    ).to_rows(),
}


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(named, metric):
    measure = METRICS[metric]
    assert measure(named, [0, 3]) == measure(VALUES, [0, 3])
    whole = measure(VALUES, [0, 3], feature_mode=0)
    assert measure(named, [0, 3], feature_mode=0) == whole
    assert measure(named, [0, 3], feature_mode="channel") == whole
    with pytest.raises(ValueError, match=r"feature_mode='chanel' is not .* mean 'channel'\?"):
        measure(named, [0, 3], feature_mode="chanel")
    with pytest.raises(ValueError, match="feature_mode='channel' must be a number"):
        measure(VALUES, [0, 3], feature_mode="channel")


def test_silhouette(named):
    assert silhouette_of_labels(named, LABELS) == silhouette_of_labels(VALUES, LABELS)


def test_stability(named):
    plain = stability_selection(STPCASelector(2, feature_mode=0), VALUES, n_resamples=4)
    found = stability_selection(STPCASelector(2, feature_mode="channel"), named, n_resamples=4)
    np.testing.assert_array_equal(found.supports, plain.supports)
    assert found.names.dims == ("channel",)
    assert plain.names is None
    rows, others = found.to_rows(), plain.to_rows()
    assert [row["channel_name"] for row in rows] == [CHANNELS[row["mode_0"]] for row in others]
    assert "mode_0" not in rows[0]
    assert found.estimator.names_.dims == ("channel", "time")


def test_stability_of_times_and_of_what_has_no_names(named):
    found = stability_selection(GeometrySelector(3), named, n_resamples=2)
    for row in found.to_rows():
        assert row["time (s)"] == row["time"] / 4
    from sklearn.feature_selection import VarianceThreshold

    rows = TensorDataset(VALUES[:, 0], dims=("time",))
    found = stability_selection(VarianceThreshold(), rows, n_resamples=2)
    assert found.names.dims == ("time",)


def test_constraints_by_name_hold_on_every_half():
    # Only the names of the samples say which channel is Cz.
    constraints = Constraints(include=["Cz"])
    selector = GeometrySelector(2, feature_mode="channel", constraints=constraints)
    found = stability_selection(selector, NAMED, n_resamples=4)
    assert found.probabilities[1] == 1
    compared = compare_selectors(
        NAMED, ["geometry"], 2, feature_mode="channel", constraints=constraints, n_resamples=2
    )
    assert all(1 in kept for kept in compared.features.values())
    assert all(shares[1] == 1 for shares in compared.probabilities.values())


def test_comparison(named, tmp_path):
    settings = {"n_resamples": 2, "n_seeds": 1, "store": tmp_path / "cells"}
    plain = compare_selectors(VALUES, ["geometry"], 2, feature_mode=0, **settings)
    found = compare_selectors(named, ["geometry"], 2, feature_mode="channel", **settings)
    assert found.feature_mode == 0
    assert found.names.dims == ("channel", "time")
    assert plain.names is None
    for method, features in plain.features.items():
        np.testing.assert_array_equal(found.features[method], features)
    for measure, runs in plain.runs.items():
        for method in runs if measure != "seconds" else ():
            np.testing.assert_array_equal(found.runs[measure][method], runs[method])


def test_a_comparison_of_any_sample_dim():
    array = as_data_array().transpose("channel", "time", "trial")
    settings = {"n_resamples": 2, "n_seeds": 1}
    found = compare_selectors(array, ["geometry"], 5, sample_dim="trial", **settings)
    plain = compare_selectors(VALUES, ["geometry"], 5, **settings)
    assert found.features["GeometrySelector"].tolist() == (
        plain.features["GeometrySelector"].tolist()
    )
    assert '"time (s)"' in make_report(None, array, comparison=found)


def test_a_path_in_a_file(named, tmp_path):
    plain = stpca_path(VALUES, [1, 10], [1, 10], feature_mode=1)
    found = stpca_path(named, [1, 10], [1, 10], feature_mode="time")
    np.testing.assert_array_equal(found.scores, plain.scores)
    found.save(tmp_path / "path.npz")
    names = SelectionPath.load(tmp_path / "path.npz").names
    assert names.title(0) == "time (s)"
    np.testing.assert_array_equal(names.coords["time"], np.arange(12) / 4)
    arrays = dict(np.load(tmp_path / "path.npz"))
    spoiled = {
        "dims": np.array(["time", "more"]),
        "coords_0": np.arange(3),
        "of_names": np.array([1.0]),
        "units": np.zeros(1),
    }
    for name, array in spoiled.items():
        np.savez(tmp_path / "bad.npz", **{**arrays, name: array})
        with pytest.raises(ValueError, match=r"bad\.npz is not a selection path"):
            SelectionPath.load(tmp_path / "bad.npz")
    # A file that was written before there were names.
    del arrays["of_names"]
    np.savez(tmp_path / "old.npz", **{**arrays, "format": np.array("tensift selection path 1")})
    assert SelectionPath.load(tmp_path / "old.npz").names is None


def test_a_plan(named):
    plain = plan_job(data=VALUES, orientation=1, pilot=example_pilot)
    found = plan_job(data=named, orientation="time", pilot=example_pilot)
    assert found.seconds == plain.seconds
    assert found.chosen.job.orientation == 1
    with pytest.raises(ValueError, match=r"orientation='tme' is not .* did you mean 'time'\?"):
        plan_job(data=named, orientation="tme", pilot=example_pilot)
    with pytest.raises(ValueError, match="orientation='time' must be a number"):
        plan_job((4, 12), 40, orientation="time", pilot=example_pilot)


# The report


def content_of(page):
    found = re.search(r'<script[^>]*id="content"[^>]*>(.*?)</script>', page, re.S)
    return json.loads(found[1])


def test_a_report(named):
    selector = STPCASelector(2, feature_mode="channel", orientation="time").fit(named)
    content = content_of(make_report(selector, named))
    geometry = content["geometry"]
    assert content["title"] == "rest"
    assert geometry["titles"] == ["channel", "time (s)"]
    assert geometry["labels"][0] == CHANNELS
    assert geometry["columns"] == [
        {"title": "channel", "label": "channel_name", "cells": CHANNELS},
    ]
    assert content["views"][0]["name"] == "orientation time, identity"
    assert "feature_mode='channel', orientation='time'" in "".join(content["views"][0]["code"])
    # The names that were fitted are there without those of the samples.
    again = content_of(make_report(selector, VALUES))
    assert again["geometry"] == geometry
    assert again["samples"] == content["samples"]


def test_a_report_of_numbers_prints_names():
    selector = STPCASelector(2, feature_mode=0, orientation=1).fit(NAMED)
    code = "".join(content_of(make_report(selector, NAMED))["views"][0]["code"])
    assert "feature_mode='channel', orientation='time'" in code
    selector = STPCASelector(2, feature_mode=0, orientation=1).fit(VALUES)
    content = content_of(make_report(selector, VALUES))
    assert content["geometry"]["titles"] == ["mode 0", "mode 1"]
    assert "feature_mode=0, orientation=1" in "".join(content["views"][0]["code"])
    assert content["views"][0]["name"] == "orientation 1, identity"


def test_alternatives_are_called_by_name():
    selector = STPCASelector(2).fit(NAMED)
    assert list(make_alternatives(selector, ["identity", "dct"])) == [
        "orientation channel, dct",
        "orientation time, identity",
        "orientation time, dct",
    ]


def test_a_report_of_samples_in_any_order():
    array = as_data_array()
    selector = GeometrySelector(5).fit(array)
    page = content_of(make_report(selector, array.transpose("time", "trial", "channel")))
    assert page["samples"] == content_of(make_report(selector, array))["samples"]
    assert page["samples"] == content_of(make_report(selector, VALUES))["samples"]


def test_a_store_tells_apart_samples_with_other_names():
    from tensift.comparison import Samples

    one = Names((4, 12), ("channel", "time"), {"channel": CHANNELS})
    other = Names((4, 12), ("channel", "time"), {"channel": CHANNELS[::-1]})
    sums = {Samples(VALUES, None, names=names).checksum() for names in (None, one, other)}
    assert len(sums) == 3  # "Cz" is another channel in the third
