"""Find the features that a selector keeps when the samples change."""

from tensift.stability._result import StabilitySelection
from tensift.stability._select import stability_selection

__all__ = ["StabilitySelection", "stability_selection"]
