"""Find the selectors to compare, by name or as estimators, and set their parameters."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import joblib
from sklearn.base import clone

from tensift.selection import Constraints, TensorSelector

if TYPE_CHECKING:
    from tensift.rivals import SelectorInfo

__all__ = [
    "DEFAULT_SELECTORS",
    "Method",
    "Selectors",
    "find_selector",
    "is_random",
    "resolve_methods",
]

Selectors = str | Iterable[str | TensorSelector] | Mapping[str, str | TensorSelector] | None

RANDOM, VARIANCE = "RandomSelector", "VarianceSelector"
# Ours, and what users would take instead. Variance and random selection are always added.
DEFAULT_SELECTORS = (
    "STPCASelector",
    "GeometrySelector",
    "PivotedCholeskySelector",
    "QRSensorSelector",
    "LaplacianScore",
)


@dataclass(frozen=True)
class Method:
    """A selector with a name and all parameters except its seed.

    Parameters
    ----------
    name : str
        Its name in tables.
    estimator : TensorSelector
        The selector. Copies of it are fitted, never itself.
    random : bool
        Whether its result depends on a seed and its ``random_state`` is None.
    """

    name: str
    estimator: TensorSelector
    random: bool

    def seeded(self, seed: int) -> TensorSelector:
        """Return a new estimator with this seed, if it has none."""
        estimator: TensorSelector = clone(self.estimator)
        if estimator.get_params(deep=False).get("random_state", seed) is None:
            estimator.set_params(random_state=seed)
        return estimator

    @cached_property
    def identity(self) -> list[str]:
        """The class and a checksum of all parameters, for the keys of stored results."""
        kind = type(self.estimator)
        try:
            parameters = joblib.hash(self.estimator.get_params())
        except Exception as error:
            raise ValueError(
                f"cannot compute a checksum of the parameters of {self.name} ({error}); use "
                "numbers, strings or arrays as parameters"
            ) from None
        return [f"{kind.__module__}.{kind.__qualname__}", parameters]


def resolve_methods(
    selectors: Selectors,
    n_features_to_select: int,
    feature_mode: int | None,
    constraints: Constraints | None = None,
    **settings: Any,
) -> list[Method]:
    """Return the methods to compare, always with random selection and variance.

    Parameters
    ----------
    selectors : None, "all", names, estimators, or a mapping from names to either
        What to compare.
    n_features_to_select, feature_mode
        Set on all selectors.
    constraints : Constraints, optional
        Set on all selectors that have none.
    **settings
        Set on the named selectors that have these parameters.
    """
    methods: dict[str, Method] = {}
    for name, selector in _named(selectors):
        if isinstance(selector, str):
            info = find_selector(selector)
            settings_of_it = {"constraints": constraints, "feature_mode": feature_mode, **settings}
            estimator = info.make(n_features_to_select, **settings_of_it)
            method = Method(name or info.name, estimator, info.random)
        elif isinstance(selector, TensorSelector):
            method = _of_estimator(name, selector, n_features_to_select, feature_mode, constraints)
        else:
            raise TypeError(
                "selectors must contain names or tensift's estimators; got "
                f"{selector if isinstance(selector, type) else type(selector).__name__}"
            )
        if method.name in methods:
            raise ValueError(
                f"selectors contains {method.name} twice; pass a dict to give each its own name"
            )
        methods[method.name] = method
    for baseline in (VARIANCE, RANDOM):
        if baseline not in methods:
            info = find_selector(baseline)
            estimator = info.make(
                n_features_to_select, constraints=constraints, feature_mode=feature_mode
            )
            methods[baseline] = Method(baseline, estimator, info.random)
        elif type(methods[baseline].estimator) is not find_selector(baseline).selector:
            raise ValueError(
                f"selectors uses the name {baseline} for another selector; choose another name"
            )
    return list(methods.values())


def _named(selectors: Selectors) -> list[tuple[str | None, Any]]:
    if selectors is None:
        return [(None, name) for name in DEFAULT_SELECTORS]
    if isinstance(selectors, str):
        if _plain(selectors) != "all":
            return [(None, selectors)]
        return [(None, info.name) for info in _known_selectors()]
    if isinstance(selectors, Mapping):
        return list(selectors.items())
    if isinstance(selectors, TensorSelector):
        return [(None, selectors)]
    return [(None, selector) for selector in selectors]


def _of_estimator(
    name: str | None,
    selector: TensorSelector,
    n_features: int,
    feature_mode: int | None,
    constraints: Constraints | None,
) -> Method:
    estimator = clone(selector)
    estimator.set_params(n_features_to_select=n_features, feature_mode=feature_mode)
    if constraints is not None and estimator.constraints is None:
        if "constraints" not in estimator.get_params(deep=False):
            raise ValueError(
                f"{name or type(selector).__name__} has no parameter constraints, so it cannot be "
                "compared under constraints; leave it out"
            )
        estimator.set_params(constraints=constraints)
    return Method(name or type(selector).__name__, estimator, is_random(estimator))


def is_random(estimator: Any) -> bool:
    """Whether the result depends on a seed and ``random_state`` is None, as far as we know."""
    parameters = estimator.get_params(deep=False)
    unseeded = "random_state" in parameters and parameters["random_state"] is None
    known = [info for info in _known_selectors() if info.selector is type(estimator)]
    return unseeded and (not known or known[0].random)


def _known_selectors() -> list[SelectorInfo]:
    # Imported here, so that importing compare_selectors does not load the rivals.
    from tensift.rivals import list_selectors

    return list_selectors()


def _plain(name: str) -> str:
    """Return a name in lower case, without hyphens and spaces."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def find_selector(name: str) -> SelectorInfo:
    """Find a selector by its class name, with or without "Selector", or its name in the paper.

    Case, hyphens and spaces do not matter.

    Examples
    --------
    >>> from tensift.comparison import find_selector
    >>> find_selector("stpca-mp").name, find_selector("geometry").name
    ('STPCASelector', 'GeometrySelector')
    """
    known: dict[str, SelectorInfo] = {}
    for info in _known_selectors():
        plain = _plain(info.name)
        known |= {plain: info, plain.removesuffix("selector"): info, _plain(info.paper_name): info}
    if _plain(name) in known:
        return known[_plain(name)]
    near = difflib.get_close_matches(_plain(name), known, n=3, cutoff=0.5)
    meant = dict.fromkeys(known[plain].name for plain in near)
    names = ", ".join(info.name for info in _known_selectors())
    hint = f"did you mean {' or '.join(meant)}? " if meant else ""
    raise ValueError(f"there is no selector {name!r}; {hint}selectors are {names}")
