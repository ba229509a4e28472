import matplotlib.pyplot as plt
import numpy as np

from tensift import STPCASelector
from tensift.datasets import make_orbit

X = make_orbit(random_state=0).data
elements = STPCASelector(40).fit(X)
channels = STPCASelector(3, feature_mode=0).fit(X)
figure, (left, right, bars) = plt.subplots(
    1, 3, figsize=(11, 3.4), width_ratios=(1.3, 1.3, 0.8), sharey=True
)
chosen = np.zeros(9, dtype=bool)
chosen[channels.get_support(indices=True)] = True
masks = (elements.get_support().reshape(9, 41), np.repeat(chosen[:, None], 41, axis=1))
for ax, mask, title in zip(
    (left, right), masks, ("elements: 40 values", "feature_mode=0: 3 channels"), strict=True
):
    ax.imshow(elements.scores_, cmap="gray_r", aspect="auto")
    ax.imshow(
        np.ma.masked_where(~mask, mask), cmap="autumn", vmin=-1, vmax=2, alpha=0.6, aspect="auto"
    )
    ax.set(title=title, xlabel="time", yticks=range(9))
left.set_ylabel("channel")
bars.barh(range(9), channels.scores_, color=np.where(chosen, "C1", "0.7"))
bars.set(title="score of a channel", xlabel="sum over its elements")
