import matplotlib.pyplot as plt
import numpy as np

from tensift import STPCASelector
from tensift.datasets import load_digits

X = load_digits().data / 16
centred = X - X.mean(axis=0)
selector = STPCASelector(20, penalty_units="relative", lam=0.25, eta=0.02, solver="exact").fit(X)
figure, axes = plt.subplots(3, 3, figsize=(9.5, 6.6), width_ratios=(2.2, 1, 1))
for (samples, gram, operator), j in zip(axes, (1, 3, 5), strict=True):
    slice_ = centred[:, :, j].T
    samples.imshow(slice_[:, :60], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    samples.set(ylabel=f"slice {j} (column {j})\nfeature", xticks=[])
    products = slice_ @ slice_.T
    limit = np.abs(products).max()
    gram.imshow(products, cmap="RdBu_r", vmin=-limit, vmax=limit)
    operator.imshow(selector.operators_[j], cmap="RdBu_r", vmin=-1, vmax=1)
    for ax in (gram, operator):
        ax.set(xticks=[], yticks=[])
    lengths = np.linalg.norm(selector.operators_[j], axis=0)
    for feature in np.flatnonzero(lengths > 0):
        operator.text(feature, 8, "▲", color="C1", ha="center", va="center", fontsize=8)
axes[0, 0].set_title("samples (60 of 1797)")
axes[0, 1].set_title("Gram matrix")
axes[0, 2].set_title("operator")
axes[2, 2].set_xlabel("▲ features that are read", color="C1", labelpad=18)
axes[2, 0].set_xlabel("sample")
