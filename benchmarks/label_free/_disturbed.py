"""Disturbances of pictures that have nothing to do with their classes."""

import numpy as np

DISTURBANCES = ("shadow", "occlusion", "gains", "noise")


def disturbed(pictures, kind, seed=0):
    """Return pictures `(n, height, width)` with one disturbance, different for each sample.

    Parameters
    ----------
    pictures : ndarray
        They are not changed.
    kind : {"shadow", "occlusion", "gains", "noise"}
        A brightness that falls to a fifth in a random direction; a dark square of a third of the
        height; a common factor, log-normal with deviation 0.5; a quarter more rows, of noise that
        varies as much as the median pixel.
    seed : int, default=0
        Where the squares, directions, factors and noise come from.
    """
    rng = np.random.default_rng([seed, DISTURBANCES.index(kind)])
    n, height, width = pictures.shape
    if kind == "shadow":
        return pictures * _shadows(rng, n, height, width)
    if kind == "gains":
        return pictures * np.exp(0.5 * rng.normal(size=(n, 1, 1)))
    if kind == "occlusion":
        found, side = pictures.copy(), height // 3
        for picture in found:
            top, left = rng.integers(0, height - side), rng.integers(0, width - side)
            picture[top : top + side, left : left + side] = pictures.min()
        return found
    spread, level = np.median(pictures.std(axis=0)), np.median(pictures.mean(axis=0))
    noise = level + spread * rng.normal(size=(n, height // 4, width))
    return np.concatenate([pictures, noise], axis=1)


def _shadows(rng, n, height, width):
    """Return factors from 0.2 to 1 that change evenly across each picture."""
    angles = rng.uniform(0, 2 * np.pi, n)
    down, across = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    slope = np.cos(angles)[:, None, None] * down + np.sin(angles)[:, None, None] * across
    low, high = slope.min(axis=(1, 2), keepdims=True), slope.max(axis=(1, 2), keepdims=True)
    return 0.2 + 0.8 * (slope - low) / (high - low)
