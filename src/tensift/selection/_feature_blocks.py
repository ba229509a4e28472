"""Blocks of features that threads share."""

from __future__ import annotations

import math
from typing import Any

from tensift._utils.namespace import is_device_array

__all__ = ["feature_blocks"]

_VALUES = 2**20  # in a block: they fit into the cache of a core


def feature_blocks(values: Any) -> list[slice]:
    """Return blocks of the second axis of ``(n, features, ...)``; a single one on a device.

    They depend on the shape alone, so that results are the same for any number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection._feature_blocks import feature_blocks
    >>> feature_blocks(np.zeros((2**10, 1500, 1)))
    [slice(0, 1024, None), slice(1024, 1500, None)]
    """
    count = values.shape[1]
    if is_device_array(values):
        return [slice(0, count)]
    step = max(1, _VALUES * count // max(1, math.prod(values.shape)))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
