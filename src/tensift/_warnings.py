"""Warnings that point at the user's line, however deep they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn

__all__ = ["warn_user"]

_LIBRARIES = tuple(str(Path(file).parent) for file in (__file__, sklearn.__file__))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first caller outside of tensift and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
