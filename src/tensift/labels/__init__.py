"""Names in, names out: take samples as users have them, and give results the same names."""

from tensift.labels._frames import (
    columns_without_numbers,
    is_frame,
    refuse_columns_without_numbers,
)
from tensift.labels._labelled import Form, Labelled, SampleDims
from tensift.labels._names import Names
from tensift.labels._set_output import XarrayOutput
from tensift.labels._unlabelled import unlabelled
from tensift.labels._xarray import (
    FEATURE_DIM,
    XarrayForm,
    coords_of,
    is_xarray,
    kept_values,
    labelled_dataset,
    plain_form,
)

__all__ = [
    "FEATURE_DIM",
    "Form",
    "Labelled",
    "Names",
    "SampleDims",
    "XarrayForm",
    "XarrayOutput",
    "columns_without_numbers",
    "coords_of",
    "is_frame",
    "is_xarray",
    "kept_values",
    "labelled_dataset",
    "plain_form",
    "refuse_columns_without_numbers",
    "unlabelled",
]
