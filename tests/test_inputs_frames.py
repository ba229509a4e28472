"""Data frames of pandas and polars: as samples of estimators, and made into datasets."""

import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tensift import (
    Constraints,
    GeometrySelector,
    STPCASelector,
    TensorPCA,
    collect_moments,
    compare_selectors,
    stability_selection,
    stpca_path,
)
from tensift.datasets import from_frame, from_long_frame
from tensift.plan import plan_job
from tensift.rivals import VarianceSelector

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars", reason="polars is not installed")

VALUES = np.random.default_rng(0).normal(size=(40, 5)) + np.repeat([0, 1], 20)[:, None]
NAMES = list("abcde")
DAYS = pd.date_range("2020-01-01", periods=40)
SELECTORS = [GeometrySelector(2), STPCASelector(2, lam=0.1, eta=0.1), VarianceSelector(2)]
by_name = {"ids": lambda one: type(one).__name__}


def of_pandas(data, columns=None):
    return pd.DataFrame(data, columns=columns)


def of_polars(data, columns=None):
    return polars.DataFrame(data, schema=columns)


LIBRARIES = pytest.mark.parametrize("library", [of_pandas, of_polars])


# Frames as samples


@LIBRARIES
@pytest.mark.parametrize("selector", SELECTORS, **by_name)
def test_a_frame_of_numbers_is_the_array_with_names(selector, library):
    frame = library(VALUES, NAMES)
    plain = type(selector)(**selector.get_params()).fit(VALUES)
    kept = plain.get_support(indices=True)
    named = type(selector)(**selector.get_params()).fit(frame)
    assert list(named.feature_names_in_) == NAMES
    assert_array_equal(named.order_, plain.order_)
    assert list(named.get_feature_names_out()) == [NAMES[k] for k in kept]
    assert_array_equal(named.transform(frame), VALUES[:, kept])


@pytest.mark.parametrize("estimator", [*SELECTORS, TensorPCA(2)], **by_name)
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_out_have_the_index_and_the_names(estimator, output):
    estimator = type(estimator)(**estimator.get_params()).set_output(transform=output)
    frame = pd.DataFrame(VALUES, DAYS, NAMES)
    found = estimator.fit(frame).transform(frame)
    assert list(found.columns) == list(estimator.get_feature_names_out())
    if output == "pandas":
        assert found.index.equals(DAYS)
    if not isinstance(estimator, TensorPCA):
        assert_array_equal(found.to_numpy(), VALUES[:, estimator.get_support()])


def test_columns_with_gaps_and_switches_are_numbers():
    frame = pd.DataFrame(VALUES, columns=NAMES)
    frame["a"] = (frame["a"] * 10).round().astype("Int64")
    frame["b"] = frame["b"] > 0
    frame["c"] = frame["c"].astype(object)
    found = GeometrySelector(2).fit(frame)
    assert_array_equal(found.order_, GeometrySelector(2).fit(frame.astype(float)).order_)
    other = polars.DataFrame(VALUES, NAMES).with_columns(polars.col("b") > 0)
    values = np.array(VALUES)
    values[:, 1] = values[:, 1] > 0
    assert_array_equal(
        GeometrySelector(2).fit(other).order_, GeometrySelector(2).fit(values).order_
    )


def with_other_columns(library):
    """A frame whose last columns hold text, dates and durations."""
    data = {name: VALUES[:, k] for k, name in enumerate(NAMES)}
    data |= {"who": ["x", "y"] * 20, "day": [datetime.date(2020, 1, 1 + k % 20) for k in range(40)]}
    return library(data | {"took": [datetime.timedelta(seconds=k) for k in range(40)]})


CALLS = {
    "fit": GeometrySelector(2).fit,
    "fit of a rival": VarianceSelector(2).fit,
    "partial_fit": lambda X: STPCASelector(2).partial_fit(X),
    "transform": lambda X: GeometrySelector(2).fit(VALUES).transform(X),
    "a decomposition": TensorPCA(2).fit,
    "collect_moments": collect_moments,
    "stpca_path": stpca_path,
    "compare_selectors": compare_selectors,
    "stability_selection": lambda X: stability_selection(GeometrySelector(2), X),
}


