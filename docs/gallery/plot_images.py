"""
Images: the pixels that tell digits apart
=========================================

Which 20 of 64 pixels are enough to tell handwritten digits apart? This page goes from a folder of
pictures to 20 pixels and a report. Then it compares the selection with variance and with random
pixels.

First we write 600 digits of 8 x 8 pixels as PNG files, with a subfolder for every digit.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from tensift import STPCASelector
from tensift.datasets import load_digits, read_tensor
from tensift.metrics import evaluate_selection
from tensift.plotting import ScoreMapDisplay, SelectedFeaturesDisplay
from tensift.report import write_report
from tensift.rivals import RandomSelector, VarianceSelector

digits = load_digits()
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
for number in range(600):
    file = folder / "pictures" / str(digits.labels[number]) / f"{number:04}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((digits.data[number] * 255 / 16).astype(np.uint8)).save(file)

# %%
# From a folder to pixels
# -----------------------
#
# Every picture is a sample. The names of the subfolders become labels, which the selection does
# not look at. Pixels are named by row and column, counted from 0.

pictures = read_tensor(folder / "pictures")
selector = STPCASelector(20).fit(pictures)
write_report(folder / "report.html", selector, pictures)
pixels = selector.get_feature_names_out()
print(pictures, *pixels[:3], "...", sep="\n")

# %%
# The same as a command, for a folder of your own (PNG, JPEG, TIFF or BMP of the same size):

command = "report pictures/ -k 20"
run = [sys.executable, "-m", "tensift.cli", *command.split()]
done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True)
print(f"$ tensift {command}")
print(done.stdout.split("time ")[0])
temporary.cleanup()

# %%
# Beside variance
# ---------------
#
# We do not know which pixels are right. Labels measure how well k-means on the selected pixels
# finds the ten digits, now with all 1797 pictures. With the defaults, each pixel is predicted
# from the others in its column (``orientation=0``), and pixels are picked so that they do not
# repeat each other. With ``orientation=1``, each pixel is predicted from the others in its row.
# The third setting is the paper's: its penalties, its solver, and the largest scores. Each fit
# takes a fraction of a second.

kept = 20
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
