"""The same selector under other orientations and transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tensift.selectors import STPCASelector

__all__ = ["make_alternatives"]

# Slices times the cube of their size: seconds for each transform.
_MOST_WORK = 2e9


def make_alternatives(
    selector: STPCASelector, transforms: Sequence[str] = ("identity", "dct", "eigen")
) -> dict[str, STPCASelector]:
    """Copies of a selector for every orientation and some transforms, all else as it is.

    Parameters
    ----------
    selector : STPCASelector
        A fitted selector; its own setting is not among the copies.
    transforms : sequence of str, default=("identity", "dct", "eigen")
        The transforms, each taken along all other modes.

    Returns
    -------
    dict of str to STPCASelector
        Selectors that are not fitted, by what sets them apart. None for samples of one mode.
        Orientations that would take much longer than the selector's own are left out: those of
        modes with very many indices.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.report import make_alternatives
    >>> selector = STPCASelector(20).fit(load_digits().data)
    >>> list(make_alternatives(selector, ["identity", "dct"]))
    ['orientation 0, dct', 'orientation 1, identity', 'orientation 1, dct']
    """
    if not isinstance(selector, STPCASelector):
        raise TypeError(
            "selector must be a fitted STPCASelector, which has orientations and transforms; got "
            f"{type(selector).__name__}"
        )
    check_is_fitted(selector)
    sizes = selector.feature_shape_
    if len(sizes) < 2:
        return {}
    own = {transform.name for transform in selector._moments.orientation.transforms}
    work = [math.prod(sizes) * size**2 for size in sizes]
    most = max(work[selector.orientation_], _MOST_WORK)
    made = {}
    for orientation in range(len(sizes)):
        for transform in transforms:
            same = orientation == selector.orientation_ and own == {transform}
            if work[orientation] <= most and not same:
                copy = clone(selector).set_params(orientation=orientation, transform=transform)
                made[f"orientation {orientation}, {transform}"] = copy
    return made