@LIBRARIES
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_other_columns_are_named_in_one_line(call, library):
    with pytest.raises(ValueError, match=r"^X has columns that are not numbers: ") as caught:
        call(with_other_columns(library))
    message = str(caught.value)
    assert "'who' (text), 'day' (dates), 'took' (durations); leave" in message
    assert "\n" not in message
    code = message.split("leave them out with ")[1].split(", or set")[0]
    kept = eval(code, {"X": with_other_columns(library)})
    assert list(kept.columns) == NAMES


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (["u"] * 40, "text"),
        (pd.Categorical(["u", "v"] * 20), "text"),
        (pd.array(["1", "2"] * 20, dtype="string"), "text"),
        (pd.Series([1, "a"] * 20, dtype=object), "mixed values"),
        (DAYS, "dates"),
        (DAYS.tz_localize("UTC"), "dates"),
        (pd.Series([datetime.date(2020, 1, 1)] * 40, dtype=object), "dates"),
        (pd.period_range("2020", periods=40), "periods"),
        (pd.interval_range(0, 40), "intervals"),
        (pd.to_timedelta(range(40), unit="s"), "durations"),
    ],
    ids=str,
)
def test_what_a_column_of_pandas_holds(column, what):
    frame = pd.DataFrame(VALUES, columns=NAMES).assign(extra=column)
    with pytest.raises(ValueError, match=rf": 'extra' \({what}\); leave"):
        GeometrySelector(2).fit(frame)


@pytest.mark.parametrize("kind", ["NaN", "None", "NA", "null", "a column of None", "all null"])
def test_cells_without_a_value_were_not_observed(kind):
    rows = VALUES.copy()
    gaps = np.zeros(rows.shape, bool)
    gaps[3, 1] = gaps[7, 0] = True
    if kind in ("a column of None", "all null"):
        gaps[:, 1] = True
    rows[gaps] = np.nan
    if kind in ("null", "all null"):
        named = zip(NAMES, rows.T.tolist(), strict=True)
        columns = {name: [None if v != v else v for v in c] for name, c in named}
        frame = polars.DataFrame(columns)
    elif kind in ("None", "a column of None"):
        frame = pd.DataFrame(rows, columns=NAMES).astype(object)
        frame = frame.where(frame.notna(), None)
    else:
        frame = pd.DataFrame(rows, columns=NAMES)
        frame = frame.astype("Float64") if kind == "NA" else frame
    assert_array_equal(from_frame(frame).data, rows)
    expected = GeometrySelector(2, missing="allow").fit(rows)
    for samples in (frame, from_frame(frame)):
        found = GeometrySelector(2, missing="allow").fit(samples)
        assert_array_equal(found.order_, expected.order_)
        assert_array_equal(found.scores_, expected.scores_)
        with pytest.raises(ValueError, match="contains NaN; pass missing='allow' if"):
            GeometrySelector(2).fit(samples)


@LIBRARIES
def test_rows_that_are_not_there_may_be_gaps(library):
    usual = {"sample": "trial", "dims": ["channel", "time"], "value": "volt"}
    columns = long_columns(VALUES[:12].reshape(5, 3, 4), np.arange(60))
    whole = from_long_frame(library(columns), **usual)
    kept = [row for row in range(60) if row not in (4, 31, 59)]
    frame = library({name: [values[row] for row in kept] for name, values in columns.items()})
    found = from_long_frame(frame, **usual, missing="allow")
    assert found.dims == whole.dims
    gaps = np.isnan(found.data)
    assert gaps.sum() == 3
    assert_array_equal(found.data[~gaps], whole.data[~gaps])
    again = from_long_frame(library(columns), **usual, missing="allow")
    assert_array_equal(again.data, whole.data)
    with pytest.raises(ValueError, match="missing must be 'raise' or 'allow'; got 'drop'"):
        from_long_frame(frame, **usual, missing="drop")


def test_many_other_columns_are_counted():
    frame = pd.DataFrame(np.full((5, 100), "text"))
    with pytest.raises(ValueError, match=r"5 \(text\) and 94 more; leave them out with X.drop\("):
        GeometrySelector(2).fit(frame)


def test_a_lazy_frame_is_refused():
    with pytest.raises(ValueError, match=r"LazyFrame of polars.*pass X.collect\(\)$"):
        GeometrySelector(2).fit(polars.DataFrame(VALUES, NAMES).lazy())


