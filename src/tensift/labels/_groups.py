"""The groups of samples that come from several recordings."""

from __future__ import annotations

from typing import Any

from tensift.labels._unlabelled import unlabelled

__all__ = ["groups_of"]


def groups_of(X: Any, groups: Any) -> Any:
    """Return the groups that a user passed, or for "recordings" those of the samples.

    Parameters
    ----------
    X : any samples
        What is fitted.
    groups : array-like, "recordings" or None
        "recordings" makes each of several recordings a group.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.labels import groups_of
    >>> groups_of(np.zeros((3, 2)), ["anna", "anna", "bert"])
    ['anna', 'anna', 'bert']
    """
    if not isinstance(groups, str):
        return groups
    if groups != "recordings":
        raise ValueError(
            f"groups={groups!r} is no list of groups; pass one value for each sample, or "
            "'recordings' for a list of recordings"
        )
    found = unlabelled(X).groups
    if found is None:
        raise ValueError(
            "groups='recordings' needs several recordings, such as a list or a dict of Epochs; "
            "pass one value for each sample"
        )
    return found
