"""
Video: the road, not the leaves
===============================

80 clips of 16 x 20 pixels and 10 frames. A car drives along a road, in either direction, at its
own speed. In the corner, leaves flicker in the wind. The pixels of the road, which fill three rows,
are the right answer.
"""

import matplotlib.pyplot as plt
import numpy as np

from tensift import PaperSolver, STPCASelector

rng = np.random.default_rng(0)
n, height, width, frames = 80, 16, 20, 10
y, x, t = np.meshgrid(np.arange(height), np.arange(width), np.arange(frames), indexing="ij")
X = 0.06 * rng.normal(size=(n, height, width, frames))
for clip in X:
    start, speed = rng.uniform(-4, width), rng.uniform(1, 2.2) * rng.choice([-1, 1])
    lane = rng.normal(10, 0.5)
    across, along = y - lane, x - start - speed * (t - frames / 2)
    clip += 0.5 * np.exp(-(across**2) / (2 * 1.2**2) - along**2 / (2 * 1.8**2))
road = np.abs(y[..., 0] - 10) <= 1
leaves = (y[..., 0] < 5) & (x[..., 0] < 7)
X[:, leaves] += 0.35 * rng.normal(size=(n, leaves.sum(), frames))
X.shape

# %%
# A sample has three modes, so there are three orientations, and the basis applies to the two
# other modes. A feature is a pixel at a moment. The score of a pixel is the sum over its moments.
# Cars are smooth along the road and in time, and leaves are not. The cosine basis can tell them
# apart.


def count(scores):
    best = np.argsort(-scores, axis=None, kind="stable")[: road.sum()]
    return f"road {road.ravel()[best].mean():.2f}, leaves {leaves.ravel()[best].mean():.2f}"


solver = PaperSolver(max_iter=1000)  # one slice needs more than the default of 100 steps
maps = {}
for orientation, mode in enumerate(("height", "width", "time")):
    for basis in ("identity", "dct"):
        selector = STPCASelector(
            100, orientation=orientation, basis=basis, lam=10, eta=10, solver=solver
        ).fit(X)
        maps[f"{mode}, {basis}"] = selector.scores_.sum(axis=2)
maps["variance"] = X.var(axis=0).sum(axis=2)
for name, scores in maps.items():
    print(f"{name:<17} {count(scores)}")
print(f"chance            road {road.mean():.2f}, leaves {leaves.mean():.2f}")

# %%
# **Found?** Yes, completely, when rows predict each other and cosines run along the road and
# time. This also holds in three more draws. Other settings mostly fail. Without a transform the
# leaves come first, as they do by variance. If the width or the time is the oriented mode, the
# cosines mix the rows, and the road is a set of rows. So choose the orientation by what you look
# for: scores distinguish the indices of the oriented mode. The penalties and the solver are the
# paper's. Penalties chosen from the data are weaker here, and do not remove the leaves.

figure, axes = plt.subplots(1, 4, figsize=(12, 2.7), layout="constrained")
clip, moment = np.divmod(np.argmax(X[:, road].sum(axis=1)), frames)  # car in the middle
axes[0].imshow(X[clip, ..., moment], cmap="gray")
axes[0].set_title("a frame")
for ax, name in zip(axes[1:], ("height, dct", "height, identity", "variance"), strict=True):
    ax.imshow(maps[name], cmap="cividis")
    ax.set_title(name)
for ax in axes:
    ax.contour(road, levels=[0.5], colors="C1", linewidths=1.5)
    ax.set(xticks=[], yticks=[])
plt.show()
