"""From data to the Gram tensor: orient, transform, and accumulate moments.

Every slice problem of STPCA-MP sees the data through one ``q x q`` Gram matrix, so this package
is the only one that touches samples.
"""

from tensift.gram._device_moments import DeviceMoments
from tensift.gram._moments import Moments
from tensift.gram._orientation import Orientation
from tensift.gram._tensor import GramTensor

__all__ = ["DeviceMoments", "GramTensor", "Moments", "Orientation"]
