"""Other methods and baselines. Each is loaded when it is first used.

A rival that is slow to import, or cannot be imported, does not affect ``import tensift`` or the
other rivals.
"""

from typing import TYPE_CHECKING

from tensift._utils.lazy import load_on_first_use

if TYPE_CHECKING:
    from tensift.rivals._column_subset import ColumnSubsetSelector
    from tensift.rivals._cpufs import CPUFS, CPUFSnn
    from tensift.rivals._cur import CURSelector
    from tensift.rivals._even import EvenSelector
    from tensift.rivals._facility_location import FacilityLocationSelector
    from tensift.rivals._farthest_point import FarthestPointSelector
    from tensift.rivals._fastcan import FastCanSelector
    from tensift.rivals._feature_clusters import FeatureClusterSelector
    from tensift.rivals._laplacian_score import LaplacianScore
    from tensift.rivals._mcfs import MCFS
    from tensift.rivals._mspca import MSPCA
    from tensift.rivals._mvpca import MVPCASelector
    from tensift.rivals._ndfs import NDFS
    from tensift.rivals._nlgms import NLGMS
    from tensift.rivals._opbs import OPBSSelector
    from tensift.rivals._pivoted_cholesky import PivotedCholeskySelector
    from tensift.rivals._qr_sensors import QRSensorSelector
    from tensift.rivals._registry import SelectorInfo, list_selectors
    from tensift.rivals._rne import RNE
    from tensift.rivals._simple_baselines import AllFeatures, RandomSelector, VarianceSelector
    from tensift.rivals._sogfs import SOGFS
    from tensift.rivals._spcafs import SPCAFS
    from tensift.rivals._spcapsd import SPCAPSD
    from tensift.rivals._udfs import UDFS
    from tensift.rivals._vectorised import VectorisedSelector

__all__ = [
    "CPUFS",
    "MCFS",
    "MSPCA",
    "NDFS",
    "NLGMS",
    "RNE",
    "SOGFS",
    "SPCAFS",
    "SPCAPSD",
    "UDFS",
    "AllFeatures",
    "CPUFSnn",
    "CURSelector",
    "ColumnSubsetSelector",
    "EvenSelector",
    "FacilityLocationSelector",
    "FarthestPointSelector",
    "FastCanSelector",
    "FeatureClusterSelector",
    "LaplacianScore",
    "MVPCASelector",
    "OPBSSelector",
    "PivotedCholeskySelector",
    "QRSensorSelector",
    "RandomSelector",
    "SelectorInfo",
    "VarianceSelector",
    "VectorisedSelector",
    "list_selectors",
]

_HOMES = {
    "CPUFS": "tensift.rivals._cpufs",
    "MCFS": "tensift.rivals._mcfs",
    "MSPCA": "tensift.rivals._mspca",
    "NDFS": "tensift.rivals._ndfs",
    "NLGMS": "tensift.rivals._nlgms",
    "RNE": "tensift.rivals._rne",
    "SOGFS": "tensift.rivals._sogfs",
    "SPCAFS": "tensift.rivals._spcafs",
    "SPCAPSD": "tensift.rivals._spcapsd",
    "UDFS": "tensift.rivals._udfs",
    "AllFeatures": "tensift.rivals._simple_baselines",
    "CPUFSnn": "tensift.rivals._cpufs",
    "ColumnSubsetSelector": "tensift.rivals._column_subset",
    "CURSelector": "tensift.rivals._cur",
    "EvenSelector": "tensift.rivals._even",
    "FacilityLocationSelector": "tensift.rivals._facility_location",
    "FarthestPointSelector": "tensift.rivals._farthest_point",
    "FastCanSelector": "tensift.rivals._fastcan",
    "FeatureClusterSelector": "tensift.rivals._feature_clusters",
    "QRSensorSelector": "tensift.rivals._qr_sensors",
    "LaplacianScore": "tensift.rivals._laplacian_score",
    "MVPCASelector": "tensift.rivals._mvpca",
    "OPBSSelector": "tensift.rivals._opbs",
    "PivotedCholeskySelector": "tensift.rivals._pivoted_cholesky",
    "RandomSelector": "tensift.rivals._simple_baselines",
    "SelectorInfo": "tensift.rivals._registry",
    "VarianceSelector": "tensift.rivals._simple_baselines",
    "VectorisedSelector": "tensift.rivals._vectorised",
    "list_selectors": "tensift.rivals._registry",
}
__getattr__, __dir__ = load_on_first_use(__name__, _HOMES)
