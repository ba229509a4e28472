"""Encode arrays as short text for the page, and choose the samples to show."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.datasets import TensorDataset

__all__ = ["encode_ranking", "encode_samples", "encode_scores", "encode_shares", "rounded"]

_LONGEST_TRACE = 512  # points; the page does not have more pixels
_LEVELS = 255
_FEWEST_SAMPLES = 4  # show at least these, however large they are
_WITHOUT_EXTREMES = 0.995


def encode_scores(scores: NDArray) -> dict[str, Any]:
    """Encode scores as shares of the largest in single precision, with that largest."""
    flat = np.asarray(scores, dtype=float).ravel()
    largest = float(np.abs(flat).max()) or 1.0
    return {"scale": largest, "values": _base64(flat / largest, "<f4")}


def encode_shares(shares: NDArray) -> str:
    """Encode shares between 0 and 1 in single precision; NaN stays."""
    return _base64(shares, "<f4")


def encode_ranking(ranking: NDArray) -> dict[str, Any]:
    """Encode feature indices, in two or four bytes each."""
    size = 2 if len(ranking) <= 2**16 else 4
    return {"bytes": size, "values": _base64(np.asarray(ranking), f"<u{size}")}


def encode_samples(
    dataset: TensorDataset,
    channel_mode: int | None,
    trace_mode: int | None,
    budget: int,
    *,
    missing: bool = False,
) -> dict[str, Any]:
    """Encode as many samples as the budget (in characters) allows, evenly chosen, in 256 levels.

    With `missing`, NaN is shown as the mean of the shown samples.
    """
    shape = list(dataset.feature_shape)
    step = 1
    if trace_mode is not None:
        step = -(-shape[trace_mode] // _LONGEST_TRACE)
        shape[trace_mode] = -(-shape[trace_mode] // step)
    each = -(-4 * int(np.prod(shape)) // 3)
    n = dataset.n_samples
    count = min(n, max(budget // each, _FEWEST_SAMPLES))
    indices = np.unique(np.linspace(0, n - 1, count).round().astype(int))
    shown = np.asarray(dataset.data[indices])
    if missing and np.isnan(shown).any():
        gaps = np.isnan(shown)
        means = np.where(gaps, 0, shown).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)
        shown = np.where(gaps, means, shown)
    if trace_mode is not None:
        shown = shown.take(range(0, shown.shape[trace_mode + 1], step), axis=trace_mode + 1)
    complex_ = np.iscomplexobj(shown)
    shown = (np.abs(shown) if complex_ else shown).astype(float)
    if not np.isfinite(shown).all():
        raise ValueError("data must be finite; found NaN or infinity in the samples to show")
    # Halve values, because the difference of two very large numbers may overflow.
    shown /= 2
    within = tuple(range(1, shown.ndim))
    if channel_mode is None:
        low, high = shown.min(axis=within, keepdims=True), shown.max(axis=within, keepdims=True)
    else:
        shown = _comparable_traces(shown, channel_mode + 1)
        high = np.quantile(np.abs(shown), _WITHOUT_EXTREMES, axis=within, keepdims=True)
        low = -high
    shares = (shown - low) / np.where(high > low, high - low, 1.0)
    levels = np.rint(np.clip(shares, 0, 1) * _LEVELS)
    labels = None if dataset.labels is None else [_label(v) for v in dataset.labels[indices]]
    return {
        "total": n,
        "indices": indices.tolist(),
        "labels": labels,
        "shape": shape,
        "step": step,
        "modulus": bool(complex_),
        "low": [rounded(2 * v) for v in low.ravel()],
        "high": [rounded(2 * v) for v in high.ravel()],
        "values": _base64(levels, "u1"),
    }


def _comparable_traces(shown: NDArray, channel_axis: int) -> NDArray:
    """Centre traces and divide them by their channel's spread, so that one scale fits all."""
    within = tuple(a for a in range(1, shown.ndim) if a != channel_axis)
    shown = shown - shown.mean(axis=within, keepdims=True)
    largest = np.abs(shown).max(axis=(0, *within), keepdims=True)
    shown = shown / np.where(largest > 0, largest, 1.0)
    spread = np.sqrt(np.mean(shown**2, axis=(0, *within), keepdims=True))
    return shown / np.where(spread > 0, spread, 1.0)


def _label(value: Any) -> str:
    """Return a label as text, without the decimals that files add to whole numbers."""
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)


def rounded(value: float) -> float | None:
    """Round a number to six digits; None for NaN."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def _base64(array: NDArray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
