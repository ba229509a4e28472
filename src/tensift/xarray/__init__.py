"""Selection from DataArrays of xarray: importing this registers the accessor ``.tensift``."""

from tensift.xarray._accessor import TensiftAccessor

__all__ = ["TensiftAccessor"]
