"""Selectors side by side on one's own data, with labels or without."""

from tensift.comparison._compare import compare_selectors
from tensift.comparison._result import SelectorComparison

__all__ = ["SelectorComparison", "compare_selectors"]
