"""A real dataset that needs no download."""

from __future__ import annotations

import sklearn.datasets

from tensift.datasets._dataset import TensorDataset

__all__ = ["load_digits"]


def load_digits() -> TensorDataset:
    """Handwritten digits, 1797 images of 8 x 8 pixels in ten classes.

    The images are part of scikit-learn (``sklearn.datasets.load_digits``).

    Returns
    -------
    TensorDataset
        Pixels from 0 to 16; the label is the digit.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> load_digits()
    TensorDataset('digits', 1797 samples of shape (8, 8), 10 classes)
    """
    digits = sklearn.datasets.load_digits()
    return TensorDataset(digits.images, labels=digits.target, name="digits", dims=("row", "column"))
