"""``set_output(transform="xarray")`` of scikit-learn."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tensift._utils.sklearn_compat import register_output
from tensift.labels._xarray import FEATURE_DIM, imported_xarray

__all__ = ["XarrayOutput"]


class XarrayOutput:
    """What scikit-learn asks of a container that transformers can return.

    Estimators of tensift return DataArrays themselves. This serves the others of a pipeline, whose
    results have rows and columns.
    """

    container_lib = "xarray"

    def create_container(
        self, X_output: Any, X_original: Any, columns: Any, inplace: bool = False
    ) -> Any:
        """Return a DataArray of rows and columns; DataArrays are returned as they are."""
        xarray = imported_xarray("set_output(transform='xarray')")
        if isinstance(X_output, xarray.DataArray):
            return X_output
        names = columns() if callable(columns) else columns
        coords = {} if names is None else {FEATURE_DIM: np.asarray(names)}
        return xarray.DataArray(X_output, dims=("sample", FEATURE_DIM), coords=coords)

    def is_supported_container(self, X: Any) -> bool:
        """Whether `X` is a DataArray."""
        xarray = sys.modules.get("xarray")
        return xarray is not None and isinstance(X, xarray.DataArray)

    def rename_columns(self, X: Any, columns: Any) -> Any:
        """Return the array with other names of columns."""
        return X.assign_coords({X.dims[-1]: np.asarray(columns)})

    def hstack(self, Xs: Any) -> Any:
        """Return arrays side by side."""
        return imported_xarray("set_output(transform='xarray')").concat(
            list(Xs), dim=Xs[0].dims[-1]
        )


register_output(XarrayOutput())  # scikit-learn looks containers up by name
