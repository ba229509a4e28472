"""Transforms along modes, star-M products and the T-SVDM: pure functions on arrays."""

from tensift.algebra._specs import is_data_driven, make_transform, make_transforms
from tensift.algebra._transforms import ModeTransform, conjugate_partners

__all__ = [
    "ModeTransform",
    "conjugate_partners",
    "is_data_driven",
    "make_transform",
    "make_transforms",
]
