"""Read a data tensor from a file of any supported format, without executing anything in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._axis_names import default_sample_axes, feature_names, names_of_axes
from tensift.datasets._dataset import TensorDataset
from tensift.datasets._long_tables import tensor_of_values
from tensift.datasets._open import (
    LABEL_NAMES,
    check_readable,
    choose_tensor,
    is_label_array,
    label_names_for,
    open_tensor_file,
)
from tensift.datasets._sample_axes import (
    SampleAxis,
    along_samples,
    as_mask,
    measured_samples,
    resolve_sample_axes,
    stack_samples,
    take_samples,
)
from tensift.datasets._side_values import file_of_values, find_values, load_side_array
from tensift.datasets._spool import spooled
from tensift.datasets._stored import Contents, StoredArray, require_memory
from tensift.datasets._text_files import read_table

__all__ = ["read_tensor", "sample_axes_of"]


def read_tensor(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    labels: Any = None,
    sample_axis: SampleAxis | None = None,
    mask: Any = None,
    nodata: float | None = None,
    drop_label: Any = None,
    weights: Any = None,
    groups: Any = None,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str | int] | None = None,
    long: Sequence[str | int] | None = None,
) -> TensorDataset:
    """Read a data tensor, and its labels and names if the file has them.

    The content of the file decides its format, not its suffix. Nothing in a file is ever executed
    or unpickled. An array that does not fit into memory is mapped from disk, or refused before it
    is loaded.

    Parameters
    ----------
    path : str or path
        The file, or a folder of pictures:

        - ``.npy``: one array. A large one is memory-mapped, read-only.
        - ``.npz``: the tensor as ``data``, ``X``, ``x``, ``x_train``, ``images`` or the only array
          with two or more axes. The names of other arrays are below.
        - MATLAB ``.mat``, also version 7.3 (which needs h5py): the same names as in ``.npz``,
          without ``dims``. The paper's ``tensor_type`` ("slice-wise" sets ``feature_mode=0``) and
          ``DiscFea`` (the informative features, counted from 1 down the columns) are read too.
        - HDF5 (needs h5py): all names are the same as in ``.npz``.
        - NetCDF (version 4 needs h5py) and folders of Zarr (which need zarr): an array that is no
          coordinate. Its dimensions, the coordinates along them and their units are kept. Packed
          values, marks of missing values and dates are decoded (this needs xarray); what is
          missing becomes NaN. HDF5 with dimension scales is read in the same way.
        - ``.csv``, ``.tsv`` and other delimited text: one row per sample, one column per
          feature. The first line may name the columns. With `long`, one row per value, or per
          sample and time.
        - A folder of PNG, JPEG, TIFF or BMP pictures of the same size and mode (needs Pillow), in
          the order of their names: samples of shape (row, column), or (row, column, channel) in
          colour. TIFF files with more than four bands (which need tifffile) are patches of shape
          (row, column, band). If the folder has no pictures but subfolders have, at any depth,
          these are the labels.
        - TIFF (needs tifffile): several pages are samples; if the description of tifffile, ImageJ
          or OME gives them several axes, times, or else slices, are samples. One page with map
          coordinates, or with many bands, is a scene of shape (row, column, band). Numbers are read
          as they are stored; bands with different scales are refused.
        - ENVI: the header ``.hdr`` or the numbers beside it, a scene of shape (row, column, band).
          A large one is memory-mapped.
        - FIF of MNE-Python (needs mne): epochs, or averages, are samples (channel, time); without
          epochs, times are samples. Events are the labels. Channels that are marked as bad, those
          that are no data (stimuli, EOG), and bad segments are left out. If there are several
          types of channels, each is divided by its spread (`tensift.labels.Sensors`).

        Every pixel of a scene is a sample by default, with its bands as features. Wavelengths, or
        else names of bands, become coordinates: those of ENVI headers, and of GeoTIFFs the
        descriptions and the metadata that GDAL and rasterio write (``wavelength``,
        ``CENTRAL_WAVELENGTH_UM``, "Band 3 (671.5 Nanometers)").
    variable : str, optional
        The array to read, if the file contains several.
    labels : str, path or array-like of shape (n,), optional
        The labels, the name of their array or column, or a file with them (``.npy``, text with
        one label per line, or any file with one array). ``FILE:NAME`` names an array of a file
        that has several. By default the array or column ``labels``, ``label`` or ``y``, or the
        array ``target``, ``targets``, ``gt``, ``ground_truth`` or one that ends in ``_gt``. Labels
        of pixels may have the shape of the scene. In NetCDF and Zarr, any coordinate or variable
        along the dimension of the samples can be named.
    sample_axis : int, str or sequence of these, optional
        The axis of the samples in the stored array. By default the first; in MATLAB files the
        last, as in the paper's files. Several axes are stacked in the given order: with
        ``(0, 1)``, every pixel of an array (rows, columns, bands) is a sample. Axes may be given
        by name if the file names them, also as one text: ``"time"``, ``"row,column"``, of a scene
        also ``"y,x"``.
    mask : str, path or array-like of bool, optional
        True where a sample was measured; the other samples are left out. For pixels, an array of
        the shape of the scene. It may be given like `labels`. By default the mask that a TIFF
        scene holds, or that GDAL wrote beside it (``.msk``).
    nodata : float, optional
        Samples with this value anywhere are left out. By default the value that a scene declares
        (``data ignore value`` in ENVI, ``GDAL_NODATA`` in TIFF). NaN is a value here too.
    drop_label : optional
        Samples with this label are left out, such as 0 for the unlabelled pixels of a scene.
    weights, groups : str, path or array-like of shape (n,), optional
        How much each sample counts, and its group, such as its subject. They are given like
        `labels`, but are never looked for by themselves.
    header : bool, optional
        Tables only: whether the first line names the columns. By default its cells are compared
        with the columns below; an unclear case is an error.
    columns, drop : sequence of str or int, optional
        Tables only: the columns to read, and those to leave out. Give names, or positions counted
        from 0.
    long : sequence of str or int, optional
        Tables only: the columns that say where a row belongs. The first is the sample, the others
        are the modes: ``["trial", "channel", "time"]`` for a row per value. All columns that are
        left hold values; several become the first mode, called "variable", as with
        ``["trial", "time"]`` for a row per time and a column per channel. Numbers and dates along
        a mode are put in increasing order, text is ordered by its first row, as samples are. A
        column called "time (s)" becomes the mode "time" with that unit, and may be given as "time".

    Returns
    -------
    TensorDataset
        The tensor with samples first, named after the file. Its ``sample_shape`` and ``kept``
        remember where stacked samples come from; ``unstack`` makes maps of their values.

    Raises
    ------
    OSError
        If there is no such file or it cannot be opened.
    ValueError
        If the file is damaged, or does not contain such a tensor.
    ImportError
        If a package is missing that this format needs.

    Notes
    -----
    Arrays in ``.npz`` and HDF5 files have these names. All but the data are optional, and those of
    channels, bands, times and labels may have capitals:

    - ``labels`` (also ``label``, ``y``, ``target``, and ``y_train`` with ``x_train``): one label
      for each sample;
    - ``dims``: the names of the m feature modes, or of all axes;
    - ``coords_<dim>``: the names along the mode ``<dim>``;
    - ``units_<dim>``: the unit of these, such as "s" or "nm";
    - ``channels`` (also ``ch_names``, ``channel_names``, ``chans``, ``electrodes``, ``sensors``):
      the names along the mode of that length, which is then called channel;
    - ``wavelengths`` (also ``wavelength``, ``bands``, ``band_names``, ``wavelengths_nm``, which
      says the unit): the same for a mode called band;
    - ``times`` (also ``time``, ``t``, ``timestamps``): the same for a mode called time;
    - ``feature_names`` (also ``columns``, ``column_names``): the same for rows, whose mode is
      called column;
    - ``sfreq`` (also ``fs``, ``sampling_rate``, ``sample_rate``, ``srate``, ``sf``,
      ``sampling_frequency``): samples per second, which give the times along the mode called time,
      or else along the last mode;
    - ``informative``: flat C-order indices of the informative features;
    - ``feature_mode``: the mode whose indices are the features.

    Only the given file or folder is read, and the numbers beside a header of ENVI. HDF5 arrays
    that keep their values in other files, links to other files, and virtual datasets with sources
    outside the file are refused. In folders, links that lead out are refused.

    Arrays of HDF5, NetCDF and Zarr that do not fit into memory are read too. Those that lie in one
    piece in an HDF5 file are memory-mapped; others are unpacked piece by piece into a temporary
    file (``TMPDIR`` says where).

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tensift.datasets import read_tensor
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "recording.npz")
    >>> np.savez(path, data=np.zeros((6, 2, 50)), labels=[0, 0, 0, 1, 1, 1],
    ...          dims=["channel", "time"], coords_channel=["left", "right"], feature_mode=0)
    >>> recording = read_tensor(path)
    >>> recording
    TensorDataset('recording', 6 samples of shape (2, 50), 2 classes, feature_mode=0)
    >>> recording.dims
    ('channel', 'time')

    A scene of 4 x 5 pixels in 30 bands, whose pixels are the samples:

    >>> path = os.path.join(folder.name, "scene.npz")
    >>> np.savez(path, data=np.zeros((4, 5, 30)), wavelengths=np.linspace(400, 980, 30))
    >>> scene = read_tensor(path, sample_axis=(0, 1))
    >>> scene
    TensorDataset('scene', 20 samples of shape (30,), no labels)
    >>> scene.dims, scene.sample_shape
    (('band',), (4, 5))
    >>> folder.cleanup()
    """
    path = Path(path)
    contents = open_tensor_file(path)
    options = {"header": header, "columns": columns, "drop": drop, "long": long}
    given = {name: value for name, value in options.items() if value is not None}
    samples = _Samples(labels, mask, nodata, drop_label, {"weights": weights, "groups": groups})
    if contents is None:
        return _read_text_tensor(path, variable, sample_axis, samples, given)
    if given:
        raise ValueError(
            f"{path}: {next(iter(given))} is for tables in text files; this is {contents.format}"
        )

    besides = {name for name in (labels, mask, weights, groups) if isinstance(name, str)}
    name = choose_tensor(path, contents, variable, besides)
    stored = contents.arrays[name]
    axes = sample_axes_of(path, contents, stored, sample_axis)
    data = stack_samples(path, _load(path, name, stored), axes)
    feature_mode = _read_feature_mode(path, contents)
    dims, coords, units = feature_names(path, contents, stored, axes, sample_axis is not None)
    return samples.of(
        path,
        contents,
        data,
        stored.shape,
        axes,
        name=name,
        nodata=stored.nodata,
        feature_mode=feature_mode,
        informative=_read_informative(path, contents, data.shape[1:], feature_mode),
        dims=dims,
        coords=coords,
        units=units,
    )


def sample_axes_of(
    path: Path, contents: Contents, stored: StoredArray, sample_axis: SampleAxis | None
) -> tuple[int, ...]:
    """Return the axes of the samples in a stored array, counted from 0.

    `sample_axis` is what the user says, None for what the file says, or its format.
    """
    names = names_of_axes(path, contents, stored)
    if sample_axis is not None:
        return resolve_sample_axes(path, stored.shape, sample_axis, names)
    if stored.axes and stored.sample_axes is None:
        raise ValueError(
            f"{path}: one picture is not a data set; put pictures of the same size into a folder "
            "and name the folder, or make every pixel a sample with sample_axis=(0, 1) "
            "(--sample-axis 0,1)"
        )
    return default_sample_axes(contents, stored, names)


@dataclass(frozen=True)
class _Samples:
    """What the user says about samples: labels, which are left out, weights and groups."""

    labels: Any
    mask: Any
    nodata: float | None
    drop_label: Any
    beside: dict[str, Any]

    def of(
        self,
        path: Path,
        contents: Contents | None,
        data: np.ndarray,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        *,
        name: str = "",
        nodata: float | None = None,
        labels: np.ndarray | None = None,
        read: dict[str, np.ndarray] | None = None,
        **known: Any,
    ) -> TensorDataset:
        """Make the dataset: `data` was stacked from `axes` of an array of this shape."""
        if labels is None:
            labels = self._find_labels(path, contents, name, axes)
        if labels is not None:
            labels = along_samples(path, "labels", labels, shape, axes)
        for what, given in self.beside.items():
            values = (read or {}).get(what)
            if values is None:
                values = find_values(path, contents, given, what)
            if values is not None:
                known[what] = along_samples(path, what, values, shape, axes)
        whole = self._whole(path, contents, name, data, axes, nodata, shape)
        if self.drop_label is not None:
            if labels is None:
                raise ValueError(
                    f"{path}: drop_label={self.drop_label!r} needs labels; the file has none"
                )
            whole &= ~_equal_to(labels, self.drop_label)
        sizes = tuple(shape[axis] for axis in axes)
        if not whole.all():
            kept = np.flatnonzero(whole)
            if not kept.size:
                raise ValueError(
                    f"{path}: no sample is left; every one lacks a value, or is left out by mask, "
                    "nodata or drop_label"
                )
            data = take_samples(path, data, kept)
            labels = None if labels is None else labels[kept]
            known |= {what: known[what][kept] for what in self.beside if what in known}
            known |= {"sample_shape": sizes, "kept": kept}
        elif len(axes) > 1:
            known["sample_shape"] = sizes
        return _named_after(path, data, labels=labels, **known)

    def _find_labels(
        self, path: Path, contents: Contents | None, tensor: str, axes: tuple[int, ...]
    ) -> np.ndarray | None:
        dims = _dims_of(contents, tensor)
        if self.labels is not None or contents is None:
            return find_values(path, contents, self.labels, "labels", dims)
        along = {dims[axis] for axis in axes} if dims else set()
        for name in label_names_for(tensor, contents.arrays):
            stored = contents.arrays[name]
            # Where dimensions have names, "y" is most often one of them.
            if (
                name == tensor
                or not is_label_array(name, stored)
                or (stored.axes and (name in dims or set(stored.axes) != along))
            ):
                continue
            return find_values(path, contents, name, "labels", dims)
        return None

    def _whole(
        self,
        path: Path,
        contents: Contents | None,
        tensor: str,
        data: np.ndarray,
        axes: tuple[int, ...],
        nodata: float | None,
        shape: tuple[int, ...],
    ) -> np.ndarray:
        """Return True for the samples that were measured."""
        whole = np.ones(len(data), dtype=bool)
        given = self.mask
        if given is None and contents is not None and contents.mask in contents.arrays:
            given = contents.mask if len(axes) > 1 else None
        mask = find_values(path, contents, given, "mask", _dims_of(contents, tensor))
        if mask is not None:
            whole &= along_samples(path, "mask values", as_mask(path, mask), shape, axes)
        value = nodata if self.nodata is None else self.nodata
        if value is None:
            return whole
        measured = measured_samples(data, float(value))
        if self.nodata is None and len(axes) == 1 and not measured[whole].all():
            count = int(np.count_nonzero(~measured[whole]))
            raise ValueError(
                f"{path}: {count} samples have values that were not measured (nodata = "
                f"{value:g}); fill them first, or leave such samples out with nodata={value:g} "
                f"(--nodata={value:g})"
            )
        return whole & measured


def _dims_of(contents: Contents | None, tensor: str) -> tuple[str, ...]:
    """Return the names of all axes of the tensor, if its file gives them."""
    return () if contents is None else contents.arrays[tensor].axes


def _equal_to(labels: np.ndarray, one: Any) -> np.ndarray:
    """Where labels are this one; on the command line all labels are text."""
    if labels.dtype.kind not in "biuf":
        return labels.astype(str) == str(one)
    try:
        return np.asarray(labels == float(one))
    except (TypeError, ValueError):
        return np.zeros(len(labels), dtype=bool)


def _read_text_tensor(
    path: Path,
    variable: str | None,
    sample_axis: SampleAxis | None,
    samples: _Samples,
    options: dict[str, Any],
) -> TensorDataset:
    if variable is not None:
        raise ValueError(f"{path}: variable={variable!r} was given, but a text file is one table")
    labels = samples.labels
    column = _column_named(labels)
    beside = {what: _column_named(given) for what, given in samples.beside.items()}
    # If the labels come from elsewhere, a column called "label" is a feature.
    names_to_try = LABEL_NAMES if labels is None else ()
    asked = {what: name for what, name in beside.items() if name is not None}
    if "long" in options:
        return _read_long(path, sample_axis, samples, (column, names_to_try, asked), options)
    read = read_table(path, column, names_to_try, beside=asked, **options)
    table, names = read.data, read.names
    axes = resolve_sample_axes(path, table.shape, 0 if sample_axis is None else sample_axis)
    data = stack_samples(path, table, axes)
    by_column = names is not None and axes == (0,)
    return samples.of(
        path,
        None,
        data,
        table.shape,
        axes,
        labels=read.labels,
        read=read.beside,
        dims=("column",) if by_column else None,
        coords={"column": names} if by_column else None,
    )


def _read_long(
    path: Path,
    sample_axis: SampleAxis | None,
    samples: _Samples,
    aside: tuple[str | None, tuple[str, ...], dict[str, str]],
    options: dict[str, Any],
) -> TensorDataset:
    """Read a table with a row per value; `aside` are columns of labels, weights and groups."""
    keys = options["long"]
    if isinstance(keys, str) or not isinstance(keys, Sequence) or not keys:
        raise ValueError(f"{path}: long={keys!r} must be a list of columns, the sample first")
    if sample_axis is not None:
        raise ValueError(
            f"{path}: sample_axis={sample_axis!r} was given, but long names the sample"
        )
    column, names_to_try, asked = aside
    read = read_table(path, column, names_to_try, beside=asked, **options)
    several = read.data.shape[1] > 1 or len(keys) == 1
    names = np.array(read.names) if several and read.names is not None else None
    made = tensor_of_values(
        read.keys, read.data if several else read.data[:, 0], names, f"{path}: it"
    )
    try:
        beside = {what: made.of_each_sample(given, what) for what, given in read.beside.items()}
        labels = None if read.labels is None else made.of_each_sample(read.labels, "labels")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return samples.of(
        path,
        None,
        made.data,
        made.data.shape,
        (0,),
        labels=labels,
        read=beside,
        dims=made.dims,
        coords=made.coords,
        units=made.units,
    )


def _column_named(given: Any) -> str | None:
    """Return the column that an argument names, if it names no file."""
    return given if isinstance(given, str) and file_of_values(given) is None else None


def _load(path: Path, name: str, stored: StoredArray) -> np.ndarray:
    if stored.dtype is not None and stored.dtype.hasobject:
        raise ValueError(
            f"{path}: array {name!r} holds Python objects, which are never unpickled; "
            "save an array of numbers"
        )
    check_readable(path, name, stored)
    if len(stored.shape) < 2:
        raise ValueError(
            f"{path}: array {name!r} has {len(stored.shape)} axes; a tensor has one for the "
            "samples and at least one for the features"
        )
    if 0 in stored.shape:
        raise ValueError(f"{path}: array {name!r} is empty (shape {stored.shape})")
    mapped = spooled(path, name, stored)
    if mapped is not None:
        return mapped
    require_memory(path, name, stored)
    return stored.load()


def _read_feature_mode(path: Path, contents: Contents) -> int | None:
    if contents.tensor_type is not None:
        return 0 if contents.tensor_type == "slice-wise" else None
    stored = contents.arrays.get("feature_mode")
    if stored is None:
        return None
    value = load_side_array(path, "feature_mode", stored)
    if value.size != 1 or value.dtype.kind not in "iu":
        raise ValueError(f"{path}: feature_mode must be one integer")
    return int(value.ravel()[0])


def _read_informative(
    path: Path, contents: Contents, shape: tuple[int, ...], feature_mode: int | None
) -> np.ndarray | None:
    name = "DiscFea" if contents.from_matlab else "informative"
    if name not in contents.arrays:
        return None
    indices = load_side_array(path, name, contents.arrays[name]).ravel()
    if not contents.from_matlab:
        return indices
    indices = indices.astype(np.intp) - 1
    if feature_mode is not None:
        return indices
    try:
        return np.ravel_multi_index(np.unravel_index(indices, shape, order="F"), shape)
    except ValueError:
        raise ValueError(f"{path}: DiscFea contains a feature outside the shape {shape}") from None


def _named_after(path: Path, data: np.ndarray, **known: Any) -> TensorDataset:
    try:
        return TensorDataset(data, name=path.stem, **known)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
