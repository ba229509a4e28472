"""Attributes that are computed when they are first read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

__all__ = ["computed_once"]

if TYPE_CHECKING:
    computed_once = cached_property
else:

    class computed_once(cached_property):
        """Like `functools.cached_property`, but threads do not wait for each other.

        Python 3.11 holds a lock for all instances of a class while it computes an attribute of
        one, so that threads that solve different slices take turns.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            known = vars(instance)
            if self.attrname not in known:
                known[self.attrname] = self.func(instance)
            return known[self.attrname]
