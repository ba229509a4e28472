"""What samples and features of a file seem to be: by the names of its modes, else by its shape."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tensift.cli._console import format_shape
from tensift.datasets import TensorDataset, keys_of_long_table

__all__ = ["Guess", "guess_meanings"]

_MOST_COLOURS = 4
_LIKE_A_PICTURE = 3  # the sides of pictures and scenes differ by no larger factor
_MAPS = (("lat", "lon"), ("latitude", "longitude"), ("y", "x"))
_KINDS = ("channel", "band", "variable", "sensor", "electrode", "wavelength")
_LEAST_BANDS, _LEAST_SIDE = 10, 8  # of a scene


@dataclass(frozen=True)
class Guess:
    """One meaning of a file, in words, and the options that select features for it.

    ``known`` says that the file names its modes, so that this is no guess.
    """

    meaning: str
    n_features: int
    feature_mode: int | str | None = None
    sample_axis: tuple[int, int] | None = None
    known: bool = False
    long: tuple[str, ...] = ()


def guess_meanings(
    dataset: TensorDataset, stored_shape: Sequence[int] | None = None
) -> list[Guess]:
    """Return one or two meanings of the samples, the likelier first.

    `stored_shape` is the shape of the array in the file, if the user did not choose the axis of
    the samples; then all of it may be one scene.
    """
    known = _by_names(dataset)
    if known is not None:
        return [known, *_as_long_table(dataset)]
    found = _by_shape(dataset.n_samples, dataset.feature_shape)
    scene = _as_scene(dataset, stored_shape)
    if scene is None:
        return found
    # Two equal sides first, and another length last: the sides of a scene, and its bands.
    assert stored_shape is not None
    first = stored_shape[0] == stored_shape[1]
    return [scene, found[0]] if first else [found[0], scene]


def _by_names(dataset: TensorDataset) -> Guess | None:
    n, shape, dims = dataset.n_samples, dataset.feature_shape, dataset.dims
    total = math.prod(shape)
    mode = dataset.feature_mode
    if mode is not None:
        title = f"index of mode {mode}" if dims is None else dims[mode]
        meaning = f"{n} samples of {format_shape(shape)}; every {title} is a feature, says the file"
        return Guess(meaning, shape[mode], _called(mode, dims), known=True)
    if dims is None:
        return None
    names = [name.lower() for name in dims]
    if names == ["column"]:
        return Guess(_table(n, total), total, known=True)
    if names == ["band"]:
        return Guess(f"{n} pixels in {total} bands; every band is a feature", total, known=True)
    if names[:2] == ["row", "column"] and names[2:] in ([], ["channel"]):
        return Guess(_pictures(n, shape), total, known=True)
    if tuple(names) in _MAPS:
        meaning = f"{n} maps of {format_shape(shape)} places; every place is a feature"
        return Guess(meaning, total, known=True)
    for kind in _KINDS:
        for place, name in enumerate(names):
            if name in (kind, f"{kind}s"):
                each = f", each with {total // shape[place]} values" if len(shape) > 1 else ""
                meaning = f"{n} samples of {shape[place]} {kind}s{each}; every {kind} is a feature"
                return Guess(meaning, shape[place], _called(place, dims), known=True)
    if not any(dims[mode] == f"mode {mode}" for mode in range(len(dims))):
        meaning = f"{n} samples of {' x '.join(dims)}; every one of their values is a feature"
        return Guess(meaning, total, known=True)
    return None


def _as_long_table(dataset: TensorDataset) -> list[Guess]:
    """The meaning of a table with one line per value, if its columns are called so."""
    if dataset.dims != ("column",) or dataset.coords is None:
        return []
    keys = keys_of_long_table([str(name) for name in dataset.coords["column"]])
    if not keys:
        return []
    meaning = f"a line per value: each belongs to a {keys[0]}, at a {' and a '.join(keys[1:])}"
    return [Guess(meaning, 10, long=tuple(keys))]


def _called(mode: int, dims: Sequence[str] | None) -> int | str:
    """What the options call a mode: its name, unless that would mean something else there."""
    name = f"mode {mode}" if dims is None else dims[mode]
    with contextlib.suppress(ValueError):
        int(name)  # the options would take it for the number of a mode
        return mode
    unusable = name == f"mode {mode}" or name.lower() == "none" or name.startswith("-")
    return mode if unusable or not name.strip() else name


def _by_shape(n: int, shape: tuple[int, ...]) -> list[Guess]:
    """Guess by the shape of a sample alone."""
    total = math.prod(shape)
    every_value = Guess(
        f"{n} samples of {format_shape(shape)}; every one of their values is a feature", total
    )
    if len(shape) == 1:
        return [Guess(_table(n, total), total)]
    like_a_picture = max(shape[:2]) <= _LIKE_A_PICTURE * min(shape[:2])
    if len(shape) == 2 and like_a_picture:
        return [Guess(_pictures(n, shape), total)]
    if len(shape) == 2:
        mode = 0 if shape[0] < shape[1] else 1
        channels, times = shape[mode], shape[1 - mode]
        meaning = (
            f"{n} recordings of {channels} channels at {times} times; every channel is a feature"
        )
        return [Guess(meaning, channels, mode), every_value]
    if len(shape) == 3 and like_a_picture and shape[2] <= _MOST_COLOURS:
        return [Guess(_pictures(n, shape), total)]
    if len(shape) == 3 and like_a_picture and shape[2] >= _LEAST_BANDS:
        patches = f"{n} patches of {format_shape(shape[:2])} pixels in {shape[2]} bands"
        return [Guess(f"{patches}; every band is a feature", shape[2], 2), every_value]
    return [every_value]


def _as_scene(dataset: TensorDataset, stored_shape: Sequence[int] | None) -> Guess | None:
    """The whole array as one scene (row, column, band), if it can be one."""
    if stored_shape is None or len(stored_shape) != 3 or dataset.labels is not None:
        return None
    rows, columns, bands = stored_shape
    sides = sorted((rows, columns))
    if sides[0] < _LEAST_SIDE or bands < _LEAST_BANDS or sides[1] > _LIKE_A_PICTURE * sides[0]:
        return None
    if columns == bands:  # square pictures
        return None
    return Guess(
        f"one scene of {rows} x {columns} pixels in {bands} bands; every pixel is a sample, every "
        "band a feature",
        bands,
        sample_axis=(0, 1),
    )


def _table(n: int, total: int) -> str:
    return f"a table of {n} samples with {total} columns; every column is a feature"


def _pictures(n: int, shape: tuple[int, ...]) -> str:
    size = format_shape(shape[:2])
    if len(shape) == 2:
        return f"{n} pictures of {size}; every pixel is a feature"
    return f"{n} pictures of {size} in {shape[2]} channels; every value of a pixel is a feature"
