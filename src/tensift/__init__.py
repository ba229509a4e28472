"""Choose the few features that matter in tensor data, without labels."""

from tensift import algebra, datasets, metrics
from tensift.selectors import STPCASelector

__version__ = "0.1.0"

__all__ = ["STPCASelector", "algebra", "datasets", "metrics"]
