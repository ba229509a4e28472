"""
Images: the pixels that tell digits apart
=========================================

1797 handwritten digits of 8 x 8 pixels. We do not know which pixels are right, but the digits have
labels. No selector sees them. They only measure how well k-means on the selected pixels finds the
ten digits.
"""

import matplotlib.pyplot as plt
import numpy as np

from tensift import STPCASelector
from tensift.datasets import load_digits
from tensift.metrics import evaluate_selection
from tensift.plotting import ScoreMapDisplay, SelectedFeaturesDisplay
from tensift.rivals import RandomSelector, VarianceSelector

digits = load_digits()
kept = 20

# %%
# With the defaults, each pixel is predicted from the others in its column (``orientation=0``),
# and pixels are picked so that they do not repeat each other. With ``orientation=1``, each pixel
# is predicted from the others in its row. The third setting is the paper's: its penalties, its
# solver, and the largest scores. Each fit takes a fraction of a second.

selectors = {
    "columns (default)": STPCASelector(kept),
    "rows": STPCASelector(kept, orientation=1),
    "columns, as in paper": STPCASelector(kept, selection="top", lam=10, eta=10, solver="paper"),
    "variance": VarianceSelector(kept),
    **{f"random {seed}": RandomSelector(kept, random_state=seed) for seed in range(5)},
}
accuracy = {}
for name, selector in selectors.items():
    selector.fit(digits)
    found = evaluate_selection(
        digits, digits.labels, selector.order_, counts=[kept], n_repeats=10, metrics=["acc"]
    )
    accuracy[name] = found.means["acc"][0]
chance = [accuracy.pop(name) for name in list(accuracy) if name.startswith("random")]
accuracy["random (mean of 5)"] = np.mean(chance)
for name, value in accuracy.items():
    print(f"{name:<20} {value:.3f}")

# %%
# **Found?** All are better than random pixels. None is better than variance: digits differ where
# ink varies. On images like these, start with variance, and check whether another method is worth
# more.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
chosen = selectors["columns (default)"]
ScoreMapDisplay.from_estimator(chosen, ax=left)
SelectedFeaturesDisplay.from_estimator(chosen, digits, sample=0, ax=middle)
names, values = list(accuracy)[::-1], list(accuracy.values())[::-1]
colors = ["0.6" if name.startswith(("variance", "random")) else "C1" for name in names]
right.barh(names, values, color=colors)
right.set(xlabel="accuracy of k-means on 20 pixels", xlim=(0, 1))
plt.show()
