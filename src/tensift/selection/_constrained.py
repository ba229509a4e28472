"""The constraints of a selector, resolved against its features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tensift.selection._constraints import Constraints
from tensift.selection._knows_gaps import KnowsGaps
from tensift.selection._limits import FeatureLimits

__all__ = ["ConstrainedSelector"]


class ConstrainedSelector(KnowsGaps):
    """A selector that may have constraints; features that were never observed are left out."""

    constraints: Constraints | None = None  # for subclasses without this parameter
    _fitted_constraints: Constraints | None

    @abstractmethod
    def _shape_and_names(self) -> tuple[tuple[int, ...], Any]:
        """Return the grid of features, and their names in the samples, if they have some."""

    def _limits(self) -> FeatureLimits | None:
        """Resolve `constraints` against the features of the samples."""
        if self.constraints is None:
            return None
        return self._resolved(self.constraints)

    def _fitted_limits(self) -> FeatureLimits | None:
        constraints = vars(self).get("_fitted_constraints")
        return None if constraints is None else self._resolved(constraints)

    def _resolved(self, constraints: Constraints) -> FeatureLimits | None:
        return constraints.resolve(*self._shape_and_names(), self._never_observed())

    def _fitted_look_up(self) -> FeatureLimits | None:
        """Return the constraints of the fit, even if they restrict nothing."""
        constraints = vars(self).get("_fitted_constraints")
        if constraints is None:
            return None
        return constraints.look_up(*self._shape_and_names(), self._never_observed())
