"""Generate a field over the sea, with land: something to place sensors in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils import check_random_state

from tensift.datasets._dataset import TensorDataset

__all__ = ["make_sea_surface"]

_PER_YEAR = 52  # samples
_LAND = 0.3  # share of the map


def make_sea_surface(
    n_samples: int = 312,
    shape: tuple[int, int] = (24, 48),
    *,
    n_patterns: int = 6,
    eddies: float = 0.5,
    noise: float = 0.1,
    random_state: Any = None,
) -> TensorDataset:
    """Temperatures of a sea surface, week after week, with land in between.

    A field is the sum of four parts: the seasons, which are opposite north and south of the
    middle; large smooth patterns whose strengths change slowly, as those of El Niño do; smaller
    eddies that drift west; and noise. About three tenths of the map are land. Its value is always
    zero, because nothing is measured there.

    Parameters
    ----------
    n_samples : int, default=312
        The number of weeks.
    shape : (int, int), default=(24, 48)
        Rows and columns of the map: latitudes from south to north, longitudes from west to east.
    n_patterns : int, default=6
        The number of large patterns. Each is weaker than the one before.
    eddies : float, default=0.5
        The standard deviation of the eddies, in degrees.
    noise : float, default=0.1
        The standard deviation of the noise of every value, in degrees.
    random_state : int, RandomState instance or None, default=None
        The seed of everything that is random, the coasts among it.

    Returns
    -------
    TensorDataset
        Data of shape ``(n_samples, *shape)``, without labels. ``informative`` lists the places at
        sea, as flat indices in row-major order; ``coords`` has latitudes and longitudes in degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.datasets import make_sea_surface
    >>> sea = make_sea_surface(random_state=0)
    >>> sea
    TensorDataset('Sea surface', 312 samples of shape (24, 48), no labels)
    >>> land = np.setdiff1d(np.arange(24 * 48), sea.informative)
    >>> len(land), bool(np.all(sea.data.reshape(312, -1)[:, land] == 0))
    (346, True)
    """
    if len(shape) != 2:
        raise ValueError(f"shape must be (rows, columns); got {tuple(shape)}")
    rows, columns = shape
    for name, value, least in (
        ("n_samples", n_samples, 1), ("rows", rows, 2), ("columns", columns, 2),
        ("n_patterns", n_patterns, 0),
    ):  # fmt: skip
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}")
    for name, amount in (("eddies", eddies), ("noise", noise)):
        if not np.isfinite(amount) or amount < 0:
            raise ValueError(f"{name} must be a number of at least 0; got {amount!r}")

    rng = check_random_state(random_state)
    height = gaussian_filter(rng.normal(size=shape), min(shape) / 8)
    is_sea = height <= np.quantile(height, 1 - _LAND)
    latitude, longitude = np.linspace(-60, 60, rows), np.linspace(0, 120, columns)
    time = np.arange(n_samples)

    seasons = np.sin(2 * np.pi * time / _PER_YEAR)
    data = 4 * seasons[:, None, None] * np.sin(np.radians(latitude))[:, None]
    for k in range(n_patterns):
        pattern = _standardised(gaussian_filter(rng.normal(size=shape), min(shape) / 6))
        strength = 2 * 0.75**k * _standardised(gaussian_filter(rng.normal(size=n_samples), 8))
        data = data + strength[:, None, None] * pattern
    # Eddies live for some weeks, and drift by about one column in four weeks.
    waves = gaussian_filter(rng.normal(size=(n_samples, *shape)), (4, 1.5, 1.5))
    drifting = [np.roll(wave, -(week // 4), axis=1) for week, wave in enumerate(waves)]
    data = data + eddies * _standardised(np.array(drifting))
    data = data + noise * rng.normal(size=data.shape)
    data[:, ~is_sea] = 0
    return TensorDataset(
        data,
        name="Sea surface",
        informative=np.flatnonzero(is_sea),
        dims=("latitude", "longitude"),
        coords={"latitude": latitude, "longitude": longitude},
        units={"latitude": "°", "longitude": "°"},
    )


def _standardised(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and standard deviation 1; zeros if there is only one value."""
    spread = values.std()
    return (values - values.mean()) / (spread if spread > 0 else 1)
