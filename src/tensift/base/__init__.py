"""What estimators share: taking in samples, orienting them, holding their moments."""

from tensift.base._collect import collect_moments
from tensift.base._data_checks import check_magnitude, usable_gram, usable_scale
from tensift.base._oriented import OrientedEstimator, same_specification
from tensift.base._parameter_and_method import ParameterAndMethod
from tensift.base._samples import TensorEstimator, check_finite, check_finite_on_device, n_axes
from tensift.sources._thinned import thinned

__all__ = [
    "OrientedEstimator",
    "ParameterAndMethod",
    "TensorEstimator",
    "check_finite",
    "check_finite_on_device",
    "check_magnitude",
    "collect_moments",
    "n_axes",
    "same_specification",
    "thinned",
    "usable_gram",
    "usable_scale",
]
