import matplotlib.pyplot as plt
import numpy as np

from tensift import STPCASelector
from tensift.datasets import load_digits

X = load_digits().data
figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.6))
titles = ("orientation 0\neach column is reconstructed", "orientation 1\neach row is reconstructed")
for mode, (cut, scores) in enumerate(axes.T):
    for strip in range(8):  # one slice each, with gaps in between
        low, high = 1.4 * strip, 1.4 * strip + 1
        place = (low, high, 8, 0) if mode == 0 else (0, 8, high, low)
        pixels = X[3].take([strip], axis=1 - mode)
        cut.imshow(pixels, cmap="gray_r", vmin=0, vmax=16, extent=place, aspect="auto")
        chosen = strip == 4
        cut.add_patch(
            plt.Rectangle(
                (low, 0) if mode == 0 else (0, low),
                *((1, 8) if mode == 0 else (8, 1)),
                fill=False,
                edgecolor="C1" if chosen else "0.6",
                linewidth=3 if chosen else 0.8,
                zorder=3 if chosen else 2,
            )
        )
    cut.set(xlim=(-0.2, 11 if mode == 0 else 8.2), ylim=(8.2 if mode == 0 else 11, -0.2))
    cut.set_title(titles[mode])
    cut.set_axis_off()
    selector = STPCASelector(20, orientation=mode).fit(X)
    drawn = scores.imshow(selector.scores_, cmap="cividis")
    rows, columns = np.divmod(selector.order_[:20], 8)
    scores.plot(columns, rows, "o", color="C1", markersize=5, markeredgecolor="k")
    scores.set(xlabel="column", ylabel="row", title="score, and the 20 pixels kept")
    figure.colorbar(drawn, ax=scores, shrink=0.85)
