"""Substitutes and additions under constraints, against the definition on tiny problems."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.test_selection_constraints import METHODS, SIZE, TIERS, Problem, X, constraints

from tensift import ColumnSubsetSelector, Constraints, GeometrySelector
from tensift.rivals import VarianceSelector

RULES = ("geometry", "reconstruct")


def fitted(name, given, count):
    """A selector under constraints; skip those that cannot be met."""
    try:
        return METHODS[name][0](count, constraints=Constraints(**given)).fit(X)
    except ValueError as error:
        assume("constraints cannot be met" not in str(error))
        raise


def best(name, picks, candidates):
    """The candidate that the rule likes best, of those in the first tier."""
    tiers = np.asarray(TIERS.get(name, np.zeros(SIZE)), int)
    merits = np.asarray(METHODS[name][1](picks), float)
    first = min(tiers[j] for j in candidates)
    candidates = sorted(j for j in candidates if tiers[j] == first)
    largest = max(merits[j] for j in candidates)
    return next(j for j in candidates if merits[j] >= largest - 1e-9 * abs(largest))


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=80, deadline=None)
@given(given=constraints(), count=st.integers(1, 5))
def test_a_substitute_leaves_all_constraints_met(name, given, count):
    selector = fitted(name, given, count)
    kept = selector.get_support(indices=True).tolist()
    for one in selector.replacements():
        others = [j for j in kept if j != one.feature]
        freed = given | {"include": [j for j in given.get("include", []) if j != one.feature]}
        problem = Problem(SIZE, **freed)
        possible = [
            j
            for j in range(SIZE)
            if j not in kept
            and problem.is_feasible([*others, j])
            and len(problem.unit(one.feature)) == 1
        ]
        expected = best(name, others, possible) if possible else -1
        assert one.substitute == expected
        assert selector.replace(one.feature).substitute == expected if len(kept) < SIZE else True
        if expected < 0:
            assert one.lost == one.lost_with_substitute


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=80, deadline=None)
@given(given=constraints(), count=st.integers(1, 4), k=st.integers(1, 3))
def test_additions_are_those_of_the_definition(name, given, count, k):
    selector = fitted(name, given, count)
    kept = selector.get_support(indices=True).tolist()
    problem = Problem(SIZE, **given)
    sets = [
        frozenset([*kept, *more])
        for more in itertools.combinations(sorted(set(range(SIZE)) - set(kept)), k)
        if problem.is_feasible([*kept, *more])
    ]
    assume(len(kept) + k <= SIZE)
    if not sets:
        with pytest.raises(ValueError, match=f"k={k}: constraints do not allow {k} more"):
            selector.extend(k)
        return
    merits = METHODS[name][1]
    # With a budget, the definition of a fit chooses twice; here what is first by merit counts.
    picks, _ = Problem(SIZE, **given | {"include": kept})._run(
        sets,
        len(kept) + k,
        merits,
        sum,
        np.asarray(TIERS.get(name, np.zeros(SIZE))),
        power=0,
    )
    assert_array_equal(selector.extend(k), picks[len(kept) :])


def test_an_included_feature_can_fail():
    limits = Constraints(include=[2], exclude=[0, 1], min_distance=2)
    found = GeometrySelector(2, constraints=limits).fit(X).replace(2)
    assert found.substitute in {3, 4, 5, 6}
    assert found.lost_with_substitute < found.lost


def test_features_that_belong_together_have_no_substitute():
    selector = ColumnSubsetSelector(3, constraints=Constraints(together=[[1, 4]], include=[1]))
    found = selector.fit(X).replacements()
    assert_array_equal(found.feature[found.substitute < 0], [1, 4])
    assert [row["substitute"] for row in found.to_rows()].count(None) == 2


def test_what_is_left_of_a_budget():
    constraints = Constraints(costs=[1, 1, 1, 2, 2, 2, 9], budget=4, include=[0, 1])
    selector = VarianceSelector(2, constraints=constraints).fit(X)
    assert set(selector.extend(1)) <= {2, 3, 4, 5}
    message = "k=2: constraints do not allow 2 more features; at most 1 can be added"
    with pytest.raises(ValueError, match=message):
        selector.extend(2)
    tight = Constraints(costs=[1, 1, 1, 2, 2, 2, 9], budget=2, include=[0, 1])
    with pytest.raises(ValueError, match="not allow 1 more feature; none can be added"):
        VarianceSelector(2, constraints=tight).fit(X).extend(1)


def test_the_number_left_may_not_be_reached_in_units():
    constraints = Constraints(together=[[0, 1], [2, 3], [4, 5, 6]])
    selector = ColumnSubsetSelector(2, constraints=constraints).fit(X)
    with pytest.raises(ValueError, match="only other numbers are possible, since some"):
        selector.extend(1)


def test_constraints_of_the_fit_count_not_those_set_later():
    selector = GeometrySelector(2, constraints=Constraints(exclude=[0])).fit(X)
    selector.set_params(constraints=Constraints(exclude=[1, 2, 3, 4, 5, 6]))
    assert_array_equal(
        np.sort([*selector.get_support(indices=True), *selector.extend(4)]), range(1, 7)
    )
