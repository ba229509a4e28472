"""The automatic choices of a fit, with reasons."""

from __future__ import annotations

from dataclasses import dataclass

from tensift.stpca._auto_orientation import OrientationChoice
from tensift.stpca._auto_penalties import PenaltyChoice

__all__ = ["AutomaticChoice"]


@dataclass(frozen=True)
class AutomaticChoice:
    """What a selector chose for parameters that were "auto", without labels, and why.

    Attributes
    ----------
    penalties : PenaltyChoice or None
        How `lam` and `eta` were chosen, if one of them was.
    orientation : OrientationChoice or None
        How the orientation and the basis were chosen, if one of them was.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> selector = STPCASelector(20).fit(load_digits().data)
    >>> str(selector.choice_).partition(",")[0]
    'lam = 49.1 and eta = 90.9'
    """

    penalties: PenaltyChoice | None = None
    orientation: OrientationChoice | None = None

    @property
    def reasons(self) -> list[str]:
        """One sentence for each choice."""
        return [part.reason for part in (self.orientation, self.penalties) if part is not None]

    def __str__(self) -> str:
        return "\n".join(self.reasons) or "nothing was chosen automatically"
