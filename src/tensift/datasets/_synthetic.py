"""Generate the paper's two synthetic datasets, in any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from tensift.datasets._dataset import TensorDataset

__all__ = ["make_array", "make_orbit"]

_STYLES = ("paper", "file")


def make_orbit(
    n_samples: int = 100,
    n_channels: int = 9,
    n_times: int = 41,
    *,
    radii: ArrayLike = (2.0, 5.0),
    noise: float = 1.0,
    informative: ArrayLike | None = None,
    style: str = "paper",
    random_state: Any = None,
) -> TensorDataset:
    """Circular orbits in space, hidden among channels of noise.

    Every sample is a multi-channel series. Three channels are the coordinates of a point that
    moves once around a circle about the origin. The radius of the circle is the class. All
    orbits start in the same direction. Their planes are drawn uniformly among the planes that
    contain this direction. The other channels are white noise.

    Parameters
    ----------
    n_samples : int, default=100
        The number of samples, divided evenly among the radii and ordered by class.
    n_channels : int, default=9
        The number of channels, at least three.
    n_times : int, default=41
        The number of points of an orbit.
    radii : array-like of float, default=(2, 5)
        The radius of each class.
    noise : float, default=1
        The scale of the noise.
    informative : array-like of 3 ints, optional
        The channels with the orbit. By default the last three.
    style : {"paper", "file"}, default="paper"
        The version of this dataset.

        - ``"paper"``: as the paper describes it. Radii are as given. Noise is Gaussian with mean
          0 and standard deviation ``noise``. The common start direction is random.
        - ``"file"``: as in the authors' published file. Radii are divided by the largest. The
          start direction is (1, 2, 3). Orbits cover 2√10 radians, a little more than a turn (in
          the file with even steps in the first class only). Noise is *uniform* between
          ``-noise`` and a random upper end for each channel, so the noise channels have
          different means, and larger variances than the orbits. The file also divides each
          channel by its largest absolute value (at most 0.3 %). This is left out, so the radii
          are exact.
    random_state : int, RandomState instance or None, default=None
        The seed.

    Returns
    -------
    TensorDataset
        Data of shape ``(n_samples, n_channels, n_times)`` with ``feature_mode=0``. The label is
        the index of the radius.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.datasets import make_orbit
    >>> orbit = make_orbit(random_state=0)
    >>> orbit
    TensorDataset('Orbit', 100 samples of shape (9, 41), 2 classes, feature_mode=0)
    >>> orbit.informative
    array([6, 7, 8])
    >>> np.linalg.norm(orbit.data[0, orbit.informative], axis=0).round(6).max()
    np.float64(2.0)
    """
    _check_counts(n_samples=n_samples, n_times=n_times)
    _check_style(style)
    if n_channels < 3:
        raise ValueError(
            f"n_channels must be at least 3, because the orbit needs three; got {n_channels}"
        )
    class_radii = np.atleast_1d(np.asarray(radii, dtype=float))
    if class_radii.ndim != 1 or not np.all(np.isfinite(class_radii) & (class_radii > 0)):
        raise ValueError(f"radii must be a list of positive numbers; got {radii!r}")
    _check_scale("noise", noise)
    if informative is None:
        informative = range(n_channels - 3, n_channels)
    channels = _checked_indices("informative", informative, n_channels)
    if len(channels) != 3:
        raise ValueError(f"informative must contain 3 channels; got {len(channels)}")

    rng = check_random_state(random_state)
    if style == "paper":
        start = _unit(rng.normal(size=3))
        angles = np.linspace(0, 2 * np.pi, n_times)
        data = noise * rng.normal(size=(n_samples, n_channels, n_times))
    else:
        start = _unit(np.array([1.0, 2.0, 3.0]))
        class_radii = class_radii / class_radii.max()
        angles = np.linspace(0, 2 * np.sqrt(10), n_times)
        ends = rng.uniform(-1, 1, size=(1, n_channels, 1))
        data = noise * rng.uniform(-1, ends, size=(n_samples, n_channels, n_times))

    labels = _even_labels(n_samples, len(class_radii))
    # A random plane that contains the start: its second axis is uniform on the circle
    # perpendicular to the start.
    normals = rng.normal(size=(n_samples, 3))
    seconds = _unit(np.cross(normals, start))
    orbits = start[:, None] * np.cos(angles) + seconds[:, :, None] * np.sin(angles)
    data[:, channels] = class_radii[labels][:, None, None] * orbits
    return TensorDataset(
        data,
        labels=labels,
        name="Orbit",
        feature_mode=0,
        informative=channels,
        dims=("channel", "time"),
    )


def make_array(
    n_samples: int = 100,
    shape: tuple[int, int] = (10, 10),
    *,
    n_faulty: int = 4,
    faulty: ArrayLike | None = None,
    error: float = 10.0,
    noise: float = 1.0,
    max_angle: float = 60.0,
    style: str = "paper",
    complex_signal: bool = False,
    random_state: Any = None,
) -> TensorDataset:
    """Echoes at a planar radar array with a few faulty units.

    Every sample is one echo: one value per unit of the array, which depends on the phase of the
    wave there. In the second half of the samples (class 1), the faulty units have a phase error.

    Parameters
    ----------
    n_samples : int, default=100
        The number of echoes. The first half (class 0) has no errors.
    shape : (int, int), default=(10, 10)
        Rows and columns of units, half a wavelength apart.
    n_faulty : int, default=4
        The number of faulty units, which are neighbours at a random place.
    faulty : array-like of int, optional
        The faulty units as flat C-order indices, instead of ``n_faulty``.
    error : float, default=10
        The largest error of a faulty unit, in degrees.
    noise : float, default=1
        The standard deviation of the phase noise of every unit, in degrees. Only for
        ``style="paper"``.
    max_angle : float, default=60
        Both angles of a direction are at most this many degrees from the axis of the array.
    style : {"paper", "file"}, default="paper"
        The version of this dataset.

        - ``"paper"``: as the paper describes it. The target does not move: all echoes come from
          one random direction (azimuth θ, elevation φ), with phase
          π(i·sin θ cos φ + j·sin φ) at unit (i, j). Errors are drawn uniformly between
          ``-error`` and ``error``, for each echo and faulty unit. A value is the cosine of the
          phase (the in-phase sample). The noise is not in the paper; without it, the other
          units would be constant.
        - ``"file"``: exactly as in the authors' published file. Each echo has its own direction,
          in whole degrees. The phase at unit (i, j) is π(1 − (i + j)·cos θ cos φ), the same
          along both sides of the array. The error is ``error`` degrees at every faulty unit in
          every echo of class 1. There is no noise. A value is the phase divided by π, wrapped
          into (−1, 1]. (In the file, the faulty units are 62, 63, 72 and 73.)
    complex_signal : bool, default=False
        Return the complex samples exp(i·phase) instead of real values.
    random_state : int, RandomState instance or None, default=None
        The seed.

    Returns
    -------
    TensorDataset
        Data of shape ``(n_samples, *shape)``; ``informative`` lists the faulty units.

    Examples
    --------
    >>> from tensift.datasets import make_array
    >>> echoes = make_array(random_state=0)
    >>> echoes
    TensorDataset('Array', 100 samples of shape (10, 10), 2 classes)
    >>> len(echoes.informative)
    4
    >>> make_array(shape=(4, 6), complex_signal=True, random_state=0).data.dtype
    dtype('complex128')
    """
    if len(shape) != 2:
        raise ValueError(f"shape must be (rows, columns); got {tuple(shape)}")
    rows, columns = shape
    _check_counts(n_samples=n_samples, rows=rows, columns=columns)
    _check_style(style)
    for name, value in (("error", error), ("noise", noise), ("max_angle", max_angle)):
        _check_scale(name, value)
    if faulty is None and not 0 <= n_faulty <= rows * columns:
        raise ValueError(f"n_faulty must be from 0 to {rows * columns}; got {n_faulty}")

    rng = check_random_state(random_state)
    if faulty is None:
        units = _neighbouring_units(rng, rows, columns, n_faulty)
    else:
        units = _checked_indices("faulty", faulty, rows * columns)
    labels = _even_labels(n_samples, 2)
    row, column = np.indices(shape)

    # Phases in units of π, so that whole turns wrap without rounding.
    if style == "paper":
        azimuth, elevation = np.radians(rng.uniform(-max_angle, max_angle, size=2))
        phase = row * np.sin(azimuth) * np.cos(elevation) + column * np.sin(elevation)
        phase = phase + noise / 180 * rng.normal(size=(n_samples, *shape))
        errors = error / 180 * rng.uniform(-1, 1, size=(n_samples, len(units)))
    else:
        whole = np.arange(-int(max_angle), int(max_angle) + 1)
        draws = [rng.choice(whole, n_samples, replace=n_samples > len(whole)) for _ in range(2)]
        cosines = np.cos(np.radians(draws)).prod(axis=0)
        phase = 1 - (row + column) * cosines[:, None, None]
        errors = np.full((n_samples, len(units)), error / 180)
    phase.reshape(n_samples, -1)[:, units] += errors * labels[:, None]

    data: np.ndarray
    if complex_signal:
        data = np.exp(1j * np.pi * phase)
    elif style == "paper":
        data = np.cos(np.pi * phase)
    else:
        data = 1 - (1 - phase) % 2
    return TensorDataset(
        data, labels=labels, name="Array", informative=units, dims=("row", "column")
    )


def _neighbouring_units(
    rng: np.random.RandomState, rows: int, columns: int, count: int
) -> np.ndarray:
    """Return the units nearest to a random corner between units; four of them are a square."""
    crossing = [rng.randint(max(size - 1, 1)) + 0.5 for size in (rows, columns)]
    row, column = np.indices((rows, columns))
    distance = (row - crossing[0]) ** 2 + (column - crossing[1]) ** 2
    return np.sort(np.argsort(distance.ravel(), kind="stable")[:count])


def _even_labels(n_samples: int, n_classes: int) -> np.ndarray:
    return np.arange(n_samples) * n_classes // n_samples


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _checked_indices(name: str, indices: ArrayLike, size: int) -> np.ndarray:
    checked = np.unique(np.asarray(indices, dtype=np.intp))
    if checked.size != np.size(indices) or np.any((checked < 0) | (checked >= size)):
        raise ValueError(
            f"{name} must contain different indices from 0 to {size - 1}; got {indices!r}"
        )
    return checked


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1; got {value}")


def _check_scale(name: str, value: float) -> None:
    if not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}")


def _check_style(style: str) -> None:
    if style not in _STYLES:
        raise ValueError(f"style must be one of {_STYLES}; got {style!r}")
