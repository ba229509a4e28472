"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn

__all__ = ["warn_user"]

# The folders of tensift and of scikit-learn.
_LIBRARIES = (str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first caller outside of tensift and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
