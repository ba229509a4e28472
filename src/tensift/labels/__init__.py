"""Names in, names out: take samples as users have them, and give results the same names."""

from tensift.labels._frames import (
    columns_without_numbers,
    is_frame,
    names_of_columns,
    refuse_columns_without_numbers,
)
from tensift.labels._groups import groups_of
from tensift.labels._labelled import Form, Labelled, SampleDims
from tensift.labels._mne import kept_recording
from tensift.labels._mne_channels import (
    CHANNEL,
    data_channels,
    is_loaded_recording,
    is_recording,
    picked_recording,
)
from tensift.labels._names import Names, mode_number, names_or_numbers
from tensift.labels._sensors import Sensors, scales_of_types
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
    "CHANNEL",
    "FEATURE_DIM",
    "Form",
    "Labelled",
    "Names",
    "SampleDims",
    "Sensors",
    "XarrayForm",
    "XarrayOutput",
    "arrays_of_names",
    "columns_without_numbers",
    "coords_of",
    "data_channels",
    "groups_of",
    "imported_xarray",
    "is_frame",
    "is_loaded_recording",
    "is_recording",
    "is_xarray",
    "kept_recording",
    "kept_values",
    "labelled_dataset",
    "mode_number",
    "names_of_arrays",
    "names_of_columns",
    "names_or_numbers",
    "picked_recording",
    "plain_form",
    "refuse_columns_without_numbers",
    "scales_of_types",
    "unlabelled",
]
