"""Transforms along modes, star-M products and the T-SVDM: pure functions on arrays."""

from tensift.algebra._arrays import floating_on_device
from tensift.algebra._bases import self_correlation
from tensift.algebra._products import (
    conjugate_transpose,
    facewise_product,
    from_transform_domain,
    identity_tensor,
    inverse_tensor,
    is_orthogonal,
    mprod,
    to_transform_domain,
)
from tensift.algebra._specs import TRANSFORM_NAMES, is_data_driven, make_transform, make_transforms
from tensift.algebra._transforms import ModeTransform, conjugate_partners
from tensift.algebra._tsvdm import TSVDM, tsvdm
from tensift.algebra._unfolding import fold, mode_product, unfold

__all__ = [
    "TRANSFORM_NAMES",
    "TSVDM",
    "ModeTransform",
    "conjugate_partners",
    "conjugate_transpose",
    "facewise_product",
    "floating_on_device",
    "fold",
    "from_transform_domain",
    "identity_tensor",
    "inverse_tensor",
    "is_data_driven",
    "is_orthogonal",
    "make_transform",
    "make_transforms",
    "mode_product",
    "mprod",
    "self_correlation",
    "to_transform_domain",
    "tsvdm",
    "unfold",
]
