"""How much each sample counts: weights, and groups that count equally."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import has_fit_parameter

from tensift._utils.namespace import is_device_array, to_numpy

__all__ = ["SampleWeights", "group_codes", "takes_weights"]


@dataclass(frozen=True, eq=False)
class SampleWeights:
    """One weight for each sample, and perhaps one group.

    A whole number counts like so many copies of the sample, and zero like its absence. They are on
    the host, whatever the samples are: one number for each sample is little.

    Attributes
    ----------
    values : ndarray of float, shape (n,)
        The weights, none of them negative.
    groups : ndarray of int, shape (n,), or None
        The number of each sample's group, from 0.
    labels : tuple of str, or None
        What users call the groups.

    Examples
    --------
    Three recordings of the first subject count as much as one of the second:

    >>> from tensift.sources import SampleWeights
    >>> SampleWeights.of(None, ["anna", "anna", "anna", "bert"]).values.round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """

    values: NDArray[np.float64]
    groups: NDArray[np.intp] | None = None
    labels: tuple[str, ...] | None = None

    @classmethod
    def of(cls, sample_weight: Any, groups: Any = None, *, fewest: int = 2) -> SampleWeights | None:
        """Check what a user passed; None if samples count alike.

        Parameters
        ----------
        sample_weight : array-like of shape (n,) or None
            Finite and not negative.
        groups : array-like of shape (n,) or None
            Values of one kind. Weights within a group keep their ratios, and are scaled so that
            all groups have the same sum. The sum of all weights stays the same.
        fewest : int, default=2
            How many samples must have a positive weight.
        """
        if sample_weight is None and groups is None:
            return None
        codes = labels = None
        if groups is not None:
            names, codes = _names_and_codes(groups)
            labels = tuple(str(name) for name in names)
        if sample_weight is None:
            assert codes is not None
            values = np.ones(len(codes))
        else:
            values = _checked(sample_weight, fewest)
        if codes is not None:
            if len(codes) != len(values):
                raise ValueError(
                    f"groups has {len(codes)} values, but sample_weight has {len(values)}; both "
                    "need one for each sample"
                )
            values = _equal_groups(values, codes)
        return cls(values, codes, labels)

    def __len__(self) -> int:
        return len(self.values)

    def check_length(self, n_samples: int) -> SampleWeights:
        """Return these weights; raise an error if there are more or fewer than samples."""
        if len(self) != n_samples:
            name = "sample_weight" if self.groups is None else "groups"
            raise ValueError(
                f"{name} has {len(self)} values, but X has {n_samples} samples; pass one for each"
            )
        return self

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which samples count at all."""
        mask: NDArray[np.bool_] = self.values > 0
        return mask

    @property
    def used(self) -> SampleWeights:
        """The weights of the samples that count."""
        mask = self.positive
        return self if mask.all() else self.take(mask)

    def take(self, index: Any) -> SampleWeights:
        """Return the weights and groups of some samples."""
        groups = None if self.groups is None else self.groups[index]
        return SampleWeights(self.values[index], groups, self.labels)


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` of an estimator takes weights of samples.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.rivals import LaplacianScore
    >>> from tensift.sources import takes_weights
    >>> takes_weights(STPCASelector()), takes_weights(LaplacianScore())
    (True, False)
    """
    return has_fit_parameter(estimator, "sample_weight")


def _checked(sample_weight: Any, fewest: int) -> NDArray[np.float64]:
    values = _one_dimensional("sample_weight", sample_weight)
    if values.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight has dtype {values.dtype}; pass real numbers")
    try:
        values = values.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from None
    for what, is_wrong in (
        ("NaN", np.isnan(values)),
        ("infinity", np.isinf(values)),
        ("a negative weight", values < 0),
    ):
        if is_wrong.any():
            place = int(np.argmax(is_wrong))
            raise ValueError(
                f"sample_weight has {what} at sample {place}; weights must be finite and not "
                "negative, and 0 leaves a sample out"
            )
    if values.max() > np.finfo(float).max / len(values):
        raise ValueError("sample_weight has values whose sum overflows; use smaller weights")
    count = int(np.count_nonzero(values))
    if count < fewest:
        found = f"a positive weight for only {count} sample" if count else "only zero weights"
        raise ValueError(f"sample_weight has {found}; at least {fewest} samples must count")
    return values


def group_codes(groups: ArrayLike) -> NDArray[np.intp]:
    """Return the number of each sample's group, in the order of the sorted values of groups.

    Examples
    --------
    >>> from tensift.sources import group_codes
    >>> group_codes(["s2", "s1", "s2"])
    array([1, 0, 1])
    """
    return _names_and_codes(groups)[1]


def _names_and_codes(groups: ArrayLike) -> tuple[list[Any], NDArray[np.intp]]:
    values = _one_dimensional("groups", groups)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError("groups has NaN; give every sample a group")
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            "groups mixes values that cannot be compared, such as numbers and text; pass values of "
            "one kind"
        ) from None
    if any(name is None for name in names.tolist()):
        raise ValueError("groups has None; give every sample a group")
    return names.tolist(), np.asarray(codes, dtype=np.intp).reshape(-1)


def _one_dimensional(name: str, values: Any) -> NDArray[Any]:
    """Return values as an array with one axis and at least one value."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values; fill them first")
    array = to_numpy(values) if is_device_array(values) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be a 1D array with one value for each sample, but has shape {array.shape}"
        )
    if not array.size:
        raise ValueError(f"{name} is empty; pass one value for each sample")
    return array


def _equal_groups(values: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Scale weights so that all groups have the same sum, and the sum of all stays the same."""
    sums = np.bincount(codes, values)
    each = values.sum() / np.count_nonzero(sums)
    factors = np.divide(each, sums, out=np.zeros_like(sums), where=sums > 0)
    return values * factors[codes]
