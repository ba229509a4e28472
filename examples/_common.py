"""Shared code of the examples: command line, images, saving the picture."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from tensift.datasets import fetch_paper, load_digits

IMAGES = ("digits", "patches", "jaffe", "pie")


def read_arguments(description, default=None, argv=None):
    """Parse `--output` and `--fast`, and `--data` if `default` names a data set."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--output", default=".", metavar="FOLDER", help="folder for the picture")
    parser.add_argument("--fast", action="store_true", help="use less data and fewer settings")
    if default:
        parser.add_argument(
            "--data",
            choices=IMAGES,
            default=default,
            help=f"default: {default}; jaffe and pie need the paper's files in TENSIFT_DATA",
        )
    return parser.parse_args(argv)


def load_images(name, fast=False):
    """Return images `(n, height, width)` with values in [0, 1], and labels or None."""
    if name == "patches":
        images, labels = _patches(16 if fast else 32), None
    elif name == "digits":
        digits = load_digits()
        images, labels = digits.data, digits.labels
    else:
        images, labels = _from_paper({"jaffe": "JAFFE", "pie": "PIE"}[name])
    images = np.asarray(images, dtype=float)
    if fast:
        chosen = np.random.default_rng(0).permutation(len(images))[:100]
        images, labels = images[chosen], None if labels is None else labels[chosen]
    return images / images.max(), labels


def split(n, share=2 / 3, seed=0):
    """Split `range(n)` at random; the first part has the given share."""
    order = np.random.default_rng(seed).permutation(n)
    return np.split(order, [round(share * n)])


def save(figure, folder, name):
    """Write the picture to a temporary file, move it into place, and print its path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=folder, prefix=f".{name}.", suffix=".png")
    os.close(handle)
    try:
        figure.savefig(partial, dpi=85)
        os.chmod(partial, 0o644)
        os.replace(partial, folder / f"{name}.png")
    except BaseException:
        os.unlink(partial)
        raise
    print(f"picture: {folder / f'{name}.png'}")


def show_images(axes, images, title=None, size=9):
    """Draw grey images along a row of axes, with the title on the left."""
    for axis, image in zip(axes, images, strict=True):
        axis.imshow(image, cmap="gray", vmin=0, vmax=1)
        axis.set_xticks([])
        axis.set_yticks([])
    if title:
        axes[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=size)


def _patches(side):
    """Cut the two photographs of scikit-learn into grey squares."""
    from sklearn.datasets import load_sample_images

    squares = []
    for photograph in load_sample_images().images:
        grey = photograph.mean(axis=2)
        rows, columns = (length // side for length in grey.shape)
        tiles = grey[: rows * side, : columns * side].reshape(rows, side, columns, side)
        squares.append(tiles.swapaxes(1, 2).reshape(-1, side, side))
    return np.concatenate(squares)


def _from_paper(name):
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not os.environ.get("TENSIFT_DATA") and beside.is_dir():
        os.environ["TENSIFT_DATA"] = str(beside)
    try:
        dataset = fetch_paper(name)
    except FileNotFoundError as error:
        sys.exit(str(error))
    return dataset.data, dataset.labels