# Datasets from frames with columns


@LIBRARIES
def test_columns_are_taken_dropped_and_set_aside_for_labels(library):
    frame = with_other_columns(library)
    dropped = from_frame(frame, drop=["day", "took"], labels="who", name="mine")
    assert_array_equal(dropped.data, VALUES)
    assert list(dropped.labels) == ["x", "y"] * 20
    assert (dropped.dims, dropped.name) == (("column",), "mine")
    assert list(dropped.coords["column"]) == NAMES
    assert_array_equal(from_frame(frame, drop=frame.columns[5:]).data, VALUES)
    taken = from_frame(frame, columns=["c", 0], labels=range(40))
    assert_array_equal(taken.data, VALUES[:, [2, 0]])
    assert_array_equal(taken.labels, range(40))
    assert list(taken.coords["column"]) == ["c", "a"]


@LIBRARIES
def test_a_dataset_of_a_frame_is_fitted_with_names(library):
    dataset = from_frame(with_other_columns(library), columns=NAMES)
    limits = Constraints(include=["d"])
    found = GeometrySelector(3, constraints=limits).fit(dataset)
    plain = GeometrySelector(3, constraints=Constraints(include=[3])).fit(VALUES)
    assert_array_equal(found.order_, plain.order_)
    kept = plain.get_support(indices=True)
    assert list(found.get_feature_names_out()) == [NAMES[k] for k in kept]


@LIBRARIES
def test_a_column_of_labels_is_found_as_in_files(library):
    frame = library({"y": [0, 1, 0], "a": [1.0, 2.0, 3.0]})
    assert_array_equal(from_frame(frame).labels, [0, 1, 0])
    assert from_frame(frame, columns=["y", "a"]).labels is None
    assert from_frame(frame, drop=["y"]).labels is None
    assert from_frame(frame, labels=["u", "v", "w"]).feature_shape == (2,)


@LIBRARIES
def test_missing_numbers_become_nan(library):
    dataset = from_frame(library({"a": [1, None, 3], "b": [True, False, True]}))
    assert_array_equal(dataset.data, [[1, 1], [np.nan, 0], [3, 1]])


def test_names_of_columns_that_are_no_text():
    assert_array_equal(from_frame(pd.DataFrame(VALUES)).coords["column"], range(5))
    dates = from_frame(pd.DataFrame(VALUES, columns=DAYS[:5])).coords["column"]
    assert_array_equal(dates, DAYS[:5].to_numpy())


def test_levels_of_columns_are_modes():
    tensor = np.random.default_rng(0).normal(size=(10, 2, 3))
    columns = pd.MultiIndex.from_product([["Fz", "Cz"], [0.0, 0.5, 1.0]], names=["channel", None])
    frame = pd.DataFrame(tensor.reshape(10, 6), columns=columns)
    for one in (frame, frame.iloc[:, [3, 1, 0, 2, 5, 4]]):
        dataset = from_frame(one)
        assert dataset.dims == ("channel", "level_1")
        sorted_by = [
            np.argsort(dataset.coords[dim])[::step]
            for dim, step in zip(dataset.dims, (-1, 1), strict=True)
        ]
        assert_array_equal(dataset.data[:, sorted_by[0]][:, :, sorted_by[1]], tensor)
    with pytest.raises(ValueError, match=r"^frame has channel=Cz, level_1=1.0 nowhere; "):
        from_frame(frame.iloc[:, :5])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, r"^column 'who' of frame \(and 2 more\) holds text, not numbers; "),
        ({"columns": ["day"]}, ValueError, "^column 'day' of frame holds dates, not numbers"),
        ({"columns": ["z"]}, ValueError, "^frame has no column 'z' for columns; its columns are"),
        ({"columns": "a"}, TypeError, "^columns must be a list of columns; got 'a'"),
        ({"columns": ["a", 0]}, ValueError, "^columns names a column twice"),
        ({"columns": ["a"], "drop": ["a"]}, ValueError, "^no column of frame is left"),
        ({"columns": ["a"], "labels": "z"}, ValueError, "^frame has no column 'z' for labels"),
        ({"columns": ["a"], "labels": [1, 2]}, ValueError, "^labels must hold one value for each"),
    ],
)
@LIBRARIES
def test_wrong_columns(arguments, error, message, library):
    with pytest.raises(error, match=message):
        from_frame(with_other_columns(library), **arguments)


