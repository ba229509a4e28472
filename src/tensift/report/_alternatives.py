"""The same selector under other orientations and bases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tensift.report._code import name_of_mode
from tensift.stpca import STPCASelector

__all__ = ["make_alternatives"]

# The number of slices times the cube of their size; about a second of work for each basis.
_MOST_WORK = 2e9


def make_alternatives(
    selector: STPCASelector, bases: Sequence[str] = ("identity", "dct", "eigen")
) -> dict[str, STPCASelector]:
    """Copy a selector for every orientation and some bases; other parameters stay the same.

    Parameters
    ----------
    selector : STPCASelector
        A fitted selector. Its own orientation and basis are not among the copies.
    bases : sequence of str, default=("identity", "dct", "eigen")
        The bases. Each is used for all other modes.

    Returns
    -------
    dict of str to STPCASelector
        Selectors that are not fitted yet, named by orientation and basis. Empty for samples with
        one mode. Orientations that would take much longer than the selector's own are left out,
        which are those of very long modes.

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
            "selector must be a fitted STPCASelector, which has orientations and bases; got "
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
        for basis in bases:
            same = orientation == selector.orientation_ and own == {basis}
            if work[orientation] <= most and not same:
                copy = clone(selector).set_params(orientation=orientation, basis=basis)
                made[f"orientation {name_of_mode(selector, orientation)}, {basis}"] = copy
    return made
