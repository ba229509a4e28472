"""Draw a map of samples by their two strongest components, and show these components.

The map does not use labels; they only colour the points. The script also prints how often
neighbours on the map have the same label, for TensorPCA and for PCA.

    python examples/component_map.py [--data digits|jaffe|pie] [--output FOLDER] [--fast]
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from _common import load_images, read_arguments, save
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from tensift import TensorPCA
from tensift.plotting import ComponentMapDisplay, EnergyDisplay

COMPONENTS = 8
SETTINGS = [(basis, mode) for basis in ("identity", "dct", "eigen") for mode in (0, 1)]


def run(images, labels):
    """Return the energy share of two coordinates and the accuracy of five neighbours in them."""
    rows = images.reshape(len(images), -1)
    pca = PCA(2, svd_solver="full").fit(rows)
    found = {"PCA": (pca.explained_variance_ratio_.sum(), neighbours(pca.transform(rows), labels))}
    for basis, mode in SETTINGS:
        model = TensorPCA(2, truncation="global", basis=basis, orientation=mode).fit(images)
        ratio = model.explained_variance_ratio_.sum()
        name = f"TensorPCA, {basis}, orientation {mode}"
        found[name] = ratio, neighbours(model.transform(images), labels)
    return {name: (float(ratio), accuracy) for name, (ratio, accuracy) in found.items()}


def neighbours(points, labels):
    """Return the accuracy of five neighbours over five folds, or None without labels."""
    if labels is None:
        return None
    return float(cross_val_score(KNeighborsClassifier(5), points, labels, cv=5).mean())


def draw(model, images, labels):
    """Draw the map, the energy and the patterns."""
    figure = plt.figure(figsize=(15, 8), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(4, 1))
    left, right = upper.subplots(1, 2, width_ratios=(1.15, 1))
    ComponentMapDisplay.from_estimator(model, images, labels=labels, thumbnails=60, ax=left)
    EnergyDisplay.from_estimator(model, ax=right)
    patterns = model.components_
    for number, (axis, pattern) in enumerate(
        zip(lower.subplots(1, COMPONENTS), patterns, strict=True)
    ):
        bound = np.abs(pattern).max()
        axis.imshow(pattern, cmap="RdBu_r", vmin=-bound, vmax=bound)
        axis.set(xticks=[], yticks=[])
        share = model.explained_variance_ratio_[number]
        axis.set_title(
            f"{number}: slice {model.component_slices_[number]}, {share:.1%}", fontsize=8
        )
    return figure


def main(argv=None):
    options = read_arguments(__doc__.splitlines()[0], "digits", argv)
    images, labels = load_images(options.data, options.fast)
    print(f"{options.data}: {images.shape}")
    found = run(images, labels)
    print(f"{'two coordinates of':34} {'energy':>7} {'neighbours agree':>16}")
    for name, (ratio, accuracy) in found.items():
        print(f"{name:34} {ratio:7.3f} {'-' if accuracy is None else f'{accuracy:.3f}':>16}")
    basis, mode = max(SETTINGS, key=lambda s: found[f"TensorPCA, {s[0]}, orientation {s[1]}"][0])
    print(f"drawn: TensorPCA, {basis}, orientation {mode} (most energy in two coordinates)")
    model = TensorPCA(COMPONENTS, truncation="global", basis=basis, orientation=mode)
    figure = draw(model.fit(images), images, labels)
    save(figure, options.output, "component_map")
    return found


if __name__ == "__main__":
    main()