def test_what_is_no_frame_and_names_that_occur_twice():
    with pytest.raises(TypeError, match=r"^frame must be a DataFrame of pandas or polars; got"):
        from_frame(VALUES)
    with pytest.raises(TypeError, match=r"got a str; read the file first, such as with pandas"):
        from_frame("table.csv")
    twice = pd.DataFrame(VALUES, columns=list("abbcd"))
    with pytest.raises(ValueError, match="names 'b', but 2 columns have that name"):
        from_frame(twice, columns=["b"])
    assert_array_equal(from_frame(twice, drop=[1, 2]).data, VALUES[:, [0, 3, 4]])


# Names of columns in results


@LIBRARIES
def test_results_carry_the_names_of_columns(library):
    pytest.importorskip("xarray")
    frame = library(VALUES, NAMES)
    fitted = [GeometrySelector(2).fit(frame), TensorPCA(2).fit(frame), stpca_path(frame)]
    fitted.append(stability_selection(VarianceSelector(2), frame, n_resamples=4))
    fitted.append(compare_selectors(frame, [VarianceSelector()], n_features_to_select=2))
    fitted.append(STPCASelector(2, feature_mode="column").fit(frame))
    for one in fitted:
        assert one.to_xarray().coords["column"].values.tolist() == NAMES


def test_names_of_features_that_are_no_text():
    years = pd.DataFrame(VALUES, columns=range(2001, 2006))
    truth = GeometrySelector(2).fit(VALUES)
    selector = GeometrySelector(2).fit(years)
    found = [f"column={2001 + k}" for k in truth.get_support(indices=True)]
    assert list(selector.get_feature_names_out()) == found
    numbered = GeometrySelector(2).fit(pd.DataFrame(VALUES))
    assert list(numbered.get_feature_names_out()) == list(truth.get_feature_names_out())


def test_columns_of_several_levels():
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)])
    frame = pd.DataFrame(VALUES, columns=levels)
    truth = GeometrySelector(2).fit(VALUES)
    found = GeometrySelector(2).fit(frame)
    assert_array_equal(found.order_, truth.order_)
    names = [f"{one}/{two}" for one, two in levels]
    assert list(found.get_feature_names_out()) == [names[k] for k in truth.get_support(True)]


def test_two_columns_of_one_name():
    frame = pd.DataFrame(VALUES, columns=list("abcba"))
    with pytest.raises(ValueError, match=r"^X has 2 columns called 'a'; rename them$"):
        GeometrySelector(2).fit(frame)


@LIBRARIES
def test_a_plan_for_a_frame(library):
    plan = plan_job(data=library(VALUES, NAMES), seconds=0.1)
    assert plan.to_dict()["job"]["dims"] == ["column"]


@pytest.mark.parametrize("given", ["table.csv", Path("table.csv")])
def test_the_name_of_a_file_is_no_sample(given):
    with pytest.raises(ValueError, match=r"^X='table.csv' is the name of a file; read it first"):
        GeometrySelector(2).fit(given)


# Datasets from long frames


def long_columns(tensor, order):
    """The columns of a long frame with one row for each value, in any order of rows."""
    sample, channel, time = np.indices(tensor.shape).reshape(3, -1)[:, order]
    return {
        "trial": (100 - sample).tolist(),
        "channel": np.array(["Fz", "Cz", "Oz"])[channel].tolist(),
        "time": (time / 4).tolist(),
        "volt": tensor.ravel()[order].tolist(),
        "state": np.array(["rest", "move"])[sample % 2].tolist(),
    }


@LIBRARIES
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_a_long_frame_is_the_tensor_in_any_order_of_rows(library, seed):
    rng = np.random.default_rng(seed)
    tensor = rng.normal(size=(rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 6)))
    data = long_columns(tensor, rng.permutation(tensor.size))
    found = from_long_frame(
        library(data), sample="trial", dims=["channel", "time"], value="volt", labels="state"
    )
    samples = [100 - trial for trial in dict.fromkeys(data["trial"])]
    known = ["Fz", "Cz", "Oz"]
    channels = [known.index(name) for name in dict.fromkeys(data["channel"])]
    assert_array_equal(found.data, tensor[samples][:, channels])
    assert list(found.coords["channel"]) == [known[k] for k in channels]
    assert_array_equal(found.coords["time"], np.arange(tensor.shape[2]) / 4)
    assert list(found.labels) == [["rest", "move"][sample % 2] for sample in samples]


