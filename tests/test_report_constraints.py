"""Constraints in reports and pictures: what held, what is marked, where the slider ends."""

import json
import re

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from tensift import Constraints, GeometrySelector, STPCASelector, compare_selectors
from tensift.datasets import load_digits, make_orbit
from tensift.plotting import (
    ChannelRankingDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionDisplay,
)
from tensift.report import make_report
from tensift.rivals import VarianceSelector
from tensift.selection import held_constraints

DIGITS = load_digits()
X = DIGITS.data[:150]
LIMITS = Constraints(
    include=[(4, 4), (2, 3)],
    exclude=[*range(8), 63],
    min_distance=1.5,
    groups={"top": range(8, 16), "bottom": [(7, 2), (7, 3)]},
    at_least={"top": 2},
    at_most={"bottom": 1},
)


@pytest.fixture(scope="module")
def selector():
    return GeometrySelector(10, constraints=LIMITS).fit(X)


def content_of(page):
    text = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.S)
    return json.loads(text[1])


def test_words_are_those_of_the_kept_features(selector):
    held = held_constraints(selector)
    kept = selector.get_support(indices=True)
    places = np.column_stack(np.unravel_index(kept, (8, 8)))
    distances = np.linalg.norm(places[:, None] - places, axis=-1)
    nearest = distances[np.triu_indices(10, 1)].min()
    top, bottom = np.isin(kept, range(8, 16)).sum(), np.isin(kept, [58, 59]).sum()
    assert held.words == (
        "included x4_4, x2_3",
        "excluded 9 features",
        f"at least 1.5 apart (the nearest two are {nearest:.4g})",
        f"{top} of top (at least 2)",
        f"{bottom} of bottom (at most 1)",
    )
    assert held.included.tolist() == [36, 19]
    assert held.groups[9] == "top"
    assert held.groups[40] == ""
    assert held.costs is None


def test_costs_and_units_in_words():
    constraints = Constraints(costs=np.arange(64.0), budget=90, together=[[1, 2], [50, 51, 52]])
    selector = VarianceSelector(6, constraints=constraints).fit(X)
    spent = selector.get_support(indices=True).sum()
    held = held_constraints(selector)
    assert held.words[0] == f"cost {spent} of 90"
    assert held.words[1].endswith("of 2 lists that belong together kept")
    np.testing.assert_array_equal(held.costs, np.arange(64.0))


def test_without_constraints_there_are_none():
    assert held_constraints(VarianceSelector(6).fit(X)) is None


def test_a_report_has_what_held_and_what_may_be_chosen(selector):
    content = content_of(make_report(selector, DIGITS))
    words = held_constraints(selector).words
    assert content["constraints"] == [f"{text[0].upper()}{text[1:]}." for text in words]
    view = content["views"][0]
    assert view["included"] == [36, 19]
    assert view["excluded"] == [*range(8), 63]
    assert view["stops"][-1] == view["fitted"] == 10
    shorter = GeometrySelector(10, constraints=LIMITS).fit(X)
    for count in range(1, 65):  # the numbers that the selector itself accepts
        shorter.set_params(n_features_to_select=count)
        try:
            allowed = int(shorter.get_support().sum()) == count
        except ValueError:
            allowed = False
        assert (count in view["stops"]) == allowed
    assert "Only numbers for which the first features meet all constraints" in view["caveat"]


def test_a_report_without_constraints_allows_every_number():
    content = content_of(make_report(VarianceSelector(6).fit(X), DIGITS))
    assert content["constraints"] == []
    assert content["views"][0]["stops"] is None


def test_a_report_of_a_comparison():
    found = compare_selectors(X, "geometry", 6, constraints=Constraints(include=[9], budget=5),
                              n_resamples=2, n_seeds=1)  # fmt: skip
    content = content_of(make_report(None, DIGITS, comparison=found))
    assert content["constraints"] == ["Included x1_1.", "Cost 5 of 5."]
    assert {tuple(view["included"]) for view in content["views"]} == {(9,)}
    assert all(view["stops"][-1] == 5 for view in content["views"])
    assert content["features"] == []


def test_costs_and_groups_are_columns_of_the_table():
    costs = np.linspace(0.5, 2, 64)
    given = Constraints(costs=costs, budget=5, groups={"a": [0, 1], "b": [1, 9]}, at_most=1)
    selector = VarianceSelector(6, constraints=given).fit(X)
    found = compare_selectors(X, "variance", 6, constraints=given, n_resamples=2, n_seeds=1)
    for page in (make_report(selector, DIGITS), make_report(None, DIGITS, comparison=found)):
        cost, group = content_of(page)["features"]
        assert (cost["title"], group["title"]) == ("cost", "group")
        assert [float(cell) for cell in cost["cells"]] == costs.tolist()
        assert group["cells"][:2] == ["a", "a; b"]
        assert group["cells"][9] == "b"
        assert set(group["cells"][10:]) == {""}


def test_the_score_map_greys_and_marks(selector):
    display = ScoreMapDisplay.from_estimator(selector, ax=Figure().subplots())
    scores, veil = display.ax_.images
    assert scores.get_array().shape == (8, 8)
    np.testing.assert_array_equal(
        np.flatnonzero(np.asarray(veil.get_array())[..., 3]), [*range(8), 63]
    )
    (dots,) = [one for one in display.ax_.collections if one.get_label() == "included"]
    np.testing.assert_array_equal(np.sort(dots.get_offsets(), axis=0), [[3, 2], [4, 4]])


def test_the_sample_is_marked_too(selector):
    display = SelectedFeaturesDisplay.from_estimator(selector, X, ax=Figure().subplots())
    assert len(display.ax_.images) == 3
    assert [one.get_label() for one in display.ax_.collections].count("included") == 1


def test_nothing_is_drawn_without_constraints():
    display = ScoreMapDisplay.from_estimator(VarianceSelector(6).fit(X), ax=Figure().subplots())
    assert len(display.ax_.images) == 1
    assert not display.ax_.collections


def test_channels_and_vectors():
    orbit = make_orbit(random_state=0).data
    constraints = Constraints(include=[2], exclude=[0])
    selector = STPCASelector(3, feature_mode=0, constraints=constraints).fit(orbit)
    display = ChannelRankingDisplay.from_estimator(selector, ax=Figure().subplots())
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[0] == "2 (included)"
    assert labels[-1] == "0 (excluded)"
    assert [bar.get_hatch() for bar in display.bars_][-1] == "////"
    assert SelectionDisplay.from_estimator(selector, orbit, figure=Figure()).displays_
    rows = np.random.default_rng(0).normal(size=(40, 12))
    selector = GeometrySelector(3, constraints=constraints).fit(rows)
    display = ScoreMapDisplay.from_estimator(selector, ax=Figure().subplots())
    (dots,) = display.ax_.collections
    assert dots.get_offsets().tolist() == [[2, 0]]
    assert tuple(dots.get_facecolor()[0]) == to_rgba("#d55e00")
