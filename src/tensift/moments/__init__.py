"""Check samples, arrange them as slices, and compute their moments: all that solvers need."""

from tensift.moments._chunk_measures import checked_chunk
from tensift.moments._collect import collect_moments
from tensift.moments._conditional_means import conditional_means
from tensift.moments._dask_moments import DaskMoments, joined_gram
from tensift.moments._data_checks import check_magnitude, usable_gram, usable_scale
from tensift.moments._deviations import FeatureScale, spread_above_rounding
from tensift.moments._device_moments import DeviceMoments
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._in_passes import GRAM_COPIES, MomentsInPasses, not_kept_message
from tensift.moments._lazy import lazy_source
from tensift.moments._missing import MissingValues, is_missing, warn_of_groups
from tensift.moments._moments import Moments
from tensift.moments._observed_moments import ObservedMoments
from tensift.moments._orientation import Orientation, divided, same_specification
from tensift.moments._oriented import OrientedEstimator
from tensift.moments._peaks import largest_modulus, largest_observed
from tensift.moments._samples import (
    TensorEstimator,
    check_finite,
    check_finite_on_device,
    n_axes,
    sample_axes,
)
from tensift.moments._slice_blocks import BLOCK_ELEMENTS, Stack, blocks_of
from tensift.moments._subsample import take_in_subsample
from tensift.moments._tensor import GramTensor, variances

__all__ = [
    "BLOCK_ELEMENTS",
    "GRAM_COPIES",
    "DaskMoments",
    "DeviceMoments",
    "FeatureScale",
    "GramTensor",
    "MissingValues",
    "Moments",
    "MomentsInPasses",
    "ObservedMoments",
    "Orientation",
    "OrientedEstimator",
    "SamplesInMemory",
    "Stack",
    "TensorEstimator",
    "blocks_of",
    "check_finite",
    "check_finite_on_device",
    "check_magnitude",
    "checked_chunk",
    "collect_moments",
    "conditional_means",
    "divided",
    "is_missing",
    "joined_gram",
    "largest_modulus",
    "largest_observed",
    "lazy_source",
    "n_axes",
    "not_kept_message",
    "same_specification",
    "sample_axes",
    "spread_above_rounding",
    "take_in_subsample",
    "usable_gram",
    "usable_scale",
    "variances",
    "warn_of_groups",
]
