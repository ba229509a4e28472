"""What the displays read from a fitted selector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.labels import Names
from tensift.moments import TensorEstimator
from tensift.selection import TensorSelector, held_constraints
from tensift.sources import in_memory

__all__ = ["FittedSelection", "plain_samples"]


def plain_samples(estimator: TensorEstimator, X: Any) -> Any:
    """Return samples without names, with their modes in the order of the fit."""
    return in_memory(estimator._unlabelled(X, fitted=True).samples)


@dataclass(frozen=True)
class FittedSelection:
    """A selector's result: scores, what was kept, and the names of both kinds of features.

    ``names`` belong to the modes of a sample, ``feature_names`` to those of ``scores``: the same
    modes for element features, the one feature mode for mode features. ``included`` and
    ``excluded`` are what constraints force in or out.
    """

    scores: NDArray[np.float64]
    support: NDArray[np.bool_]
    feature_mode: int | None
    names: Names
    feature_names: Names
    included: NDArray[np.bool_]
    excluded: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        estimator: TensorSelector,
        dims: Sequence[str] | None,
        coords: Mapping[str, Any] | None,
    ) -> FittedSelection:
        """Read a fitted selector; arrays on a device are copied to the host."""
        check_is_fitted(estimator)
        names = estimator._names_to_show().with_given(dims, coords)
        mode = estimator._fitted_mode()
        held = held_constraints(estimator)
        included, excluded = np.zeros((2, *estimator.scores_.shape), dtype=bool)
        if held is not None:
            included.flat[held.included] = True
            excluded.flat[held.excluded] = True
        return cls(
            scores=np.asarray(to_numpy(estimator.scores_)),
            support=to_numpy(estimator.get_support()).reshape(estimator.scores_.shape),
            feature_mode=mode,
            names=names,
            feature_names=names if mode is None else names.only([mode]),
            included=included,
            excluded=excluded,
        )
