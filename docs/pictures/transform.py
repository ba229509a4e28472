import matplotlib.pyplot as plt
import numpy as np

from tensift.algebra import make_transform
from tensift.datasets import make_orbit

orbit = make_orbit(random_state=0)
X = orbit.data - orbit.data.mean(axis=0)
figure, (plain, cosines, shares) = plt.subplots(1, 3, figsize=(11, 3.4))
dct = make_transform("dct", 41).forward(X)
for ax, values, title, label in (
    (plain, X, "one sample, as it is", "time"),
    (cosines, dct, "the same under cosines", "cosine"),
):
    limit = np.abs(X[-1]).max()
    ax.imshow(values[-1], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    ax.set(title=title, xlabel=label, ylabel="channel", yticks=range(9))
    ax.axhline(5.5, color="k", linewidth=0.8)
    ax.text(40, 5.2, "noise above, orbit below", ha="right", fontsize=8)
for name in ("identity", "dct", "haar", "eigen", "random"):
    transform = make_transform(name, 41, data=X, axis=2, random_state=0)
    energy = np.sort(np.sum(np.abs(transform.forward(X)) ** 2, axis=(0, 1)))[::-1]
    shares.plot(np.arange(1, 42), np.cumsum(energy) / energy.sum(), label=name)
shares.set(
    title="energy in the strongest slices", xlabel="number of slices", ylabel="share", ylim=(0, 1)
)
shares.legend(loc="lower right", fontsize=8)
