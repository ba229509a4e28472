import warnings

import matplotlib.pyplot as plt

from tensift import STPCASelector
from tensift.algebra import make_transform
from tensift.datasets import load_digits

X = load_digits().data
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.2))
for name, (weights, scores) in zip(("identity", "dct", "dft"), axes.T, strict=True):
    energy = make_transform(name, 8).energy
    weights.imshow(energy / energy.max(), cmap="gray_r", vmin=0, vmax=1)
    weights.set(title=f"{name}: weights |M|²", xlabel="column of the image", ylabel="slice")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # under the dft rows tie, which is what is shown
        selector = STPCASelector(20, basis=name).fit(X)
    drawn = scores.imshow(selector.scores_, cmap="cividis")
    scores.set(title="score of every pixel", xlabel="column", ylabel="row")
    figure.colorbar(drawn, ax=scores, shrink=0.8)
