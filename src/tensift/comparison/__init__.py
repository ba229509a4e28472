"""Compare selectors on your own data, with labels or without."""

from tensift.comparison._compare import compare_selectors
from tensift.comparison._methods import DEFAULT_SELECTORS, Method, find_selector, is_random
from tensift.comparison._result import SelectorComparison
from tensift.comparison._tasks import Samples

__all__ = [
    "DEFAULT_SELECTORS",
    "Method",
    "Samples",
    "SelectorComparison",
    "compare_selectors",
    "find_selector",
    "is_random",
]
