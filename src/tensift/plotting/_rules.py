"""The rules by which features are selected, in words."""

from __future__ import annotations

__all__ = ["order_in_words", "rule_in_words"]

# Two short sentences for every value of the parameter `selection`, and for methods that pick.
_RULES = {
    "geometry": (
        "The kept features are those on which similar samples agree. They were chosen one at a "
        "time, so that similar samples keep looking alike."
    ),
    "reconstruct": (
        "The kept features are those from which the others can be predicted best. They were "
        "chosen one at a time, each for what it adds to those before it."
    ),
    "top": (
        "The kept features are those with the largest scores. Each was chosen by its own score, "
        "so several can say the same."
    ),
    "picks": (
        "The kept features were picked one after another, by the rule of the method itself. A "
        "score says what a feature added when it was picked."
    ),
}


def rule_in_words(selection: str) -> str:
    """Return by which rule features were selected, in two short sentences.

    Parameters
    ----------
    selection : str
        The parameter ``selection`` of a selector, or "picks" for methods without it that pick one
        feature after another.

    Returns
    -------
    str

    Examples
    --------
    >>> from tensift.plotting import rule_in_words
    >>> rule_in_words("top").split(". ")[0]
    'The kept features are those with the largest scores'
    """
    return _RULES.get(selection, f"The kept features were chosen by the rule {selection!r}.")


def order_in_words(selection: str) -> str:
    """Return in which order a rule selects features, in words.

    Parameters
    ----------
    selection : str
        The parameter ``selection`` of a selector.

    Returns
    -------
    str

    Examples
    --------
    >>> from tensift.plotting import order_in_words
    >>> order_in_words("top"), order_in_words("geometry")
    ('highest score first', 'in the order of selection (geometry)')
    """
    if selection == "top":
        return "highest score first"
    return f"in the order of selection ({selection})"
