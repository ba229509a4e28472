"""Checked samples that are in memory, with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._utils.namespace import is_device_array, moved_to
from tensift.moments._moments import along_samples
from tensift.sources import SampleWeights

__all__ = ["SamplesInMemory"]


@dataclass(frozen=True, eq=False)
class SamplesInMemory:
    """Checked samples of any array library, and their positive weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import SamplesInMemory
    >>> from tensift.sources import SampleWeights
    >>> SamplesInMemory(np.ones((2, 1)), SampleWeights.of([4, 9])).with_roots()
    array([[2.],
           [3.]])
    """

    rows: Any
    weights: SampleWeights | None = None

    def with_roots(self, mean: Any = None) -> Any:
        """Return the samples, minus a mean, multiplied by the roots of their weights."""
        rows = self.rows if mean is None else self.rows - mean
        if self.weights is None:
            return rows
        roots = along_samples(np.sqrt(self.weights.values), rows)
        return (moved_to(rows, roots) if is_device_array(rows) else roots) * rows
