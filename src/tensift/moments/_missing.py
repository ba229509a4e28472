"""What is missing in samples, and what can be said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tensift._utils.warnings import warn_user
from tensift.labels import Names
from tensift.sources import SampleWeights

__all__ = [
    "MISSING",
    "MissingValues",
    "hint_at_missing",
    "is_missing",
    "refuse_mixed",
    "warn_of_groups",
]

MISSING = ("raise", "allow")  # values of the parameter `missing`

_FEW = 5  # observations that hardly tell a variance, or a covariance
_ROUNDING = 1e-9  # share of energy that is a rounding error
_NAMED = 3  # features that a warning names


@dataclass(frozen=True)
class MissingValues:
    """How many values were observed, and how well they tell covariances.

    Attributes
    ----------
    n_samples : int
        The number of samples with at least one value.
    observed : ndarray of int, shape (d_1, ..., d_m)
        How often each element was observed.
    fewest_together : int or None
        Of all pairs of elements of a slice that were observed, how often the rarest pair was
        observed together. None if no covariances were needed.
    rarest_pair : tuple of two tuples of int, or None
        That pair, as indices of elements.
    clipped : float
        Covariances of pairs need not fit together. The share of the energy of their matrices that
        was negative and set to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import GeometrySelector
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 4))
    >>> X[:30, 1, 2] = X[:, 0, 0] = np.nan
    >>> missing = GeometrySelector(2, missing="allow").fit(X).missing_
    >>> int(missing.observed[1, 2]), missing.n_never, round(missing.share, 2)
    (20, 1, 0.13)
    """

    n_samples: int
    observed: NDArray[np.intp]
    fewest_together: int | None = None
    rarest_pair: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    clipped: float = 0.0

    @classmethod
    def in_rows(cls, rows: NDArray) -> MissingValues:
        """Count what is observed in samples ``(n, d_1, ..., d_m)``."""
        observed = ~is_missing(rows)
        some = observed.reshape(len(rows), -1).any(axis=1)
        return cls(int(np.count_nonzero(some)), np.count_nonzero(observed, axis=0))

    @property
    def never(self) -> NDArray[np.bool_]:
        """The elements that were never observed, as a mask ``(d_1, ..., d_m)``."""
        return self.observed == 0

    @property
    def n_never(self) -> int:
        """The number of elements that were never observed."""
        return int(np.count_nonzero(self.never))

    @property
    def share(self) -> float:
        """The share of all values that is missing."""
        total = self.n_samples * self.observed.size
        return 1 - float(self.observed.sum()) / total if total else 0.0

    def never_of(self, mode: int | None) -> NDArray[np.bool_]:
        """Return a flat mask of the features of which no element was ever observed."""
        if mode is None:
            return self.never.ravel()
        others = tuple(axis for axis in range(self.never.ndim) if axis != mode)
        return np.asarray(self.never.all(axis=others))

    def check(self) -> None:
        """Raise an error if there is too little to learn from."""
        if self.n_samples == 0:
            raise ValueError("X has no value that is not NaN; pass samples that were observed")
        if self.n_samples == 1:
            raise ValueError(
                "only 1 sample of X has values that are not NaN; at least 2 are needed"
            )
        if self.observed.max() < 2:
            raise ValueError(
                "no feature of X was observed more than once, so no variance is known; pass more "
                "samples"
            )

    def warn(self, names: Names | None = None) -> None:
        """Warn once of what is known too poorly to rely on."""
        few = (self.observed > 0) & (self.observed < min(_FEW, self.n_samples))
        remarks = []
        if few.any():
            which = [self._name(tuple(at), names) for at in np.argwhere(few)[:_NAMED].tolist()]
            more = f" and {np.count_nonzero(few) - len(which)} more" if few.sum() > _NAMED else ""
            remarks.append(
                f"{', '.join(which)}{more} observed fewer than {_FEW} times; their variance is "
                "hardly known"
            )
        elif self.fewest_together is not None and self.rarest_pair is not None:
            one, other = (self._name(at, names) for at in self.rarest_pair)
            if self.fewest_together == 0:
                remarks.append(
                    f"{one} and {other} were never observed together; such pairs count as "
                    "uncorrelated"
                )
            elif self.fewest_together < min(_FEW, self.n_samples):
                remarks.append(
                    f"{one} and {other} were observed together only {self.fewest_together} times; "
                    "their covariance is hardly known"
                )
        if remarks:
            warn_user(f"missing='allow': {'; '.join(remarks)}. Exclude them, or pass more samples")

    def __str__(self) -> str:
        text = f"{100 * self.share:.3g} % of the values are missing"
        if self.n_never:
            was = "were" if self.n_never > 1 else "was"
            text += f"; {self.n_never} of {self.observed.size} elements {was} never observed"
        if self.clipped > _ROUNDING:
            text += f"; {100 * self.clipped:.2g} % of the covariance energy was clipped"
        return text

    def _name(self, at: tuple[int, ...], names: Names | None) -> str:
        if names is None:
            return f"feature {at[0] if len(at) == 1 else at}"
        return f"feature {names.of_features(None)[np.ravel_multi_index(at, self.observed.shape)]}"


def warn_of_groups(
    rows: NDArray, weights: SampleWeights, names: Names | None, mode: int | None
) -> None:
    """Warn of groups of samples that have no value of a feature that others have.

    Parameters
    ----------
    rows : ndarray of shape (n, d_1, ..., d_m)
        Samples.
    weights : SampleWeights
        With the groups.
    names : Names or None
        Those of the modes.
    mode : int or None
        What a feature is.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> from tensift.moments import warn_of_groups
    >>> from tensift.sources import SampleWeights
    >>> rows = np.array([[1, 2], [2, 1], [3, np.nan], [1, np.nan]])
    >>> subjects = SampleWeights.of(None, ["anna", "anna", "bert", "bert"])
    >>> with pytest.warns(UserWarning, match="no value of feature 1 in group bert"):
    ...     warn_of_groups(rows, subjects, None, None)
    """
    gaps = is_missing(rows)
    if weights.groups is None or weights.labels is None or not gaps.any():
        return
    others = tuple(axis for axis in range(1, gaps.ndim) if axis != (mode or 0) + 1)
    gaps = (gaps if mode is None else gaps.all(axis=others)).reshape(len(gaps), -1)
    present = np.unique(weights.groups)
    lacks = np.array([gaps[weights.groups == group].all(axis=0) for group in present])
    empty = lacks.all(axis=1)
    lacks = lacks[~empty]
    remarks = []
    if empty.any():
        groups = [weights.labels[group] for group in present[empty].tolist()]
        remarks.append(f"no value at all in {_groups_in_words(groups)}")
    found = np.flatnonzero(lacks.any(axis=0) & ~lacks.all(axis=0))
    for feature in found[:_NAMED]:
        groups = [weights.labels[g] for g in present[~empty][lacks[:, feature]].tolist()]
        name = _feature_name(int(feature), rows.shape[1:], names, mode)
        remarks.append(f"no value of {name} in {_groups_in_words(groups)}")
    if len(found) > _NAMED:
        remarks.append(f"{len(found) - _NAMED} more features without a value in some group")
    if remarks:
        warn_user(
            f"missing='allow': {'; '.join(remarks)}. Only other groups say what is there. Exclude "
            "such features, or leave out such groups"
        )


def _groups_in_words(labels: list[str]) -> str:
    shown = ", ".join(labels[:_NAMED])
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return f"group{'s' if len(labels) > 1 else ''} {shown}{more}"


def _feature_name(
    feature: int, shape: tuple[int, ...], names: Names | None, mode: int | None
) -> str:
    if names is not None:
        return f"feature {names.of_features(mode)[feature]}"
    if mode is not None or len(shape) == 1:
        return f"feature {feature}"
    return f"feature {tuple(int(i) for i in np.unravel_index(feature, shape))}"


def is_missing(values: NDArray) -> NDArray[np.bool_]:
    """Return where values are NaN; False for numbers that cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import is_missing
    >>> is_missing(np.array([1.0, np.nan])), is_missing(np.array([1, 2]))
    (array([False,  True]), array([False, False]))
    """
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape, dtype=bool)
    return np.isnan(values)


def refuse_mixed(basis: str) -> NoReturn:
    """Raise an error: values are missing in chunks, and a basis would mix them with others."""
    raise ValueError(
        f"X has missing values, which basis={basis!r} would mix with others, and is read in "
        "chunks, so they cannot be estimated first; pass an array in memory, or use "
        "basis='identity'"
    )


def hint_at_missing(estimator: object) -> str:
    """Return what to do about NaN: the end of an error message."""
    if getattr(estimator, "missing", None) == "allow":
        return "missing values need NumPy arrays, so move X to the host"
    if hasattr(estimator, "missing"):
        return "pass missing='allow' if NaN stands for values that were not observed"
    return (
        "fill or drop missing values, or use an estimator with missing='allow', such as "
        "GeometrySelector"
    )