@LIBRARIES
def test_a_column_for_each_channel(library):
    rng = np.random.default_rng(3)
    tensor = rng.normal(size=(4, 2, 5))
    trial, time = np.indices((4, 5)).reshape(2, -1)[:, rng.permutation(20)]
    columns = {"trial": trial.tolist(), "time": time.tolist()}
    columns |= {name: tensor[trial, k, time].tolist() for k, name in enumerate(["Fz", "Cz"])}
    usual = {"sample": "trial", "dims": ["time"]}
    found = from_long_frame(library(columns), **usual, value=["Cz", "Fz"])
    assert found.dims == ("variable", "time")
    assert found.coords["variable"].tolist() == ["Cz", "Fz"]
    assert_array_equal(found.data, tensor[list(dict.fromkeys(trial))][:, ::-1])
    one = from_long_frame(library(columns), **usual, value=["Cz"])
    assert_array_equal(one.data, found.data[:, :1])
    with pytest.raises(ValueError, match=r"^frame has a column 'variable', and the mode"):
        from_long_frame(
            library({"variable" if k == "time" else k: v for k, v in columns.items()}),
            sample="trial",
            dims=["variable"],
            value=["Cz", "Fz"],
        )


def test_times_with_a_zone_are_in_order():
    times = pd.to_datetime(["2021-01-01", "2020-01-01"] * 2, utc=True)
    frame = pd.DataFrame({"s": [0, 0, 1, 1], "t": times, "v": [1.0, 2.0, 3.0, 4.0]})
    found = from_long_frame(frame, sample="s", dims=["t"], value="v")
    assert_array_equal(found.data, [[2, 1], [4, 3]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"dims": ["channel"]},
            ValueError,
            r"^frame has trial=100, channel=Fz more than once \(and",
        ),
        (
            {"value": "state"},
            ValueError,
            "^value='state' must be a column of numbers; it holds text",
        ),
        ({"dims": "time"}, TypeError, "^dims must be a list of columns"),
        ({"dims": []}, ValueError, "^dims must name at least one column, or value a list"),
        ({"value": []}, ValueError, "^sample, dims and value must name different columns"),
        ({"dims": ["trial", "time"]}, ValueError, "^sample, dims and value must name different"),
        ({"labels": "volt"}, ValueError, "^labels differ within the sample trial=100"),
        ({"sample": "when"}, ValueError, "^frame has no column 'when' for sample"),
    ],
)
@LIBRARIES
def test_wrong_long_frames(arguments, error, message, library):
    tensor = VALUES[:12].reshape(5, 3, 4)
    usual = {"sample": "trial", "dims": ["channel", "time"], "value": "volt"}
    frame = library(long_columns(tensor, np.arange(60)))
    with pytest.raises(error, match=message):
        from_long_frame(frame, **(usual | arguments))


@LIBRARIES
def test_values_that_are_not_there_are_named(library):
    usual = {"sample": "trial", "dims": ["channel", "time"], "value": "volt"}
    columns = long_columns(VALUES[:12].reshape(5, 3, 4), np.arange(60))
    for row, where in (
        (0, "trial=100, channel=Fz, time=0.0"),
        (59, "trial=96, channel=Oz, time=0.75"),
    ):
        frame = library(
            {name: values[:row] + values[row + 1 :] for name, values in columns.items()}
        )
        with pytest.raises(ValueError, match=f"^frame has {where} nowhere; add the value, or"):
            from_long_frame(frame, **usual)
    columns["channel"][7] = None
    with pytest.raises(ValueError, match=r"^column 'channel' has no value in row 7; drop"):
        from_long_frame(library(columns), **usual)
    columns = long_columns(VALUES[:12].reshape(5, 3, 4), np.arange(60))
    columns["time"][9] = np.nan
    with pytest.raises(ValueError, match=r"^column 'time' has no value in row 9; drop"):
        from_long_frame(library(columns), **usual)
