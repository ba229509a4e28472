"""One selection for the page: scores, order, rule, code and certificates."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tensift.comparison import SelectorComparison
from tensift.plotting import rule_in_words
from tensift.report._code import Source, parameter_texts, selection_code, stability_code
from tensift.report._encoding import encode_ranking, encode_scores, rounded
from tensift.rivals import list_selectors
from tensift.selection import HeldConstraints, TensorSelector, held_constraints
from tensift.solvers import ExactSolver, PaperSolver
from tensift.stability import StabilitySelection
from tensift.stpca import STPCASelector

__all__ = ["View", "view_of_method", "view_of_selector", "view_of_stability"]

_MOST_SLICES = 1000
_ROUNDING = float(np.finfo(float).eps)  # a smaller gap, or a negative one, is a rounding error


class View(TypedDict):
    """A selection that the page can show.

    ``by_score`` says whether features were selected by their scores alone, ``rule`` how they were
    selected. ``fitted`` is the number of features for which it was made, ``caveat`` a warning for
    other numbers, ``code`` the Python code before and after the number. ``included`` and
    ``excluded`` are features that constraints force in or out, ``stops`` the numbers that they
    allow; None if they allow all.
    """

    name: str
    kind: str
    orientation: int | None
    scores: dict[str, Any]
    ranking: dict[str, Any]
    zeros: int
    by_score: bool
    rule: str
    fitted: int
    caveat: str | None
    code: list[str]
    parameters: dict[str, str]
    certificates: dict[str, Any] | None
    included: list[int]
    excluded: list[int]
    stops: list[int] | None


def view_of_selector(name: str, kind: str, selector: TensorSelector, source: Source) -> View:
    """Return the view of a fitted selector."""
    scores = np.asarray(selector.scores_, dtype=float)
    return View(
        name=name,
        kind=kind,
        orientation=int(selector.orientation_) if isinstance(selector, STPCASelector) else None,
        scores=encode_scores(scores),
        ranking=encode_ranking(selector.order_),
        zeros=int(np.count_nonzero(scores == 0)),
        by_score=selector.selection == "top",
        rule=rule_in_words(selector._own_rule or selector.selection),
        fitted=int(selector.get_support().sum()),
        caveat=_caveat(selector, scores),
        code=list(selection_code(selector, source)),
        parameters=parameter_texts(selector, source.parameters),
        certificates=_certificates(selector),
        **_limits_of(held_constraints(selector)),
    )


def view_of_method(method: str, found: SelectorComparison, source: Source) -> View:
    """Return the view of a compared method."""
    scores = np.asarray(found.scores[method], dtype=float)
    fitted, rule = len(found.features[method]), found.rules[method]
    known = next((info.selector for info in list_selectors() if info.name == method), None)
    own_rule = None if known is None else known._own_rule
    lines = [*source.imports, ""] if source.imports else []
    lines += [f"found = {source.comparison}", f"found.orders[{method!r}][:"]
    return View(
        name=method,
        kind="method",
        orientation=None,
        scores=encode_scores(scores),
        ranking=encode_ranking(found.orders[method]),
        zeros=int(np.count_nonzero(scores == 0)),
        by_score=rule == "top",
        rule=rule_in_words(own_rule or rule),
        fitted=fitted,
        caveat=f"The comparison selected {fitted} features with this method. Further features "
        "follow in the order of the same fit.",
        code=["\n".join(lines), "]"],
        parameters={},
        certificates=None,
        **_limits_of(found.held.get(method)),
    )


def view_of_stability(found: StabilitySelection, source: Source) -> View:
    """Return the view of a stability selection: features by how often resamples keep them."""
    shares = found.probabilities
    count = len(found.selected)
    return View(
        name="Share of resamples",
        kind="stability",
        orientation=None,
        scores=encode_scores(shares),
        ranking=encode_ranking(found.ranking),
        zeros=int(np.count_nonzero(shares == 0)),
        by_score=True,
        rule="The kept features are those that most resamples keep. A resample is a part of the "
        "samples on which the selection was made again.",
        fitted=max(1, count),
        caveat=f"{count} features reach the threshold of {found.threshold:.0%}.",
        code=list(stability_code(found, source)),
        parameters=parameter_texts(found.estimator, source.parameters),
        certificates=None,
        **_limits_of(None),
    )


class _Limits(TypedDict):
    included: list[int]
    excluded: list[int]
    stops: list[int] | None


def _limits_of(held: HeldConstraints | None) -> _Limits:
    if held is None:
        return _Limits(included=[], excluded=[], stops=None)
    return _Limits(
        included=held.included.tolist(),
        excluded=held.excluded.tolist(),
        stops=list(held.stops) or None,
    )


def _caveat(selector: TensorSelector, scores: NDArray[np.float64]) -> str | None:
    """Return why another number of features may need another fit, if it does."""
    held = held_constraints(selector)
    if held is not None and held.stops:
        return (
            "Only numbers for which the first features meet all constraints can be chosen. For "
            "another number, fit again."
        )
    counted = {info.selector for info in list_selectors() if info.counted}
    if type(selector) in counted:
        return (
            f"The scores of {type(selector).__name__} depend on the number of features. Fit again "
            "for another number."
        )
    if selector.selection != "top":
        return (
            f"The first {selector.n_features_} features were chosen one at a time. The rest are "
            "sorted by what each would add to them. To choose more, fit again with a larger number."
        )
    if _solver_name(selector) == "exact" and np.any(scores == 0):
        return (
            "Features with a score of zero are sorted by the penalty at which their score becomes "
            "positive. The order is fine up to the fitted number and coarse after it."
        )
    return None


def _solver_name(selector: TensorSelector) -> str:
    """Return the name of the solver, or of the class if the method has no solvers."""
    solver = getattr(selector, "solver", type(selector).__name__)
    if isinstance(solver, ExactSolver | PaperSolver):
        return "exact" if isinstance(solver, ExactSolver) else "paper"
    return str(solver)


def _certificates(selector: TensorSelector) -> dict[str, Any] | None:
    """Return how the solver ended on every slice, or on the worst ones if there are many."""
    if not hasattr(selector, "objective_") or not hasattr(selector, "n_iter_"):
        return None
    objective = np.atleast_1d(np.asarray(selector.objective_, dtype=float))
    steps = np.atleast_1d(selector.n_iter_)
    gap = converged = None
    shape: list[int] = []
    if isinstance(selector, STPCASelector):
        orientation = selector._moments.orientation
        converged = orientation.expand(selector._solution.converged)
        gap = getattr(selector, "dual_gap_", None)
        if gap is not None:
            gap = np.maximum(gap, _ROUNDING)
        shape = [int(size) for size in orientation.other_shape]
    worst = np.argsort(-(steps if gap is None else gap), kind="stable")[:_MOST_SLICES]
    shown = np.sort(worst)
    return {
        "solver": _solver_name(selector),
        "total": len(objective),
        "shape": shape,
        "slices": shown.tolist(),
        "objective": [rounded(v) for v in objective[shown]],
        "steps": steps[shown].tolist(),
        "converged": None if converged is None else converged[shown].tolist(),
        "n_converged": None if converged is None else int(np.count_nonzero(converged)),
        "gap": None if gap is None else [rounded(v) for v in gap[shown]],
        "worst_gap": None if gap is None else rounded(float(np.max(gap))),
    }
