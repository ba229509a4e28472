"""Whether picks can be completed to a set that meets all constraints.

A simple heuristic finds most completions. If it fails, integer programming decides: one binary
variable for every unit that may still be picked, and a row for the count, the budget, every group,
and sets of units of which no two may be picked together. There is nothing to optimise: any solution
is a witness.

Packing features almost as densely as `min_distance` allows is a hard problem. So the search has a
limit, in numbers that do not depend on time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from tensift._utils.warnings import warn_user
from tensift.selection._limits import FeatureLimits
from tensift.selection._tally import Tally

__all__ = ["LookAhead", "Undecided", "completion", "largest_count"]

_EFFORT = 2_000_000  # nodes of a search times entries of its rows
_MOST_NODES = 20_000
_LARGEST_PACKING = 30_000  # entries of rows for distances; above, only the linear relaxation helps
_TOTAL_EFFORT = 2_000_000  # entries of all rows that were searched, for one order of features
_ROUNDING = 1e-5  # of variables that are whole numbers
_SCALE = 1e4  # of costs, since the solver allows absolute errors of 1e-6


class Undecided(ValueError):
    """The search ended at its limit."""


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

    Notes
    -----
    If a search ends at its limit, or searches together took too much, a pick counts as one that
    cannot be completed unless it is in the last completion. The user is warned once.
    """

    def __init__(self, count: int, witness: NDArray[np.bool_], *, exact: bool) -> None:
        self._count, self._exact, self._witness = count, exact, witness
        self._effort, self._warned = 0, False

    def allows(self, tally: Tally, unit: int) -> bool:
        """Whether the picks of `tally` and one more unit can be completed."""
        if self._witness[unit]:
            return True
        after = tally.after(unit)
        found = simple_completion(after, self._count, exact=self._exact)
        if found is None and self._effort <= _TOTAL_EFFORT:
            problem = _Problem(after, self._count, exact=self._exact)
            self._effort += problem.entries
            try:
                found = problem.solved()
            except Undecided:
                self._warn()
        elif found is None:
            self._warn()
        if found is None:
            return False
        self._witness = found
        return True

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warn_user(
                "constraints are so tight that it takes too long to find out which features can "
                "still be picked; all constraints are met, but some features may have been passed "
                "over without need. Select fewer features, or relax min_distance"
            )


def completion(tally: Tally, count: int, *, exact: bool) -> NDArray[np.bool_] | None:
    """Return units, those picked among them, that meet all constraints; None if there are none.

    Raises
    ------
    Undecided
        If the search ends at its limit.
    """
    found = simple_completion(tally, count, exact=exact)
    return _Problem(tally, count, exact=exact).solved() if found is None else found


def simple_completion(tally: Tally, count: int, *, exact: bool) -> NDArray[np.bool_] | None:
    """Pick units one after another, those first that forbid the fewest others; None if it fails."""
    limits, tally = tally.limits, tally.copy()
    for unit in np.unique(limits.unit_of[limits.included]).tolist():
        if not tally.taken[unit]:
            if not tally.allowed(count - tally.count)[unit]:
                return None
            tally.take(unit)
    while True:
        short = tally.short()
        if not short and (tally.count == count if exact else tally.count > 0):
            return tally.taken
        allowed = tally.allowed(count - tally.count)
        wanted = allowed
        if short:
            wanted = np.zeros_like(allowed)
            for group, _ in short:
                wanted[group.units] = True
            wanted &= allowed
        free = np.flatnonzero(wanted)
        if not free.size:
            return None
        if limits.distance:
            forbids = limits.conflicts @ allowed.astype(np.int32)
            free = free[np.argsort(forbids[free], kind="stable")]
        tally.take(int(free[0]))


def largest_count(limits: FeatureLimits) -> int | None:
    """Return the largest number of features that meets all constraints; None if not known."""
    try:
        problem = _Problem(Tally(limits), limits.size, exact=False)
        found = problem.solved(largest=True)
    except Undecided:
        return None
    return None if found is None else int(limits.unit_size[found].sum())


class _Problem:
    """Which of the units that may still be picked complete the picks.

    Attributes
    ----------
    entries : int
        How large it is.
    """

    def __init__(self, tally: Tally, count: int, *, exact: bool) -> None:
        self._tally = tally
        limits, room = tally.limits, count - tally.count
        must = np.zeros_like(tally.taken)
        must[limits.unit_of[limits.included]] = True
        must &= ~tally.taken
        allowed = tally.allowed(room)
        self._free = free = np.flatnonzero(allowed)
        short = {group.label: missing for group, missing in tally.short()}
        self._rows: list[LinearConstraint] = []
        self._is_hard = False
        self._is_open = room >= 0 and not (must & ~allowed).any()
        if not free.size:
            self._is_open &= not short and tally.count > 0 and not (exact and room)
        self.entries = 0
        if not free.size or not self._is_open:
            return
        place = np.full(len(allowed), -1)
        place[free] = np.arange(free.size)
        # No features at all are no selection.
        self._add(limits.unit_size[free], room if exact else int(not tally.count), room)
        if must.any():
            self._add(must[free], must.sum(), np.inf)
        costs = limits.unit_cost[free]
        if limits.budget is not None and costs.any():
            # Costs within rounding of the budget fit, as in `FeatureLimits.fits`.
            scale = _SCALE / max(limits.budget, float(costs.max()))
            left = (tally.money_left + 1e-9 * limits.budget) * scale
            self._add(costs * scale, -np.inf, left)
        for group, most in tally.room_in_groups():
            inside = place[group.units] >= 0
            columns = place[group.units[inside]]
            row = coo_array(
                (group.counts[inside], (np.zeros(columns.size, int), columns)),
                shape=(1, free.size),
            )
            self._add(row, short.get(group.label, 0), most)
        if limits.distance:
            cliques = limits.cliques[:, free]
            cliques = cliques[cliques.sum(axis=1) > 1]
            if cliques.shape[0]:
                self._add(cliques, -np.inf, 1)
                self._is_hard = cliques.nnz > _LARGEST_PACKING
        self.entries = sum(row.A.nnz for row in self._rows)

    def _add(self, rows: object, least: float, most: float) -> None:
        matrix = csr_array(np.atleast_2d(rows) if isinstance(rows, np.ndarray) else rows)
        self._rows.append(LinearConstraint(matrix.astype(float), least, most))

    def solved(self, *, largest: bool = False) -> NDArray[np.bool_] | None:
        """Return units, those picked among them, that meet all constraints; None if none do."""
        units = self._tally.taken.copy()
        if not self._is_open or not self._free.size:
            return units if self._is_open else None
        if largest and self._is_hard:
            raise Undecided
        sizes = self._tally.limits.unit_size[self._free].astype(float)
        result = milp(
            -sizes if largest else np.zeros(sizes.size),
            integrality=np.full(sizes.size, not self._is_hard),
            bounds=Bounds(0, 1),
            constraints=self._rows,
            options={"node_limit": int(np.clip(_EFFORT // self.entries, 10, _MOST_NODES))},
        )
        if result.status == 2:
            return None
        if result.x is None or (largest and result.status != 0):
            raise Undecided
        found = np.round(result.x)
        if np.abs(found - result.x).max() > _ROUNDING:  # of the relaxation
            raise Undecided
        units[self._free[found > 0]] = True
        return units
