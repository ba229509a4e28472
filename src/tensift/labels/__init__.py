"""Names in, names out: take samples as users have them, and give results the same names."""

from tensift.labels._frames import (
    columns_without_numbers,
    is_frame,
    refuse_columns_without_numbers,
)
from tensift.labels._labelled import Form, Labelled, SampleDims
from tensift.labels._names import Names, mode_number, names_or_numbers
from tensift.labels._set_output import XarrayOutput
from tensift.labels._stored_names import arrays_of_names, names_of_arrays
from tensift.labels._unlabelled import unlabelled
from tensift.labels._xarray import (
    FEATURE_DIM,
    XarrayForm,
    coords_of,
    imported_xarray,
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
    "arrays_of_names",
    "columns_without_numbers",
    "coords_of",
    "imported_xarray",
    "is_frame",
    "is_xarray",
    "kept_values",
    "labelled_dataset",
    "mode_number",
    "names_of_arrays",
    "names_or_numbers",
    "plain_form",
    "refuse_columns_without_numbers",
    "unlabelled",
]
