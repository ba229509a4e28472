"""Find the features that a selector keeps when the samples change."""

from tensift.stability._by_group import GroupSelection, select_by_group
from tensift.stability._result import StabilitySelection
from tensift.stability._select import stability_selection

__all__ = ["GroupSelection", "StabilitySelection", "select_by_group", "stability_selection"]
