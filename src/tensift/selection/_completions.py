"""Whether picks can be completed to a set that meets all constraints: integer programming.

One binary variable for every unit that may still be picked, and a row for the count, the budget,
every group, and sets of units of which no two may be picked together. There is nothing to optimise:
any solution is a witness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, vstack

from tensift.selection._limits import FeatureLimits, Tally

__all__ = ["LookAhead", "completion", "largest_count"]

_MOST_PAIRS = 20_000_000  # of features that are too near each other
_MOST_NODES = 20_000  # of a search; a limit in seconds would not give the same result every time
_SCALE = 1e4  # of costs, since the solver allows absolute errors of 1e-6


class LookAhead:
    """Tells which picks can be completed, and remembers the last completion found.

    Parameters
    ----------
    count : int
        The wanted number of features.
    exact : bool
        Whether exactly so many are wanted, or at most.
    witness : ndarray of bool
        Units that together with those picked so far meet all constraints.
    """

    def __init__(self, count: int, witness: NDArray[np.bool_], *, exact: bool) -> None:
        self._count, self._exact, self._witness = count, exact, witness

    def allows(self, tally: Tally, unit: int) -> bool:
        """Whether the picks of `tally` and one more unit can be completed."""
        if self._witness[unit]:
            return True
        found = completion(tally.after(unit), self._count, exact=self._exact)
        if found is None:
            return False
        self._witness = found
        return True


def completion(tally: Tally, count: int, *, exact: bool) -> NDArray[np.bool_] | None:
    """Return units, those picked among them, that meet all constraints; None if there are none."""
    free, rows = _rows(tally, count, exact=exact)
    if rows is None:
        return None
    units = tally.taken.copy()
    if free.size:
        found = _solved(np.zeros(free.size), rows)
        if found is None:
            return None
        units[free[found]] = True
    return units


def largest_count(limits: FeatureLimits) -> int | None:
    """Return the largest number of features that meets all constraints; None if there is none."""
    tally = Tally(limits)
    free, rows = _rows(tally, limits.size, exact=False)
    if rows is None or not free.size:
        return None
    found = _solved(-limits.unit_size[free].astype(float), rows)
    return None if found is None else int(limits.unit_size[free[found]].sum())


def _rows(
    tally: Tally, count: int, *, exact: bool
) -> tuple[NDArray[np.intp], list[LinearConstraint] | None]:
    """Return the units that may still be picked, and what they must meet; None if they cannot."""
    limits = tally.limits
    room = count - tally.count
    must = np.zeros_like(tally.taken)
    must[limits.unit_of[limits.included]] = True
    must &= ~tally.taken
    allowed = tally.allowed(room)
    free = np.flatnonzero(allowed)
    short = {group.label: missing for group, missing in tally.short()}
    if room < 0 or (must & ~allowed).any():
        return free, None
    if not free.size:
        return free, None if short or not tally.count or (exact and room) else []
    place = np.full(len(allowed), -1)
    place[free] = np.arange(free.size)
    sizes = limits.unit_size[free].astype(float)
    least = room if exact else int(not tally.count)  # no features at all are no selection
    rows = [LinearConstraint(csr_array(sizes[None]), least, room)]
    if must.any():
        rows.append(LinearConstraint(csr_array(must[free].astype(float)[None]), must.sum(), np.inf))
    costs = limits.unit_cost[free]
    if limits.budget is not None and costs.any():
        # Costs within rounding of the budget fit, as in `FeatureLimits.fits`.
        scale = _SCALE / max(limits.budget, float(costs.max()))
        left = (tally.money_left + 1e-9 * limits.budget) * scale
        rows.append(LinearConstraint(csr_array(costs[None] * scale), -np.inf, left))
    for group, most in tally.room_in_groups():
        inside = place[group.units] >= 0
        columns = place[group.units[inside]]
        counts = group.counts[inside].astype(float)
        row = coo_array((counts, (np.zeros(columns.size, int), columns)), shape=(1, free.size))
        rows.append(LinearConstraint(row.tocsr(), short.get(group.label, 0), most))
    if limits.distance:
        rows += _apart(limits, free, place)
    return free, rows


def _apart(
    limits: FeatureLimits, free: NDArray[np.intp], place: NDArray[np.intp]
) -> list[LinearConstraint]:
    """Rows that forbid pairs of units that are too near each other."""
    features = np.flatnonzero(place[limits.unit_of] >= 0)
    positions = limits.positions[features]
    tree = type(limits.tree)(positions)
    number = (tree.count_neighbors(tree, limits.distance) - features.size) // 2
    if number > _MOST_PAIRS:
        raise ValueError(
            f"min_distance={limits.constraints.min_distance} keeps {number} pairs of features "
            "apart, too many to find out whether the other constraints can be met with it; relax "
            "a constraint, or select fewer features"
        )
    units = place[limits.unit_of[features]]
    pairs = units[tree.query_pairs(limits.distance, output_type="ndarray")]
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    # All in a cell whose diagonal is short are pairwise too near: one row says it better.
    cells = np.floor(positions / (limits.distance / np.sqrt(positions.shape[1]) * (1 - 1e-9)))
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    cell = cell.ravel()
    shape = (cell.max() + 1, free.size)
    in_cells = coo_array((np.ones(units.size), (cell, units)), shape=shape).tocsr()
    in_cells.data[:] = 1.0  # a unit may have several features in a cell
    in_cells = in_cells[in_cells.sum(axis=1) > 1]
    rows = [in_cells] if in_cells.shape[0] else []
    if len(pairs):
        lines = np.repeat(np.arange(len(pairs)), 2)
        shape = (len(pairs), free.size)
        rows.append(coo_array((np.ones(lines.size), (lines, pairs.ravel())), shape=shape).tocsr())
    return [LinearConstraint(vstack(rows).tocsr(), -np.inf, 1)] if rows else []


def _solved(
    objective: NDArray[np.float64], rows: list[LinearConstraint]
) -> NDArray[np.bool_] | None:
    """Return a solution in zeros and ones that minimises the objective, or None."""
    result = milp(
        objective,
        integrality=np.ones(objective.size),
        bounds=Bounds(0, 1),
        constraints=rows,
        options={"node_limit": _MOST_NODES},
    )
    if result.status == 2:
        return None
    if result.x is None or (result.status != 0 and objective.any()):
        raise ValueError(
            "constraints are too hard to decide whether any set of features meets them all "
            f"({result.message}); relax or drop one, or select fewer features"
        )
    found: NDArray[np.bool_] = np.round(result.x) > 0
    return found
